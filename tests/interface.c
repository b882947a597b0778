/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/interface.h"
#include "tests/prototypes.h"

#include <ctype.h>

row rows[480];
int row_count;
turn now;
options_choice options_mode;
int reserved_word;
layout seen;

void add_row(const char *name, davit_status (*call)(void)) {
  rows[row_count++] = (row){name, call};
}

bool is_queue_form(const row *r) {
  return strncmp(r->name, "davit_queue_", 12) == 0;
}

const void *options_of(layout of) {
  static _Alignas(16) char memory[512];
  static const int host = DAVIT_HOST;
  seen = of;
  memset(memory, 0, sizeof memory);
  if (options_mode == OPTIONS_RESERVED)
    ((uint64_t *)(void *)(memory + of.reserved))[reserved_word] = 7;
  if (options_mode == OPTIONS_DEVICES && of.device_count > 0) {
    *(const int **)(void *)(memory + of.devices) = &host;
    *(int *)(void *)(memory + of.device_count) = 1;
  }
  return options_mode == OPTIONS_NULL ? NULL : memory;
}

void begin_call(int argument, int extreme) {
  now = (turn){.argument = argument, .extreme = extreme, .refused_from = INT_MAX};
  seen.words = 0;
  dvt_error_clear();
}

davit_status perform(const row *r, int argument, int extreme) {
  fill_memory();
  begin_call(argument, extreme);
  const davit_status status = r->call();
  if (status != DAVIT_SUCCESS && (!*davit_last_error() || !memory_is_filled()))
    fail_msg("%s, argument %d, extreme %d: \"%s\", memory %s", r->name, argument, extreme, davit_last_error(),
             memory_is_filled() ? "as it was" : "written");
  davit_queue_synchronize(calls_queue); /* work may fail */
  CHECK(davit_device_select(device_count() > 0 ? 0 : DAVIT_HOST));
  return status;
}

void expect_named(const row *r, int argument, davit_status status) {
  char words[160], device[80];
  for (char *c = now.value; *c; c++) /* a sentence has '?' for what cannot be printed */
    if (!isprint((unsigned char)*c))
      *c = 0;
  snprintf(words, sizeof words, "%s is %s", argument_name(r->name, argument), now.value);
  snprintf(device, sizeof device, "device %s", now.value);
  const bool refused = *now.value && (status == DAVIT_INVALID_ARGUMENT || status == DAVIT_UNKNOWN_DEVICE);
  const bool unknown = status == DAVIT_UNKNOWN_DEVICE && strstr(davit_last_error(), device);
  /* Another radius wants other offsets. */
  const bool unfit = strstr(r->name, "_radius") && !strncmp(davit_last_error(), "offsets: ", 9);
  if (refused && !unknown && !unfit && !strstr(r->name, "scan_flags") && !strstr(davit_last_error(), words))
    fail_msg("%s: \"%s\" does not say \"%s\"", r->name, davit_last_error(), words);
}
