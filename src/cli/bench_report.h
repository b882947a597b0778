/* SPDX-License-Identifier: Apache-2.0 */
/* A page of results: one HTML file that needs no other and runs no script. */
#ifndef DAVIT_SRC_CLI_BENCH_REPORT_H
#define DAVIT_SRC_CLI_BENCH_REPORT_H

#include "src/cli/bench_compare.h"

/* Writes the page; `found` is NULL without older results. The page names the files of the results if they
 * are `stored`. False on a write error, or where memory is short. */
bool bench_report(FILE *file, const cli_results *results, const bench_comparison *found, bool stored);

#endif
