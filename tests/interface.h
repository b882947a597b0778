/* SPDX-License-Identifier: Apache-2.0 */
/* A table of all public functions of libdavit, and what the tests of their rules (docs/interface.md) share.
 *
 * A row is one call with valid arguments, each given by a letter. The n-th argument of a call that is tried takes an
 * extreme value in place of its own. */
#ifndef DAVIT_TESTS_INTERFACE_H
#define DAVIT_TESTS_INTERFACE_H

#include "tests/elements.h"

typedef struct row {
  const char *name;
  davit_status (*call)(void);
} row;
extern row rows[400];
extern int row_count;
#define EACH_ROW(r) for (const row *r = rows; r < rows + row_count; r++)
void add_row(const char *name, davit_status (*call)(void));

/* Of the queue with a device in its options. */
bool is_queue_form(const row *r);

/* ---- a call ---- */

/* The argument that takes its `extreme`-th extreme value (-1: none); how many arguments the call had so far, how many
 * extremes that argument has, and from which on they must be refused; the value as a sentence has it, or empty where
 * the sentence need not have it. */
typedef struct turn {
  int argument, extreme, position, extremes, refused_from;
  char value[64];
} turn;
extern turn now;

typedef enum options_choice { OPTIONS_NULL, OPTIONS_ZERO, OPTIONS_RESERVED, OPTIONS_DEVICES } options_choice;
extern options_choice options_mode;
extern int reserved_word; /* that is set in OPTIONS_RESERVED */

/* Where an options struct has its members; device_count 0: it has no devices. */
typedef struct layout {
  size_t reserved, devices, device_count;
  int words;
} layout;
extern layout seen; /* that of the last call; words 0: it has no options */
const void *options_of(layout of);

/* No turn yet, no options seen, no sentence. */
void begin_call(int argument, int extreme);

/* Makes the call with fresh memory, in which a call that fails writes nothing. */
davit_status perform(const row *r, int argument, int extreme);

/* A sentence names the refused argument with its value, as in "m is -1", or says "device 77" of one that this
 * machine has not. That of davit_scan_flags() may be about an element. */
void expect_named(const row *r, int argument, davit_status status);

/* ---- what the calls work on (interface_calls.c) ---- */

int open_calls(void **state);
int close_calls(void **state);
extern davit_queue *calls_queue;

void fill_memory(void);
bool memory_is_filled(void); /* and nothing has been written since */

/* What the last call has left, and whether a later one has left the same. */
void remember_results(void);
bool results_are_as_remembered(void);

#endif
