/* SPDX-License-Identifier: Apache-2.0 */
/* Scans on the host: every instruction set gives the same bits; heads where strips, pieces and blocks of
 * offload/kernel/scan_host.inc begin and end. */
#include "tests/paths.h"

/* Small numbers, so that products neither vanish nor pass the largest, with a NaN in the last tenth of
 * floating ones. */
static void fill_for(davit_type type, int64_t n, void *x) {
  uint64_t random = 3;
  for (int64_t i = 0; i < n; i++) {
    const int value = random_below(&random, 3) - 1;
    const bool nan = i == n - n / 10 - 1;
    if (type == DAVIT_DOUBLE)
      ((double *)x)[i] = nan ? NAN : value + 0.125 * (i % 3);
    else if (type == DAVIT_FLOAT)
      ((float *)x)[i] = nan ? NAN : (float)value + 0.25f * (float)(i % 3);
    else if (type == DAVIT_INT64)
      ((int64_t *)x)[i] = value * 5;
    else
      ((int32_t *)x)[i] = value * 3;
  }
}

/* All instructions give the same bits: the order of operands is the same. They are right where rounding does
 * not matter. */
static void expect_variants(job j) {
  SCOPE;
  const size_t bytes = job_bytes(&j), shift = j.shift * davit_type_bytes(j.type);
  const davit_scan_options *here = ON(davit_scan_options, &(int){DAVIT_HOST}, 1);
  char *x = kept_at(bytes + 64, DAVIT_PAGEABLE), *y = kept_at(bytes + 128, DAVIT_PAGEABLE),
       *first = kept(bytes), *should = kept(bytes);
  fill_for(j.type, j.n, x);
  dvt_ref_scan(j.op, j.type, j.kind, j.n, x, j.flags, should);
  EACH_CPU(variant) {
    const void *from = j.in_place ? y + shift : x;
    memset(y, 0x5a, bytes + 128);
    if (j.in_place)
      memcpy(y + shift, x, bytes);
    CHECK(j.flags ? davit_segmented_scan(j.op, j.type, j.kind, j.n, from, j.flags, y + shift, here)
                  : davit_scan(j.op, j.type, j.kind, j.n, from, y + shift, here));
    if (variant == 0)
      memcpy(first, y + shift, bytes);
    assert_memory_equal(y + shift, first, bytes);
    for (size_t k = 0; k < 64; k++)
      assert_int_equal(y[shift + bytes + k], 0x5a);
  }
  if (!is_floating(j.type) || j.op != DAVIT_PROD)
    same_bits_or_nan(&j, first, should, "variant", 0);
}

CASE(test_processor_variants) {
  uint8_t *flags = make_flags(FLAGS_ODD, 100003, 17);
  EACH_OPERATOR(op)
    EACH_TYPE(type)
      EACH_KIND(kind)
        for (int segmented = 0; segmented < 2; segmented++) {
          job j = scan_of(op, type, kind, 100003);
          j.shift = (size_t)op % 2;
          j.flags = segmented ? flags : NULL;
          expect_variants(j);
        }
}

/* Results that go past the caches, from the beginning of a line and not. */
CASE(test_past_the_caches) {
  dvt_cpu_cache_assume(1 << 20);
  EACH_TYPE(type) {
    const int64_t n = (INT64_C(1) << 21) / (int64_t)davit_type_bytes(type) + 4711;
    uint8_t *flags = make_flags(FLAGS_LONG, n, 18);
    for (int turn = 0; turn < 5; turn++) {
      job j = scan_of(DAVIT_SUM, type, (davit_scan_kind)(turn > 2), n);
      j.shift = (size_t)turn % 2;
      j.flags = turn > 1 ? flags : NULL;
      expect_variants(j);
    }
  }
  dvt_cpu_cache_assume(0);
}

enum {
  STRIP = 528,
  PIECE = 8 * STRIP,
  BLOCK = 8 * PIECE,
  CLAIMED = 16
}; /* of offload/kernel/scan_host.inc */

/* So many blocks for each of two threads that they are claimed one by one: more than CLAIMED. */
CASE(test_claimed_blocks) {
  const int64_t n = 2 * (CLAIMED + 4) * (int64_t)BLOCK + 4711;
  uint8_t *flags = make_flags(FLAGS_LONG, n, 18);
  CHECK(davit_set_threads(2));
  EACH_TYPE(type)
    for (int segmented = 0; segmented < 2; segmented++) {
      job j = scan_of(DAVIT_SUM, type, (davit_scan_kind)segmented, n);
      j.flags = segmented ? flags : NULL;
      expect_variants(j);
    }
  CHECK(davit_set_threads(0));
}

/* ---- heads where something begins or ends ---- */

CASE(test_segments_of_a_length) {
  enum { N = 4 * BLOCK + PIECE + 77 };
  static const int lengths[] = {1,         2,     7,         8,
                                9,         15,    16,        17,
                                STRIP - 1, STRIP, STRIP + 1, PIECE - STRIP,
                                PIECE - 1, PIECE, PIECE + 1, BLOCK - PIECE,
                                BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK};
  int turn = 0;
  for (int l = 0; l < COUNT(lengths); l++)
    EACH_TYPE(type)
      EACH_KIND(kind) {
        uint8_t *flags = make_flags(FLAGS_NONE, N, 0);
        for (int64_t i = lengths[l] - turn % 3 % lengths[l]; i < N; i += lengths[l])
          flags[i] = (uint8_t)(1 << turn % 8);
        job j = scan_of(turn % 3 ? DAVIT_SUM : DAVIT_MAX, type, kind, N);
        j.in_place = turn++ % 5 == 0;
        j.flags = flags;
        expect_variants(j);
      }
}

/* One head: in the first and last lanes of each strip of a piece, of the first thread's block and of
 * another's. */
CASE(test_one_head) {
  enum { N = 2 * BLOCK + 5 };
  static const int places[] = {0, 1, 7, 8, 15, 16, STRIP - 16, STRIP - 9, STRIP - 8, STRIP - 1};
  uint8_t *flags = make_flags(FLAGS_NONE, N, 0);
  int turn = 0;
  for (int s = 0; s < 8; s++)
    for (int p = 0; p < COUNT(places); p++, turn++) {
      const int at = (turn % 2 ? 0 : BLOCK) + (turn % 3 ? 0 : 7 * PIECE) + s * STRIP + places[p];
      flags[at] = (uint8_t)(1 << turn % 8);
      EACH_KIND(kind) {
        job j = scan_of(DAVIT_SUM, (davit_type)(turn % DVT_MONOID_TYPES), kind, N);
        j.in_place = turn % 5 == 0;
        j.flags = flags;
        expect_variants(j);
      }
      flags[at] = 0;
    }
}
