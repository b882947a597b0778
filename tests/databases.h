/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of databases share: targets, the reference's scores, and what a database finds on every list of
 * devices. */
#ifndef DAVIT_TESTS_DATABASES_H
#define DAVIT_TESTS_DATABASES_H

#include "tests/sequences.h"

typedef struct targets {
  davit_align_sequences view;
  int64_t *offsets;
  uint8_t *symbols;
} targets;

static inline targets targets_of(int64_t count, const sequence *all) {
  targets t = {.offsets = kept((size_t)(count + 1) * sizeof(int64_t))};
  t.offsets[0] = 0;
  for (int64_t k = 0; k < count; k++)
    t.offsets[k + 1] = t.offsets[k] + all[k].length;
  t.symbols = kept((size_t)t.offsets[count]);
  for (int64_t k = 0; k < count; k++)
    memcpy(t.symbols + t.offsets[k], all[k].symbols, (size_t)all[k].length);
  t.view = (davit_align_sequences){count, t.offsets, t.symbols};
  return t;
}

static inline sequence target_at(const targets *t, int64_t k) {
  return (sequence){t->offsets[k + 1] - t->offsets[k], t->symbols + t->offsets[k]};
}

static inline int32_t *expected_scores(const targets *t, const davit_align_scoring *scoring,
                                       const sequence *q) {
  int32_t *scores = kept((size_t)t->view.count * sizeof *scores);
  for (int64_t k = 0; k < t->view.count; k++) {
    const sequence target = target_at(t, k);
    scores[k] = reference(scoring, q, &target);
  }
  return scores;
}

static inline void expect_scores(davit_align_database *database, const targets *t,
                                 const davit_align_scoring *scoring, const sequence *q,
                                 const int32_t *wanted) {
  const size_t bytes = (size_t)t->view.count * sizeof(int32_t);
  zone z = zone_new(bytes, DAVIT_PAGEABLE, 4);
  int32_t *scores = kept(bytes);
  CHECK(davit_align_scores(database, scoring, q->length, q->symbols, zone_data(&z)));
  zone_take(&z, scores);
  for (int64_t k = 0; k < t->view.count; k++)
    if (scores[k] != wanted[k])
      fail_msg("query of %lld, target %lld of %lld: %d, not %d", (long long)q->length, (long long)k,
               (long long)(t->offsets[k + 1] - t->offsets[k]), scores[k], wanted[k]);
}

/* The best hits, found one after the other. */
static inline void expect_hits(davit_align_database *database, const targets *t,
                               const davit_align_scoring *scoring, const sequence *q, int64_t top,
                               const int32_t *wanted) {
  const size_t bytes = (size_t)top * sizeof(davit_align_hit);
  zone z = zone_new(bytes, DAVIT_PAGEABLE, 8);
  davit_align_hit *hits = kept(bytes);
  bool *taken = kept_zeros((size_t)t->view.count);
  int64_t found = -1, count = 0;
  CHECK(davit_align_search(database, scoring, q->length, q->symbols, top, zone_data(&z), &found));
  zone_take(&z, hits);
  for (; count < top; count++) {
    int64_t best = -1;
    for (int64_t k = 0; k < t->view.count; k++)
      if (!taken[k] && wanted[k] > 0 && (best < 0 || wanted[k] > wanted[best]))
        best = k;
    if (best < 0)
      break;
    taken[best] = true;
    assert_true(count < found);
    assert_int_equal(hits[count].target, best);
    assert_int_equal(hits[count].score, wanted[best]);
  }
  assert_int_equal(found, count);
}

/* What a database may take of each device; 0: davit's own choice. */
static size_t database_bytes;

/* Each device alone, all of them, and the default ones. */
typedef struct device_list {
  int count;
  int devices[MAX_PLACES];
} device_list;

static inline int device_lists(device_list lists[MAX_PLACES + 2]) {
  int all[MAX_PLACES], count = all_devices(all), found = 0;
  for (int d = 0; d < count && d < 3; d++)
    lists[found++] = (device_list){1, {all[d]}};
  lists[found].count = count < 16 ? count : 16;
  memcpy(lists[found++].devices, all, sizeof all);
  lists[found++] = (device_list){0, {0}};
  return found;
}

static inline davit_align_database *database_on(const targets *t, int symbols, const device_list *list) {
  davit_align_database *database = NULL;
  const davit_align_database_options options = {.devices = list->count ? list->devices : NULL,
                                                .device_count = list->count,
                                                .cache_bytes = database_bytes};
  CHECK(davit_align_database_create(&t->view, symbols, &database, &options));
  assert_non_null(database);
  return database;
}

/* All queries by one database, on each list of devices. */
static inline void expect_all(const targets *t, const davit_align_scoring *scoring, int queries,
                              const sequence *query) {
  device_list *lists = kept((MAX_PLACES + 2) * sizeof *lists);
  const int count = device_lists(lists);
  int32_t *wanted[8];
  assert_true(queries <= COUNT(wanted));
  for (int q = 0; q < queries; q++)
    wanted[q] = expected_scores(t, scoring, &query[q]);
  for (int l = 0; l < count; l++) {
    davit_align_database *database = database_on(t, scoring->symbols, &lists[l]);
    for (int q = 0; q < queries; q++) {
      expect_scores(database, t, scoring, &query[q], wanted[q]);
      expect_hits(database, t, scoring, &query[q], 10, wanted[q]);
    }
    CHECK(davit_align_database_destroy(database));
  }
}

#endif
