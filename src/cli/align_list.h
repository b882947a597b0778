/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that davit align collects, and how several ranks share them. */
#ifndef DAVIT_SRC_CLI_ALIGN_LIST_H
#define DAVIT_SRC_CLI_ALIGN_LIST_H

#include "src/cli/align_rows.h"

/* Rows without alignments, until they are traced. */
typedef struct align_list {
  align_row *at;
  int64_t count, room;
} align_list;

/* Rows of a query behind those of the queries before. */
davit_status align_list_add(align_list *list, int64_t query, int64_t count, const align_hit *found);

/* {0} is allowed. */
void align_list_free(align_list *list);

/* For qsort(). The order of align_hit: the best first, and of equals the first target, and the plus strand; and of
 * align_row: query after query. */
int align_compare_hits(const void *a, const void *b);
int align_compare_rows(const void *a, const void *b);

/* ---- collective ----
 *
 * On one rank nothing happens. Where a rank has another code than CLI_OK, all return the first such code. */

/* Gives all ranks the rows of all of them, and of these the best `top` of each query. */
int align_list_share(int code, align_list *list, int64_t top);

/* Brings to rank 0 the alignments that the others have traced; row k is rank k mod count's. */
int align_list_gather(align_list *list);

#endif
