/* SPDX-License-Identifier: Apache-2.0 */
/* What all benchmarks share: a clock, medians, and one JSON document on standard output.
 *
 * A benchmark prints one object {"benchmark", "date", "command", "machine", "rows": [...]} to standard
 * output; rows are flat objects of numbers and strings, so that results of real runs can be kept under
 * bench/results/ as they are. Tables for people and progress go to standard error. */
#ifndef DAVIT_BENCH_BENCH_H
#define DAVIT_BENCH_BENCH_H

#include <davit/davit.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* OpenMP threads spin for a while when their work is done (200 ms by default), beside whatever is measured
 * next. The first starts the program again with KMP_BLOCKTIME=1 (ms) unless it is set: libomp reads its
 * settings before main(). The second waits until such threads sleep. */
void bench_let_threads_sleep(char **argv);
void bench_rest(void);

double bench_clock(clockid_t clock); /* seconds */
double bench_now(void);              /* of a clock that runs steadily */

/* The median of `count` values, which are sorted in place. */
double bench_median(double *values, int count);

/* Ends the program with the sentence when a davit call failed. */
void bench_check(davit_status status, const char *what);

void bench_begin(const char *name);
void bench_row(void);
void bench_text(const char *key, const char *value);
void bench_number(const char *key, double value);

/* Ends the document and the library; returns what main() returns. */
int bench_finish(void);

/* ---- options ---- */

/* The first call of a program. `usage` has "[--name VALUE]" or "[--name]" for each option; --json and
 * --peers, which `davit bench` gives, need not be there. Prints it and ends the program for --help, with 0,
 * and for what is no option, with 2. */
void bench_options(const char *usage, int argc, char **argv);

/* The value of --name on the command line; without it, `fallback`. */
const char *bench_option(const char *name, const char *fallback);
int64_t bench_whole(const char *name, int64_t fallback);

/* The same from 1 to BENCH_MOST. */
int bench_count(const char *name, int fallback);

/* Comma-separated integers, at most BENCH_MOST: all of them, or those above 0. */
enum { BENCH_MOST = 64 };
typedef struct bench_values {
  int count;
  int64_t at[BENCH_MOST];
} bench_values;
bench_values bench_list(const char *name, const char *fallback);
bench_values bench_sizes(const char *name, const char *fallback);

/* The largest, at least 1. */
int64_t bench_largest(const bench_values *values);

/* ---- devices ---- */

/* False for a device that does not exist. */
bool bench_is_gpu(int device);

/* --device; without it, the first device that work is spread over. */
int bench_device(void);

#endif
