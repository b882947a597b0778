/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/program.h"

#include <davit/davit.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/reduce/reduce.h"

/* ---- options ---- */

study_options study_options_read(const char *usage, int argc, char **argv, int gpu_repeats, int cpu_repeats,
                                 double cell_seconds) {
  study_options o;
  bench_options(usage, argc, argv);
  bench_let_threads_sleep(argv);
  bench_check(study_site_of(bench_device(), &o.site), "device");
  o.repeats = bench_count("repeats", o.site.gpu ? gpu_repeats : cpu_repeats);
  const char *seconds = bench_option("cell-seconds", NULL);
  o.cell_ms = 1e3 * (seconds ? atof(seconds) : cell_seconds);
  return o;
}

/* ---- rows ---- */

enum { WIDTH = 10, TEXT_WIDTH = 20, CELLS = 32, CELL_TEXT = 40 };

static struct {
  const char *table;
  int head; /* cells of the head, once it is printed */
  int count;
  const char *keys[CELLS];
  bool words[CELLS]; /* on the left of their columns */
  char text[CELLS][CELL_TEXT];
} line;

static void print_line(bool keys) {
  for (int i = 0; i < line.count; i++) {
    const char *text = keys ? line.keys[i] : line.text[i];
    const int key = (int)strlen(line.keys[i]);
    if (!keys && i >= line.head)
      fprintf(stderr, "  %s %s", line.keys[i], text);
    else if (line.words[i])
      fprintf(stderr, "  %-*s", TEXT_WIDTH, text);
    else
      fprintf(stderr, "%*s", 2 + (key > WIDTH ? key : WIDTH), text);
  }
  fprintf(stderr, "\n");
}

static void end_row(void) {
  if (line.count == 0)
    return;
  if (line.head == 0) {
    print_line(true);
    line.head = line.count;
  }
  print_line(false);
  line.count = 0;
  fflush(stderr);
}

void study_remark(const char *format, ...) {
  va_list arguments;
  end_row();
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n");
}

void study_begin_table(const char *name, const char *format, ...) {
  va_list arguments;
  end_row();
  line.table = name;
  line.head = 0;
  fprintf(stderr, "\n%s: ", name);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n");
}

void study_row(void) {
  end_row();
  bench_row();
  bench_text("table", line.table);
}

static char *cell(const char *key, bool words) {
  const int at = line.count < CELLS ? line.count++ : CELLS - 1;
  line.keys[at] = key;
  line.words[at] = words;
  line.text[at][0] = 0;
  return line.text[at];
}

void study_text(const char *key, const char *value) {
  bench_text(key, value);
  snprintf(cell(key, true), CELL_TEXT, "%s", value);
}

void study_number(const char *key, int decimals, double value) {
  bench_number(key, value);
  char *text = cell(key, false);
  if (isfinite(value))
    snprintf(text, CELL_TEXT, "%.*f", decimals, value);
}

/* ---- tables ---- */

/* Sets which tables the comma-separated names choose; NULL: all. */
static void choose(const char *names, int count, const study_table *tables, bool *chosen) {
  for (int i = 0; i < count; i++)
    chosen[i] = !names;
  while (names && *names) {
    const size_t length = strcspn(names, ",");
    int i = 0;
    while (i < count && (strlen(tables[i].name) != length || strncmp(tables[i].name, names, length) != 0))
      i++;
    if (i == count) {
      fprintf(stderr, "there is no table '%.*s'; there are:", (int)length, names);
      for (i = 0; i < count; i++)
        fprintf(stderr, " %s", tables[i].name);
      fprintf(stderr, "\n");
      exit(2);
    }
    chosen[i] = true;
    names += length + (names[length] == ',');
  }
}

static void measure_sizes(const study_options *o, const study_table *table, void *context) {
  const bench_values sizes = bench_sizes(table->option, o->site.gpu ? table->gpu_sizes : table->cpu_sizes);
  study_begin_table(table->name, "%s", table->title);
  for (int i = 0; i < sizes.count; i++)
    table->each(context, sizes.at[i]);
}

