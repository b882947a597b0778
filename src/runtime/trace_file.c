/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/cancel.h"
#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/text.h"

/* The end of a complete file, which the next write replaces. */
#define TAIL "\n]\n"
enum { TAIL_BYTES = sizeof TAIL - 1, BUFFER = 1 << 16, PATH_BYTES = 4096 };
static const int64_t longest_ns = 200000000;

static struct file {
  int descriptor; /* -1: none is open */
  char path[PATH_BYTES];
  int64_t end; /* where the tail begins */
  size_t used;
  int64_t written_ns;
  int error;
  char text[BUFFER];
} file = {.descriptor = -1};

/* ---- writing ---- */

static int write_at(int64_t offset, const char *text, size_t bytes) {
  DVT_UNCANCELLED;
  while (bytes > 0) {
    const ssize_t n = pwrite(file.descriptor, text, bytes, offset);
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

/* Half of the events, or fewer. */
static size_t halve(const char *text, size_t bytes) {
  for (bytes /= 2; bytes > 0 && memcmp(text + bytes, ",\n", 2) != 0; bytes--) {
  }
  return bytes;
}

/* What `text` has replaces the tail, and a new one follows. Without room the file is what it was. */
static int replace_tail(char *text, size_t bytes) {
  memcpy(text + bytes, TAIL, TAIL_BYTES);
  const int error = write_at(file.end, text, bytes + TAIL_BYTES);
  if (error == 0) {
    file.end += (int64_t)bytes;
  } else if (file.end > 0 && ftruncate(file.descriptor, file.end + TAIL_BYTES) == 0) {
    (void)write_at(file.end, TAIL, TAIL_BYTES); /* its bytes were there before */
  }
  return error;
}

/* The signal that comes with a file over the limit of the process would end it. */
static int replace_tail_without_signal(char *text, size_t bytes) {
  sigset_t over, before, pending;
  sigemptyset(&over);
  sigaddset(&over, SIGXFSZ);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &over, &before);
  const int error = replace_tail(text, bytes);
  if (!sigismember(&pending, SIGXFSZ))
    sigtimedwait(&over, NULL, &(struct timespec){0});
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

static void flush(void) {
  if (file.used > 0 && file.error == 0) {
    size_t bytes = file.used;
    file.error = replace_tail_without_signal(file.text, bytes);
    while (file.error && (bytes = halve(file.text, bytes)) > 0 && /* some of it may have room */
           replace_tail_without_signal(file.text, bytes) != 0) {
    }
  }
  file.used = 0;
  file.written_ns = dvt_now_ns();
}

void dvt_trace_file_add(const char *format, ...) {
  if (file.descriptor < 0)
    return;
  if (file.used + DVT_TRACE_EVENT_BYTES + 2 + TAIL_BYTES > BUFFER)
    flush();
  char *to = file.text + file.used;
  const size_t comma = file.end > 2 || file.used > 2 ? 2 : 0;
  va_list arguments;
  memcpy(to, ",\n", comma);
  va_start(arguments, format);
  const int bytes = vsnprintf(to + comma, DVT_TRACE_EVENT_BYTES, format, arguments);
  va_end(arguments);
  if (bytes < 0 || bytes >= DVT_TRACE_EVENT_BYTES)
    return; /* the caller's texts are too long: better no event than half of one */
  file.used += comma + (size_t)bytes;
  if (dvt_now_ns() - file.written_ns > longest_ns)
    flush();
}

/* ---- texts ---- */

/* How many bytes the character at `c` has in UTF-8; 0 if it is none. */
static size_t character(const unsigned char *c) {
  const size_t bytes = *c < 0x80 ? 1 : *c >= 0xc2 && *c < 0xe0 ? 2 : (*c & 0xf0) == 0xe0 ? 3 : 4;
  if (bytes == 4 && (*c < 0xf0 || *c > 0xf4))
    return 0;
  for (size_t i = 1; i < bytes; i++)
    if ((c[i] & 0xc0) != 0x80)
      return 0;
  const bool too_long = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90);
  const bool no_character = (*c == 0xed && c[1] >= 0xa0) || (*c == 0xf4 && c[1] >= 0x90);
  return too_long || no_character ? 0 : bytes;
}

void dvt_trace_file_quote(const char *from, size_t bytes, char *to) {
  const unsigned char *c = (const unsigned char *)from;
  size_t used = 0;
  while (*c) {
    const size_t n = character(c);
    const bool escaped = *c == '"' || *c == '\\', printable = n > 0 && *c >= ' ' && *c != 127;
    const size_t all = printable ? n + escaped : 1;
    if (used + all >= bytes)
      break;
    if (escaped)
      to[used++] = '\\';
    if (printable)
      memcpy(to + used, c, n);
    else
      to[used] = '?';
    used += all - escaped;
    c += n > 0 ? n : 1;
  }
  to[used] = '\0';
}

/* ---- opening and closing ---- */

static davit_status refuse(davit_status status, const char *what, const char *path, const char *why) {
  char shown[128];
  snprintf(shown, sizeof shown, "%.120s", path);
  dvt_make_printable(shown);
  return davit_fail(status, "%s is \"%s\": %s", what, shown, why);
}

static bool expand(const char *path, char to[PATH_BYTES]) {
  const char *number = strstr(path, "%p");
  const int bytes =
      number ? snprintf(to, PATH_BYTES, "%.*s%ld%s", (int)(number - path), path, (long)getpid(), number + 2)
             : snprintf(to, PATH_BYTES, "%s", path);
  return bytes > 0 && bytes < PATH_BYTES;
}

static davit_status begin(const char *what, const char *path, bool go_on, int64_t end) {
  struct stat found;
  if (fstat(file.descriptor, &found) != 0 || !S_ISREG(found.st_mode))
    return refuse(DAVIT_INVALID_ARGUMENT, what, path, "not a regular file");
  file.error = 0;
  file.written_ns = dvt_now_ns();
  file.end = go_on && end > 0 && found.st_size == end + TAIL_BYTES ? end : 0;
  file.used = 0;
  if (file.end > 0)
    return DAVIT_SUCCESS;
  if (ftruncate(file.descriptor, 0) != 0)
    return refuse(DAVIT_INTERNAL_ERROR, what, path, strerror(errno));
  memcpy(file.text, "[\n", 2);
  file.error = replace_tail_without_signal(file.text, 2);
  return file.error ? refuse(DAVIT_INTERNAL_ERROR, what, path, strerror(file.error)) : DAVIT_SUCCESS;
}

davit_status dvt_trace_file_open(const char *what, const char *path, bool go_on) {
  static char expanded[PATH_BYTES];
  if (!expand(path, expanded))
    return refuse(DAVIT_INVALID_ARGUMENT, what, path, *path ? "too long" : "not a name of a file");
  go_on = go_on && strcmp(expanded, file.path) == 0;
  file.descriptor = open(expanded, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (file.descriptor < 0)
    return refuse(DAVIT_INVALID_ARGUMENT, what, expanded, strerror(errno));
  const davit_status status = begin(what, expanded, go_on, file.end);
  strcpy(file.path, status == DAVIT_SUCCESS ? expanded : "");
  if (status != DAVIT_SUCCESS) {
    close(file.descriptor);
    file.descriptor = -1;
  }
  return status;
}

davit_status dvt_trace_file_close(void) {
  if (file.descriptor < 0)
    return DAVIT_SUCCESS;
  flush();
  const int error = close(file.descriptor) == 0 ? file.error : file.error ? file.error : errno;
  file.descriptor = -1;
  if (error == 0)
    return DAVIT_SUCCESS;
  char shown[128];
  snprintf(shown, sizeof shown, "%.120s", file.path);
  dvt_make_printable(shown);
  return davit_fail(DAVIT_INTERNAL_ERROR, "the trace \"%s\" is not complete: %s", shown, strerror(error));
}

void dvt_trace_file_forget(void) {
  if (file.descriptor >= 0)
    close(file.descriptor);
  file.descriptor = -1;
  file.path[0] = '\0';
}
