/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting networks: comparators [i:j] that leave the smaller of two elements at i and the larger at j, in
 * stages of comparators that share no element.
 *
 * A network is given stage by stage: study_network_stage() begins a stage, study_network_add()
 * adds a comparator to the newest. i > j is allowed: that one sorts in descending order. */
#ifndef DAVIT_STUDY_CLOSEST_NETWORK_H
#define DAVIT_STUDY_CLOSEST_NETWORK_H

#include <davit/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct study_network study_network;

typedef struct study_comparator {
  int smaller, larger;
} study_comparator;

/* A network without stages for n ≥ 1 elements. */
davit_status study_network_create(int n, study_network **network);
void study_network_free(study_network *network);

davit_status study_network_stage(study_network *network);

/* DAVIT_INVALID_ARGUMENT: no such element, the same one twice, or one that another comparator of the stage
 * has. */
davit_status study_network_add(study_network *network, int smaller, int larger);

int study_network_width(const study_network *network);
int study_network_stages(const study_network *network);
int64_t study_network_comparators(const study_network *network);

/* The comparators of a stage; *count of them. */
const study_comparator *study_network_stage_at(const study_network *network, int stage, int *count);

void study_network_apply(const study_network *network, float *values);

/* The 0-1 principle: a network sorts everything if it sorts all 2^n sequences of zeros and ones, 64 of
 * which are tried at a time. n up to 30. If not, *witness is one that it does not sort: element i is bit
 * i. O(2^n comparators / 64). */
davit_status study_network_sorts(const study_network *network, bool *sorts, uint32_t *witness);

/* ---- networks ---- */

/* Any n: n (n - 1) / 2 comparators in 2 n - 3 stages. */
davit_status study_network_bubble(int n, study_network **network);

/* B_n = [0:n/2] [1:n/2+1] … of one stage; n even (the source prints "odd"). Of a bitonic sequence of zeros
 * and ones it makes two bitonic halves, of which one is constant. */
davit_status study_network_half_cleaner(int n, study_network **network);

/* n a power of two. A merge sorts a bitonic sequence (odd-even: two sorted halves); a sort anything.
 *   bitonic    merge n/2 log n,              sort (n/4) log n (log n + 1)
 *   odd-even   merge n/2 (log n - 1) + 1,    sort the merges of all levels
 * in log n stages a merge. The bitonic sort sorts its halves up and down. */
davit_status study_network_bitonic_merge(int n, study_network **network);
davit_status study_network_bitonic_sort(int n, study_network **network);
davit_status study_network_odd_even_merge(int n, study_network **network);
davit_status study_network_odd_even_sort(int n, study_network **network);

#endif
