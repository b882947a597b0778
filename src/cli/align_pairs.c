/* SPDX-License-Identifier: Apache-2.0 */
/* davit align --pairs: record i of one file with record i of the other, by davit_align_pairs(). */
#include <davit/memory.h>
#include <stdlib.h>
#include <string.h>

#include "ref/align_pair.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/cli/align.h"

davit_status align_pairs_score(const align_pairing *p, int64_t first, int64_t count, int32_t *scores) {
  const davit_align_sequences queries = {count, p->query->offsets + first, p->query_symbols},
                              targets = {count, p->target->offsets + first, p->target->symbols};
  return davit_align_pairs(p->scoring, &queries, &targets, scores, NULL, NULL, &p->options);
}

int32_t align_pairs_reference(const align_pairing *p, int64_t k, int64_t *scratch) {
  static const dvt_pair_kind kinds[] = {[DAVIT_ALIGN_LOCAL] = DVT_PAIR_LOCAL,
                                        [DAVIT_ALIGN_GLOBAL] = DVT_PAIR_GLOBAL,
                                        [DAVIT_ALIGN_SEMIGLOBAL] = DVT_PAIR_ENDS};
  const int64_t m = cli_sequences_length(p->query, k), n = cli_sequences_length(p->target, k),
                band = p->options.band > 0 ? dvt_at_most(p->options.band, m + n) : m + n;
  const dvt_pair_part part = {.query = p->query_symbols + p->query->offsets[k],
                              .target = p->target->symbols + p->target->offsets[k],
                              .m = m,
                              .n = n,
                              .step = 1,
                              .low = dvt_at_least(dvt_at_most(0, n - m) - band, -m),
                              .high = dvt_at_most(dvt_at_least(0, n - m) + band, n)};
  davit_align_scoring cheaper = *p->scoring;
  cheaper.gap_extend = (int32_t)dvt_at_most(cheaper.gap_extend, cheaper.gap_open);
  if (p->options.mode == DAVIT_ALIGN_EXTENSION) {
    dvt_pair_extension found;
    dvt_ref_align_extend(&cheaper, &part, p->options.x_drop > 0 ? p->options.x_drop : INT64_MAX, scratch,
                         NULL, NULL, &found);
    return (int32_t)found.end.score;
  }
  return (int32_t)dvt_ref_align_pass(&cheaper, kinds[p->options.mode], &part, scratch, NULL).score;
}

/* ---- alignments ---- */

/* The sequences of some rows, one after the other. */
typedef struct chosen {
  davit_align_sequences view;
  int64_t *offsets;
  uint8_t *symbols;
} chosen;

static davit_status choose(const align_pair_rows *rows, const cli_sequences *all, const uint8_t *symbols,
                           chosen *c) {
  int64_t used = 0;
  for (int64_t k = rows->first; k < rows->count; k += rows->step)
    used += cli_sequences_length(all, rows->at[k].query);
  c->offsets = dvt_allocate((size_t)rows->count + 1, sizeof *c->offsets);
  c->symbols = dvt_allocate((size_t)used + 1, 1);
  if (!c->offsets || !c->symbols)
    return DAVIT_OUT_OF_HOST_MEMORY;
  int64_t count = 0;
  for (int64_t k = rows->first; k < rows->count; k += rows->step, count++) {
    const int64_t length = cli_sequences_length(all, rows->at[k].query);
    memcpy(c->symbols + c->offsets[count], symbols + all->offsets[rows->at[k].query], (size_t)length);
    c->offsets[count + 1] = c->offsets[count] + length;
  }
  c->view = (davit_align_sequences){count, c->offsets, c->symbols};
  return DAVIT_SUCCESS;
}

static void release(chosen *c) {
  free(c->offsets);
  free(c->symbols);
}

static davit_status give_out(const align_pair_rows *rows, const davit_align_result *results,
                             const char *cigars) {
  for (int64_t k = rows->first, i = 0; k < rows->count; k += rows->step, i++) {
    align_row *r = &rows->at[k];
    r->alignment = results[i];
    if (!cigars)
      continue;
    const size_t bytes = strlen(cigars + results[i].cigar) + 1;
    davit_free(r->cigar);
    r->cigar = NULL;
    DVT_TRY(davit_malloc(bytes, DAVIT_PAGEABLE, (void **)&r->cigar));
    memcpy(r->cigar, cigars + results[i].cigar, bytes);
  }
  return DAVIT_SUCCESS;
}

davit_status align_pairs_trace(const align_pairing *p, const align_pair_rows *rows, bool columns) {
  chosen queries = {0}, targets = {0};
  char *cigars = NULL;
  davit_align_result *results = dvt_allocate((size_t)rows->count + 1, sizeof *results);
  davit_status status =
      results ? choose(rows, p->query, p->query_symbols, &queries) : DAVIT_OUT_OF_HOST_MEMORY;
  if (status == DAVIT_SUCCESS)
    status = choose(rows, p->target, p->target->symbols, &targets);
  if (status == DAVIT_SUCCESS)
    status = davit_align_pairs(p->scoring, &queries.view, &targets.view, NULL, results,
                               columns ? &cigars : NULL, &p->options);
  if (status == DAVIT_SUCCESS)
    status = give_out(rows, results, cigars);
  davit_free(cigars);
  release(&queries);
  release(&targets);
  free(results);
  return status;
}