enum { IN_A_ROW = 20 };

/* One region by itself, as a program meets it behind other work, and so many in a row. */
static double run_region(void *argument) {
  const study_site *site = argument;
  const double start = bench_now();
  bench_check(study_empty_grid(site->device, 1, NULL, NULL), "region");
  return 1e3 * (bench_now() - start);
}

static double run_regions(void *argument) {
  const study_site *site = argument;
  const double start = bench_now();
  for (int i = 0; i < IN_A_ROW; i++)
    bench_check(study_empty_grid(site->device, 1, NULL, NULL), "region");
  return 1e3 * (bench_now() - start);
}

static void measure_region(const study_options *o) {
  study_options often = *o;
  often.repeats = BENCH_MOST;
  const study_time one = study_measure(&often, run_region, &often.site, 0),
                   row = study_measure(&often, run_regions, &often.site, 0);
  study_begin_table("region", "a launch that does nothing, waited for, by the host's clock");
  study_row();
  bench_number("device", o->site.device);
  study_number("repeats", 0, one.repeats);
  study_number("us", 2, 1e3 * one.median);
  study_number("best_us", 2, 1e3 * one.best);
  study_number("in_a_row_us", 2, 1e3 * row.median / (double)IN_A_ROW);
}

int study_measure_tables(const study_options *o, const char *program, int count, const study_table *tables,
                         void *context) {
  bool chosen[BENCH_MOST];
  choose(bench_option("tables", NULL), count, tables, chosen);
  bench_begin(program);
  for (const study_table *t = tables; t < tables + count; t++) {
    if (!chosen[t - tables])
      continue;
    if (t->measure)
      t->measure(context);
    else if (!t->each)
      measure_region(o);
    else
      measure_sizes(o, t, context);
  }
  end_row();
  return bench_finish();
}

/* ---- times ---- */

/* Repeats beside a run of `ms` that is not counted; 0: that run is the result. */
static int repeats_beside(const study_options *o, double ms) {
  if (o->cell_ms <= 0 || ms * o->repeats <= o->cell_ms)
    return o->repeats;
  return (int)(o->cell_ms / ms);
}

typedef struct timed_run {
  double ms;
  int number;
} timed_run;

static int faster_first(const void *a, const void *b) {
  const timed_run *x = a, *y = b;
  return x->ms != y->ms ? (x->ms > y->ms) - (x->ms < y->ms)
                        : (x->number > y->number) - (x->number < y->number);
}

study_time study_measure(const study_options *o, double (*run)(void *argument), void *argument,
                         size_t bytes) {
  timed_run each[BENCH_MOST];
  char *const left = study_host_memory(BENCH_MOST, bytes); /* what each run left in *argument */
  bench_rest();
  each[0] = (timed_run){run(argument), 0};
  memcpy(left, argument, bytes);
  const int repeats = o->repeats > 1 ? repeats_beside(o, each[0].ms) : 0;
  double sum = repeats ? 0 : each[0].ms;
  for (int i = 0; i < repeats; i++) {
    bench_rest();
    sum += (each[i] = (timed_run){run(argument), i}).ms;
    memcpy(left + (size_t)i * bytes, argument, bytes);
  }
  const int count = repeats ? repeats : 1;
  qsort(each, (size_t)count, sizeof *each, faster_first);
  const timed_run median = each[(count - 1) / 2];
  memcpy(argument, left + (size_t)median.number * bytes, bytes);
  free(left);
  return (study_time){median.ms, sum / count, each[0].ms, count};
}

void study_times(study_time time) {
  study_number("ms", 3, time.median);
  bench_number("mean_ms", time.mean);
  study_number("repeats", 0, time.repeats);
}

void study_give_up(const char *format, ...) {
  va_list arguments;
  end_row();
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n");
  exit(4);
}

void *study_host_memory(int64_t count, size_t bytes) {
  void *memory = malloc((size_t)count * bytes + 1);
  if (!memory)
    study_give_up("no memory for %lld elements of %zu bytes", (long long)count, bytes);
  return memory;
}
