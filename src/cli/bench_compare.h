/* SPDX-License-Identifier: Apache-2.0 */
/* What became slower between two sets of results.
 *
 * Rows are compared that measured the same on the same device: benchmark, kind, name and size of the device,
 * label and size of the row. Where a set has several such rows, the n-th is compared with the n-th, and none
 * if their numbers differ. Rows of others than davit are not compared.
 *
 * A row is slower if its time is above the older one by more than the noise: the largest of a given share and
 * the two rows' own spreads, median over fastest run. It is faster if the reverse holds. */
#ifndef DAVIT_SRC_CLI_BENCH_COMPARE_H
#define DAVIT_SRC_CLI_BENCH_COMPARE_H

#include "src/cli/formats/results.h"
#include "src/cli/frame/json.h"

typedef enum bench_verdict { BENCH_SLOWER, BENCH_FAILED, BENCH_FASTER, BENCH_SAME } bench_verdict;

typedef struct bench_change {
  const cli_result_row *before, *now;
  bench_verdict verdict;
  double share; /* time now over time before, less 1; of a row that failed: 0 */
  double noise;
} bench_change;

typedef struct bench_comparison {
  const char *path;            /* of the older results */
  double noise;                /* the given share */
  bench_change *changes;       /* by verdict, then the largest change first */
  const bench_change **of_row; /* by the row's ordinal; NULL: not compared */
  size_t count;
  size_t counts[BENCH_SAME + 1];         /* of each verdict */
  size_t gone, added;                    /* rows of one set alone, in benchmarks that both have */
  size_t other_device;                   /* rows of devices that differ */
  const cli_result_device *before, *now; /* the first two of those; without any, of all rows */
} bench_comparison;

/* Both sets must be finished; the comparison refers to them. CLI_DEVICE if memory is short. */
int bench_compare(const cli_results *before, const cli_results *now, double noise, bench_comparison *found);
void bench_comparison_free(bench_comparison *found);

/* A table of what changed, with tabs between its columns. */
void bench_comparison_print(const bench_comparison *found, FILE *file);

/* The same as the member "comparison" of an object. */
void bench_comparison_json(const bench_comparison *found, cli_json *json);

/* CLI_OK if nothing became slower; else CLI_FAILED, or CLI_INPUT if nothing could be compared. The second
 * prints the sentence of that code. */
int bench_comparison_code(const bench_comparison *found);
void bench_comparison_complain(const bench_comparison *found);

#endif
