/* SPDX-License-Identifier: Apache-2.0 */
/* What became slower between two sets of results. */
#include "src/cli/bench_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/bench_text.h"
#include "src/cli/fail.h"

/* ---- two rows ---- */

static bool is_same_device(const cli_result_device *a, const cli_result_device *b) {
  return (!a && !b) || (a && b && !strcmp(a->name, b->name) && a->units == b->units);
}

static bool are_measured_alike(const cli_result_row *a, const cli_result_row *b) {
  return (a->us > 0) == (b->us > 0) && (a->us > 0 || cli_result_unit_of(a) == cli_result_unit_of(b));
}

static double spread(const cli_result_row *row) {
  return row->us > 0 && row->best_us > 0 ? row->us / row->best_us - 1 : 0;
}

static bench_verdict verdict_of(const bench_change *change) {
  if (change->share > change->noise)
    return BENCH_SLOWER;
  return 1 / (1 + change->share) - 1 > change->noise ? BENCH_FASTER : BENCH_SAME;
}

/* Rows that have no time say nothing, but for those that failed. */
static void compare_pair(const cli_result_row *before, const cli_result_row *now, bench_comparison *found) {
  bench_change change = {.before = before, .now = now, .verdict = BENCH_FAILED};
  if (!is_same_device(before->device, now->device)) {
    if (!found->other_device++) {
      found->before = before->device;
      found->now = now->device;
    }
    return;
  }
  const double old = cli_result_cost(before), cost = cli_result_cost(now);
  if (old <= 0 || (cost <= 0 && !now->error))
    return;
  if (cost > 0) {
    if (!are_measured_alike(before, now))
      return;
    change.share = cost / old - 1;
    change.noise = fmax(found->noise, fmax(spread(before), spread(now)));
    change.verdict = verdict_of(&change);
  }
  found->changes[found->count++] = change;
  found->counts[change.verdict]++;
}

/* ---- all rows ---- */

/* Rows of one set that measured the same: [begin, end) of the sorted ones. */
typedef struct run {
  const cli_results *set;
  size_t begin, end, own; /* `own`: of davit */
} run;

static void next_run(run *r) {
  r->begin = r->end;
  r->own = 0;
  cli_result_row *const *rows = r->set->sorted;
  while (r->end < r->set->row_count && !cli_result_order(rows[r->begin], rows[r->end]))
    r->own += !*rows[r->end++]->side;
}

static int compare_runs(const run *a, const run *b) {
  const bool a_ends = a->begin == a->set->row_count, b_ends = b->begin == b->set->row_count;
  return a_ends || b_ends ? a_ends - b_ends
                          : cli_result_order(a->set->sorted[a->begin], b->set->sorted[b->begin]);
}

/* The next row of davit from `at` on. */
static const cli_result_row *own_row(const run *r, size_t *at) {
  while (*r->set->sorted[*at]->side)
    ++*at;
  return r->set->sorted[(*at)++];
}

static int compare_benchmarks(const void *name, const void *row) {
  return strcmp(name, (*(cli_result_row *const *)row)->result->benchmark);
}

/* The run's rows of davit, if the other set has the benchmark. */
static size_t alone(const run *r, const cli_results *other) {
  const char *name = r->set->sorted[r->begin]->result->benchmark;
  return bsearch(name, other->sorted, other->row_count, sizeof *other->sorted, compare_benchmarks) ? r->own
                                                                                                   : 0;
}

static void compare_run(const run *before, const run *now, bench_comparison *found) {
  size_t i = before->begin, k = now->begin;
  if (before->own != now->own) {
    found->gone += before->own;
    found->added += now->own;
    return;
  }
  for (size_t row = 0; row < now->own; row++) {
    const cli_result_row *old = own_row(before, &i);
    compare_pair(old, own_row(now, &k), found);
  }
}

static int by_size(const void *left, const void *right) {
  const bench_change *a = left, *b = right;
  const double x = fabs(log1p(a->share)), y = fabs(log1p(b->share));
  if (a->verdict != b->verdict)
    return a->verdict < b->verdict ? -1 : 1;
  return x != y ? (x < y) - (x > y)
                : (a->now->ordinal > b->now->ordinal) - (a->now->ordinal < b->now->ordinal);
}

static const cli_result_device *first_device(const cli_results *results) {
  const cli_result_device *device = NULL;
  for (size_t i = 0; i < results->row_count && !device; i++)
    device = results->sorted[i]->device;
  return device;
}

int bench_compare(const cli_results *before, const cli_results *now, double noise, bench_comparison *found) {
  run old = {.set = before}, new = {.set = now};
  *found = (bench_comparison){
      .path = before->path, .noise = noise, .before = first_device(before), .now = first_device(now)};
  found->changes = dvt_allocate(now->row_count + 1, sizeof *found->changes);
  found->of_row = dvt_allocate(now->row_count + 1, sizeof *found->of_row);
  if (!found->changes || !found->of_row)
    return cli_fail(CLI_DEVICE, "%s: not enough memory to compare its rows", before->path);
  next_run(&old);
  next_run(&new);
  while (old.begin < before->row_count || new.begin < now->row_count) {
    const int order = compare_runs(&old, &new);
    if (order == 0)
      compare_run(&old, &new, found);
    found->gone += order < 0 ? alone(&old, now) : 0;
    found->added += order > 0 ? alone(&new, before) : 0;
    if (order <= 0)
      next_run(&old);
    if (order >= 0)
      next_run(&new);
  }
  qsort(found->changes, found->count, sizeof *found->changes, by_size);
  for (size_t i = 0; i < found->count; i++)
    found->of_row[found->changes[i].now->ordinal] = &found->changes[i];
  return CLI_OK;
}

