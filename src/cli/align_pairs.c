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
#include "src/cli/ranks.h"

static const uint8_t *query_symbols(const align_comparison *c) {
  return c->strands == ALIGN_SEARCH_MINUS ? c->reverse : c->query.symbols;
}

static davit_align_pairs_options options_of(const align_comparison *c) {
  return (davit_align_pairs_options){CLI_DEVICES(c), .mode = c->mode, .band = c->band, .x_drop = c->x_drop};
}

davit_status align_pairs_score(const align_comparison *c, int32_t *scores) {
  const davit_align_pairs_options options = options_of(c);
  const davit_align_sequences queries = {c->count, c->query.offsets + c->first, query_symbols(c)},
                              targets = {c->count, c->target.offsets + c->first, c->target.symbols};
  return davit_align_pairs(&c->scheme.scoring, &queries, &targets, scores, NULL, NULL, &options);
}

int32_t align_pairs_reference(const align_comparison *c, int64_t k, int64_t *scratch) {
  static const dvt_pair_kind kinds[] = {[DAVIT_ALIGN_LOCAL] = DVT_PAIR_LOCAL,
                                        [DAVIT_ALIGN_GLOBAL] = DVT_PAIR_GLOBAL,
                                        [DAVIT_ALIGN_SEMIGLOBAL] = DVT_PAIR_ENDS};
  const int64_t m = cli_sequences_length(&c->query, k), n = cli_sequences_length(&c->target, k),
                band = c->band > 0 ? dvt_at_most(c->band, m + n) : m + n;
  const dvt_pair_part part = {.query = query_symbols(c) + c->query.offsets[k],
                              .target = c->target.symbols + c->target.offsets[k],
                              .m = m,
                              .n = n,
                              .step = 1,
                              .low = dvt_at_least(dvt_at_most(0, n - m) - band, -m),
                              .high = dvt_at_most(dvt_at_least(0, n - m) + band, n)};
  davit_align_scoring cheaper = c->scheme.scoring;
  cheaper.gap_extend = (int32_t)dvt_at_most(cheaper.gap_extend, cheaper.gap_open);
  if (c->mode == DAVIT_ALIGN_EXTENSION) {
    dvt_pair_extension found;
    dvt_ref_align_extend(&cheaper, &part, c->x_drop > 0 ? c->x_drop : INT64_MAX, scratch, NULL, NULL, &found);
    return (int32_t)found.end.score;
  }
  return (int32_t)dvt_ref_align_pass(&cheaper, kinds[c->mode], &part, scratch, NULL).score;
}

/* ---- alignments ---- */

/* The sequences of some rows, one after the other. */
typedef struct chosen {
  davit_align_sequences view;
  int64_t *offsets;
  uint8_t *symbols;
} chosen;

static davit_status choose(const align_list *rows, const cli_sequences *all, const uint8_t *symbols,
                           chosen *c) {
  const int64_t first = cli_ranks_rank(), step = cli_ranks_count();
  int64_t used = 0, count = 0;
  for (int64_t k = first; k < rows->count; k += step)
    used += cli_sequences_length(all, rows->at[k].query);
  c->offsets = dvt_allocate((size_t)rows->count + 1, sizeof *c->offsets);
  c->symbols = dvt_allocate((size_t)used + 1, 1);
  if (!c->offsets || !c->symbols)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t k = first; k < rows->count; k += step, count++) {
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

static davit_status give_out(const align_list *rows, const davit_align_result *results, const char *cigars) {
  for (int64_t k = cli_ranks_rank(), i = 0; k < rows->count; k += cli_ranks_count(), i++) {
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

davit_status align_pairs_trace(const align_comparison *c, bool columns) {
  const davit_align_pairs_options options = options_of(c);
  chosen queries = {0}, targets = {0};
  char *cigars = NULL;
  davit_align_result *results = dvt_allocate((size_t)c->rows.count + 1, sizeof *results);
  davit_status status =
      results ? choose(&c->rows, &c->query, query_symbols(c), &queries) : DAVIT_OUT_OF_HOST_MEMORY;
  if (status == DAVIT_SUCCESS)
    status = choose(&c->rows, &c->target, c->target.symbols, &targets);
  if (status == DAVIT_SUCCESS)
    status = davit_align_pairs(&c->scheme.scoring, &queries.view, &targets.view, NULL, results,
                               columns ? &cigars : NULL, &options);
  if (status == DAVIT_SUCCESS)
    status = give_out(&c->rows, results, cigars);
  davit_free(cigars);
  release(&queries);
  release(&targets);
  free(results);
  return status;
}
