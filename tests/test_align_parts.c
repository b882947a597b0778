/* SPDX-License-Identifier: Apache-2.0 */
/* Databases that are larger than what they may take of a device: shares in parts, and queries that bring these to the
 * device one after the other, against the reference. Where there is no GPU, regions on host devices have them. */
#include "tests/databases.h"

#include "offload/runtime/device.h"
#include "src/align_share.h"
#include "src/base/arithmetic.h"

enum { MANY = 400, FEW = 100 };

/* Lengths of all kinds, some without symbols, many equal; every ninth is akin to the query. */
static targets make_targets(int count, const sequence *q, int symbols, uint64_t *random) {
  static sequence all[MANY];
  for (int k = 0; k < count; k++)
    all[k] = k % 9 == 0 ? relative_of(q, symbols, random)
                        : random_sequence(k % 4 ? 30 : random_below(random, 200), symbols, random);
  return targets_of(count, all);
}

static size_t bytes_of(const targets *t) {
  return (size_t)t->offsets[t->view.count] + 12 * (size_t)t->view.count;
}

/* ---- searches ---- */

/* All in one part, hardly not, in some, and in as many as there may be. */
static void expect_every_size(void) {
  uint64_t random = 1;
  const davit_align_scoring scoring = protein(11, 1);
  const sequence queries[] = {random_sequence(60, 24, &random), random_sequence(0, 24, &random)};
  const targets t = make_targets(MANY, &queries[0], 24, &random);
  const size_t all = bytes_of(&t), sizes[] = {2 * all, all, all * 9 / 10, all / 2, all / 3, 4096};
  for (int k = 0; k < COUNT(sizes); k++) {
    database_bytes = sizes[k];
    expect_all(&t, &scoring, COUNT(queries), queries);
  }
  database_bytes = 0;
}

CASE(test_every_size) {
  expect_every_size();
  without_blas(expect_every_size);
}

/* A profile, and equal scores in different parts. */
static void expect_ties(void) {
  uint64_t random = 2;
  const sequence q = random_sequence(40, 4, &random);
  sequence all[MANY];
  int8_t *profile = kept((size_t)q.length * 4);
  for (int64_t i = 0; i < 4 * q.length; i++)
    profile[i] = i / q.length == q.symbols[i % q.length] ? 1 : -9;
  for (int k = 0; k < MANY; k++)
    all[k] = (sequence){k * 7 % 40, q.symbols};
  const targets t = targets_of(MANY, all);
  const davit_align_scoring scoring = {.symbols = 4, .gap_open = 9, .gap_extend = 9, .profile = profile};
  database_bytes = bytes_of(&t) / 4;
  expect_all(&t, &scoring, 1, &q);
  database_bytes = 0;
}

CASE(test_ties) {
  expect_ties();
  without_blas(expect_ties);
}

/* ---- shares ---- */

static dvt_align_sized *sizes_of(int64_t count, int64_t longest, int64_t *all) {
  dvt_align_sized *own = kept((size_t)count * sizeof *own);
  *all = 0;
  for (int64_t k = 0; k < count; k++) {
    own[k] = (dvt_align_sized){longest - longest * k / count, k};
    *all += own[k].length;
  }
  return own;
}

/* What the parts take of the device; each target is in one of them, in order. */
static void expect_parts(const dvt_align_share *s, int64_t count, const dvt_align_sized *own, size_t cache) {
  int64_t next = 0;
  size_t resident = 0, buffer = 0;
  for (int64_t k = 0; k < s->parts; k++) {
    const dvt_align_part *part = &s->part[k];
    const dvt_align_targets *t = &part->targets;
    const char *there = (const char *)part->device.offsets, *from = k ? s->buffer[k % 2] : s->resident;
    const size_t bytes = (size_t)((const char *)(part->device.scores + t->count + 1) - there);
    assert_ptr_equal(there, from);
    assert_int_equal(part->first, next);
    assert_true(k == 0 || t->count > 0);
    for (int64_t i = 0; i < t->count; i++)
      assert_int_equal(dvt_align_length(t, i), own[next + i].length);
    next += t->count;
    size_t *most = k ? &buffer : &resident;
    *most = bytes > *most ? bytes : *most;
  }
  assert_int_equal(next, count);
  assert_true(resident + 2 * buffer <= cache);
  assert_int_equal(s->buffer[0] != NULL, s->parts > 1);
}

