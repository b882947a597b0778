/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting networks: comparators [i:j] that leave the smaller of two elements at i and the larger at j, in
 * stages of comparators that share no element.
 *
 * study_network_stage() begins a stage, study_network_add() adds a comparator to the last one. i > j is
 * allowed: that comparator sorts in descending order. */
#ifndef DAVIT_STUDY_CLOSEST_NETWORK_H
#define DAVIT_STUDY_CLOSEST_NETWORK_H

#include <davit/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct study_comparator {
  int smaller, larger;
} study_comparator;

typedef struct study_network {
  int n, stages;
  int64_t count;                 /* of comparators */
  int64_t *first;                /* comparator of each stage, and `count` behind the last one */
  study_comparator *comparators; /* stage by stage */
  int64_t stage_capacity, capacity;
  int *busy; /* element i has a comparator in stage busy[i] */
} study_network;

/* A network without stages for n ≥ 1 elements. */
davit_status study_network_create(int n, study_network **network);
void study_network_free(study_network *network);

davit_status study_network_stage(study_network *network);

/* DAVIT_INVALID_ARGUMENT: no such element, the same one twice, or one that another comparator of the stage
 * has. */
davit_status study_network_add(study_network *network, int smaller, int larger);

void study_network_apply(const study_network *network, float *values);

/* The 0-1 principle: a network sorts everything if it sorts all 2^n sequences of zeros and ones, 64 of which
 * are tried at a time. n up to 30. If not, *witness is one that it does not sort: element i is bit i. O(2^n
 * comparators / 64). */
davit_status study_network_sorts(const study_network *network, bool *sorts, uint32_t *witness);

/* ---- networks ---- */

typedef enum study_network_kind {
  STUDY_BUBBLE, /* any n: n (n - 1) / 2 comparators in 2 n - 3 stages */
  /* n even (the source prints "odd"): [0:n/2] [1:n/2+1] … in one stage. It makes two bitonic halves of a
   * bitonic sequence of zeros and ones, and one of them is constant. */
  STUDY_HALF_CLEANER,
  STUDY_BITONIC_MERGE,  /* sorts a bitonic sequence: n/2 log n */
  STUDY_BITONIC_SORT,   /* sorts its halves up and down, and merges: (n/4) log n (log n + 1) */
  STUDY_ODD_EVEN_MERGE, /* sorts two sorted halves: n/2 (log n - 1) + 1 */
  STUDY_ODD_EVEN_SORT,  /* the merges of all levels */
  STUDY_NETWORKS
} study_network_kind;

/* For merges and their sorts n is a power of two; a merge has log n stages. */
davit_status study_network_make(study_network_kind kind, int n, study_network **network);

#endif
