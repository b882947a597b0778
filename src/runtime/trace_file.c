/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/own_file.h"
#include "src/base/text.h"

/* The end of a complete file, which the next write replaces. */
#define TAIL "\n]\n"
enum { TAIL_BYTES = sizeof TAIL - 1, BUFFER = 1 << 16, PATH_BYTES = 4096 };
static const int64_t longest_ns = 200000000;

static struct file {
  dvt_own_file own;
  char path[PATH_BYTES];
  int64_t end; /* where the tail begins */
  size_t used;
  int64_t written_ns;
  int error;
  char text[BUFFER];
} file = {.own.descriptor = -1};

/* ---- writing ---- */

/* Half of the events, or fewer. */
static size_t halve(const char *text, size_t bytes) {
  for (bytes /= 2; bytes > 0 && memcmp(text + bytes, ",\n", 2) != 0; bytes--) {
  }
  return bytes;
}

/* What `text` has replaces the tail, and a new one follows. Without room the file is what it was. */
static int replace_tail(char *text, size_t bytes) {
  memcpy(text + bytes, TAIL, TAIL_BYTES);
  const int error = dvt_own_file_write(&file.own, file.end, text, bytes + TAIL_BYTES);
  if (error == 0)
    file.end += (int64_t)bytes;
  else if (file.end > 0 && dvt_own_file_is_there(&file.own) &&
           ftruncate(file.own.descriptor, file.end + TAIL_BYTES) == 0)
    (void)dvt_own_file_write(&file.own, file.end, TAIL, TAIL_BYTES); /* its bytes were there before */
  return error;
}

static void flush(void) {
  if (file.used > 0 && file.error == 0) {
    size_t bytes = file.used;
    file.error = replace_tail(file.text, bytes);
    while (file.error && (bytes = halve(file.text, bytes)) > 0 && /* some of it may have room */
           replace_tail(file.text, bytes) != 0) {
    }
  }
  file.used = 0;
  file.written_ns = dvt_now_ns();
}

void dvt_trace_file_add(const char *format, ...) {
  if (file.own.descriptor < 0)
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

void dvt_trace_file_quote(const char *from, size_t bytes, char *to) {
  size_t used = 0;
  while (*from) {
    const size_t n = dvt_printable(from), all = n ? n : 1;
    const bool escaped = *from == '"' || *from == '\\';
    if (used + all + escaped >= bytes)
      break;
    if (escaped)
      to[used++] = '\\';
    if (n)
      memcpy(to + used, from, n);
    else
      to[used] = '?';
    used += all;
    from += all;
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
  if (!file.own.is_regular || fstat(file.own.descriptor, &found) != 0)
    return refuse(DAVIT_INVALID_ARGUMENT, what, path, "not a regular file");
  file.error = 0;
  file.written_ns = dvt_now_ns();
  file.end = go_on && end > 0 && found.st_size == end + TAIL_BYTES ? end : 0;
  file.used = 0;
  if (file.end > 0)
    return DAVIT_SUCCESS;
  if (ftruncate(file.own.descriptor, 0) != 0)
    return refuse(DAVIT_INTERNAL_ERROR, what, path, strerror(errno));
  memcpy(file.text, "[\n", 2);
  file.error = replace_tail(file.text, 2);
  return file.error ? refuse(DAVIT_INTERNAL_ERROR, what, path, strerror(file.error)) : DAVIT_SUCCESS;
}

davit_status dvt_trace_file_open(const char *what, const char *path, bool go_on) {
  static char expanded[PATH_BYTES];
  if (!expand(path, expanded))
    return refuse(DAVIT_INVALID_ARGUMENT, what, path, *path ? "too long" : "not a name of a file");
  go_on = go_on && strcmp(expanded, file.path) == 0;
  const int error = dvt_own_file_open(&file.own, expanded, O_RDWR);
  if (error)
    return refuse(DAVIT_INVALID_ARGUMENT, what, expanded, strerror(error));
  const davit_status status = begin(what, expanded, go_on, file.end);
  strcpy(file.path, status == DAVIT_SUCCESS ? expanded : "");
  if (status != DAVIT_SUCCESS)
    (void)dvt_own_file_close(&file.own);
  return status;
}

davit_status dvt_trace_file_close(void) {
  if (file.own.descriptor < 0)
    return DAVIT_SUCCESS;
  flush();
  const int closed = dvt_own_file_close(&file.own), error = file.error ? file.error : closed;
  if (error == 0)
    return DAVIT_SUCCESS;
  char shown[128];
  snprintf(shown, sizeof shown, "%.120s", file.path);
  dvt_make_printable(shown);
  return davit_fail(DAVIT_INTERNAL_ERROR, "the trace \"%s\" is not complete: %s", shown, strerror(error));
}

void dvt_trace_file_forget(void) {
  if (file.own.descriptor >= 0)
    (void)dvt_own_file_close(&file.own);
  file.path[0] = '\0';
}
