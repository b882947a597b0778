/* SPDX-License-Identifier: Apache-2.0 */
/* The section of a document: its plots, its bars, and all numbers. */
#include "src/cli/bench_page.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/bench_plot.h"
#include "src/cli/bench_text.h"

/* ---- groups ---- */

/* Accelerators come first. */
static int compare_devices(const cli_result_device *a, const cli_result_device *b) {
  const int hosts = (a && !bench_is_accelerator(a)) - (b && !bench_is_accelerator(b));
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
static size_t find_groups(const bench_page *p, const cli_result *result) {
  size_t rows = 0, groups = 0;
  for (size_t i = 0; i < result->row_count; i++)
    if (bench_is_shown(&result->rows[i]))
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
void bench_mark_ends(const bench_page *p) {
  for (size_t d = 0; d < p->results->count; d++) {
    const size_t count = find_groups(p, &p->results->documents[d]);
    for (size_t g = 0; g < count; g++)
      p->groups[g].rows[p->groups[g].count - 1]->largest = true;
  }
}

/* ---- sections ---- */

static void write_bar_row(const bench_page *p, const cli_result_row *row) {
  bench_say(p, "<div><span>");
  bench_write_name(p->file, row, false, cli_write_markup);
  bench_say(p, "</span>");
  if (bench_of_peer(row) > 0 || bench_of_limit(row) > 0)
    bench_bars(p->file, row);
  else
    bench_say(p, "<span></span>");
  bench_say(p, "<span>");
  bench_write_cost(p->file, row);
  bench_say(p, "</span><span>");
  if (bench_of_peer(row) > 0)
    fprintf(p->file, "%.2f × ", bench_of_peer(row));
  if (bench_of_peer(row) > 0)
    bench_say_text(p, row->peer ? row->peer : "peer");
  bench_say(p, "</span></div>\n");
}

/* The rows of the groups that have no curve. */
static void write_all_bars(const bench_page *p, const bench_group *groups, size_t count) {
  bool open = false;
  for (size_t g = 0; g < count; g++) {
    if (bench_group_is_curve(&groups[g]))
      continue;
    bench_say(p, open ? "" : "<div class=\"bars\">\n");
    open = true;
    for (size_t i = 0; i < groups[g].count; i++)
      write_bar_row(p, groups[g].rows[i]);
  }
  bench_say(p, open ? "</div>\n" : "");
}

static void write_plots(const bench_page *p, const bench_group *groups, size_t count) {
  bool open = false;
  for (size_t g = 0; g < count; g++) {
    if (!bench_group_is_curve(&groups[g]))
      continue;
    bench_say(p, open ? "" : "<div class=\"plots\">\n");
    open = true;
    bench_plot(p->file, &groups[g]);
  }
  bench_say(p, open ? "</div>\n" : "");
}

static void write_figures(const bench_page *p, const cli_result *result) {
  const size_t count = find_groups(p, result);
  for (size_t first = 0, end; first < count; first = end) {
    const cli_result_device *device = p->groups[first].rows[0]->device;
    for (end = first + 1; end < count && p->groups[end].rows[0]->device == device;)
      end++;
    if (device) {
      bench_say(p, "<h3>");
      bench_say_text(p, device->name);
      if (!bench_is_accelerator(device)) {
        bench_say(p, ", ");
        bench_say_text(p, device->kind);
      }
      bench_say(p, "</h3>\n");
    }
    write_plots(p, p->groups + first, end - first);
    write_all_bars(p, p->groups + first, end - first);
  }
}

/* ---- numbers ---- */

static void write_before(const bench_page *p, const bench_change *change) {
  bench_say(p, "<td>");
  if (change)
    bench_write_cost(p->file, change->before);
  bench_write_share(p, change);
}

static void write_number_row(const bench_page *p, const cli_result_row *row) {
  const cli_result_unit unit = cli_result_unit_of(row);
  bench_say(p, "<tr><td>");
  bench_write_name(p->file, row, false, cli_write_markup);
  bench_say(p, "<td>");
  bench_say_text(p, row->device ? row->device->kind : "");
  bench_say(p, "<td>");
  if (row->us > 0)
    bench_write_time(p->file, row->us);
  bench_say(p, "<td>");
  if (unit < CLI_RESULT_UNITS)
    bench_write_rate(p->file, unit, row->rates[unit]);
  bench_say(p, "<td>");
  if (bench_of_limit(row) > 0)
    fprintf(p->file, "%.3g %%", 100 * bench_of_limit(row));
  bench_say(p, "<td>");
  bench_write_peer(p->file, row);
  bench_say(p, "<td>");
  if (bench_of_peer(row) > 0)
    fprintf(p->file, "%.2f ×", bench_of_peer(row));
  if (p->found)
    write_before(p, p->found->of_row[row->ordinal]);
  bench_say(p, "\n");
}

static void write_numbers(const bench_page *p, const cli_result *result) {
  bench_say(p, "<details><summary>Numbers</summary><div class=\"wide\"><table><thead><tr><th>row<th>device"
               "<th>time<th>rate<th>of the limit<th>peer's time<th>davit's speed");
  bench_say(p, p->found ? "<th>before<th>change" : "");
  bench_say(p, "<tbody>\n");
  for (size_t i = 0; i < result->row_count; i++)
    if (bench_is_shown(&result->rows[i]))
      write_number_row(p, &result->rows[i]);
  bench_say(p, "</table></div></details>\n");
}

/* Rows that say what failed, or why something was left out. */
static void write_errors(const bench_page *p, const cli_result *result) {
  for (size_t i = 0; i < result->row_count; i++) {
    const cli_result_row *row = &result->rows[i];
    if (!row->error)
      continue;
    bench_say(p, "<p class=\"meta\">Not measured: ");
    bench_write_name(p->file, row, false, cli_write_markup);
    bench_say(p, ": ");
    bench_say_text(p, row->error);
    bench_say(p, "</p>\n");
  }
}

void bench_write_section(const bench_page *p, size_t number) {
  const cli_result *result = &p->results->documents[number];
  fprintf(p->file, "<section id=\"s%zu\"><h2>", number);
  bench_say_text(p, result->benchmark);
  bench_say(p, "</h2>\n<p class=\"meta\"><code>");
  bench_say_text(p, result->command);
  bench_say(p, "</code> · davit ");
  bench_say_text(p, result->version);
  bench_say(p, " · ");
  bench_write_date(p, result->date);
  bench_say(p, "</p>\n");
  write_errors(p, result);
  write_figures(p, result);
  write_numbers(p, result);
  bench_say(p, "</section>\n");
}
