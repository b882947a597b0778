/* SPDX-License-Identifier: Apache-2.0 */
/* DAVIT_BLAS_LOG: a file that gets one line for each call, appended; "stderr" is standard error. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/environment.h"
#include "src/dropin/dropin.h"

enum { LINE = 512 };
static int file = -1;

void dvt_log_open(void) {
  const char *path = dvt_environment("DAVIT_BLAS_LOG");
  if (!path || !*path)
    return;
  file = strcmp(path, "stderr") == 0 ? STDERR_FILENO
                                     : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    fprintf(stderr, DVT_DROPIN_LIBRARY ": DAVIT_BLAS_LOG: cannot write %s: %s\n", path, strerror(errno));
}

bool dvt_log_on(void) {
  return file >= 0;
}

/* One write() of a file opened to append: lines of threads and processes do not mix. */
static void put(int to, const char *format, va_list arguments) {
  char line[LINE];
  const int begin = snprintf(line, sizeof line, DVT_DROPIN_LIBRARY " %ld: ", (long)getpid());
  int length = begin + vsnprintf(line + begin, sizeof line - (size_t)begin, format, arguments);
  if (length > LINE - 2)
    length = LINE - 2;
  line[length] = '\n';
  const int saved = errno;
  if (write(to, line, (size_t)length + 1) < 0)
    errno = saved; /* a full disk does not stop the program's arithmetic */
}

void dvt_log(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (file >= 0)
    put(file, format, arguments);
  va_end(arguments);
}

void dvt_complain(bool *said, const char *format, ...) {
  va_list arguments;
  if (__atomic_exchange_n(said, true, __ATOMIC_RELAXED))
    return;
  va_start(arguments, format);
  put(STDERR_FILENO, format, arguments);
  va_end(arguments);
  if (file >= 0 && file != STDERR_FILENO) {
    va_start(arguments, format);
    put(file, format, arguments);
    va_end(arguments);
  }
}
