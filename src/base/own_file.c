/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "src/base/cancel.h"

/* ---- the file behind the descriptor ---- */

int dvt_own_file_take(dvt_own_file *file, int descriptor) {
  struct stat found;
  *file = (dvt_own_file){.descriptor = -1};
  if (fstat(descriptor, &found) != 0)
    return errno;
  *file = (dvt_own_file){descriptor, found.st_dev, found.st_ino, S_ISREG(found.st_mode)};
  return 0;
}

bool dvt_own_file_is_there(const dvt_own_file *file) {
  struct stat found;
  return file->descriptor >= 0 && fstat(file->descriptor, &found) == 0 && found.st_dev == file->device &&
         found.st_ino == file->number;
}

int dvt_own_file_open(dvt_own_file *file, const char *path, int flags) {
  DVT_UNCANCELLED;
  *file = (dvt_own_file){.descriptor = -1};
  const int descriptor = open(path, O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0666);
  if (descriptor < 0)
    return errno;
  const int error = dvt_own_file_take(file, descriptor);
  if (error)
    close(descriptor);
  return error;
}

int dvt_own_file_close(dvt_own_file *file) {
  DVT_UNCANCELLED;
  const int error = !dvt_own_file_is_there(file) ? EBADF : close(file->descriptor) != 0 ? errno : 0;
  file->descriptor = -1;
  return error;
}

/* ---- writing ---- */

typedef struct held_signals {
  sigset_t set, before, pending;
} held_signals;

static void hold_signals(held_signals *s) {
  sigemptyset(&s->set);
  sigaddset(&s->set, SIGXFSZ);
  sigaddset(&s->set, SIGPIPE);
  sigpending(&s->pending);
  pthread_sigmask(SIG_BLOCK, &s->set, &s->before);
}

/* Takes back what the writes have raised, and leaves what was there before. */
static void release_signals(held_signals *s) {
  if (sigismember(&s->pending, SIGXFSZ))
    sigdelset(&s->set, SIGXFSZ);
  if (sigismember(&s->pending, SIGPIPE))
    sigdelset(&s->set, SIGPIPE);
  while (sigtimedwait(&s->set, NULL, &(struct timespec){0}) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

static int write_all(int descriptor, int64_t offset, const char *text, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = pwrite(descriptor, text, bytes, offset);
    if (n < 0 && errno != EINTR)
      return errno;
    if (n > 0) {
      text += n;
      bytes -= (size_t)n;
      offset += n;
    }
  }
  return 0;
}

int dvt_own_file_write(const dvt_own_file *file, int64_t offset, const char *text, size_t bytes) {
  DVT_UNCANCELLED;
  held_signals signals;
  if (!dvt_own_file_is_there(file))
    return EBADF;
  hold_signals(&signals);
  const int error = write_all(file->descriptor, offset, text, bytes);
  release_signals(&signals);
  return error;
}

int dvt_own_file_append(const dvt_own_file *file, const char *text, size_t bytes) {
  DVT_UNCANCELLED;
  held_signals signals;
  if (!dvt_own_file_is_there(file))
    return EBADF;
  hold_signals(&signals);
  ssize_t n;
  do
    n = write(file->descriptor, text, bytes);
  while (n < 0 && errno == EINTR);
  const int error = n < 0 ? errno : 0;
  release_signals(&signals);
  return error;
}
