/* SPDX-License-Identifier: Apache-2.0 */
/* What the study's benchmarks share: the numbers of the JSON document, and times. */
#include "bench/study/tests/study.h"

#include <unistd.h>

#include "bench/study/program.h"

/* ---- numbers ---- */

/* What the function writes to standard output. */
static const char *written(void (*write)(void)) {
  enum { MOST = 4096 };
  char *text = host_memory(MOST, 1);
  FILE *file = tmpfile();
  assert_non_null(file);
  fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  assert_true(before >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
  write();
  fflush(stdout);
  assert_true(dup2(before, STDOUT_FILENO) >= 0);
  close(before);
  rewind(file);
  text[fread(text, 1, MOST - 1, file)] = 0;
  fclose(file);
  return text;
}

static void write_counts(void) {
  bench_row();
  bench_number("power", 0x1p28);
  bench_number("nine", 123456789);
  bench_number("less", -987654321);
  bench_number("largest", 0x1p53 - 1);
  study_begin_table("counts", "of rows");
  study_row();
  study_number("comparators", 0, 873463808);
  study_number("none", 0, NAN);
}

static void write_rates(void) {
  bench_row();
  bench_number("third", 1 / 3.0);
  bench_number("huge", 0x1p80);
  bench_number("infinite", INFINITY);
  bench_text("name", "a \"b\" \\");
}

/* Eight digits would spoil each of these counts. */
CASE(test_counts_are_exact) {
  const char *text = written(write_counts);
  static const char *const wanted[] = {"\"power\": 268435456",       "\"nine\": 123456789",
                                       "\"less\": -987654321",       "\"largest\": 9007199254740991",
                                       "\"comparators\": 873463808", "\"none\": null"};
  for (int i = 0; i < COUNT(wanted); i++)
    assert_non_null(strstr(text, wanted[i]));
}

CASE(test_other_numbers) {
  const char *text = written(write_rates);
  static const char *const wanted[] = {"\"third\": 0.33333333", "\"huge\": 1.2089258e+24",
                                       "\"infinite\": null", "\"name\": \"a \\\"b\\\" \\\\\""};
  for (int i = 0; i < COUNT(wanted); i++)
    assert_non_null(strstr(text, wanted[i]));
}

/* ---- times ---- */

typedef struct clockwork {
  int *runs;
  const double *ms;
  double part;
} clockwork;

static double tick(void *argument) {
  clockwork *c = argument;
  c->part = c->ms[(*c->runs)++];
  return c->part;
}

/* Measures a program whose runs take `ms` each, one after another. */
static study_time measured(int repeats, double cell_ms, const double *ms, double *part, int *runs) {
  const study_options o = {.repeats = repeats, .cell_ms = cell_ms};
  clockwork c = {runs, ms, NAN};
  *runs = 0;
  const study_time t = study_measure(&o, tick, &c, sizeof c);
  *part = c.part;
  return t;
}

/* The first run is not counted. What is left is that of the median run, not of the last one. */
CASE(test_median_run) {
  static const double ms[] = {900, 5, 2, 3, 1, 4};
  double part;
  int runs;
  const study_time odd = measured(5, 0, ms, &part, &runs);
  assert_true(odd.median == 3 && odd.mean == 3 && odd.best == 1 && odd.repeats == 5 && part == 3 &&
              runs == 6);
  const study_time even = measured(4, 0, ms, &part, &runs);
  assert_true(even.median == 2 && even.mean == 2.75 && even.repeats == 4 && part == 2);
  const study_time one = measured(1, 0, ms, &part, &runs);
  assert_true(one.median == 900 && one.repeats == 1 && part == 900 && runs == 1);
}

/* As many repeats as fit; a run that takes longer than that is the result itself. */
CASE(test_seconds_of_a_figure) {
  static const double ms[] = {100, 7, 8, 9, 7, 7};
  double part;
  int runs;
  assert_int_equal(measured(5, 500, ms, &part, &runs).repeats, 5);
  assert_int_equal(measured(5, 399, ms, &part, &runs).repeats, 3);
  assert_true(part == 8 && runs == 4);
  assert_int_equal(measured(5, 100, ms, &part, &runs).repeats, 1);
  assert_true(part == 7 && runs == 2);
  assert_int_equal(measured(5, 99, ms, &part, &runs).repeats, 1);
  assert_true(part == 100 && runs == 1);
}
