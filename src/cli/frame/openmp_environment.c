/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables of the OpenMP runtimes.
 *
 * A shared library's constructor runs before main(), and libdavit's starts the runtime, because it registers its code
 * for devices. What stands in .preinit_array of the program comes before all constructors. Neither libc nor a sanitizer
 * need be ready then: this file reads the environment that it is given, and calls nothing that allocates. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/cli/frame/openmp_environment.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "src/base/team.h"
#include "src/base/text.h"

#define EARLY __attribute__((no_sanitize("address", "thread", "undefined")))

/* Stacks: loops of align crash with 16 KiB, which LLVM's runtime allows, and work with 64. Threads: LLVM's runtime
 * needs 3 in all, and 8 more where nowait regions use all threads that they may have. */
enum { SMALLEST_STACK = 256 << 10, LEAST_THREADS = 16 };

/* A number, in bytes if `unit` is not 0: what a number without a letter counts. Or several with commas between them. If
 * `maximum` is 0, a word that switches nothing on. */
typedef struct variable {
  const char *name;
  uint64_t minimum, maximum, unit;
  bool list;
  const char *expected;
} variable;

#define LIMIT LEAST_THREADS, UINT64_MAX, 0, false, "a whole number of at least 16"
#define STACK(unit)                                                                                          \
  SMALLEST_STACK, UINT64_MAX, unit, false,                                                                   \
      "a size from 256k up to what the machine's memory allows, such as 8M"
static const variable variables[] = {
    {"OMP_NUM_THREADS", 1, DVT_MAX_THREADS, 0, true,
     "whole numbers from 1 to 1024, with commas between them"},
    {"KMP_DEVICE_THREAD_LIMIT", LIMIT},
    {"KMP_ALL_THREADS", LIMIT},
    {"KMP_MAX_THREADS", LIMIT},
    {"OMP_STACKSIZE", STACK(1 << 10)},
    {"GOMP_STACKSIZE", STACK(1 << 10)},
    {"KMP_STACKSIZE", STACK(1)},
    {"OMP_DISPLAY_AFFINITY", 0, 0, 0, false, "false (LLVM's runtime prints to standard output)"},
};
enum { VARIABLES = sizeof variables / sizeof *variables };

_Static_assert(DVT_MAX_THREADS == 1024 && LEAST_THREADS == 16 && SMALLEST_STACK == 256 << 10,
               "the texts name these limits");

static const char *refused[VARIABLES]; /* its value in the environment that the process got */

/* ---- values ---- */

EARLY static const char *skip_blanks(const char *text) {
  while (*text == ' ' || *text == '\t')
    text++;
  return text;
}

/* A whole number behind blanks; UINT64_MAX if it is above that, NULL if there is none. */
EARLY static const char *read_whole(const char *text, uint64_t *value) {
  text = skip_blanks(text);
  if (*text < '0' || *text > '9')
    return NULL;
  for (*value = 0; *text >= '0' && *text <= '9'; text++)
    if (__builtin_mul_overflow(*value, 10, value) ||
        __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
      *value = UINT64_MAX / 10; /* and so it stays above all limits */
  return skip_blanks(text);
}

/* Whether a mapping of that size, as a thread's stack is one, can be made. */
EARLY static bool can_be_mapped(size_t bytes) {
  void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  return stack != MAP_FAILED && munmap(stack, bytes) == 0;
}

/* The bytes that a number and the letter behind it, if there is one, stand for. */
EARLY static const char *read_unit(const char *text, uint64_t unit, uint64_t *value) {
  static const char letters[] = "bkmgt";
  for (int i = 0; letters[i]; i++)
    if ((*text | 0x20) == letters[i]) {
      unit = UINT64_C(1) << 10 * i;
      text = skip_blanks(text + 1);
      break;
    }
  return __builtin_mul_overflow(*value, unit, value) ? NULL : text;
}

/* Whether LLVM's runtime takes the text for true: it knows several words, in capitals or not, and shortens them. */
EARLY static bool switches_on(const char *text) {
  text = skip_blanks(text);
  const int first = *text | 0x20, second = first == 'o' || first == '.' ? text[1] | 0x20 : 0;
  return first == 't' || first == 'y' || first == 'e' || first == '1' || second == 'n' || second == 't';
}

EARLY static bool is_good(const variable *v, const char *text) {
  uint64_t value;
  if (!v->maximum)
    return !switches_on(text);
  for (;; text++) {
    text = read_whole(text, &value);
    if (text && v->unit)
      text = read_unit(text, v->unit, &value);
    if (!text || value < v->minimum || value > v->maximum)
      return false;
    if (!v->list || *text != ',')
      return !*text && (!v->unit || can_be_mapped(value));
  }
}

/* ---- the environment ---- */

/* The value in "NAME=value" if NAME is the variable's, else NULL. */
EARLY static const char *value_of(const char *entry, const char *name) {
  while (*name && *entry == *name)
    entry++, name++;
  return !*name && *entry == '=' ? entry + 1 : NULL;
}

EARLY static bool is_refused(const char *entry) {
  for (int i = 0; i < VARIABLES; i++) {
    const char *value = value_of(entry, variables[i].name);
    if (value && !is_good(&variables[i], value)) {
      refused[i] = value;
      return true;
    }
  }
  return false;
}

EARLY static void check(int argc, char **argv, char **environment) {
  char **kept = environment;
  (void)argc, (void)argv;
  for (char **entry = environment; *entry; entry++)
    if (!is_refused(*entry))
      *kept++ = *entry;
  *kept = NULL;
}

__attribute__((section(".preinit_array"), used)) static void (*const before_constructors)(int, char **,
                                                                                          char **) = check;

void cli_openmp_environment_report(void) {
  for (int i = 0; i < VARIABLES; i++)
    if (refused[i]) {
      char value[64];
      snprintf(value, sizeof value, "%s", refused[i]);
      dvt_make_printable(value);
      fprintf(stderr, "davit: %s is \"%s\", not %s: it is ignored\n", variables[i].name, value,
              variables[i].expected);
    }
}
