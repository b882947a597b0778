/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the tool share whose runs are children of the test: a folder with inputs in `in` and outputs in `out`,
 * in which the tool runs; and how often a run passes each place that may fail. */
#ifndef DAVIT_TESTS_TOOL_H
#define DAVIT_TESTS_TOOL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/elements.h"

#include <davit/davit.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/inject.h"

enum { MOST_WORDS = 48 };

int davit_main(int argc, char **argv); /* main() of src/cli/main.c */

/* ---- files ---- */

static char root[PATH_MAX];

static char *path_of(const char *name) {
  static char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", root, name);
  return path;
}

static void write_file(const char *name, const void *bytes, size_t count) {
  FILE *file = fopen(path_of(name), "wb");
  assert_true(file && fwrite(bytes, 1, count, file) == count && !fclose(file));
}

static void write_text(const char *name, const char *text) {
  write_file(name, text, strlen(text));
}

/* A version 1 header, then the elements. */
static void write_npy(const char *name, const char *descr, const char *shape, const void *elements,
                      size_t bytes) {
  enum { HEADER = 128 };
  char *file = malloc(HEADER + bytes);
  assert_non_null(file);
  memset(file, ' ', HEADER);
  memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
  const int used =
      snprintf(file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
  file[10 + used] = ' ';
  file[HEADER - 1] = '\n';
  memcpy(file + HEADER, elements, bytes);
  write_file(name, file, HEADER + bytes);
  free(file);
}

/* Nothing where there is no such file. */
static void read_text(const char *path, char *text, size_t room) {
  FILE *file = fopen(path, "rb");
  text[file ? fread(text, 1, room - 1, file) : 0] = 0;
  if (file)
    fclose(file);
}

/* 0: there is no such file. */
static uint64_t digest_of(const char *path) {
  uint64_t hash = 14695981039346656037u;
  FILE *file = fopen(path, "rb");
  for (int byte; file && (byte = getc(file)) != EOF;)
    hash = (hash ^ (uint64_t)byte) * 1099511628211u;
  if (file)
    fclose(file);
  return file ? hash : 0;
}

static int make_folders(void) {
  snprintf(root, sizeof root, "/tmp/davit-tool-XXXXXX");
  return mkdtemp(root) && !mkdir(path_of("in"), 0755) && !mkdir(path_of("out"), 0755) ? 0 : -1;
}

/* For run_cases(). */
static int remove_folders(void **state) {
  char command_line[2 * PATH_MAX + 32];
  (void)state;
  snprintf(command_line, sizeof command_line, "rm -rf %s %s.error", root, root);
  return system(command_line);
}

/* ---- in the child ---- */

static void redirect(int descriptor, const char *path, int flags) {
  const int file = open(path, flags, 0666);
  if (file < 0 || dup2(file, descriptor) < 0)
    _exit(99);
  close(file);
}

/* The tool's arguments; `words` is room for them. */
static int split(const char *line, char *words, size_t room, char *argv[MOST_WORDS]) {
  int argc = 1;
  argv[0] = "davit";
  snprintf(words, room, "%s", line);
  for (char *word = strtok(words, " "); word && argc < MOST_WORDS - 1; word = strtok(NULL, " "))
    argv[argc++] = word;
  argv[argc] = NULL;
  return argc;
}

static void begin_tool(void) {
  enum { SECONDS = 100 };
  if (chdir(path_of("out")))
    _exit(99);
  for (int number = 1; number < NSIG; number++) /* cmocka catches some */
    signal(number, SIG_DFL);
  alarm(SECONDS);
}

/* Nothing fails: what is left of INT_MAX tells how often a place was passed. */
static void count_passages(void) {
  for (int kind = 0; kind < DVT_INJECTIONS; kind++)
    dvt_inject((dvt_injection)kind, INT_MAX);
}

#endif
