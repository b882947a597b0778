/* SPDX-License-Identifier: Apache-2.0 */
/* Local alignment inside the library: checks that its calls share, and the trace with a limit for tests. */
#ifndef DAVIT_SRC_ALIGN_H
#define DAVIT_SRC_ALIGN_H

#include <davit/align.h>

#include "offload/kernel/threads.h"

/* NULL, reserved words and ranges. */
davit_status dvt_check_scoring(const davit_align_scoring *scoring);

/* A sequence of `length` symbols, all below `symbols`; the sentences call it `name` and its length
 * `length_name`. */
davit_status dvt_check_sequence(const char *name, const char *length_name, int64_t length,
                                const uint8_t *sequence, int symbols);

/* Sequences, as far as their offsets say; then that their symbols are all below `symbols`; both. The sentences call them
 * `name`, and each of them `one`. */
davit_status dvt_check_offsets(const char *name, const davit_align_sequences *all);
davit_status dvt_check_symbols(const char *name, const char *one, const davit_align_sequences *all,
                               int symbols);
davit_status dvt_check_sequences(const char *name, const char *one, const davit_align_sequences *all,
                                 int symbols);

/* Does `count` things in shares, by a team if there are many and the calling thread is one to lead it. */
void dvt_align_on_shares(int64_t count, dvt_part *part, const void *arguments);

/* Of the matrix, or of the profile of a query of m symbols; 0 if all are negative. */
int dvt_largest_entry(const davit_align_scoring *scoring, int64_t m);

/* Whether the best score that lengths m and n allow is at most 2^31 - 1. */
davit_status dvt_check_score_range(const davit_align_scoring *scoring, int64_t m, int64_t n);

/* Whether the cost of leaving out all of both sequences, which a global alignment never passes, is at most
 * 2^31 - 1. */
davit_status dvt_check_cost_range(const davit_align_scoring *scoring, int64_t m, int64_t n);

/* davit_align_trace() by so many threads (0: those of the host), with rectangles of at most `cells` cells traced
 * through a matrix and larger ones divided, and one column in `every` of the forward sweep kept (0: none). `cells` and
 * `every` may be -1: as davit_align_trace() does, where a global pair of at most DVT_ALIGN_TRACE_CELLS cells goes
 * through one matrix. Larger pairs are divided further, as smaller matrices stay in the caches. */
enum { DVT_ALIGN_TRACE_CELLS = 1 << 22 };
static inline bool dvt_align_is_whole(int64_t m, int64_t n) {
  return m == 0 || n <= DVT_ALIGN_TRACE_CELLS / m;
}
davit_status dvt_align_trace(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                             const uint8_t *target, int64_t cells, int64_t every, int threads,
                             davit_align_result *result, char **cigar,
                             const davit_align_trace_options *options);

#endif
