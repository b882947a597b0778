/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products have the same bits whatever computes them, and are native where they have to be. */
#include "tests/exact.h"

/* ---- the same bits ---- */

/* Later vectors need more than the first ones say. */
static void fill_uneven(trial *t, int inside, uint64_t *seed) {
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < trial_vectors(t, s); i++)
      for (int64_t h = 0; h < t->k; h++)
        for (int p = 0; p < trial_parts(t); p++)
          trial_number(t, s, i, h)[p] =
              ldexp(random_unit(seed), i * 3 < trial_vectors(t, s) * 2 ? 0 : random_power(seed, inside));
}

typedef struct way {
  int list[MOST_DEVICES], count;
  bool separate;
  size_t bytes;
} way;

/* The bytes of C as the devices compute it, from the C that was given at first. */
static dense computed(const trial *t, const way *w) {
  trial again = *t;
  again.options.devices = w->list;
  again.options.device_count = w->count;
  again.options.separate_memory = w->separate;
  again.options.cache_bytes = w->bytes;
  dense_give(&again.o[2]);
  trial_run(&again);
  trial_expect_exact(&again);
  assert_true(w->bytes == 0 || again.report.cache_bytes <= (int64_t)w->bytes * w->count);
  return again.o[2];
}

static way random_way(size_t least, uint64_t *seed) {
  way w = {.count = 1 + random_below(seed, exact_spread + 1), .separate = random_below(seed, 3)};
  w.count = w.count < exact_spread ? w.count : exact_spread;
  for (int d = 0, first = random_below(seed, exact_spread); d < w.count; d++)
    w.list[d] = exact_devices[(first + d * (exact_spread > 2 ? exact_spread - 1 : 1)) % exact_spread];
  w.bytes = random_below(seed, 3) ? least << random_below(seed, 6) : 0;
  return w;
}

static void try_ways(trial t, int inside, int places_too, uint64_t *seed) {
  int all[MAX_PLACES], places[3];
  const int count = all_places(all);
  for (int i = 0; i < 3; i++)
    places[i] = places_too ? all[random_below(seed, count)] : DAVIT_PAGEABLE;
  trial_set_layout(&t, seed);
  fill_uneven(&t, inside, seed);
  trial_lay_out(&t, all_pageable, seed);
  const way host = {.list = {DAVIT_HOST}, .count = 1};
  const dense should = computed(&t, &host);
  uint64_t layout = *seed;
  for (int turn = 0; turn < 3; turn++) {
    const way w = random_way((size_t)(t.k + 16) * 6000 + 20000, seed);
    trial_lay_out(&t, places, &layout);
    if (t.beta != 0) { /* C as before */
      t.o[2] = dense_new(t.type, t.m, t.n, 0, 0, places[2], 1);
      for (int64_t j = 0; j < t.n; j++)
        for (int64_t i = 0; i < t.o[2].rows; i++)
          dense_set(&t.o[2], i, j, element_at(should.type, should.before + should.start, i + j * should.ld));
    }
    const dense is = computed(&t, &w);
    for (int64_t j = 0; j < t.n; j++)
      for (int64_t i = 0; i < is.rows; i++) {
        const double x = dense_at(&is, i, j), y = dense_at(&should, i, j);
        if (memcmp(&x, &y, sizeof x))
          fail_msg("%lld x %lld x %lld of type %d, %c%c, %d devices, separate %d, %zu bytes: (%lld, %lld) is "
                   "%a, not %a",
                   (long long)t.m, (long long)t.n, (long long)t.k, (int)t.type, t.transa, t.transb, w.count,
                   (int)w.separate, w.bytes, (long long)i, (long long)j, x, y);
      }
  }
}

/* DAVIT_HOST, and devices in any order, with memory of their own or not, for all of the operands or slabs of them. */
CASE(test_same_bits) {
  uint64_t seed = 10;
  for (int turn = 0; turn < scaled(60); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 1 + random_below(&seed, 150), 1 + random_below(&seed, 150),
                          1 + random_below(&seed, 90));
      t.beta = random_below(&seed, 3) ? 0 : 0.5;
      t.options.moduli = random_below(&seed, 2) ? 0 : random_below(&seed, 21);
      try_ways(t, turn % 3 * (trial_is_long(&t) ? 6 : 2), turn % 2, &seed);
    }
}

/* More than one panel and one tile. */
CASE(test_same_bits_in_panels) {
  uint64_t seed = 11;
  for (int turn = 0; turn < 6; turn++) {
    SCOPE;
    if (left_out())
      continue;
    const int64_t length = 2000 + random_below(&seed, 7000), other = 1 + random_below(&seed, 40);
    trial t = trial_new(problem_types[turn % 4], turn % 2 ? length : other, turn % 2 ? other : length,
                        1 + random_below(&seed, 12));
    t.beta = turn % 3 == 2 ? 0.5 : 0;
    try_ways(t, trial_is_long(&t) ? 10 : 4, 1, &seed);
  }
}

