/* SPDX-License-Identifier: Apache-2.0 */
/* A page of results: what was measured where, a summary, what became slower, where a peer is faster, and a
 * section for each document with its plots, bars and numbers. */
#include "src/cli/bench_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/bench_plot.h"
#include "src/cli/bench_style.h"
#include "src/cli/bench_text.h"

typedef struct page {
  FILE *file;
  const cli_results *results;
  const bench_comparison *found; /* or NULL */
  bool stored;                   /* the results are from files */
  cli_result_row **rows;         /* room for a pointer to each row */
  bench_group *groups;           /* room for each row */
  double *numbers;               /* room for each row */
} page;

static void say(const page *p, const char *html) {
  fputs(html, p->file);
}

static void text(const page *p, const char *words) {
  bench_write_escaped(p->file, words);
}

/* Rows that the page shows: not those that are the peer of another. */
static bool is_shown(const cli_result_row *row) {
  return !row->joined && cli_result_cost(row) > 0;
}

static bool is_ours(const cli_result_row *row) {
  return is_shown(row) && !*row->side;
}

/* ---- head ---- */

static void write_head(const page *p) {
  say(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>davit: benchmarks</title>\n<style>\n");
  say(p, bench_style);
  say(p, "</style>\n</head>\n<body>\n<h1>davit: benchmarks</h1>\n");
}

static bool is_accelerator(const cli_result_device *device) {
  return *device->kind && strcmp(device->kind, "cpu") != 0 && strcmp(device->kind, "host-offload") != 0;
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

static void write_device(const page *p, const cli_result_device *device, size_t count) {
  if (count > 1)
    fprintf(p->file, "%zu × ", count);
  text(p, *device->name ? device->name : "unknown device");
  say(p, " (");
  text(p, device->kind);
  if (device->units > 0)
    fprintf(p->file, ", %.0f compute units", device->units);
  if (device->memory > 0) {
    say(p, ", ");
    bench_write_digits(p->file, device->memory / (1 << 30));
    say(p, " GiB");
  }
  say(p, ")");
}

static void write_machine(const page *p, const cli_result *result) {
  say(p, "<ul>");
  for (int pass = 0; pass < 2; pass++) /* accelerators first */
    for (size_t i = 0; i < result->device_count; i++) {
      const size_t count = count_equal(result, i);
      if (!count || is_accelerator(&result->devices[i]) != !pass)
        continue;
      say(p, "<li>");
      write_device(p, &result->devices[i], count);
      say(p, "</li>");
    }
  say(p, "</ul>\n");
}

static void write_machines(const page *p) {
  enum { MOST = 16 };
  int count = 0;
  say(p, "<h3>Devices</h3>\n");
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
    say(p, "<p>The results do not name it.</p>\n");
}

/* 2026-11-22T11:51:34Z as 2026-11-22 11:51; anything else as it is. */
static void write_date(const page *p, const char *date) {
  char short_date[17] = "";
  if (strlen(date) == 20 && date[10] == 'T' && date[19] == 'Z')
    snprintf(short_date, sizeof short_date, "%.10s %.5s", date, date + 11);
  text(p, *short_date ? short_date : date);
}

static void write_runs(const page *p) {
  say(p, "<h3>Runs</h3>\n<div class=\"wide\"><table "
         "class=\"words\"><thead><tr><th>benchmark<th>command"
         "<th>version<th>date<th>rows<tbody>\n");
  for (size_t i = 0; i < p->results->count; i++) {
    const cli_result *result = &p->results->documents[i];
    fprintf(p->file, "<tr><td><a href=\"#s%zu\">", i);
    text(p, result->benchmark);
    say(p, "</a><td><code>");
    text(p, result->command);
    say(p, "</code><td>");
    text(p, result->version);
    say(p, "<td>");
    write_date(p, result->date);
    fprintf(p->file, "<td>%zu\n", result->row_count);
  }
  say(p, "</table></div>\n");
}

/* ---- groups ---- */

/* Accelerators come first. */
static int compare_devices(const cli_result_device *a, const cli_result_device *b) {
  const int hosts = (a && !is_accelerator(a)) - (b && !is_accelerator(b));
  return hosts ? hosts : (a > b) - (a < b);
}

/* Rows that differ in their size alone stand together, by size. */
static int by_group(const void *left, const void *right) {
  const cli_result_row *a = *(cli_result_row *const *)left, *b = *(cli_result_row *const *)right;
  int order = compare_devices(a->device, b->device);
  if (!order)
    order = strcmp(a->label, b->label);
  if (!order)
    order = strcmp(a->side, b->side);
  if (!order)
    order = strcmp(a->size_name ? a->size_name : "", b->size_name ? b->size_name : "");
  if (!order)
    order = (a->size > b->size) - (a->size < b->size);
  return order ? order : (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static bool are_grouped(const cli_result_row *a, const cli_result_row *b) {
  return a->device == b->device && !strcmp(a->label, b->label) && !strcmp(a->side, b->side) && a->size_name &&
         b->size_name && !strcmp(a->size_name, b->size_name);
}

static long first_ordinal(const bench_group *group) {
  long first = group->rows[0]->ordinal;
  for (size_t i = 1; i < group->count; i++)
    first = group->rows[i]->ordinal < first ? group->rows[i]->ordinal : first;
  return first;
}

static int by_place(const void *left, const void *right) {
  const bench_group *a = left, *b = right;
  const int order = compare_devices(a->rows[0]->device, b->rows[0]->device);
  const long x = first_ordinal(a), y = first_ordinal(b);
  return order ? order : (x > y) - (x < y);
}

/* The groups of a document, by device and in the order of their first rows. */
static size_t find_groups(const page *p, const cli_result *result) {
  size_t rows = 0, groups = 0;
  for (size_t i = 0; i < result->row_count; i++)
    if (is_shown(&result->rows[i]))
      p->rows[rows++] = &result->rows[i];
  qsort(p->rows, rows, sizeof *p->rows, by_group);
  for (size_t i = 0, end; i < rows; i = end) {
    for (end = i + 1; end < rows && are_grouped(p->rows[i], p->rows[end]);)
      end++;
    p->groups[groups++] = (bench_group){.rows = p->rows + i, .count = end - i};
  }
  qsort(p->groups, groups, sizeof *p->groups, by_place);
  return groups;
}

/* Marks the largest size of each group. */
static void mark_ends(const page *p) {
  for (size_t d = 0; d < p->results->count; d++) {
    const size_t count = find_groups(p, &p->results->documents[d]);
    for (size_t g = 0; g < count; g++)
      p->groups[g].rows[p->groups[g].count - 1]->largest = true;
  }
}

/* ---- summary ---- */

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Collects a share of each of davit's rows that has it; their count. They are sorted. */
static size_t collect(const page *p, double (*share)(const cli_result_row *row)) {
  size_t count = 0;
  for (size_t i = 0; i < p->results->row_count; i++) {
    const cli_result_row *row = p->results->sorted[i];
    if (is_ours(row) && share(row) > 0)
      p->numbers[count++] = share(row);
  }
  qsort(p->numbers, count, sizeof *p->numbers, compare_doubles);
  return count;
}

static double of_limit(const cli_result_row *row) {
  return row->us > 0 ? row->floor_us / row->us : 0;
}

static double of_peer(const cli_result_row *row) {
  return row->peer_cost > 0 ? row->peer_cost / cli_result_cost(row) : 0;
}

/* The same of a row that is the end of a curve, or alone. */
static double of_limit_at_end(const cli_result_row *row) {
  return row->largest ? of_limit(row) : 0;
}

static double one(const cli_result_row *row) {
  return cli_result_cost(row) > 0;
}

static double middle(const double *sorted, size_t count) {
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void write_tile(const page *p, double value, const char *unit, const char *words) {
  say(p, "<div><b>");
  bench_write_digits(p->file, value);
  fprintf(p->file, "%s</b>%s</div>\n", unit, words);
}

static void write_count_tile(const page *p, const char *class, size_t count, const char *words) {
  fprintf(p->file, "<div%s><b>", class);
  bench_write_count(p->file, (double)count);
  fprintf(p->file, "</b>%s</div>\n", words);
}

static void write_summary(const page *p) {
  say(p, "<div class=\"sum\">\n");
  write_count_tile(p, "", collect(p, one), "rows of davit");
  const size_t limits = collect(p, of_limit);
  if (limits) {
    write_tile(p, 100 * middle(p->numbers, limits), " %", "of the limit in the median of all rows");
    write_tile(p, 100 * p->numbers[0], " %", "of the limit in the worst row");
  }
  const size_t ends = collect(p, of_limit_at_end);
  if (ends)
    write_tile(p, 100 * middle(p->numbers, ends), " %", "of the limit in the median of the largest sizes");
  const size_t peers = collect(p, of_peer);
  size_t lost = 0;
  while (lost < peers && p->numbers[lost] < 1)
    lost++;
  if (peers) {
    char words[96];
    write_tile(p, middle(p->numbers, peers), " ×", "the peer's speed in the median");
    snprintf(words, sizeof words, "of %zu rows with a peer: the peer is faster", peers);
    write_count_tile(p, "", lost, words);
  }
  if (p->found) {
    const size_t worse = p->found->counts[BENCH_SLOWER] + p->found->counts[BENCH_FAILED];
    write_count_tile(p, worse ? " class=\"bad\"" : "", worse, "rows became slower or failed");
  }
  say(p, "</div>\n");
}

/* The row that is furthest from the limit. */
static void write_worst(const page *p) {
  const cli_result_row *worst = NULL;
  for (size_t i = 0; i < p->results->row_count; i++) {
    const cli_result_row *row = p->results->sorted[i];
    if (is_ours(row) && of_limit(row) > 0 && (!worst || of_limit(row) < of_limit(worst)))
      worst = row;
  }
  if (!worst)
    return;
  say(p, "<p class=\"meta\">The worst row is ");
  bench_write_name(p->file, worst, true, bench_write_escaped);
  say(p, ": ");
  bench_write_time(p->file, worst->us);
  say(p, " where the limit is ");
  bench_write_time(p->file, worst->floor_us);
  say(p, ". Small sizes are far from the limit everywhere, because starting the work takes longer than the "
         "work.</p>\n");
}

/* ---- what became slower ---- */

static void write_share(const page *p, const bench_change *change) {
  static const char *const classes[] = {" class=\"worse\"", " class=\"worse\"", " class=\"better\"", ""};
  fprintf(p->file, "<td%s>", change ? classes[change->verdict] : "");
  if (change && change->verdict == BENCH_FAILED)
    say(p, "failed");
  else if (change)
    bench_write_change(p->file, change->share);
}

static void write_change(const page *p, const bench_change *change) {
  say(p, "<tr><td>");
  bench_write_name(p->file, change->now, true, bench_write_escaped);
  write_share(p, change);
  say(p, "<td>");
  bench_write_cost(p->file, change->now);
  say(p, "<td>");
  bench_write_cost(p->file, change->before);
  fprintf(p->file, "<td>%.1f %%\n", 100 * change->noise);
}

static void write_changes(const page *p, bench_verdict first, bench_verdict last, const char *title) {
  fprintf(
      p->file,
      "<div class=\"wide\"><table><caption>%s</caption><thead><tr><th>row<th>change<th>now<th>before<th>noise"
      "<tbody>\n",
      title);
  for (size_t i = 0; i < p->found->count; i++)
    if (p->found->changes[i].verdict >= first && p->found->changes[i].verdict <= last)
      write_change(p, &p->found->changes[i]);
  say(p, "</table></div>\n");
}

static void write_comparison(const page *p) {
  const bench_comparison *found = p->found;
  if (!found)
    return;
  const size_t worse = found->counts[BENCH_SLOWER] + found->counts[BENCH_FAILED];
  say(p, "<h2 id=\"slower\">What became slower</h2>\n<p>Compared with <code>");
  text(p, found->path);
  fprintf(p->file,
          "</code>: of %zu rows that both have, %zu became slower, %zu failed, %zu became faster, and %zu "
          "are the same within the noise. The noise of a row is %.3g %%, or the spread of one of its two "
          "measurements (median over fastest run) where that is larger.",
          found->count, found->counts[BENCH_SLOWER], found->counts[BENCH_FAILED], found->counts[BENCH_FASTER],
          found->counts[BENCH_SAME], 100 * found->noise);
  if (found->gone || found->added)
    fprintf(p->file, " Not compared: %zu rows of the older results alone, %zu of the new ones alone.",
            found->gone, found->added);
  if (found->other_device)
    fprintf(p->file,
            " <b class=\"worse\">%zu rows are not compared, because they are of different devices.</b>",
            found->other_device);
  say(p, "</p>\n");
  if (worse)
    write_changes(p, BENCH_SLOWER, BENCH_FAILED, "Slower");
  else if (found->count)
    say(p, "<p class=\"better\">Nothing became slower.</p>\n");
  if (found->counts[BENCH_FASTER])
    write_changes(p, BENCH_FASTER, BENCH_FASTER, "Faster");
}

/* ---- where a peer is faster ---- */

static int by_ratio(const void *left, const void *right) {
  const double a = of_peer(*(cli_result_row *const *)left), b = of_peer(*(cli_result_row *const *)right);
  return (a > b) - (a < b);
}

static void write_lost_row(const page *p, const cli_result_row *row) {
  say(p, "<tr><td>");
  bench_write_name(p->file, row, true, bench_write_escaped);
  say(p, "<td>");
  bench_write_cost(p->file, row);
  say(p, "<td>");
  text(p, row->peer ? row->peer : "");
  say(p, "<td>");
  bench_write_peer(p->file, row);
  fprintf(p->file, "<td>%.2f ×\n", of_peer(row));
}

static void write_lost(const page *p) {
  enum { MOST = 20 };
  size_t count = 0;
  for (size_t i = 0; i < p->results->row_count; i++) {
    cli_result_row *row = p->results->sorted[i];
    if (is_ours(row) && of_peer(row) > 0 && of_peer(row) < 1)
      p->rows[count++] = row;
  }
  if (!count)
    return;
  qsort(p->rows, count, sizeof *p->rows, by_ratio);
  fprintf(p->file, "<h2 id=\"peers\">Where a peer is faster</h2>\n<p>%zu rows", count);
  if (count > MOST)
    fprintf(p->file, "; these are the %d with the largest difference, the tables below have all", MOST);
  say(p, ".</p>\n<div "
         "class=\"wide\"><table><thead><tr><th>row<th>davit"
         "<th>peer<th>its time<th>davit's speed<tbody>\n");
  for (size_t i = 0; i < count && i < MOST; i++)
    write_lost_row(p, p->rows[i]);
  say(p, "</table></div>\n");
}

/* ---- sections ---- */

static void write_bar_row(const page *p, const cli_result_row *row) {
  say(p, "<div><span>");
  bench_write_name(p->file, row, false, bench_write_escaped);
  say(p, "</span>");
  if (of_peer(row) > 0 || of_limit(row) > 0)
    bench_bars(p->file, row);
  else
    say(p, "<span></span>");
  say(p, "<span>");
  bench_write_cost(p->file, row);
  say(p, "</span><span>");
  if (of_peer(row) > 0)
    fprintf(p->file, "%.2f × ", of_peer(row));
  if (of_peer(row) > 0)
    text(p, row->peer ? row->peer : "peer");
  say(p, "</span></div>\n");
}

/* The rows of the groups that have no curve. */
static void write_all_bars(const page *p, const bench_group *groups, size_t count) {
  bool open = false;
  for (size_t g = 0; g < count; g++) {
    if (bench_group_is_curve(&groups[g]))
      continue;
    say(p, open ? "" : "<div class=\"bars\">\n");
    open = true;
    for (size_t i = 0; i < groups[g].count; i++)
      write_bar_row(p, groups[g].rows[i]);
  }
  say(p, open ? "</div>\n" : "");
}

static void write_plots(const page *p, const bench_group *groups, size_t count) {
  bool open = false;
  for (size_t g = 0; g < count; g++) {
    if (!bench_group_is_curve(&groups[g]))
      continue;
    say(p, open ? "" : "<div class=\"plots\">\n");
    open = true;
    bench_plot(p->file, &groups[g]);
  }
  say(p, open ? "</div>\n" : "");
}

static void write_figures(const page *p, const cli_result *result) {
  const size_t count = find_groups(p, result);
  for (size_t first = 0, end; first < count; first = end) {
    const cli_result_device *device = p->groups[first].rows[0]->device;
    for (end = first + 1; end < count && p->groups[end].rows[0]->device == device;)
      end++;
    if (device) {
      say(p, "<h3>");
      text(p, device->name);
      if (!is_accelerator(device)) {
        say(p, ", ");
        text(p, device->kind);
      }
      say(p, "</h3>\n");
    }
    write_plots(p, p->groups + first, end - first);
    write_all_bars(p, p->groups + first, end - first);
  }
}

/* ---- numbers ---- */

static void write_before(const page *p, const bench_change *change) {
  say(p, "<td>");
  if (change)
    bench_write_cost(p->file, change->before);
  write_share(p, change);
}

static void write_number_row(const page *p, const cli_result_row *row) {
  const cli_result_unit unit = cli_result_unit_of(row);
  say(p, "<tr><td>");
  bench_write_name(p->file, row, false, bench_write_escaped);
  say(p, "<td>");
  text(p, row->device ? row->device->kind : "");
  say(p, "<td>");
  if (row->us > 0)
    bench_write_time(p->file, row->us);
  say(p, "<td>");
  if (unit < CLI_RESULT_UNITS) {
    bench_write_digits(p->file, row->rates[unit]);
    fprintf(p->file, " %s", cli_result_unit_names[unit]);
  }
  say(p, "<td>");
  if (of_limit(row) > 0)
    fprintf(p->file, "%.3g %%", 100 * of_limit(row));
  say(p, "<td>");
  bench_write_peer(p->file, row);
  say(p, "<td>");
  if (of_peer(row) > 0)
    fprintf(p->file, "%.2f ×", of_peer(row));
  if (p->found)
    write_before(p, p->found->of_row[row->ordinal]);
  say(p, "\n");
}

static void write_numbers(const page *p, const cli_result *result) {
  say(p, "<details><summary>Numbers</summary><div class=\"wide\"><table><thead><tr><th>row<th>device"
         "<th>time<th>rate<th>of the limit<th>peer's time<th>davit's speed");
  say(p, p->found ? "<th>before<th>change" : "");
  say(p, "<tbody>\n");
  for (size_t i = 0; i < result->row_count; i++)
    if (is_shown(&result->rows[i]))
      write_number_row(p, &result->rows[i]);
  say(p, "</table></div></details>\n");
}

/* Rows that say what failed, or why something was left out. */
static void write_errors(const page *p, const cli_result *result) {
  for (size_t i = 0; i < result->row_count; i++) {
    const cli_result_row *row = &result->rows[i];
    if (!row->error)
      continue;
    say(p, "<p class=\"meta\">Not measured: ");
    bench_write_name(p->file, row, false, bench_write_escaped);
    say(p, ": ");
    text(p, row->error);
    say(p, "</p>\n");
  }
}

static void write_section(const page *p, size_t number) {
  const cli_result *result = &p->results->documents[number];
  fprintf(p->file, "<section id=\"s%zu\"><h2>", number);
  text(p, result->benchmark);
  say(p, "</h2>\n<p class=\"meta\"><code>");
  text(p, result->command);
  say(p, "</code> · davit ");
  text(p, result->version);
  say(p, " · ");
  write_date(p, result->date);
  say(p, "</p>\n");
  write_errors(p, result);
  write_figures(p, result);
  write_numbers(p, result);
  say(p, "</section>\n");
}

/* ---- page ---- */

static void write_explanation(const page *p) {
  say(p,
      "<p>Times are medians of several runs; rates are the work over that time. The <b>limit</b> is the time "
      "that "
      "the bytes take at the measured rate of a copy, or the operations at the processor's highest rate, "
      "whichever "
      "is longer; where data come from the host, it is the link's. Work that only reads, such as a sum, may "
      "be faster than a copy. A <b>peer</b> is another library's or a "
      "plain "
      "program's time for the same work, measured in the same run. davit's speed is 1 where both take as "
      "long.</p>\n"
      "<p class=\"meta\">Axes of sizes are logarithmic. The axis of rates is so too where the limit is far "
      "away. Bars show speeds: davit above, the peer below, the limit as a dashed line; the longest is "
      "100 %.</p>\n");
}

/* The files without their folders. */
static void write_files(const page *p) {
  const char *last = NULL;
  if (!p->stored)
    return;
  say(p, "<p class=\"meta\">Made from ");
  for (size_t i = 0; i < p->results->count; i++) {
    const char *file = p->results->documents[i].file, *slash = strrchr(file, '/');
    if (file == last)
      continue;
    say(p, last ? ", <code>" : "<code>");
    text(p, slash ? slash + 1 : file);
    say(p, "</code>");
    last = file;
  }
  say(p, ".</p>\n");
}

static bool allocate(page *p) {
  const size_t room = p->results->row_count + 1;
  p->rows = dvt_allocate(room, sizeof *p->rows);
  p->groups = dvt_allocate(room, sizeof *p->groups);
  p->numbers = dvt_allocate(room, sizeof *p->numbers);
  return p->rows && p->groups && p->numbers;
}

static void write_page(const page *p) {
  mark_ends(p);
  write_head(p);
  write_summary(p);
  write_worst(p);
  write_explanation(p);
  write_machines(p);
  write_runs(p);
  write_comparison(p);
  write_lost(p);
  for (size_t i = 0; i < p->results->count; i++)
    write_section(p, i);
  write_files(p);
  say(p, "</body>\n</html>\n");
}

bool bench_report(FILE *file, const cli_results *results, const bench_comparison *found, bool stored) {
  page p = {.file = file, .results = results, .found = found, .stored = stored};
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
