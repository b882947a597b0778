/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/same.h"

#include <string.h>

#include "src/cli/frame/options.h"
#include "src/cli/frame/output.h"
#include "src/cli/ranks.h"

static uint64_t add_text(uint64_t digest, const char *text) {
  return text ? cli_ranks_digest(digest, strlen(text) + 1, text) : digest;
}

static uint64_t digest_devices(const char *devices) {
  const bool reference = devices && !strcmp(devices, "cpu");
  return cli_ranks_digest(CLI_RANKS_DIGEST, sizeof reference, &reference);
}

/* A member that may have padding. */
static uint64_t add_real(uint64_t digest, const cli_option *row, const void *member) {
  if (!row->choices)
    return cli_ranks_digest(digest, sizeof(double), member);
  const cli_real_or_choice *value = member;
  digest = cli_ranks_digest(digest, sizeof value->value, &value->value);
  return cli_ranks_digest(digest, sizeof value->chosen, &value->chosen);
}

static uint64_t add_value(uint64_t digest, const cli_option *row, const void *member) {
  switch (row->kind) {
  case CLI_TEXT:
    return row->words ? add_text(digest, *(const char *const *)member) : digest;
  case CLI_LIST:
    return cli_ranks_digest(digest, sizeof(int), &((const cli_list *)member)->count);
  case CLI_OUTPUT:
    return add_text(digest, ((const cli_output *)member)->path);
  case CLI_REAL:
    return add_real(digest, row, member);
  default:
    return cli_ranks_digest(digest, row->bytes, member);
  }
}

static bool is_own(const cli_option *row) {
  static const char *const names[] = {"--threads", "--trace", "-f", "-v", "--quiet"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(row->name, names[i]))
      return true;
  return false;
}

/* An option that is given with the value of its default is the same as one that is not. */
static uint64_t digest_option(const cli_option *row, const void *state, bool given) {
  const void *member = (const char *)state + row->at;
  if (is_own(row))
    return CLI_RANKS_DIGEST;
  if (!strcmp(row->name, "--devices"))
    return digest_devices(*(const char *const *)member);
  const bool counts = given && (!row->value || row->kind == CLI_OUTPUT);
  return add_value(cli_ranks_digest(CLI_RANKS_DIGEST, sizeof counts, &counts), row, member);
}

static uint64_t digest_operand(const cli_place *place, const void *state) {
  const void *member = (const char *)state + place->at;
  const int count = place->many ? ((const cli_list *)member)->count : *(const char *const *)member != NULL;
  return cli_ranks_digest(CLI_RANKS_DIGEST, sizeof count, &count);
}

int cli_options_compare(const cli_command *command, const void *state) {
  const cli_common *common = state;
  const char *other = NULL; /* the first that differs; all ranks compare all of them */
  const cli_option *row;
  if (!cli_ranks_several())
    return CLI_OK;
  for (int i = 0; (row = cli_option_row(command, i)); i++)
    if (!cli_ranks_same(digest_option(row, state, common->given >> i & 1)) && !other)
      other = row->name;
  for (const cli_place *place = command->operands; place && place->name; place++)
    if (!cli_ranks_same(digest_operand(place, state)) && !other)
      other = place->name;
  return other ? cli_fail(CLI_USAGE, "its %s differs from rank 0's", other) : CLI_OK;
}
