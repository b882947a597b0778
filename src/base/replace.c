/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/allocate.h"

/* ---- names ---- */

/* The path with all links followed, whether the file exists or not; NULL with errno. */
static char *resolve(const char *path) {
  struct stat status;
  if (!lstat(path, &status))
    return realpath(path, NULL);
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char *folder = slash ? dvt_allocate_text("%.*s", (int)(slash - path) + 1, path) : dvt_allocate_text(".");
  char *real = folder ? realpath(folder, NULL) : NULL;
  char *resolved = real ? dvt_allocate_text("%s/%s", strcmp(real, "/") ? real : "", name) : NULL;
  free(folder);
  free(real);
  return resolved;
}

static const char *name_of(const dvt_replacement *r) {
  return strrchr(r->target, '/') + 1;
}

static int open_folder(const dvt_replacement *r) {
  const int length = (int)(name_of(r) - r->target);
  char *folder = dvt_allocate_text("%.*s", length, r->target);
  const int file = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  free(folder);
  return file;
}

/* ---- the new file ---- */

typedef struct file_path {
  char text[32];
} file_path;

/* The name under which linkat() finds a file that has none. */
static file_path path_of(int file) {
  file_path path;
  snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", file);
  return path;
}

/* Links the new file to r->temporary, or makes it with that name if there is none yet. */
static bool try_name(dvt_replacement *r) {
  if (r->file >= 0)
    return !linkat(AT_FDCWD, path_of(r->file).text, r->folder, r->temporary, AT_SYMLINK_FOLLOW);
  r->file = openat(r->folder, r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return r->file >= 0;
}

bool dvt_replacement_name(dvt_replacement *r) {
  for (int attempt = 0; !r->named && attempt < 100; attempt++) {
    uint32_t number = 0;
    (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
    snprintf(r->temporary, sizeof r->temporary, ".davit-%08x", number + (uint32_t)attempt);
    r->named = try_name(r);
    if (!r->named && errno != EEXIST)
      return false;
  }
  return r->named;
}

static bool open_file(dvt_replacement *r) {
  r->file = openat(r->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (r->file >= 0 && !access(path_of(r->file).text, F_OK))
    return true;
  if (r->file >= 0)
    close(r->file);
  r->file = -1;
  return dvt_replacement_name(r);
}

/* Bits beyond the permissions are left out, as writing a file clears those that give rights. */
static bool take_over(int file, const struct stat *old) {
  const mode_t mode = old->st_mode & 0777;
  struct stat new;
  if (fstat(file, &new) || ((new.st_mode & 07777) != mode && fchmod(file, mode)))
    return false;
  return (new.st_uid == old->st_uid &&new.st_gid == old->st_gid) || !fchown(file, old->st_uid, old->st_gid);
}

/* ---- from opening to the end ---- */

static const char *begin(const char *path, dvt_replacement *r) {
  struct stat old;
  r->target = resolve(path);
  if (!r->target)
    return errno == ENOENT && !lstat(path, &old) ? "it is a link to a file that does not exist"
                                                 : strerror(errno);
  r->folder = open_folder(r);
  if (r->folder < 0)
    return strerror(errno);
  const bool exists = !fstatat(r->folder, name_of(r), &old, AT_SYMLINK_NOFOLLOW);
  if (!exists && errno != ENOENT) /* such as a name that is too long */
    return strerror(errno);
  if (exists && !S_ISREG(old.st_mode))
    return "it is no regular file";
  if ((exists && faccessat(r->folder, name_of(r), W_OK, 0)) || !open_file(r))
    return strerror(errno);
  if (exists && !take_over(r->file, &old))
    return "a new file cannot be given its owner, group and mode; remove it first";
  return NULL;
}

const char *dvt_replacement_open(const char *path, dvt_replacement *r) {
  *r = (dvt_replacement){.folder = -1, .file = -1};
  const char *why = begin(path, r);
  if (why)
    dvt_replacement_discard(r);
  return why;
}

FILE *dvt_replacement_stream(const dvt_replacement *r) {
  const int file = fcntl(r->file, F_DUPFD_CLOEXEC, 0);
  FILE *stream = file >= 0 ? fdopen(file, "wb") : NULL;
  if (!stream && file >= 0)
    close(file);
  return stream;
}

static bool exchange(const dvt_replacement *r) {
  return !renameat2(r->folder, r->temporary, r->folder, name_of(r), RENAME_EXCHANGE);
}

bool dvt_replacement_place(dvt_replacement *r) {
  if (!dvt_replacement_name(r))
    return false;
  r->exchanged = exchange(r);
  if (r->exchanged)
    return true;
  const bool none = errno == ENOENT, unable = errno == EINVAL || errno == ENOSYS; /* as some file systems */
  if ((!none && !unable) || renameat(r->folder, r->temporary, r->folder, name_of(r)))
    return false;
  r->named = false;
  r->created = none;
  return true;
}

void dvt_replacement_keep(dvt_replacement *r) {
  r->exchanged = r->created = false;
  dvt_replacement_discard(r);
}

bool dvt_replacement_commit(dvt_replacement *r) {
  const bool placed = dvt_replacement_place(r);
  if (placed)
    dvt_replacement_keep(r);
  return placed;
}

void dvt_replacement_unlink(const dvt_replacement *r) {
  if (r->named)
    unlinkat(r->folder, r->temporary, 0);
}

void dvt_replacement_discard(dvt_replacement *r) {
  const int error = errno;
  if (r->target) {
    if (r->exchanged)
      (void)exchange(r);
    else if (r->created)
      unlinkat(r->folder, name_of(r), 0);
    dvt_replacement_unlink(r);
    if (r->file >= 0)
      close(r->file);
    if (r->folder >= 0)
      close(r->folder);
    free(r->target);
  }
  *r = (dvt_replacement){0};
  errno = error;
}
