/* SPDX-License-Identifier: Apache-2.0 */
/* What the study's benchmarks share: options, the tables of a program, and times of a run.
 *
 * A program is a list of tables. Every row of a table goes to the JSON document on standard output
 * (bench/bench.h) and, for people, to standard error, where the keys of the first row are the head of the
 * table. */
#ifndef DAVIT_STUDY_PROGRAM_H
#define DAVIT_STUDY_PROGRAM_H

#include "bench/bench.h"
#include "bench/study/common/site.h"

/* ---- options ---- */

/* What every program is asked: --device (the first that work is spread over), --repeats, and --cell-seconds:
 * so long may the repeats of one figure take; 0: no limit. */
typedef struct study_options {
  study_site site;
  int repeats;
  double cell_ms;
} study_options;

/* The first call of a program. It lets OpenMP's threads sleep (bench.h), as all benchmarks do. Repeats by
 * default on a GPU and on the CPU, and seconds of a figure. */
study_options study_options_read(const char *usage, int argc, char **argv, int gpu_repeats, int cpu_repeats,
                                 double cell_seconds);

/* ---- tables ---- */

/* Either `measure` makes the whole table, or `each` the rows of one size, for each of --option. A table with
 * neither is that of STUDY_REGION. */
typedef struct study_table {
  const char *name;
  void (*measure)(void *context);
  const char *title, *option, *gpu_sizes, *cpu_sizes;
  void (*each)(void *context, int64_t n);
} study_table;

/* The table "region": what a launch of a kernel that does nothing takes, and its end waited for. The kernels'
 * times are those of the host's clock, because a region returns to the host when it is done and shows no
 * stream; so every launch in them has this in it. */
#define STUDY_REGION {.name = "region"}

/* Measures the tables that --tables names, all without it, and ends the library. Returns what main() returns.
 * Ends the program with 2 for a name that is none. */
int study_measure_tables(const study_options *o, const char *program, int count, const study_table *tables,
                         void *context);

/* Begins a table; a line that says what is in it. */
void study_begin_table(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins a row; its cells, numbers with so many decimals for people. A number that is not finite is null, or
 * empty. */
void study_row(void);
void study_text(const char *key, const char *value);
void study_number(const char *key, int decimals, double value);

/* A line for people alone. */
void study_remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- times ---- */

typedef struct study_time {
  double median, mean, best;
  int repeats;
} study_time;

/* The milliseconds that `run` returns, --repeats times after a run that is not counted. If these take longer
 * than --cell-seconds, there are fewer of them; a single run that takes so long is the result. The median is
 * the time of a run, of the faster one in the middle, and *argument, `bytes` bytes, is what that run left
 * there: its parts are parts of the median. OpenMP's threads sleep when a run begins. */
study_time study_measure(const study_options *o, double (*run)(void *argument), void *argument, size_t bytes);

/* The cells "ms", "mean_ms" and "repeats". */
void study_times(study_time time);

/* Ends the program with 4 and the sentence. */
_Noreturn void study_give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory of the host for `count` elements of `bytes` bytes; ends the program if there is none. */
void *study_host_memory(int64_t count, size_t bytes);

#endif
