/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/closest/network.h"

#include <stdlib.h>

#include "bench/study/common/site.h"

static davit_status no_memory(void) {
  return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the network");
}

davit_status study_network_create(int n, study_network **network) {
  STUDY_REQUIRE(n > 0, "n is %d", n);
  study_network *made = calloc(1, sizeof *made);
  if (made)
    made->busy = malloc((size_t)n * sizeof *made->busy);
  if (!made || !made->busy) {
    free(made);
    return no_memory();
  }
  made->n = n;
  for (int i = 0; i < n; i++)
    made->busy[i] = -1;
  *network = made;
  return DAVIT_SUCCESS;
}

void study_network_free(study_network *network) {
  if (!network)
    return;
  free(network->first);
  free(network->comparators);
  free(network->busy);
  free(network);
}

davit_status study_network_stage(study_network *network) {
  if (!study_room((void **)&network->first, network->stages + 1, &network->stage_capacity,
                  sizeof *network->first))
    return no_memory();
  network->first[network->stages++] = network->count;
  network->first[network->stages] = network->count;
  return DAVIT_SUCCESS;
}

davit_status study_network_add(study_network *network, int smaller, int larger) {
  const int stage = network->stages - 1;
  STUDY_REQUIRE(stage >= 0, "the network has no stage yet");
  STUDY_REQUIRE(smaller >= 0 && smaller < network->n && larger >= 0 && larger < network->n &&
                    smaller != larger,
                "[%d:%d] is no comparator of %d elements", smaller, larger, network->n);
  STUDY_REQUIRE(network->busy[smaller] != stage && network->busy[larger] != stage,
                "[%d:%d] shares an element with its stage", smaller, larger);
  if (!study_room((void **)&network->comparators, network->count, &network->capacity,
                  sizeof *network->comparators))
    return no_memory();
  network->comparators[network->count++] = (study_comparator){smaller, larger};
  network->first[network->stages] = network->count;
  network->busy[smaller] = network->busy[larger] = stage;
  return DAVIT_SUCCESS;
}

void study_network_apply(const study_network *network, float *values) {
  for (int64_t c = 0; c < network->count; c++) {
    float *smaller = &values[network->comparators[c].smaller],
          *larger = &values[network->comparators[c].larger];
    if (*larger < *smaller) {
      float moved = *smaller;
      *smaller = *larger;
      *larger = moved;
    }
  }
}

/* ---- the 0-1 principle ---- */

enum { MAX_ELEMENTS = 30, AT_A_TIME = 64, LOG_AT_A_TIME = 6 };

/* Element i of sequences 64 group … 64 group + 63, a bit each. */
static uint64_t column_of(uint32_t group, int i) {
  static const uint64_t low[LOG_AT_A_TIME] = {UINT64_C(0xAAAAAAAAAAAAAAAA), UINT64_C(0xCCCCCCCCCCCCCCCC),
                                              UINT64_C(0xF0F0F0F0F0F0F0F0), UINT64_C(0xFF00FF00FF00FF00),
                                              UINT64_C(0xFFFF0000FFFF0000), UINT64_C(0xFFFFFFFF00000000)};
  return i < LOG_AT_A_TIME ? low[i] : group >> (i - LOG_AT_A_TIME) & 1 ? ~UINT64_C(0) : 0;
}

/* A bit for each of the 64 sequences that is not sorted. */
static uint64_t unsorted(const study_network *network, uint32_t group) {
  uint64_t column[MAX_ELEMENTS], wrong = 0;
  for (int i = 0; i < network->n; i++)
    column[i] = column_of(group, i);
  for (int64_t c = 0; c < network->count; c++) {
    study_comparator at = network->comparators[c];
    uint64_t both = column[at.smaller] & column[at.larger], any = column[at.smaller] | column[at.larger];
    column[at.smaller] = both;
    column[at.larger] = any;
  }
  for (int i = 0; i + 1 < network->n; i++)
    wrong |= column[i] & ~column[i + 1];
  return wrong;
}

davit_status study_network_sorts(const study_network *network, bool *sorts, uint32_t *witness) {
  STUDY_REQUIRE(network->n <= MAX_ELEMENTS, "2^%d sequences are too many", network->n);
  uint32_t groups = network->n > LOG_AT_A_TIME ? UINT32_C(1) << (network->n - LOG_AT_A_TIME) : 1;
  *sorts = true;
  for (uint32_t group = 0; group < groups; group++) {
    uint64_t wrong = unsorted(network, group);
    if (wrong) {
      uint32_t sequence = group * AT_A_TIME + (uint32_t)__builtin_ctzll(wrong);
      *sorts = false;
      *witness =
          sequence & (uint32_t)((UINT64_C(1) << network->n) - 1); /* few elements: the same ones again */
      return DAVIT_SUCCESS;
    }
  }
  return DAVIT_SUCCESS;
}

