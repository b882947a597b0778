/* SPDX-License-Identifier: Apache-2.0 */
/* Databases in parts on devices with streams, without a GPU. A search reads what its part's copies have brought to the
 * device, a little later than it was enqueued, so that every wait between copies and searches counts: a part that is
 * searched before it has come, or overwritten while it is searched, has wrong scores. */
#define DELAYED_OF 16
#include "tests/stream_blas.h"

#include "offload/align.h"
#include "tests/databases.h"

LEVEL3_STANDS_IN

/* ---- stands in for offload/align_stream.c ---- */

static atomic_int searches;

/* Half of the targets, and after a while the others; -1 for a target that is not there. */
static void run_search(void *argument) {
  const dvt_align_work *w = argument;
  const dvt_align_targets *t = w->targets;
  const dvt_align_query *q = w->query;
  int32_t *scratch = malloc(2 * ((size_t)q->m + 1) * sizeof *scratch);
  atomic_fetch_add(&searches, 1);
  for (int64_t k = 0; k < t->count; k++) {
    if (k == t->count / 2)
      usleep(300);
    const uint8_t *symbols = w->device->symbols + t->offsets[k];
    const bool here =
        w->device->offsets[k] == t->offsets[k] && w->device->offsets[k + 1] == t->offsets[k + 1];
    w->scores[k] =
        here ? dvt_ref_align_score(q->scoring, q->m, q->symbols, dvt_align_length(t, k), symbols, scratch)
             : -1;
  }
  free(scratch);
  free(argument);
}

/* The linker puts it in the place of what would launch kernels. It waits, too. */
davit_status __wrap_dvt_align_stream(const dvt_site *site, const void *work);
davit_status __wrap_dvt_align_stream(const dvt_site *site, const void *work) {
  DVT_TRY(device_call());
  dvt_align_work *copy = malloc(sizeof *copy);
  *copy = *(const dvt_align_work *)work;
  push(site->stream, (item){.run = run_search, .argument = copy});
  return dvt_stream_synchronize(site->stream);
}

/* ---- cases ---- */

typedef struct problem {
  targets t;
  sequence query;
  davit_align_scoring scoring;
  int32_t *wanted;
  size_t bytes; /* of the targets */
} problem;

static problem make_problem(uint64_t *random) {
  enum { MANY = 1500 };
  problem p = {.query = random_sequence(30, 24, random), .scoring = protein(11, 1)};
  sequence all[MANY];
  for (int k = 0; k < MANY; k++)
    all[k] =
        k % 5 ? random_sequence(random_below(random, 60), 24, random) : relative_of(&p.query, 24, random);
  p.t = targets_of(MANY, all);
  p.wanted = expected_scores(&p.t, &p.scoring, &p.query);
  p.bytes = (size_t)p.t.offsets[MANY] + 12 * MANY;
  return p;
}

static davit_status create(const problem *p, int count, size_t cache_bytes, davit_align_database **database) {
  const davit_align_database_options options = {
      .devices = devices, .device_count = count, .cache_bytes = cache_bytes};
  return davit_align_database_create(&p->t.view, p->scoring.symbols, database, &options);
}

/* One device after the other, with copies that are late, and with streams that are. */
CASE(test_parts) {
  uint64_t random = 1;
  assert_true(spread > 1);
  for (int k = 0; k < 3 * spread; k++) {
    const problem p = make_problem(&random);
    const int count = 1 + k % spread, before = atomic_load(&searches);
    davit_align_database *database;
    CHECK(create(&p, count, p.bytes / (size_t)(count * (2 + k / spread)), &database));
    slow_copies.end = k % 2 ? (const char *)UINTPTR_MAX : NULL;
    slow_copies.ms = 1;
    atomic_store(&lame, k % 3 == 2 ? 1 + random_below(&random, 6) : 0);
    expect_scores(database, &p.t, &p.scoring, &p.query, p.wanted);
    expect_hits(database, &p.t, &p.scoring, &p.query, 20, p.wanted);
    assert_true(atomic_load(&searches) - before >= 2 * 6 * count);
    CHECK(davit_align_database_destroy(database));
    slow_copies.end = NULL;
    atomic_store(&lame, 0);
  }
}

/* What fits is searched at once, and copied once. */
CASE(test_resident) {
  uint64_t random = 2;
  const problem p = make_problem(&random);
  davit_align_database *database;
  CHECK(create(&p, 1, 2 * p.bytes, &database));
  const int before = atomic_load(&searches);
  expect_scores(database, &p.t, &p.scoring, &p.query, p.wanted);
  assert_int_equal(atomic_load(&searches), before + 1);
  CHECK(davit_align_database_destroy(database));
}

/* Each call of the device fails in turn. The query after that is right. */
CASE(test_lost_calls) {
  uint64_t random = 3;
  const problem p = make_problem(&random);
  int32_t *scores = kept((size_t)p.t.view.count * sizeof *scores);
  davit_align_database *database;
  bool failed = true;
  CHECK(create(&p, 1, p.bytes / 2, &database));
  for (int n = 1; failed; n++) {
    atomic_store(&device_calls.until_lost, n);
    const davit_status status =
        davit_align_scores(database, &p.scoring, p.query.length, p.query.symbols, scores);
    failed = atomic_exchange(&device_calls.until_lost, 0) == 0;
    assert_int_equal(status, failed ? DAVIT_DEVICE_LOST : DAVIT_SUCCESS);
    expect_scores(database, &p.t, &p.scoring, &p.query, p.wanted);
  }
  CHECK(davit_align_database_destroy(database));
}

int main(void) {
  return run_cases(give_streams, finalize);
}
