/* SPDX-License-Identifier: Apache-2.0 */
/* DAVIT_BLAS_LOG: a file that gets one line for each call, appended; "stderr" is standard error. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/environment.h"
#include "src/base/own_file.h"
#include "src/dropin/dropin.h"

enum { LINE = 512 };
static bool on;
static char *name;        /* of the file, from the root; NULL: standard error */
static dvt_own_file file; /* changed by the thread that has `opening` */
static int opening;

/* A terminal or another device is written as usual: what it does not take at once is waited for. */
static int open_file(const char *path) {
  const int error = dvt_own_file_open(&file, path, O_WRONLY | O_APPEND);
  struct stat found;
  if (!error && !file.is_regular && fstat(file.descriptor, &found) == 0 && !S_ISFIFO(found.st_mode))
    (void)fcntl(file.descriptor, F_SETFL, O_APPEND);
  return error;
}

void dvt_log_open(void) {
  static bool said;
  const char *path = dvt_environment("DAVIT_BLAS_LOG");
  if (!path || !*path)
    return;
  const bool standard = strcmp(path, "stderr") == 0;
  const int error = standard ? dvt_own_file_take(&file, STDERR_FILENO) : open_file(path);
  if (!error && !standard)
    name = realpath(path, NULL);
  on = !error;
  if (error)
    dvt_complain(&said, "DAVIT_BLAS_LOG: cannot write %s: %s", path,
                 error == ENXIO ? "nothing reads from it" : strerror(error));
}

bool dvt_log_on(void) {
  return on;
}

/* The program has closed the file, and its number may be another file's by now: it is opened again by its name. */
static void write_log(const char *line, size_t length) {
  if (dvt_own_file_append(&file, line, length) != EBADF || !name ||
      __atomic_exchange_n(&opening, 1, __ATOMIC_ACQUIRE))
    return;
  if (dvt_own_file_is_there(&file) || open_file(name) == 0)
    (void)dvt_own_file_append(&file, line, length);
  __atomic_store_n(&opening, 0, __ATOMIC_RELEASE);
}

/* A full disk does not stop the program's arithmetic. */
static void put(bool to_stderr, bool to_log, const char *format, va_list arguments) {
  char line[LINE];
  dvt_own_file standard;
  const int saved = errno;
  const int begin = snprintf(line, sizeof line, DVT_DROPIN_LIBRARY " %ld: ", (long)getpid());
  int length = begin + vsnprintf(line + begin, sizeof line - (size_t)begin, format, arguments);
  if (length > LINE - 2)
    length = LINE - 2;
  line[length] = '\n';
  if (to_stderr && dvt_own_file_take(&standard, STDERR_FILENO) == 0)
    (void)dvt_own_file_append(&standard, line, (size_t)length + 1);
  if (to_log)
    write_log(line, (size_t)length + 1);
  errno = saved;
}

void dvt_log(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (on)
    put(false, true, format, arguments);
  va_end(arguments);
}

void dvt_complain(bool *said, const char *format, ...) {
  va_list arguments;
  if (__atomic_exchange_n(said, true, __ATOMIC_RELAXED))
    return;
  va_start(arguments, format);
  put(true, on && file.descriptor != STDERR_FILENO, format, arguments);
  va_end(arguments);
}