/* ---- networks ---- */

static int log_of(int n) {
  return n > 0 ? 31 - __builtin_clz((unsigned)n) : 0;
}

/* Pass p compares [i:i+1] in stage 2 p + i, so a pass follows the one before it two stages later. */
static bool bubble_link(int n, int stage, int i, study_comparator *c) {
  *c = (study_comparator){i, i + 1};
  return i <= stage && (stage - i) % 2 == 0 && i <= n - 2 - (stage - i) / 2;
}

static bool half_cleaner_link(int n, int stage, int i, study_comparator *c) {
  (void)stage;
  *c = (study_comparator){i, i + n / 2};
  return i < n / 2;
}

/* The first of two elements that are `reach` apart in groups of 2 reach. */
static bool pair_of(int reach, int i, bool ascending, study_comparator *c) {
  *c = ascending ? (study_comparator){i, i + reach} : (study_comparator){i + reach, i};
  return (i & reach) == 0;
}

static bool bitonic_merge_link(int n, int stage, int i, study_comparator *c) {
  return pair_of(n >> (stage + 1), i, true, c);
}

/* Stage `stage` of all merges, which take 1, 2, 3, … stages: the size of the merge and the stage within it. */
static int merge_of(int stage, int *within) {
  int log = 1;
  for (; stage >= log; log++)
    stage -= log;
  *within = stage;
  return 1 << log;
}

static bool bitonic_sort_link(int n, int stage, int i, study_comparator *c) {
  (void)n;
  int within, size = merge_of(stage, &within);
  return pair_of(size >> (within + 1), i, (i & size) == 0, c);
}

/* Stage `within` of odd-even merges of `size`: first the halves against each other, then [i:i+reach] for i an
 * odd multiple of reach, as the merges of even and of odd elements leave it; the last group has no partner
 * within the merge. */
static bool odd_even_merge_link(int size, int within, int i, study_comparator *c) {
  int reach = size >> (within + 1);
  *c = (study_comparator){i, i + reach};
  if (within == 0)
    return (i & reach) == 0;
  return (i & reach) != 0 && (i & (size - 1)) + reach < size;
}

static bool odd_even_sort_link(int n, int stage, int i, study_comparator *c) {
  (void)n;
  int within, size = merge_of(stage, &within);
  return odd_even_merge_link(size, within, i, c);
}

/* A stage has the comparators for which `link` is true. */
typedef bool link(int n, int stage, int i, study_comparator *comparator);

static davit_status add_stage(study_network *network, link *has, int stage) {
  study_comparator c;
  DVT_TRY(study_network_stage(network));
  for (int i = 0; i < network->n; i++)
    if (has(network->n, stage, i, &c))
      DVT_TRY(study_network_add(network, c.smaller, c.larger));
  return DAVIT_SUCCESS;
}

static const struct {
  link *link;
  enum { ANY, EVEN, POWER } n;
  enum { PASSES, ONE, LEVELS, ALL_LEVELS } stages;
} kinds[STUDY_NETWORKS] = {[STUDY_BUBBLE] = {bubble_link, ANY, PASSES},
                           [STUDY_HALF_CLEANER] = {half_cleaner_link, EVEN, ONE},
                           [STUDY_BITONIC_MERGE] = {bitonic_merge_link, POWER, LEVELS},
                           [STUDY_BITONIC_SORT] = {bitonic_sort_link, POWER, ALL_LEVELS},
                           [STUDY_ODD_EVEN_MERGE] = {odd_even_merge_link, POWER, LEVELS},
                           [STUDY_ODD_EVEN_SORT] = {odd_even_sort_link, POWER, ALL_LEVELS}};

davit_status study_network_make(study_network_kind kind, int n, study_network **network) {
  const int log = log_of(n), stages[] = {n > 1 ? 2 * n - 3 : 0, 1, log, log * (log + 1) / 2};
  STUDY_REQUIRE(kinds[kind].n != EVEN || (n >= 2 && n % 2 == 0), "n is %d, which has no halves", n);
  STUDY_REQUIRE(kinds[kind].n != POWER || (n >= 1 && (n & (n - 1)) == 0), "n is %d, not a power of two", n);
  study_network *made;
  DVT_TRY(study_network_create(n, &made));
  davit_status status = DAVIT_SUCCESS;
  for (int stage = 0; stage < stages[kinds[kind].stages] && status == DAVIT_SUCCESS; stage++)
    status = add_stage(made, kinds[kind].link, stage);
  if (status == DAVIT_SUCCESS)
    *network = made;
  else
    study_network_free(made);
  return status;
}
