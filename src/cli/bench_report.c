/* SPDX-License-Identifier: Apache-2.0 */
/* A page of results: what was measured where, a summary, what became slower, where a peer is faster, and a
 * section for each document with its plots, bars and numbers. */
#include "src/cli/bench_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/bench_page.h"
#include "src/cli/bench_style.h"
#include "src/cli/bench_text.h"
#include "src/cli/fail.h"

/* ---- head ---- */

static void write_head(const bench_page *p) {
  bench_say(
      p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>davit: benchmarks</title>\n<style>\n");
  bench_say(p, bench_style);
  bench_say(p, "</style>\n</head>\n<body>\n<h1>davit: benchmarks</h1>\n");
}

static bool are_equal(const cli_result_device *a, const cli_result_device *b) {
  return !strcmp(a->kind, b->kind) && !strcmp(a->name, b->name) && a->units == b->units &&
         a->memory == b->memory;
}

/* How many of the devices equal device number `which`; 0 if an earlier one does. */
static size_t count_equal(const cli_result *result, size_t which) {
  size_t count = 0;
  for (size_t i = 0; i < result->device_count; i++) {
    const bool equal = are_equal(&result->devices[i], &result->devices[which]);
    if (equal && i < which)
      return 0;
    count += equal;
  }
  return count;
}

/* Whether the machines are described alike, from the first accelerator to the last device. */
static bool is_same_machine(const cli_result *a, const cli_result *b) {
  bool same = a->device_count == b->device_count;
  for (size_t i = 0; same && i < a->device_count; i++)
    same = are_equal(&a->devices[i], &b->devices[i]);
  return same;
}

static void write_device(const bench_page *p, const cli_result_device *device, size_t count) {
  if (count > 1)
    fprintf(p->file, "%zu × ", count);
  bench_say_text(p, *device->name ? device->name : "unknown device");
  bench_say(p, " (");
  bench_say_text(p, device->kind);
  if (device->units > 0)
    fprintf(p->file, ", %.0f compute unit%s", device->units, device->units > 1 ? "s" : "");
  if (device->memory > 0) {
    bench_say(p, ", ");
    bench_write_digits(p->file, device->memory / (1 << 30));
    bench_say(p, " GiB");
  }
  bench_say(p, ")");
}

static void write_machine(const bench_page *p, const cli_result *result) {
  bench_say(p, "<ul>");
  for (int pass = 0; pass < 2; pass++) /* accelerators first */
    for (size_t i = 0; i < result->device_count; i++) {
      const size_t count = count_equal(result, i);
      if (!count || bench_is_accelerator(&result->devices[i]) != !pass)
        continue;
      bench_say(p, "<li>");
      write_device(p, &result->devices[i], count);
      bench_say(p, "</li>");
    }
  bench_say(p, "</ul>\n");
}

static void write_machines(const bench_page *p) {
  enum { MOST = 16 };
  int count = 0;
  bench_say(p, "<h3>Devices</h3>\n");
  for (size_t i = 0; i < p->results->count && count < MOST; i++) {
    const cli_result *result = &p->results->documents[i];
    bool known = false;
    for (size_t k = 0; k < i && k < MOST && !known; k++)
      known = is_same_machine(result, &p->results->documents[k]);
    if (known || !result->device_count)
      continue;
    count++;
    write_machine(p, result);
  }
  if (!count)
    bench_say(p, "<p>The results do not name it.</p>\n");
}

static void write_runs(const bench_page *p) {
  bench_say(p, "<h3>Runs</h3>\n<div class=\"wide\"><table "
               "class=\"words\"><thead><tr><th>benchmark<th>version"
               "<th>date<th>rows<th>command<tbody>\n");
  for (size_t i = 0; i < p->results->count; i++) {
    const cli_result *result = &p->results->documents[i];
    fprintf(p->file, "<tr><td><a href=\"#s%zu\">", i);
    bench_say_text(p, result->benchmark);
    bench_say(p, "</a><td>");
    bench_say_text(p, result->version);
    bench_say(p, "<td>");
    bench_write_date(p, result->date);
    fprintf(p->file, "<td>%zu<td><code>", result->row_count);
    bench_say_text(p, result->command);
    bench_say(p, "</code>\n");
  }
  bench_say(p, "</table></div>\n");
}

/* ---- summary ---- */

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Collects a share of each of davit's rows that has it; their count. They are sorted. */
static size_t collect(const bench_page *p, double (*share)(const cli_result_row *row)) {
  size_t count = 0;
  for (size_t i = 0; i < p->results->row_count; i++) {
    const cli_result_row *row = p->results->sorted[i];
    if (bench_is_ours(row) && share(row) > 0)
      p->numbers[count++] = share(row);
  }
  qsort(p->numbers, count, sizeof *p->numbers, compare_doubles);
  return count;
}

/* Of a row that is the end of a curve, or alone: the limit has no time for starting the work, which small
 * sizes mostly take. */
static double of_limit_at_end(const cli_result_row *row) {
  return row->largest ? bench_of_limit(row) : 0;
}

static double one(const cli_result_row *row) {
  return cli_result_cost(row) > 0;
}

static double middle(const double *sorted, size_t count) {
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void write_tile(const bench_page *p, double value, const char *unit, const char *words) {
  bench_say(p, "<div><b>");
  bench_write_digits(p->file, value);
  fprintf(p->file, "%s</b>%s</div>\n", unit, words);
}

static void write_count_tile(const bench_page *p, const char *class, size_t count, const char *words) {
  fprintf(p->file, "<div%s><b>", class);
  bench_write_count(p->file, (double)count);
  fprintf(p->file, "</b>%s</div>\n", words);
}

static void write_summary(const bench_page *p) {
  bench_say(p, "<div class=\"sum\">\n");
  const size_t rows = collect(p, one);
  write_count_tile(p, "", rows, rows == 1 ? "row of davit" : "rows of davit");
  const size_t ends = collect(p, of_limit_at_end);
  if (ends)
    write_tile(p, 100 * middle(p->numbers, ends), " %", "of the limit in the median of the largest sizes");
  const size_t peers = collect(p, bench_of_peer);
  size_t lost = 0;
  while (lost < peers && p->numbers[lost] < 1)
    lost++;
  if (peers) {
    char words[96];
    write_tile(p, middle(p->numbers, peers), " ×", "the peer's speed in the median");
    snprintf(words, sizeof words, "of %zu row%s with a peer: the peer is faster", peers, CLI_PLURAL(peers));
    write_count_tile(p, "", lost, words);
  }
  if (p->found) {
    const size_t worse = p->found->counts[BENCH_SLOWER] + p->found->counts[BENCH_FAILED];
    write_count_tile(p, worse ? " class=\"bad\"" : "", worse,
                     worse == 1 ? "row became slower or failed" : "rows became slower or failed");
  }
  bench_say(p, "</div>\n");
}

static void write_change(const bench_page *p, const bench_change *change) {
  bench_say(p, "<tr><td>");
  bench_write_name(p->file, change->now, true, cli_write_markup);
  bench_write_share(p, change);
  bench_say(p, "<td>");
  bench_write_cost(p->file, change->now);
  bench_say(p, "<td>");
  bench_write_cost(p->file, change->before);
  fprintf(p->file, "<td>%.1f %%\n", 100 * change->noise);
}

static void write_changes(const bench_page *p, bench_verdict first, bench_verdict last, const char *title) {
  fprintf(
      p->file,
      "<div class=\"wide\"><table><caption>%s</caption><thead><tr><th>row<th>change<th>now<th>before<th>noise"
      "<tbody>\n",
      title);
  for (size_t i = 0; i < p->found->count; i++)
    if (p->found->changes[i].verdict >= first && p->found->changes[i].verdict <= last)
      write_change(p, &p->found->changes[i]);
  bench_say(p, "</table></div>\n");
}

static void write_comparison(const bench_page *p) {
  const bench_comparison *found = p->found;
  if (!found)
    return;
  const size_t worse = found->counts[BENCH_SLOWER] + found->counts[BENCH_FAILED];
  bench_say(p, "<h2 id=\"slower\">What became slower</h2>\n<p>Compared with <code>");
  bench_say_text(p, found->path);
  fprintf(p->file,
          "</code>: of %zu row%s that both have, %zu became slower, %zu failed, %zu became faster, and %zu "
          "are the same within the noise. The noise of a row is %.3g %%, or the spread of one of its two "
          "measurements (median over fastest run) where that is larger.",
          found->count, CLI_PLURAL(found->count), found->counts[BENCH_SLOWER], found->counts[BENCH_FAILED],
          found->counts[BENCH_FASTER], found->counts[BENCH_SAME], 100 * found->noise);
  if (found->gone || found->added)
    fprintf(p->file, " Not compared: %zu row%s of the older results alone, %zu of the new ones alone.",
            found->gone, CLI_PLURAL(found->gone), found->added);
  if (found->other_device)
    fprintf(p->file, " <b class=\"worse\">%zu row%s not compared, because %s of different devices.</b>",
            found->other_device, found->other_device == 1 ? " is" : "s are",
            found->other_device == 1 ? "it is" : "they are");
  bench_say(p, "</p>\n");
  if (worse)
    write_changes(p, BENCH_SLOWER, BENCH_FAILED, "Slower");
  else if (found->count)
    bench_say(p, "<p class=\"better\">Nothing became slower.</p>\n");
  if (found->counts[BENCH_FASTER])
    write_changes(p, BENCH_FASTER, BENCH_FASTER, "Faster");
}

/* ---- where a peer is faster ---- */

static int by_ratio(const void *left, const void *right) {
  const double a = bench_of_peer(*(cli_result_row *const *)left),
               b = bench_of_peer(*(cli_result_row *const *)right);
  return (a > b) - (a < b);
}

static void write_lost_row(const bench_page *p, const cli_result_row *row) {
  bench_say(p, "<tr><td>");
  bench_write_name(p->file, row, true, cli_write_markup);
  fprintf(p->file, "<td>%.2f ×<td>", bench_of_peer(row));
  bench_write_cost(p->file, row);
  bench_say(p, "<td>");
  bench_write_peer(p->file, row);
  bench_say(p, "<td>");
  bench_say_text(p, row->peer ? row->peer : "");
  bench_say(p, "\n");
}

static void write_lost(const bench_page *p) {
  enum { MOST = 20 };
  size_t count = 0;
  for (size_t i = 0; i < p->results->row_count; i++) {
    cli_result_row *row = p->results->sorted[i];
    if (bench_is_ours(row) && bench_of_peer(row) > 0 && bench_of_peer(row) < 1)
      p->rows[count++] = row;
  }
  if (!count)
    return;
  qsort(p->rows, count, sizeof *p->rows, by_ratio);
  fprintf(p->file, "<h2 id=\"peers\">Where a peer is faster</h2>\n<p>%zu row%s", count, CLI_PLURAL(count));
  if (count > MOST)
    fprintf(p->file, "; these are the %d with the largest difference, the tables below have all", MOST);
  bench_say(p, ".</p>\n<div "
               "class=\"wide\"><table><thead><tr><th>row<th>davit's speed"
               "<th>davit<th>peer<th>which<tbody>\n");
  for (size_t i = 0; i < count && i < MOST; i++)
    write_lost_row(p, p->rows[i]);
  bench_say(p, "</table></div>\n");
}

/* ---- page ---- */

static void write_explanation(const bench_page *p) {
  bench_say(
      p, "<p>Times are medians of several runs; rates are the work over that time. The <b>limit</b> is the "
         "time that the bytes take at the measured rate of a copy, or the operations at the processor's "
         "highest rate, whichever is longer; where data come from the host, it is the link's. Work that "
         "only reads, such as a sum, may be faster than a copy. A <b>peer</b> is another library, a plain "
         "program, or davit on one device, that did the same work in the same run. davit's speed is 1 "
         "where both take as long.</p>\n");
  bench_say(
      p, "<p class=\"meta\">Axes of sizes are logarithmic. The axis of rates is so too where the limit is "
         "far away. Bars show speeds: davit above, the peer below, the limit as a dashed line; the longest "
         "is 100 %.</p>\n");
}

/* The files without their folders. */
static void write_files(const bench_page *p) {
  const char *last = NULL;
  if (!p->stored)
    return;
  bench_say(p, "<p class=\"meta\">Made from ");
  for (size_t i = 0; i < p->results->count; i++) {
    const char *file = p->results->documents[i].file, *slash = strrchr(file, '/');
    if (file == last)
      continue;
    bench_say(p, last ? ", <code>" : "<code>");
    bench_say_text(p, slash ? slash + 1 : file);
    bench_say(p, "</code>");
    last = file;
  }
  bench_say(p, ".</p>\n");
}

static bool allocate(bench_page *p) {
  const size_t room = p->results->row_count + 1;
  p->rows = dvt_allocate(room, sizeof *p->rows);
  p->groups = dvt_allocate(room, sizeof *p->groups);
  p->numbers = dvt_allocate(room, sizeof *p->numbers);
  return p->rows && p->groups && p->numbers;
}

static void write_page(const bench_page *p) {
  bench_mark_ends(p);
  write_head(p);
  write_summary(p);
  write_explanation(p);
  write_machines(p);
  write_runs(p);
  write_comparison(p);
  write_lost(p);
  for (size_t i = 0; i < p->results->count; i++)
    bench_write_section(p, i);
  write_files(p);
  bench_say(p, "</body>\n</html>\n");
}

bool bench_report(FILE *file, const cli_results *results, const bench_comparison *found, bool stored) {
  bench_page p = {.file = file, .results = results, .found = found, .stored = stored};
  const bool allocated = allocate(&p);
  if (allocated)
    write_page(&p);
  else
    errno = ENOMEM;
  free(p.rows);
  free(p.groups);
  free(p.numbers);
  return allocated && !ferror(file);
}
