/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/parasail.h"

#include <parasail.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";

struct peer_parasail_targets {
  int64_t count;
  const int64_t *offsets;
  char *text;
  parasail_matrix_t *matrix;
};

static char *text_of(int64_t length, const uint8_t *symbols) {
  char *text = malloc((size_t)length + 1);
  for (int64_t i = 0; text && i < length; i++)
    text[i] = letters[symbols[i]];
  if (text)
    text[length] = 0;
  return text;
}

/* Symbol k is letter k. */
static parasail_matrix_t *matrix_of(const davit_align_scoring *scoring) {
  char alphabet[sizeof letters] = "";
  memcpy(alphabet, letters, (size_t)scoring->symbols);
  parasail_matrix_t *matrix = parasail_matrix_create_case_sensitive(alphabet, 1, -1);
  for (int q = 0; matrix && q < scoring->symbols; q++)
    for (int t = 0; t < scoring->symbols; t++)
      parasail_matrix_set_value(matrix, t, q, scoring->matrix[q + t * scoring->symbols]);
  return matrix;
}

peer_parasail_targets *peer_parasail_targets_create(const davit_align_sequences *targets,
                                                    const davit_align_scoring *scoring) {
  peer_parasail_targets *t = malloc(sizeof *t);
  if (!t)
    return NULL;
  *t = (peer_parasail_targets){targets->count, targets->offsets,
                               text_of(targets->offsets[targets->count], targets->symbols),
                               matrix_of(scoring)};
  if (t->text && t->matrix)
    return t;
  peer_parasail_targets_destroy(t);
  return NULL;
}

void peer_parasail_targets_destroy(peer_parasail_targets *targets) {
  if (targets)
    free(targets->text);
  if (targets && targets->matrix)
    parasail_matrix_free(targets->matrix);
  free(targets);
}

typedef parasail_result_t *(*aligner)(const parasail_profile_t *, const char *, int, int, int);

static bool score_of(aligner align, const parasail_profile_t *profile, const char *text, int64_t n, int open,
                     int extend, int32_t *score) {
  parasail_result_t *result = align(profile, text, (int)n, open, extend);
  if (!result)
    return false;
  *score = parasail_result_get_score(result);
  parasail_result_free(result);
  return true;
}

static bool score_targets(const peer_parasail_targets *t, const davit_align_scoring *scoring, aligner align,
                          const parasail_profile_t *profile, int threads, int32_t *scores) {
  atomic_bool failed = false;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (int64_t k = 0; k < t->count; k++)
    if (!score_of(align, profile, t->text + t->offsets[k], t->offsets[k + 1] - t->offsets[k],
                  scoring->gap_open, scoring->gap_extend, &scores[k]))
      atomic_store(&failed, true);
  return !atomic_load(&failed);
}

davit_status peer_parasail_scores(const peer_parasail_targets *targets, const davit_align_scoring *scoring,
                                  int64_t m, const uint8_t *query, peer_parasail_words words, int threads,
                                  int32_t *scores) {
  static parasail_profile_t *(*const profiles[])(const char *, int, const parasail_matrix_t *) = {
      parasail_profile_create_16, parasail_profile_create_sat, parasail_profile_create_8};
  static const aligner aligners[] = {parasail_sw_striped_profile_16, parasail_sw_striped_profile_sat,
                                     parasail_sw_striped_profile_8};
  char *text = text_of(m, query);
  parasail_profile_t *profile = text ? profiles[words](text, (int)m, targets->matrix) : NULL;
  const bool done = profile && score_targets(targets, scoring, aligners[words], profile, threads, scores);
  if (profile)
    parasail_profile_free(profile);
  free(text);
  return done ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

typedef parasail_result_t *(*pair_aligner)(const char *, int, const char *, int, int, int,
                                           const parasail_matrix_t *);

typedef struct pair_way {
  pair_aligner align;
  bool columns;
} pair_way;

static const pair_way pair_ways[] = {[PEER_PARASAIL_PAIRS_16] = {parasail_sw_striped_16, false},
                                     [PEER_PARASAIL_PAIRS_SATURATING] = {parasail_sw_striped_sat, false},
                                     [PEER_PARASAIL_TRACE_STRIPED] = {parasail_sw_trace_striped_16, true},
                                     [PEER_PARASAIL_TRACE_SCAN] = {parasail_sw_trace_scan_16, true},
                                     [PEER_PARASAIL_GLOBAL_STRIPED] = {parasail_nw_trace_striped_16, true},
                                     [PEER_PARASAIL_GLOBAL_SCAN] = {parasail_nw_trace_scan_16, true}};

static bool align_pair(const peer_parasail_targets *q, const peer_parasail_targets *t, int64_t k,
                       const davit_align_scoring *scoring, const pair_way *way, int32_t *score) {
  const char *query = q->text + q->offsets[k], *target = t->text + t->offsets[k];
  const int m = (int)(q->offsets[k + 1] - q->offsets[k]), n = (int)(t->offsets[k + 1] - t->offsets[k]);
  parasail_result_t *result =
      way->align(query, m, target, n, scoring->gap_open, scoring->gap_extend, t->matrix);
  if (!result)
    return false;
  *score = parasail_result_get_score(result);
  if (way->columns) {
    parasail_cigar_t *cigar = parasail_result_get_cigar(result, query, m, target, n, t->matrix);
    if (cigar)
      parasail_cigar_free(cigar);
  }
  parasail_result_free(result);
  return true;
}

davit_status peer_parasail_pairs(const peer_parasail_targets *queries, const peer_parasail_targets *targets,
                                 const davit_align_scoring *scoring, peer_parasail_way way, int threads,
                                 int32_t *scores) {
  atomic_bool failed = false;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (int64_t k = 0; k < targets->count; k++)
    if (!align_pair(queries, targets, k, scoring, &pair_ways[way], &scores[k]))
      atomic_store(&failed, true);
  return atomic_load(&failed) ? DAVIT_OUT_OF_HOST_MEMORY : DAVIT_SUCCESS;
}

/* The frames of a window are the symbols of an alphabet, the effect is a matrix with a row for each frame,
 * and an order of the frames is a string. */
static bool detect_pair(const peer_parasail_detection *d, int64_t pair, int32_t *scores) {
  char alphabet[256] = "", text[256] = "";
  for (int64_t i = 0; i < d->window; i++)
    alphabet[i] = (char)(i + 1);
  parasail_matrix_t *matrix = parasail_matrix_pssm_create_case_sensitive(
      alphabet, d->similarities + pair * d->effect * d->window, (int)d->effect);
  parasail_profile_t *profile = matrix ? parasail_profile_create_16(NULL, (int)d->effect, matrix) : NULL;
  bool done = profile != NULL;
  for (int64_t r = 0; r < d->runs && done; r++) {
    for (int64_t i = 0; i < d->window; i++)
      text[i] = alphabet[d->orders[r * d->window + i]];
    done = score_of(parasail_sw_striped_profile_16, profile, text, d->window, d->gap_open, d->gap_extend,
                    &scores[pair * d->runs + r]);
  }
  if (profile)
    parasail_profile_free(profile);
  if (matrix)
    parasail_matrix_free(matrix);
  return done;
}

davit_status peer_parasail_detect(const peer_parasail_detection *detection, int threads, int32_t *scores) {
  atomic_bool failed = detection->window > 255;
  if (!atomic_load(&failed))
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t pair = 0; pair < detection->pairs; pair++)
      if (!detect_pair(detection, pair, scores))
        atomic_store(&failed, true);
  return atomic_load(&failed) ? DAVIT_OUT_OF_HOST_MEMORY : DAVIT_SUCCESS;
}