void bench_comparison_free(bench_comparison *found) {
  free(found->changes);
  free(found->of_row);
  *found = (bench_comparison){.path = NULL};
}

/* ---- report ---- */

static const char *const words[] = {"slower", "failed", "faster", "same"};

static void print_change(const bench_change *change, FILE *file) {
  fprintf(file, "%s\t", words[change->verdict]);
  if (change->verdict == BENCH_FAILED)
    putc('-', file);
  else
    bench_write_change(file, change->share);
  fprintf(file, "\t%.1f %%\t", 100 * change->noise);
  bench_write_cost(file, change->before);
  putc('\t', file);
  bench_write_cost(file, change->now);
  putc('\t', file);
  bench_write_name(file, change->now, true, cli_write_plain);
  putc('\n', file);
}

void bench_comparison_print(const bench_comparison *found, FILE *file) {
  fputs("verdict\tchange\tnoise\tbefore\tnow\trow\n", file);
  for (size_t i = 0; i < found->count; i++)
    if (found->changes[i].verdict != BENCH_SAME)
      print_change(&found->changes[i], file);
}

static void json_change(const bench_change *change, cli_json *json) {
  cli_json_open_object(json, NULL);
  cli_json_string(json, "benchmark", change->now->result->benchmark);
  cli_json_string(json, "row", change->now->label);
  if (change->now->size_name)
    cli_json_real(json, "size", change->now->size);
  if (change->before->us > 0)
    cli_json_real(json, "before_us", change->before->us);
  if (change->now->us > 0)
    cli_json_real(json, "now_us", change->now->us);
  if (change->verdict != BENCH_FAILED)
    cli_json_real(json, "change", change->share);
  if (change->verdict != BENCH_FAILED)
    cli_json_real(json, "noise", change->noise);
  cli_json_close_object(json);
}

void bench_comparison_json(const bench_comparison *found, cli_json *json) {
  size_t next = 0;
  cli_json_open_object(json, "comparison");
  cli_json_string(json, "file", found->path);
  cli_json_real(json, "noise", found->noise);
  cli_json_integer(json, "rows", (int64_t)found->count);
  cli_json_integer(json, "gone", (int64_t)found->gone);
  cli_json_integer(json, "added", (int64_t)found->added);
  cli_json_integer(json, "other_device", (int64_t)found->other_device);
  for (bench_verdict verdict = BENCH_SLOWER; verdict < BENCH_SAME; verdict++) {
    cli_json_open_array(json, words[verdict]);
    for (; next < found->count && found->changes[next].verdict == verdict; next++)
      json_change(&found->changes[next], json);
    cli_json_close_array(json);
  }
  cli_json_close_object(json);
}

/* ---- exit code ---- */

/* "NVIDIA H200 with 132 compute units" */
static void describe(const cli_result_device *device, char text[static 256]) {
  const double units = device ? device->units : 0;
  snprintf(text, 256, "%.200s with %.0f compute unit%s", device ? device->name : "a device without a name",
           units, units > 1 || units < 1 ? "s" : "");
}

static void complain_of_nothing(const bench_comparison *found) {
  char before[256], now[256];
  describe(found->before, before);
  describe(found->now, now);
  if (is_same_device(found->before, found->now))
    cli_fail(CLI_INPUT, "%s: expected rows that measured the same as the new ones, found none", found->path);
  else
    cli_fail(CLI_INPUT, "%s: expected results of the same devices, found %s, here %s", found->path, before,
             now);
}

static void complain_of_worse(const bench_comparison *found) {
  const bench_change *worst = &found->changes[0];
  const char *heading = bench_heading(worst->now);
  char size[64] = "", change[64] = "fails now", failed[64] = "";
  if (worst->now->size_name)
    snprintf(size, sizeof size, ", %s %.15g", worst->now->size_name, worst->now->size);
  if (worst->verdict == BENCH_SLOWER)
    snprintf(change, sizeof change, "takes %.3g times as long", 1 + worst->share);
  if (found->counts[BENCH_FAILED])
    snprintf(failed, sizeof failed, ", and %zu failed", found->counts[BENCH_FAILED]);
  cli_fail(CLI_FAILED, "%zu of %zu row%s became slower than in %s%s; the worst: %s%s%s%s %s",
           found->counts[BENCH_SLOWER], found->count, CLI_PLURAL(found->count), found->path, failed, heading,
           *heading ? ": " : "", worst->now->label, size, change);
}

int bench_comparison_code(const bench_comparison *found) {
  if (!found->count)
    return CLI_INPUT;
  return found->counts[BENCH_SLOWER] || found->counts[BENCH_FAILED] ? CLI_FAILED : CLI_OK;
}

void bench_comparison_complain(const bench_comparison *found) {
  const int code = bench_comparison_code(found);
  if (code == CLI_INPUT)
    complain_of_nothing(found);
  else if (code == CLI_FAILED)
    complain_of_worse(found);
}
