/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the page of results share. */
#ifndef DAVIT_SRC_CLI_BENCH_PAGE_H
#define DAVIT_SRC_CLI_BENCH_PAGE_H

#include "src/cli/bench_compare.h"
#include "src/cli/bench_plot.h"

typedef struct bench_page {
  FILE *file;
  const cli_results *results;
  const bench_comparison *found; /* or NULL */
  bool stored;                   /* the results are from files */
  cli_result_row **rows;         /* room for a pointer to each row */
  bench_group *groups;           /* room for each row */
  double *numbers;               /* room for each row */
} bench_page;

/* Writes HTML; and text, which is escaped. */
void bench_say(const bench_page *p, const char *html);
void bench_say_text(const bench_page *p, const char *words);

/* A date without its seconds, and a cell with the change of a time, or an empty one for NULL. */
void bench_write_date(const bench_page *p, const char *date);
void bench_write_share(const bench_page *p, const bench_change *change);

/* Whether the page shows the row: not one that is the peer of another. Whether it is davit's. */
bool bench_is_shown(const cli_result_row *row);
bool bench_is_ours(const cli_result_row *row);

bool bench_is_accelerator(const cli_result_device *device);

/* Shares of the limit's speed and of the peer's; 0: none is known. */
double bench_of_limit(const cli_result_row *row);
double bench_of_peer(const cli_result_row *row);

/* ---- bench_section.c ---- */

/* Marks the largest size of each group of rows. */
void bench_mark_ends(const bench_page *p);

/* Writes plots, bars and numbers of a document. */
void bench_write_section(const bench_page *p, size_t number);

#endif
