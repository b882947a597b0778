/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of results, for tables and pages. */
#ifndef DAVIT_SRC_CLI_BENCH_TEXT_H
#define DAVIT_SRC_CLI_BENCH_TEXT_H

#include <stdio.h>

#include "src/cli/formats/names.h"
#include "src/cli/formats/results.h"

/* Three digits: 0.0123, 1.23, 12.3, 12300. */
void bench_write_digits(FILE *file, double value);

/* "2.01 ms" */
void bench_write_time(FILE *file, double us);

/* Rates from 10000 of a unit on are written in the unit a thousand times as large: GB/s in TB/s. The factor
 * from the unit to the one that is written, and that one's first letter. */
double bench_rate_factor(cli_result_unit unit, double largest, char *letter);

/* "47.6 TFLOP/s" */
void bench_write_rate(FILE *file, cli_result_unit unit, double value);

/* A change of a time: "+12.3 %"; from twice the time on "3.1 times". */
void bench_write_change(FILE *file, double share);

/* Time of a row, or its rate where it has no time, or "-". The same of its peer; nothing if it has none. */
void bench_write_cost(FILE *file, const cli_result_row *row);
void bench_write_peer(FILE *file, const cli_result_row *row);

/* A whole number with its digits in groups. */
void bench_write_count(FILE *file, double value);

/* How a name is written: cli_write_plain() or cli_write_markup(). */
typedef void bench_writer(FILE *file, const char *text);

/* The name of the row's benchmark, or "" where the label begins with it. */
const char *bench_heading(const cli_result_row *row);

/* "scan f64 inclusive queue, size 1 048 576". `full`: with the names of benchmark and device. */
void bench_write_name(FILE *file, const cli_result_row *row, bool full, bench_writer *write);

#endif