static int region_device(void) {
  int devices[MAX_PLACES], count = all_devices(devices);
  for (int d = 0; d < count; d++)
    if (devices[d] != DAVIT_HOST)
      return devices[d];
  return DAVIT_HOST;
}

static void try_shares(void) {
  enum { COUNT_OF_TARGETS = 300, LONGEST = 500 };
  const int device = region_device();
  int64_t all, most = 0;
  const dvt_align_sized *own = sizes_of(COUNT_OF_TARGETS, LONGEST, &all);
  int64_t *offsets = kept((COUNT_OF_TARGETS + 1) * sizeof *offsets);
  offsets[0] = 0;
  for (int64_t k = 0; k < COUNT_OF_TARGETS; k++)
    offsets[k + 1] = offsets[k] + own[k].length;
  const davit_align_sequences targets = {COUNT_OF_TARGETS, offsets, kept_zeros((size_t)all)};
  if (device == DAVIT_HOST)
    return;
  for (size_t cache = 1 << 20; cache > 1024; cache -= cache / 5) {
    dvt_align_share s = {.number = device};
    dvt_error first = {.status = DAVIT_SUCCESS};
    const davit_status status = dvt_align_share_make(&s, &targets, COUNT_OF_TARGETS, own, cache);
    if (status == DAVIT_SUCCESS) {
      expect_parts(&s, COUNT_OF_TARGETS, own, cache);
      assert_true(s.parts > 1 || (size_t)all < cache);
      most = dvt_at_least(most, s.parts);
    } else {
      assert_int_equal(status, DAVIT_OUT_OF_DEVICE_MEMORY);
      assert_non_null(strstr(davit_last_error(), "are too few for targets of 500 symbols"));
      assert_true(cache < 2 * LONGEST + 4096);
    }
    dvt_align_share_close(&s, &first);
    CHECK(first.status);
    dvt_align_share_free(&s);
  }
  assert_true(most > 20);
}

CASE(test_shares) {
  without_blas(try_shares);
}

/* ---- failures ---- */

typedef struct attempt {
  const targets *t;
  const davit_align_scoring *scoring;
  const sequence *query;
  const int32_t *wanted;
  size_t cache_bytes;
} attempt;

/* What fails leaves the scores alone, or the next query right. */
static davit_status two_queries(void *argument) {
  const attempt *x = argument;
  const int device = region_device();
  const davit_align_database_options options = {
      .devices = &device, .device_count = 1, .cache_bytes = x->cache_bytes};
  const size_t bytes = (size_t)x->t->view.count * sizeof(int32_t);
  int32_t *scores = kept(bytes);
  davit_align_database *database = NULL;
  davit_status status = davit_align_database_create(&x->t->view, x->scoring->symbols, &database, &options);
  for (int k = 0; k < 2 && database; k++) {
    const davit_status one =
        davit_align_scores(database, x->scoring, x->query->length, x->query->symbols, scores);
    if (one == DAVIT_SUCCESS)
      assert_memory_equal(scores, x->wanted, bytes);
    status = status == DAVIT_SUCCESS ? one : status;
  }
  const davit_status end = davit_align_database_destroy(database);
  return status == DAVIT_SUCCESS ? end : status;
}

static attempt make_attempt(const davit_align_scoring *scoring) {
  static sequence query;
  static targets t;
  uint64_t random = 3;
  query = random_sequence(50, 24, &random);
  t = make_targets(FEW, &query, 24, &random);
  return (attempt){&t, scoring, &query, expected_scores(&t, scoring, &query), bytes_of(&t) * 3 / 4};
}

static void try_failures(void) {
  const davit_align_scoring scoring = protein(11, 1);
  attempt x = make_attempt(&scoring);
  fail_everywhere(two_queries, &x);
}

CASE(test_failures) {
  without_blas(try_failures);
}

/* Memory that a device refuses: the database takes less of it, in parts. */
static void try_refusals(void) {
  const davit_align_scoring scoring = protein(11, 1);
  attempt x = make_attempt(&scoring);
  x.cache_bytes = 0;
  if (region_device() == DAVIT_HOST)
    return;
  for (int n = 1; n < 8; n++) {
    CHECK(davit_finalize());
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, n);
    const davit_status status = two_queries(&x);
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, 0);
    if (n == 1)
      CHECK(status);
  }
}

CASE(test_refusals) {
  without_blas(try_refusals);
}
