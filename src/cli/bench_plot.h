/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of results for a page: davit, its peer, and the limit of the machine. */
#ifndef DAVIT_SRC_CLI_BENCH_PLOT_H
#define DAVIT_SRC_CLI_BENCH_PLOT_H

#include "src/cli/formats/results.h"

/* Rows that differ in their size alone, by size. */
typedef struct bench_group {
  cli_result_row **rows;
  size_t count;
} bench_group;

/* Whether a curve can be drawn: two sizes or more, each measured about once. */
bool bench_group_is_curve(const bench_group *group);

/* Writes a figure: rate, or time where there is no rate, against size. */
void bench_plot(FILE *file, const bench_group *group);

/* Writes the speed of one row as bars beside those of its peer and of the limit; the longest is 100 %. */
void bench_bars(FILE *file, const cli_result_row *row);

#endif
