/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fopencookie() */
#include "src/cli/formats/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"
#include "src/cli/files.h"

static const char ending[] = ".npz";

/* No method of compression that NumPy writes makes more of a byte. */
enum { MOST_PER_BYTE = 1032, MOST_LISTED = 400 };

/* What stands behind the last ".npz:", or the end of a path that ends in .npz; NULL: neither. */
static const char *member_of(const char *path) {
  const char *found = NULL;
  for (const char *at = path; (at = strstr(at, ending)); at += sizeof ending - 1)
    if (at[sizeof ending - 1] == ':' || !at[sizeof ending - 1])
      found = at + sizeof ending - 1;
  return found;
}

bool cli_archive_named(const char *path) {
  const char *member = member_of(path);
  return member && (!*member || access(path, F_OK));
}

/* ---- an open member, as a FILE ---- */

typedef struct member {
  zip_t *archive;
  zip_file_t *file;
} member;

static ssize_t read_member(void *cookie, char *bytes, size_t count) {
  const member *m = cookie;
  const zip_int64_t got = zip_fread(m->file, bytes, count);
  if (got < 0)
    errno = EBADMSG; /* damaged */
  return (ssize_t)got;
}

static int close_member(void *cookie) {
  member *m = cookie;
  if (m->file)
    zip_fclose(m->file);
  if (m->archive)
    zip_discard(m->archive);
  free(m);
  return 0;
}

/* ---- opening ---- */

/* "a, b and c", as much as there is room for. */
static void list(zip_t *archive, char text[static MOST_LISTED]) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  int used = 0;
  *text = 0;
  for (zip_int64_t i = 0; i < count && used < MOST_LISTED; i++) {
    const char *name = zip_get_name(archive, (zip_uint64_t)i, 0);
    const size_t length = name ? strlen(name) : 0;
    const bool array = length > 4 && !strcmp(name + length - 4, ".npy");
    used += snprintf(text + used, (size_t)(MOST_LISTED - used), "%s%.*s",
                     i == 0           ? ""
                     : i + 1 == count ? " and "
                                      : ", ",
                     (int)(array ? length - 4 : length), name ? name : "");
  }
}

/* The index of the wanted member, with or without ".npy", or of the only one; -1: there is none. */
static zip_int64_t locate(zip_t *archive, const char *wanted) {
  char name[256];
  if (!*wanted)
    return zip_get_num_entries(archive, 0) == 1 ? 0 : -1;
  snprintf(name, sizeof name, "%s.npy", wanted);
  const zip_int64_t found = zip_name_locate(archive, name, 0);
  return found >= 0 ? found : zip_name_locate(archive, wanted, 0);
}

static int open_in(member *m, const char *path, const char *wanted, uint64_t *size) {
  char names[MOST_LISTED];
  zip_stat_t about;
  const zip_int64_t index = locate(m->archive, wanted);
  list(m->archive, names);
  if (index < 0 && !*wanted)
    return cli_fail(CLI_INPUT, "%s: expected one array, or %s:NAME with a NAME among %s", path, path,
                    *names ? names : "nothing: the archive is empty");
  if (index < 0)
    return cli_fail(CLI_INPUT, "%s: expected a member among %s", path,
                    *names ? names : "nothing: the archive is empty");
  if (zip_stat_index(m->archive, (zip_uint64_t)index, 0, &about) || !(about.valid & ZIP_STAT_SIZE) ||
      !(about.valid & ZIP_STAT_COMP_SIZE) || about.size / MOST_PER_BYTE > about.comp_size)
    return cli_fail(CLI_INPUT, "%s: expected a member whose size is known and possible", path);
  m->file = zip_fopen_index(m->archive, (zip_uint64_t)index, 0);
  if (!m->file)
    return cli_fail(CLI_INPUT, "%s: expected a member that can be read: %s", path, zip_strerror(m->archive));
  *size = about.size;
  return CLI_OK;
}

static int open_archive(const char *path, size_t length, zip_t **archive) {
  char *name = dvt_allocate(length + 1, 1);
  int error = 0;
  if (!name)
    return cli_fail(CLI_DEVICE, "not enough memory for a path");
  memcpy(name, path, length);
  *archive = zip_open(name, ZIP_RDONLY, &error);
  const int why = errno;
  struct stat status;
  const bool found = *archive && !stat(name, &status);
  free(name);
  if (*archive)
    return found ? cli_files_read(path, &status) : CLI_OK;
  zip_error_t told;
  zip_error_init_with_code(&told, error);
  cli_fail(CLI_INPUT, "%s: expected an archive of arrays: %s", path,
           zip_error_system_type(&told) == ZIP_ET_SYS ? strerror(why) : zip_error_strerror(&told));
  zip_error_fini(&told);
  return CLI_INPUT;
}

int cli_archive_open(const char *path, FILE **file, uint64_t *size) {
  const char *wanted = member_of(path);
  const cookie_io_functions_t functions = {.read = read_member, .close = close_member};
  member *m = dvt_allocate(1, sizeof *m);
  if (!m)
    return cli_fail(CLI_DEVICE, "not enough memory for an archive");
  int code = open_archive(path, (size_t)(wanted - path), &m->archive);
  if (code == CLI_OK)
    code = open_in(m, path, wanted + (*wanted == ':'), size);
  if (code == CLI_OK && !(*file = fopencookie(m, "r", functions)))
    code = cli_fail(CLI_DEVICE, "not enough memory for an archive");
  if (code != CLI_OK)
    close_member(m);
  return code;
}
