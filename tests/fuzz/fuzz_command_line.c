/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: the name of a command and its arguments, each ended by a line feed. What is accepted gives
 * values in their ranges and, written as `--name=value` for every option and operands after `--`, the same
 * values. The devices of --devices are devices of this machine. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/frame/device_set.h"
#include "src/cli/frame/options.h"
#include "src/cli/frame/output.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_ARGUMENTS = 256 };

typedef struct line {
  int count;
  char *words[2 * MOST_ARGUMENTS]; /* the last one is NULL */
  char *text;                      /* behind the words */
} line;

/* ---- commands ---- */

static const cli_command *find_command(const char *name) {
#define FIND(command)                                                                                        \
  if (!strcmp(#command, name))                                                                               \
    return &cli_command_##command;
  CLI_COMMANDS(FIND)
#undef FIND
  return NULL;
}

static const void *value_of(const cli_option *row, const void *state) {
  return (const char *)state + row->at;
}

static int64_t whole_of(const cli_option *row, const void *state) {
  const void *at = value_of(row, state);
  return row->bytes == sizeof(int) ? *(const int *)at : *(const int64_t *)at;
}

/* ---- lines ---- */

static void split(fuzz_text text, line *to) {
  to->count = 0;
  to->text = malloc(text.size + 1);
  FUZZ_REQUIRE(to->text);
  memcpy(to->text, text.bytes, text.size);
  to->text[text.size] = 0;
  for (char *at = to->text; at < to->text + text.size && to->count < MOST_ARGUMENTS;) {
    to->words[to->count++] = at;
    at += strcspn(at, "\n");
    *at++ = 0;
  }
  to->words[to->count] = NULL;
}

static void add_word(line *to, const char *before, const char *word) {
  FUZZ_REQUIRE(to->count < 2 * MOST_ARGUMENTS - 1);
  char *text = malloc(strlen(before) + strlen(word) + 1);
  FUZZ_REQUIRE(text);
  to->words[to->count++] = strcat(strcpy(text, before), word);
  to->words[to->count] = NULL;
}

static void add_value(line *to, const cli_option *row, const char *value) {
  char before[64];
  snprintf(before, sizeof before, "%s=", row->name);
  add_word(to, before, value);
}

/* The name of the choice that the value stands for, or NULL. */
static const char *choice_of(const cli_option *row, const void *state) {
  const int chosen = row->kind == CLI_REAL    ? ((const cli_real_or_choice *)value_of(row, state))->chosen
                     : row->kind == CLI_WHOLE ? (int)whole_of(row, state)
                                              : *(const int *)value_of(row, state);
  for (const cli_choice *choice = row->choices; choice && choice->name; choice++)
    if (choice->value == chosen && (row->kind != CLI_WHOLE || whole_of(row, state) == chosen))
      return choice->name;
  return NULL;
}

static void add_number(line *to, const cli_option *row, const void *state) {
  char text[80];
  if (row->kind == CLI_REAL)
    snprintf(text, sizeof text, "%.17g", *(const double *)value_of(row, state));
  else if (row->kind == CLI_COMPLEX)
    snprintf(text, sizeof text, "%.17g%+.17gj", ((const double *)value_of(row, state))[0],
             ((const double *)value_of(row, state))[1]);
  else if (row->maximum > 0x1p63)
    snprintf(text, sizeof text, "%" PRIu64, *(const uint64_t *)value_of(row, state));
  else
    snprintf(text, sizeof text, "%" PRId64, whole_of(row, state));
  add_value(to, row, text);
}

static void add_option(line *to, const cli_option *row, const void *state) {
  const void *at = value_of(row, state);
  const bool may_choose = row->choices && row->kind != CLI_TEXT && row->kind != CLI_OUTPUT;
  const char *choice = may_choose ? choice_of(row, state) : NULL;
  if (row->kind == CLI_FLAG)
    add_word(to, row->name, "");
  else if (row->kind == CLI_LIST)
    for (int i = 0; i < ((const cli_list *)at)->count; i++)
      add_value(to, row, ((const cli_list *)at)->values[i]);
  else if (row->kind == CLI_TEXT)
    add_value(to, row, *(const char *const *)at);
  else if (row->kind == CLI_OUTPUT)
    add_value(to, row, ((const cli_output *)at)->path);
  else if (choice)
    add_value(to, row, choice);
  else
    add_number(to, row, state);
}

static void add_operands(line *to, const cli_command *command, const void *state) {
  add_word(to, "--", "");
  for (const cli_place *place = command->operands; place && place->name; place++) {
    const void *at = (const char *)state + place->at;
    const char *const *values = place->many ? ((const cli_list *)at)->values : at;
    const int count = place->many ? ((const cli_list *)at)->count : *values != NULL;
    for (int i = 0; i < count; i++)
      add_word(to, "", values[i]);
  }
}

/* The line that the values stand for. */
static void write_line(const cli_command *command, const void *state, line *to) {
  const cli_option *row;
  *to = (line){0};
  add_word(to, command->name, "");
  for (int i = 0; (row = cli_option_row(command, i)); i++)
    if (((const cli_common *)state)->given >> i & 1)
      add_option(to, row, state);
  add_operands(to, command, state);
}

/* ---- checks ---- */

static void check_range(const cli_option *row, const void *state) {
  if ((row->kind != CLI_WHOLE && row->kind != CLI_REAL) || (row->choices && choice_of(row, state)))
    return;
  const double value = row->kind == CLI_REAL   ? *(const double *)value_of(row, state)
                       : row->maximum > 0x1p63 ? (double)*(const uint64_t *)value_of(row, state)
                                               : (double)whole_of(row, state);
  const bool bounded = row->maximum > row->minimum;
  if (row->kind == CLI_WHOLE || bounded)
    FUZZ_REQUIRE(row->above ? value > row->minimum : value >= row->minimum);
  if (bounded)
    FUZZ_REQUIRE(value <= row->maximum);
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && !strcmp(a, b));
}

static bool same_list(const cli_list *a, const cli_list *b) {
  bool same = a->count == b->count;
  for (int i = 0; same && i < a->count; i++)
    same = same_text(a->values[i], b->values[i]);
  return same;
}

static bool same_number(double a, double b) {
  return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

static bool same_value(const cli_option *row, const void *a, const void *b) {
  const void *x = value_of(row, a), *y = value_of(row, b);
  switch (row->kind) {
  case CLI_LIST:
    return same_list(x, y);
  case CLI_TEXT:
    return same_text(*(const char *const *)x, *(const char *const *)y);
  case CLI_OUTPUT:
    return same_text(((const cli_output *)x)->path, ((const cli_output *)y)->path);
  case CLI_REAL:
    return !memcmp(x, y, row->bytes) || isnan(*(const double *)x);
  case CLI_COMPLEX:
    return same_number(((const double *)x)[0], ((const double *)y)[0]) &&
           same_number(((const double *)x)[1], ((const double *)y)[1]);
  default:
    return !memcmp(x, y, row->bytes);
  }
}

static void check_same(const cli_command *command, const void *a, const void *b) {
  const cli_option *row;
  FUZZ_REQUIRE(((const cli_common *)a)->given == ((const cli_common *)b)->given);
  for (int i = 0; (row = cli_option_row(command, i)); i++)
    FUZZ_REQUIRE(same_value(row, a, b));
  for (const cli_place *place = command->operands; place && place->name; place++) {
    const void *x = (const char *)a + place->at, *y = (const char *)b + place->at;
    FUZZ_REQUIRE(place->many ? same_list(x, y) : same_text(*(const char *const *)x, *(const char *const *)y));
  }
}

static void check_devices(const cli_command *command, const cli_common *common) {
  cli_device_set set;
  if (!(command->common & CLI_COMMON_DEVICES) ||
      fuzz_code(cli_device_set_parse(common->devices, &set)) != CLI_OK)
    return;
  FUZZ_REQUIRE(set.count >= 1 && set.count <= CLI_MAX_DEVICES);
  for (int i = 0; i < set.count; i++)
    for (int k = 0; k < i; k++)
      FUZZ_REQUIRE(set.ids[i] != set.ids[k]);
}

/* ---- runs ---- */

static void *parse(const cli_command *command, line *line, int *code) {
  void *state = calloc(1, command->state);
  FUZZ_REQUIRE(state);
  *code = fuzz_code(cli_options_parse(command, line->count, line->words, state));
  return state;
}

static void check(const cli_command *command, const void *state) {
  const cli_option *row;
  int code;
  line written;
  for (int i = 0; (row = cli_option_row(command, i)); i++)
    if (((const cli_common *)state)->given >> i & 1)
      check_range(row, state);
  check_devices(command, state);
  write_line(command, state, &written);
  void *again = parse(command, &written, &code);
  FUZZ_REQUIRE(code == CLI_OK);
  check_same(command, state, again);
  cli_options_free(command, again);
  free(again);
  for (int i = 0; i < written.count; i++)
    free(written.words[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  line given;
  split(fuzz_expand(data, size), &given);
  const cli_command *command = given.count ? find_command(given.words[0]) : NULL;
  if (command) {
    int code;
    void *state = parse(command, &given, &code);
    if (code == CLI_OK)
      check(command, state);
    cli_options_free(command, state);
    free(state);
  }
  free(given.text);
  return 0;
}
