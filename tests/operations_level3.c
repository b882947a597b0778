/* SPDX-License-Identifier: Apache-2.0 */
/* The row of level 3 of BLAS: every routine, type and combination of flags has a case. */
#include <ctype.h>

#include "tests/operations.h"
#include "tests/problem.h"

enum { C = 2, MOST_FLAGS = 320, LARGE = 300 };

static problem kinds[MOST_FLAGS];
static int kind_count;

static void add_kind(problem *p) {
  assert_true(kind_count < MOST_FLAGS);
  kinds[kind_count++] = *p;
}

static problem problem_of(const trial *t) {
  if (kind_count == 0)
    for (int i = 0; i < COUNT(problem_types); i++)
      each_flags(problem_types[i], add_kind);
  problem p = kinds[t->number % kind_count];
  set_sizes(&p, t->size[0], t->size[1], t->size[2]);
  set_factors(&p, t->which);
  return p;
}

/* Some sizes are 0. Tiles are small, and in every other case no longer than a device's few slots hold. One real case of
 * 50 is large. */
static void draw(trial *t, uint64_t *seed) {
  const problem p = problem_of(t);
  const bool is_large = t->number % 50 == 7 && !is_complex_type(p.type);
  t->type = p.type;
  memcpy(t->flag, (char[6]){p.side, p.uplo, p.transa, p.transb, p.diag, (char)('0' + p.routine)},
         sizeof t->flag);
  for (int i = 0; i < COUNT(t->size); i++)
    t->size[i] = is_large ? 20 + draw_length(seed, LARGE) : draw_length(seed, t->number % 4 ? 40 : 90);
  t->which = random_below(seed, 2) ? 15 : random_below(seed, 16);
  t->tile = is_large ? 64 : 8 * random_below(seed, 4);
  t->lower_case = random_below(seed, 4) == 0;
  t->slots = random_below(seed, 3) ? 0 : 18;
  t->tile = t->slots ? t->tile + (t->tile == 0) * 8 : t->tile;
  t->written = 1 << C;
}

static void make(const trial *t, const int places[OPERANDS], dense *o) {
  const problem p = problem_of(t);
  problem_make(&p, places, t->data, o);
}

static davit_status call(const trial *t, const dense *o, davit_queue *queue, const int *devices, int count) {
  const problem p = problem_of(t);
  dvt_level3 g = problem_arguments(&p, o);
  if (t->lower_case) {
    char *const flags[] = {&g.side, &g.uplo, &g.transa, &g.transb, &g.diag};
    for (int i = 0; i < COUNT(flags); i++)
      *flags[i] = (char)tolower(*flags[i]);
  }
  const davit_level3_options options = {.devices = devices,
                                        .device_count = count,
                                        .tile = t->tile,
                                        .separate_memory = t->slots || t->tile == 16,
                                        .cache_bytes = (size_t)(t->slots * t->tile * t->tile) *
                                                       davit_type_bytes(p.type)};
  return call_level3(&g, queue, queue ? NULL : &options);
}

static void expect(const trial *t, dense *o) {
  const problem p = problem_of(t);
  problem_expect(&p, o);
}

const operation level3_operation = {.name = "level3",
                                    .cases = 1600,
                                    .least = 308,
                                    .operands = 3,
                                    .draw = draw,
                                    .make = make,
                                    .call = call,
                                    .expect = expect};
