/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers share. */
#define _GNU_SOURCE
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/cli/fail.h"

/* ---- messages, failures ---- */

static char message[8192]; /* what came since the last call of fuzz_code() */
static size_t message_length;

void fuzz_fail(const char *condition, const char *file, int line) {
  fflush(stderr);
  dprintf(STDERR_FILENO, "%s:%d: not true: %s\nmessage: %.*s\n", file, line, condition, (int)message_length,
          message);
  abort();
}

/* Called by the stream that stands for standard output and standard error. */
static ssize_t take_message(void *unused, const char *text, size_t size) {
  (void)unused;
  FUZZ_REQUIRE(size < sizeof message - message_length);
  memcpy(message + message_length, text, size);
  message_length += size;
  return (ssize_t)size;
}

/* Called by libFuzzer, which keeps the true standard error. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take_message});
  FUZZ_REQUIRE(stream);
  stdout = stderr = stream;
  cli_be_quiet(true); /* remarks are no failures */
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

static bool is_line(const char *text, size_t length) {
  if (length < 2 || text[length - 1] != '\n')
    return false;
  for (size_t i = 0; i < length - 1; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 127)
      return false;
  return true;
}

int fuzz_code(int code) {
  FUZZ_REQUIRE(!fflush(stderr));
  if (code == CLI_OK || code == CLI_HELP)
    FUZZ_REQUIRE(message_length == 0);
  else
    FUZZ_REQUIRE((code == CLI_INPUT || code == CLI_USAGE) && is_line(message, message_length));
  message_length = 0;
  return code;
}

void fuzz_accept(int code) {
  FUZZ_REQUIRE(fuzz_code(code) == CLI_OK);
}

/* ---- inputs ---- */

uint8_t fuzz_byte(const uint8_t **data, size_t *size) {
  if (!*size)
    return 0;
  --*size;
  return *(*data)++;
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

fuzz_text fuzz_expand(const uint8_t *data, size_t size) {
  static unsigned char bytes[FUZZ_BYTES];
  size_t used = 0;
  for (size_t i = 0; i < size && used < FUZZ_BYTES; i++) {
    if (data[i] != FUZZ_REPEAT || i + 2 >= size) {
      bytes[used++] = data[i];
      continue;
    }
    const size_t length = smaller(data[i + 1], used), wanted = length * data[i + 2];
    if (data[i + 1] == 0)
      bytes[used++] = FUZZ_REPEAT;
    for (const size_t end = used + smaller(wanted, FUZZ_BYTES - used); used < end; used++)
      bytes[used] = bytes[used - length];
    i += 2;
  }
  return (fuzz_text){bytes, used};
}

/* ---- files ---- */

/* In place of the C library's, whose file lies on a disk. */
FILE *tmpfile(void) {
  const int descriptor = memfd_create("tmpfile", MFD_CLOEXEC);
  return descriptor < 0 ? NULL : fdopen(descriptor, "w+b");
}

static char file_path[32], pipe_path[32];

static int file_descriptor(void) {
  static int descriptor = -1;
  if (descriptor < 0) {
    descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_REQUIRE(descriptor >= 0);
    snprintf(file_path, sizeof file_path, "/proc/self/fd/%d", descriptor);
  }
  FUZZ_REQUIRE(!ftruncate(descriptor, 0));
  return descriptor;
}

const char *fuzz_file(fuzz_text text) {
  const int descriptor = file_descriptor();
  FUZZ_REQUIRE(pwrite(descriptor, text.bytes, text.size, 0) == (ssize_t)text.size);
  return file_path;
}

FILE *fuzz_create(void) {
  file_descriptor();
  FILE *file = fopen(file_path, "wbe");
  FUZZ_REQUIRE(file);
  return file;
}

const char *fuzz_written(FILE *file) {
  FUZZ_REQUIRE(!fclose(file));
  return file_path;
}

/* What did not fit into the pipe. A larger one the system may refuse. */
static struct {
  pthread_t thread;
  bool runs;
  int end;
  fuzz_text text;
} rest;

static void *write_rest(void *unused) {
  while (rest.text.size) {
    const ssize_t written = write(rest.end, rest.text.bytes, rest.text.size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      break; /* nobody reads it any more */
    rest.text.bytes += written;
    rest.text.size -= (size_t)written;
  }
  close(rest.end);
  return unused;
}

const char *fuzz_pipe(fuzz_text text) {
  static int ends[2] = {-1, -1};
  if (ends[0] >= 0)
    close(ends[0]);
  if (rest.runs)
    FUZZ_REQUIRE(!pthread_join(rest.thread, NULL));
  FUZZ_REQUIRE(!pipe2(ends, O_CLOEXEC));
  const int size = fcntl(ends[1], F_GETPIPE_SZ);
  const size_t first = smaller(text.size, (size_t)size);
  FUZZ_REQUIRE(size > 0 && write(ends[1], text.bytes, first) == (ssize_t)first);
  rest.runs = first < text.size;
  rest.text = (fuzz_text){text.bytes + first, text.size - first};
  rest.end = ends[1];
  if (rest.runs)
    FUZZ_REQUIRE(!pthread_create(&rest.thread, NULL, write_rest, NULL));
  else
    close(ends[1]);
  snprintf(pipe_path, sizeof pipe_path, "/proc/self/fd/%d", ends[0]);
  return pipe_path;
}