static uint64_t hash_of_products(const way *w) {
  uint64_t seed = 12, hash = UINT64_C(0xcbf29ce484222325);
  for (int v = 0; v < COUNT(problem_types); v++) {
    SCOPE;
    trial t = trial_new(problem_types[v], 330, 190, 300);
    fill_uneven(&t, trial_is_long(&t) ? 10 : 4, &seed);
    trial_lay_out(&t, all_pageable, &seed);
    const dense c = computed(&t, w);
    for (int64_t j = 0; j < t.n; j++)
      for (int64_t i = 0; i < c.rows; i++) {
        const double x = dense_at(&c, i, j);
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x100000001b3);
      }
  }
  return hash;
}

PROBE(same_hash) {
  find_exact_devices(NULL);
  way w = {.count = exact_spread};
  memcpy(w.list, exact_devices, sizeof w.list);
  assert_true(hash_of_products(&w) == strtoull(probe_argument, NULL, 16));
}

/* Whatever computes them. */
CASE(test_same_bits_in_other_processes) {
  const way host = {.list = {DAVIT_HOST}, .count = 1};
  char hash[32];
  snprintf(hash, sizeof hash, "%llx", (unsigned long long)hash_of_products(&host));
  try_probe("same_hash", hash, "DAVIT_BACKEND=openmp DAVIT_THREADS=1");
  try_probe("same_hash", hash, "DAVIT_BACKEND=threads DAVIT_THREADS=3");
  try_probe("same_hash", hash, "DAVIT_SIMULATE=amd CUDA_VISIBLE_DEVICES= DAVIT_THREADS=5");
  if (__builtin_cpu_supports("avx2"))
    try_probe("same_hash", hash, "BLIS_ARCH_TYPE=3"); /* kernels for Haswell */
}

/* ---- natively ---- */

static void expect_why(const trial *t, const char *words) {
  assert_non_null(t->report.why_native);
  if (!strstr(t->report.why_native, words))
    fail_msg("\"%s\", which has no \"%s\"", t->report.why_native, words);
}

/* A number that is not finite, in the first vector or a later one. */
CASE(test_not_finite) {
  static const double numbers[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  uint64_t seed = 13;
  for (int turn = 0; turn < scaled(40); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 1 + random_below(&seed, 60), 1 + random_below(&seed, 60),
                          1 + random_below(&seed, 40));
      const int side = random_below(&seed, 2), part = random_below(&seed, trial_parts(&t));
      const int64_t i = random_below(&seed, 2) ? 0 : trial_vectors(&t, side) - 1;
      t.beta = random_below(&seed, 2);
      t.options.device_count = 1 + random_below(&seed, exact_spread);
      t.options.separate_memory = random_below(&seed, 2);
      t.options.cache_bytes = random_below(&seed, 2) ? 1 << 19 : 0;
      trial_set_layout(&t, &seed);
      trial_fill(&t, (operands){.phi = 0}, &seed);
      trial_number(&t, side, i, random_below(&seed, (int)t.k))[part] = numbers[random_below(&seed, 3)];
      trial_lay_out(&t, all_pageable, &seed);
      trial_run(&t);
      expect_why(&t, "finite");
      trial_expect_native(&t);
    }
}

CASE(test_too_far_apart) {
  uint64_t seed = 14;
  for (int turn = 0; turn < scaled(20); turn++) {
    SCOPE;
    trial t = trial_new(DAVIT_DOUBLE, 40, 30, 40);
    t.beta = turn % 2;
    t.options.device_count = 1 + random_below(&seed, exact_spread);
    fill_uneven(&t, 400, &seed);
    trial_lay_out(&t, all_pageable, &seed);
    trial_run(&t);
    expect_why(&t, "far apart");
    trial_expect_native(&t);
  }
}

CASE(test_native_for_other_reasons) {
  uint64_t seed = 15;
  trial t = trial_new(DAVIT_DOUBLE, 40, 30, 20);
  trial_fill(&t, (operands){.phi = 0}, &seed);
  trial_lay_out(&t, all_pageable, &seed);
  t.options.cache_bytes = 1000;
  t.options.separate_memory = true;
  const davit_status status = trial_call(&t);
  if (status == DAVIT_SUCCESS) /* else the native product has too little memory, too */
    expect_why(&t, "too little memory");
  t.options = (davit_level3_options){
      .devices = exact_devices, .device_count = 1, .arithmetic = DAVIT_ARITHMETIC_EXACT, .report = &t.report};
  t.alpha = 0;
  trial_run(&t);
  expect_why(&t, "nothing is multiplied");
  CHECK(davit_dtrmm('L', 'U', 'N', 'N', 20, 30, 1, dense_there(&t.o[1]), dense_ld(&t.o[1]),
                    dense_there(&t.o[2]), dense_ld(&t.o[2]), &t.options));
  expect_why(&t, "no exact form");
}

