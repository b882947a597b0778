/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of alignment and detection on the CPU: parasail's striped functions (J. Daily, 2016), with
 * profiles that are used for as many strings as there are. Where parasail was not installed the functions are
 * missing, that is NULL: call them if PEER_PARASAIL is true. Those with a status fail for want of memory. */
#ifndef DAVIT_BENCH_PEERS_PARASAIL_H
#define DAVIT_BENCH_PEERS_PARASAIL_H

#include <davit/align.h>
#include <stdbool.h>

#define PEER_PARASAIL (peer_parasail_scores != NULL)
#pragma weak peer_parasail_targets_create
#pragma weak peer_parasail_targets_destroy
#pragma weak peer_parasail_scores
#pragma weak peer_parasail_pairs
#pragma weak peer_parasail_detect

/* Words of 16 bits, of 8 and then of 16 for what does not fit 8, or of 8, whose scores may be too low. */
typedef enum peer_parasail_words {
  PEER_PARASAIL_16,
  PEER_PARASAIL_SATURATING,
  PEER_PARASAIL_8
} peer_parasail_words;

/* Targets as strings, and the matrix; the offsets stay the caller's. NULL where there are none to be had. */
typedef struct peer_parasail_targets peer_parasail_targets;
peer_parasail_targets *peer_parasail_targets_create(const davit_align_sequences *targets,
                                                    const davit_align_scoring *scoring);
void peer_parasail_targets_destroy(peer_parasail_targets *targets);

/* As davit_align_scores(), with the matrix that was given before. Making the profile is part of it. gap_open is
 * more than gap_extend. */
davit_status peer_parasail_scores(const peer_parasail_targets *targets, const davit_align_scoring *scoring,
                                  int64_t m, const uint8_t *query, peer_parasail_words words, int threads,
                                  int32_t *scores);

/* As davit_align_pairs(): queries, too, are made by peer_parasail_targets_create(). Scores alone, or with the columns
 * as its CIGAR, which is thrown away; words of 16 bits, or what fits. */
typedef enum peer_parasail_way {
  PEER_PARASAIL_PAIRS_16,
  PEER_PARASAIL_PAIRS_SATURATING,
  PEER_PARASAIL_TRACE_STRIPED,
  PEER_PARASAIL_TRACE_SCAN,
  PEER_PARASAIL_GLOBAL_STRIPED,
  PEER_PARASAIL_GLOBAL_SCAN
} peer_parasail_way;
davit_status peer_parasail_pairs(const peer_parasail_targets *queries, const peer_parasail_targets *targets,
                                 const davit_align_scoring *scoring, peer_parasail_way way, int threads,
                                 int32_t *scores);

/* Effects in windows. A pair is one of both: similarities[(pair effect + j) window + i] is that of frame j of
 * the effect with frame i of the window. Window and effect are their frames; window is at most 255. */
typedef struct peer_parasail_detection {
  int64_t pairs, window, effect, runs;
  const int *similarities;
  const uint16_t *orders; /* runs x window */
  int gap_open, gap_extend;
} peer_parasail_detection;

/* scores[pair runs + r], 16 bits, one profile a pair. */
davit_status peer_parasail_detect(const peer_parasail_detection *detection, int threads, int32_t *scores);

#endif