/* ---- options and the report ---- */

CASE(test_refused) {
  double one = 1, c = 0;
  davit_level3_options options = {.arithmetic = DAVIT_ARITHMETIC_MIXED};
#define PRODUCT davit_dgemm('N', 'N', 1, 1, 1, 1, &one, 1, &one, 1, 0, &c, 1, &options)
  REFUSED(PRODUCT, "options->arithmetic is 1");
  options.arithmetic = (davit_arithmetic)77;
  REFUSED(PRODUCT, "options->arithmetic is 77");
  options = (davit_level3_options){.arithmetic = DAVIT_ARITHMETIC_EXACT, .moduli = -1};
  REFUSED(PRODUCT, "options->moduli is -1, not 0 to 20");
  options.moduli = 21;
  REFUSED(PRODUCT, "options->moduli is 21, not 0 to 20");
  options.moduli = 20;
  CHECK(PRODUCT);
#undef PRODUCT
  assert_true(c == 1);
}

typedef struct steps {
  int64_t done, all;
} steps;

static void note_progress(void *context, int64_t done, int64_t all) {
  steps *s = context;
  assert_true(done == s->done + 1 && (s->all == 0 || all == s->all));
  *s = (steps){done, all};
}

CASE(test_report) {
  uint64_t seed = 17;
  for (int count = 1; count <= exact_spread; count++)
    for (int least = 0; least <= 18; least += 9) {
      SCOPE;
      trial t = trial_new(DAVIT_DOUBLE, 200, 48, 30);
      steps seen = {0, 0};
      trial_fill(&t, (operands){.phi = 0}, &seed);
      trial_lay_out(&t, all_pageable, &seed);
      t.options.device_count = count;
      t.options.separate_memory = true;
      t.options.moduli = least;
      t.options.progress = note_progress;
      t.options.progress_context = &seen;
      trial_run(&t);
      trial_expect_exact(&t);
      const davit_level3_report *r = &t.report;
      assert_true(seen.all > 0 && seen.done == seen.all);
      assert_true(r->written && r->seconds > 0 && r->products >= count && r->cache_bytes > 0);
      assert_true(r->moduli >= least && r->moduli <= 20);
      assert_int_equal(r->device_count, count);
      for (int d = 0; d < count; d++)
        assert_int_equal(r->devices[d].device, exact_devices[d]);
      assert_int_equal(r->bytes_from_host, (200 + 48 * count) * 30 * (int64_t)sizeof(double));
      assert_int_equal(r->bytes_to_host, 200 * 48 * (int64_t)sizeof(double));
    }
}

/* ---- failures ---- */

typedef struct failing {
  trial *trial;
  dense c;
} failing;

/* Where nothing may have been written, nothing has been. */
static davit_status run_failing(void *argument) {
  const failing *f = argument;
  trial *t = f->trial;
  t->o[2] = f->c;
  dense_give(&t->o[2]);
  t->report.written = true;
  const davit_status status = trial_call(t);
  if (status != DAVIT_SUCCESS && !t->report.written)
    assert_true(dense_as_image(&t->o[2]));
  assert_true(dense_as_image(&t->o[0]) && dense_as_image(&t->o[1]));
  if (status == DAVIT_SUCCESS && !t->report.why_native) {
    dense_take(&t->o[2]);
    trial_expect_bound(t, "after a failure");
  }
  return status;
}

static void try_failures(int inside, double beta, size_t bytes, uint64_t *seed) {
  SCOPE;
  trial t = trial_new(DAVIT_DOUBLE, 50, 20, 9);
  t.beta = beta;
  t.options.device_count = exact_spread < 2 ? exact_spread : 2;
  t.options.separate_memory = true;
  t.options.cache_bytes = bytes;
  fill_uneven(&t, inside, seed);
  trial_lay_out(&t, all_pageable, seed);
  fail_everywhere(run_failing, &(failing){&t, t.o[2]});
}

CASE(test_failures) {
  uint64_t seed = 18;
  try_failures(0, 0, 0, &seed);
  try_failures(20, 0, 60000, &seed); /* slabs, and twice */
  try_failures(0, 0.5, 0, &seed);
  try_failures(400, 0, 0, &seed); /* natively */
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, find_exact_devices, finalize);
}
