/* SPDX-License-Identifier: Apache-2.0 */
/* The lecture's scans, from the warp to the grid, against loops; segmented scans as scans of pairs; the order
 * of operands; the work of the cost-optimal forms; the printed scans' defects beside the corrected ones. */
#include "bench/study/tests/study.h"

#include "bench/study/reduce/cpu.h"
#include "bench/study/reduce/scan.h"

static const int blocks[] = {32, 48, 64, 128, 256, 512, 1000, 1024};

static int64_t bytes_of(study_operator op, int64_t n) {
  return n * (int64_t)study_monoid_of(op)->bytes;
}

static void *random_elements(study_operator op, int64_t n, uint64_t seed) {
  const study_monoid *m = study_monoid_of(op);
  void *x = host_memory(bytes_of(op, n), 1);
  for (int64_t i = 0; i < n; i++) {
    uint64_t value = next_random(&seed);
    study_set(m, x, i, op == STUDY_SEGMENTS ? study_pair((int32_t)value, value >> 60 == 0) : value);
  }
  return x;
}

/* The scan of each tile of `tile` elements for itself. */
static void reference_tiles(const study_scan *s, int64_t tile, int64_t n, const void *x, void *y) {
  size_t bytes = study_monoid_of(s->op)->bytes;
  for (int64_t i = 0; i < n; i += tile)
    study_reference_scan(s->op, s->exclusive, n - i < tile ? n - i : tile,
                         (const char *)x + (size_t)i * bytes, (char *)y + (size_t)i * bytes);
}

typedef davit_status scan_call(const study_scan *s, int device, int64_t n, const void *x, void *y);

static davit_status tiles_call(const study_scan *s, int device, int64_t n, const void *x, void *y) {
  return study_scan_tiles(s, device, n, x, y, NULL);
}

/* Scans on the device, in place or not; what lies around y, and x where it is not y, stays. */
static void scans(scan_call *call, const study_scan *s, int device, int64_t n, const void *x,
                  const void *right, bool in_place) {
  const study_monoid *m = study_monoid_of(s->op);
  const int64_t bytes = bytes_of(s->op, n);
  SCOPE;
  void *from = there(device, x, bytes), *to = in_place ? from : there(device, NULL, bytes);
  CHECK(call(s, device, n, from, to));
  if (!in_place)
    assert_memory_equal(taken(from, bytes), x, bytes);
  const void *host = taken(to, bytes);
  for (int64_t i = 0; i < n; i++)
    if (study_get(m, host, i) != study_get(m, right, i))
      fail_msg("device %d, %s, form %d, block %d, exclusive %d, n %lld, in place %d: element %lld", device,
               m->name, (int)s->form, s->block, s->exclusive, (long long)n, in_place, (long long)i);
}

/* All forms, sizes of a team and kinds that a call has, of random elements, against the reference; of a team
 * or of a grid. */
static void scan_all(int device, study_operator op, bool grid, int64_t n, uint64_t seed) {
  void *x = random_elements(op, n, seed), *right = host_memory(n, sizeof(uint64_t));
  for (study_scan_form form = 0; form < STUDY_SCAN_FORMS; form++)
    for (int b = 0; b < COUNT(blocks); b++)
      for (int exclusive = 0; exclusive < (form == STUDY_NAIVE ? 1 : 2); exclusive++) {
        study_scan s = {op, form, blocks[b], exclusive, 0};
        if (grid && form == STUDY_WARP_SCAN)
          continue;
        if (grid && b % 2)
          s.most_blocks = 7; /* a grid takes several launches */
        reference_tiles(&s, grid ? n : study_scan_tile(&s), n, x, right);
        scans(grid ? study_scan_grid : tiles_call, &s, device, n, x, right, (b + exclusive + (int)seed) % 2);
      }
}

/* ---- within a block ---- */

CASE(test_tiles) {
  static const int64_t sizes[] = {0, 1, 2, 31, 32, 33, 1000, 2047, 9001};
  EACH_PLACE(device)
    for (study_operator op = 0; op < STUDY_OPERATORS; op++)
      for (int z = 0; z < COUNT(sizes); z++)
        scan_all(device, op, false, sizes[z], (uint64_t)z);
}

/* Every length of one block: n = blockDim, 1 … 1024, for the naive scan and the scan of a block. */
CASE(test_every_length_of_a_block) {
  int32_t *x = random_elements(STUDY_SUM, 1024, 3), right[1024];
  EACH_PLACE(device)
    for (int64_t n = 1; n <= 1024; n += on_gpu(device) || n < 70 ? 1 : 37)
      for (study_scan_form form = STUDY_NAIVE; form <= STUDY_BLOCK_SCAN; form += 2) {
        study_scan s = {.form = form, .block = 1024};
        reference_tiles(&s, 1024, n, x, right);
        scans(tiles_call, &s, device, n, x, right, n % 2);
      }
}

CASE(test_totals_of_blocks) {
  enum { N = 1237 };
  uint64_t *x = random_elements(STUDY_COMPOSE, N, 5), y[N], totals[N], right;
  for (study_scan_form form = 0; form < STUDY_SCAN_FORMS; form++)
    for (int b = 0; b < COUNT(blocks) && form != STUDY_WARP_SCAN; b++)
      for (int kind = form == STUDY_NAIVE ? 1 : 0; kind < 2; kind++) {
        study_scan s = {STUDY_COMPOSE, form, blocks[b], kind == 0, 0};
        int64_t tile = study_scan_tile(&s);
        CHECK(study_scan_tiles(&s, DAVIT_HOST, N, x, y, totals));
        for (int64_t i = 0; i < N; i += tile) {
          study_reference_reduce(STUDY_COMPOSE, N - i < tile ? N - i : tile, x + i, &right);
          assert_true(totals[i / tile] == right);
        }
      }
}

/* ---- the grid ---- */

CASE(test_grid) {
  static const int64_t sizes[] = {0, 1, 33, 1023, 32 * 32 * 32 + 5, 70001};
  EACH_PLACE(device)
    for (study_operator op = 0; op < STUDY_OPERATORS; op++)
      for (int z = 0; z < COUNT(sizes); z++)
        scan_all(device, op, true, sizes[z], (uint64_t)z + 50);
}

/* Many levels; 2^28 elements and more where there is a GPU for it. */
CASE(test_levels) {
  study_scan s = {.form = STUDY_BLOCK_SCAN, .block = 256};
  assert_int_equal(study_scan_levels(&s, 0), 0);
  assert_int_equal(study_scan_levels(&s, 256), 1);
  assert_int_equal(study_scan_levels(&s, 257), 2);
  assert_int_equal(study_scan_levels(&s, 1 << 24), 3);
  assert_int_equal(study_scan_levels(&s, (1 << 24) + 1), 4);
  assert_int_equal(study_scan_levels(&s, 1 << 28), 4);
  EACH_PLACE(device) {
    if (!on_gpu(device))
      s.block = 32;
    else
      s.block = 256;
    int64_t n = on_gpu(device) ? (1 << 28) + 77 : (1 << 20) + 77;
    assert_true(study_scan_levels(&s, n) >= 4);
    int32_t *x = random_elements(STUDY_SUM, n, 9), *right = host_memory(n, sizeof *right);
    study_reference_scan(STUDY_SUM, false, n, x, right);
    scans(study_scan_grid, &s, device, n, x, right, true);
  }
}

/* Exclusive sums are inclusive sums without the element itself, σ_i = s_i - a_i: for + alone. */
CASE(test_relations_of_the_kinds) {
  enum { N = 5000 };
  int32_t *x = random_elements(STUDY_SUM, N, 15), s[N], sigma[N];
  study_scan scan = {.form = STUDY_SEVERAL, .block = 48};
  CHECK(study_scan_grid(&scan, DAVIT_HOST, N, x, s));
  scan.exclusive = true;
  CHECK(study_scan_grid(&scan, DAVIT_HOST, N, x, sigma));
  assert_int_equal(sigma[0], 0);
  for (int i = 0; i < N; i++)
    assert_int_equal(study_add(sigma[i], x[i]), s[i]);
}

/* ---- order and work ---- */

static void letters_of(int n, study_printed_word *words) {
  memset(words, 0, (size_t)n * sizeof *words);
  for (int i = 0; i < n; i++)
    words[i].text[0] = (char)('!' + i % 90);
}

CASE(test_order_of_operands) {
  enum { N = STUDY_PRINTED_LETTERS };
  static study_printed_word words[N], letters[N];
  char right[N + 1] = "";
  letters_of(N, letters);
  for (study_scan_form form = 0; form < STUDY_SCAN_FORMS; form++)
    for (int b = 0; b < 4; b++) { /* up to 128 */
      study_scan s = {.form = form, .block = blocks[b]};
      int n = s.block - b;
      memcpy(words, letters, sizeof words);
      CHECK(study_scan_words(&s, n, words));
      for (int i = 0; i < n; i++) {
        int first = form == STUDY_WARP_SCAN ? i / 32 * 32 : 0;
        for (int j = first; j <= i; j++)
          right[j - first] = letters[j].text[0];
        right[i + 1 - first] = 0;
        assert_string_equal(words[i].text, right);
      }
    }
}

/* Phases in descending order of threads give the same, so no thread reads what another writes in its
 * phase. */
CASE(test_phases_in_any_order) {
  enum { N = 3001 };
  uint64_t *x = random_elements(STUDY_COMPOSE, N, 21), up[N], down[N];
  for (study_scan_form form = 0; form < STUDY_SCAN_FORMS; form++)
    EACH(int, block, blocks) {
      study_trace *trace = new_trace(true);
      study_scan s = {STUDY_COMPOSE, form, block, false, 0};
      CHECK(study_scan_tiles(&s, DAVIT_HOST, N, x, up, NULL));
      study_record(trace);
      CHECK(study_scan_tiles(&s, DAVIT_HOST, N, x, down, NULL));
      study_stop();
      assert_true(trace->combination_count > 0);
      assert_memory_equal(up, down, sizeof up);
    }
}

static int64_t combinations_of(study_scan_form form, int block, int64_t n) {
  study_trace *trace = new_trace(false);
  study_scan s = {.form = form, .block = block};
  int32_t *x = random_elements(STUDY_SUM, n, 25);
  study_record(trace);
  CHECK(study_scan_grid(&s, DAVIT_HOST, n, x, x));
  study_stop();
  int64_t count = trace->combination_count;
  assert_false(trace->full);
  return count;
}

/* The naive scan of a block costs Σ (n - 2^k); with several elements a thread it is little more than 2 an
 * element. */
CASE(test_work) {
  assert_int_equal(combinations_of(STUDY_NAIVE, 1024, 1024), 10 * 1024 - 1023);
  int64_t several = combinations_of(STUDY_SEVERAL, 1024, 8 * 1024);
  assert_true(several > 2 * 8 * 1024 - 1024 && several < 3 * 8 * 1024);
  assert_true(several < combinations_of(STUDY_BLOCK_SCAN, 1024, 8 * 1024) / 2);
}

CASE(test_workers) {
  static const int64_t sizes[] = {0, 1, 2, 31, 1000, 4099};
  for (study_operator op = 0; op < STUDY_OPERATORS; op++)
    EACH(int64_t, n, sizes)
      for (int64_t p = 1; p <= 600; p += p < 9 ? 1 : 197)
        for (int kind = 0; kind < 2; kind++) {
          const int64_t used = p < n ? p : n;
          void *x = random_elements(op, n, 27);
          void *right = host_memory(n, sizeof(uint64_t)), *y = host_memory(n, sizeof(uint64_t));
          study_work work;
          size_t bytes = (size_t)n * study_monoid_of(op)->bytes;
          study_reference_scan(op, kind == 0, n, x, right);
          assert_true(study_workers_scan(op, kind == 0, p, n, x, y, &work));
          assert_memory_equal(y, right, bytes);
          assert_true(study_workers_scan(op, kind == 0, p, n, x, x, &work));
          assert_memory_equal(x, right, bytes);
          assert_true(work.combinations <= 2 * n);
          assert_true(n == 0 || work.depth == 2 * ((n + used - 1) / used) - 1 + used);
        }
}

/* ---- segments ---- */

static void segmented(int device, bool exclusive, int64_t n, const int32_t *a, const int32_t *flags,
                      int32_t *out) {
  study_scan s = {STUDY_SEGMENTS, STUDY_BLOCK_SCAN, 64, false, 0};
  uint64_t *pairs = host_memory(n, sizeof *pairs);
  for (int64_t i = 0; i < n; i++)
    pairs[i] = study_pair(a[i], flags[i] != 0); /* any flag but 0 is a start */
  uint64_t *on_pairs = there(device, pairs, n * (int64_t)sizeof *pairs);
  CHECK(study_scan_grid(&s, device, n, on_pairs, on_pairs));
  take(on_pairs, n * (int64_t)sizeof *pairs, pairs);
  /* An exclusive sum starts at 0 in each segment, so at a start it is not the element before. */
  for (int64_t i = 0; i < n; i++)
    out[i] = !exclusive ? (int32_t)pairs[i] : i > 0 && flags[i] == 0 ? (int32_t)pairs[i - 1] : 0;
}

CASE(test_segments) {
  static const int32_t a[] = {1, 2, 3, 4, 5, 6, 7, 8}, flags[] = {0, 0, 0, 7, 0, 0, 0, 0};
  static const int32_t inclusive[] = {1, 3, 6, 4, 9, 15, 22, 30}, exclusive[] = {0, 1, 3, 0, 4, 9, 15, 22};
  int32_t out[8], right[8];
  EACH_PLACE(device) {
    segmented(device, false, 8, a, flags, out);
    assert_memory_equal(out, inclusive, sizeof out);
    segmented(device, true, 8, a, flags, out);
    assert_memory_equal(out, exclusive, sizeof out);
  }
  study_reference_segments(false, 8, a, flags, right);
  assert_memory_equal(right, inclusive, sizeof right);
  study_reference_segments(true, 8, a, flags, right);
  assert_memory_equal(right, exclusive, sizeof right);
}

/* Segments of 1 to many times a block's elements; n = 0, 1; no start at all; a start everywhere; segments[0]
 * of either kind. */
CASE(test_segments_of_all_lengths) {
  static const int64_t sizes[] = {0, 1, 2, 65, 5003}, one_in[] = {1, 2, 40, 700, INT64_MAX};
  EACH_PLACE(device)
    for (int z = 0; z < COUNT(sizes); z++)
      for (int f = 0; f < COUNT(one_in); f++)
        for (int first = 0; first < 2; first++)
          for (int kind = 0; kind < 2; kind++) {
            int64_t n = sizes[z];
            uint64_t seed = (uint64_t)(z + 10 * f);
            int32_t *x = random_elements(STUDY_SUM, n, 33), *flags = host_memory(n, sizeof *flags);
            int32_t *out = host_memory(n, sizeof *out), *right = host_memory(n, sizeof *right);
            for (int64_t i = 0; i < n; i++)
              flags[i] = i == 0 ? first : next_random(&seed) % (uint64_t)one_in[f] == 0;
            study_reference_segments(kind, n, x, flags, right);
            segmented(device, kind, n, x, flags, out);
            assert_memory_equal(out, right, (size_t)n * sizeof *out);
            if (one_in[f] == INT64_MAX) { /* no start: the plain scan */
              study_reference_scan(STUDY_SUM, kind, n, x, right);
              assert_memory_equal(out, right, (size_t)n * sizeof *out);
            }
          }
}

CASE(test_pair_operator) {
  uint64_t *x = random_elements(STUDY_SEGMENTS, 300, 35);
  bool commutes = true;
  for (int i = 0; i + 2 < 300; i++) {
    assert_true(study_join(study_join(x[i], x[i + 1]), x[i + 2]) ==
                study_join(x[i], study_join(x[i + 1], x[i + 2])));
    assert_true(study_join(STUDY_SEGMENTS_IDENTITY, x[i]) == x[i]);
    assert_true(study_join(x[i], STUDY_SEGMENTS_IDENTITY) == x[i]);
    commutes = commutes && study_join(x[i], x[i + 1]) == study_join(x[i + 1], x[i]);
  }
  assert_false(commutes);
  assert_true(study_join(study_pair(5, true), study_pair(7, true)) == study_pair(7, true));
  assert_true(study_join(study_pair(5, true), study_pair(7, false)) == study_pair(12, true));
}

/* ---- the printed scans ---- */

/* s[i] += a[i] + s[i-1] is right only if s holds nothing but zeros. */
CASE(test_printed_sequential_scan) {
  static const int32_t a[5] = {1, 2, 3, 4, 5}, right[5] = {1, 3, 6, 10, 15};
  int32_t zeros[5] = {0}, used[5] = {9, 9, 9, 9, 9}, corrected[5] = {9, 9, 9, 9, 9};
  study_printed_sequential_scan(5, a, zeros);
  assert_memory_equal(zeros, right, sizeof right);
  study_printed_sequential_scan(5, a, used);
  assert_int_equal(used[1], 12);
  assert_int_equal(used[4], 51);
  study_reference_scan(STUDY_SUM, false, 5, a, corrected);
  assert_memory_equal(corrected, right, sizeof right);
}

/* for (…; offset << 1) leaves offset at 1 for ever. */
CASE(test_printed_naive_scan_does_not_end) {
  uint32_t values[256];
  for (int n = 1; n <= 256; n++) {
    memset(values, 0, sizeof values);
    assert_true(study_printed_naive_scan(n, values, 100000) == (n < 2));
  }
}

/* The scan of a warp has no barrier: right if lanes run in step, which Volta and later GPUs do not guarantee. */
CASE(test_printed_warp_scan_needs_lanes_in_step) {
  for (int kind = 0; kind < 2; kind++) {
    uint32_t values[32], returned[32], wrong = 0;
    for (int lockstep = 1; lockstep >= 0; lockstep--) {
      for (uint32_t i = 0; i < 32; i++)
        values[i] = i + 1;
      study_printed_warp_scan(kind, lockstep, values, returned);
      for (uint32_t i = 0; i < 32; i++)
        wrong += returned[i] != (kind ? i * (i + 1) / 2 : (i + 1) * (i + 2) / 2);
      assert_true((wrong == 0) == lockstep);
    }
  }
}

static void one_to(int n, uint32_t *values) {
  for (int i = 0; i < n; i++)
    values[i] = (uint32_t)i + 1;
}

/* Step 3 drops the exclusive sums that it asks for: every warp adds its own total too. */
CASE(test_printed_block_scan_loses_exclusive_totals) {
  uint32_t values[128];
  int32_t corrected[128];
  study_printed_block inclusive = {.exclusive = false}, exclusive = {.exclusive = true};
  study_scan s = {.form = STUDY_BLOCK_SCAN, .block = 128};
  int unwritten;
  one_to(128, values);
  study_printed_block_scan(&inclusive, 128, values, &unwritten);
  assert_int_equal(values[31], 528); /* the first warp adds nothing */
  assert_int_equal(values[32], 2113);
  one_to(128, values);
  study_printed_block_scan(&exclusive, 128, values, &unwritten);
  assert_int_equal(values[32], 2080);
  one_to(128, values);
  CHECK(study_scan_tiles(&s, DAVIT_HOST, 128, values, corrected, NULL));
  assert_int_equal(corrected[32], 561);
  s.exclusive = true;
  CHECK(study_scan_tiles(&s, DAVIT_HOST, 128, values, corrected, NULL));
  assert_int_equal(corrected[32], 528);
}

/* val += sdata[…] puts what comes before to the right. */
CASE(test_printed_block_scan_turns_operands_round) {
  enum { N = 64 };
  static study_printed_word words[N], letters[N];
  study_printed_block inclusive = {.exclusive = false};
  study_scan s = {.form = STUDY_BLOCK_SCAN, .block = N};
  int unwritten;
  letters_of(N, letters);
  memcpy(words, letters, sizeof words);
  study_printed_block_scan_words(&inclusive, N, words, &unwritten);
  assert_true(words[40].text[0] == letters[32].text[0]); /* its own warp first, the first warp behind */
  assert_true(words[40].text[9] == letters[0].text[0]);
  memcpy(words, letters, sizeof words);
  CHECK(study_scan_words(&s, N, words));
  assert_true(words[40].text[0] == letters[0].text[0]);
  assert_int_equal(strlen(words[40].text), 41);
}

/* The exclusive scan begins with 0, which is the identity of + alone. */
CASE(test_printed_block_scan_has_zero_for_identity) {
  uint32_t values[32];
  uint64_t maps[32], corrected[32];
  study_printed_block exclusive = {.exclusive = true};
  study_scan s = {STUDY_COMPOSE, STUDY_BLOCK_SCAN, 32, true, 0};
  int unwritten;
  for (uint32_t i = 0; i < 32; i++) {
    values[i] = 3;
    maps[i] = study_affine(3, 0); /* products, as maps */
  }
  study_printed_block_scan_product(&exclusive, 32, values, &unwritten);
  assert_int_equal(values[0], 0);
  assert_int_equal(values[1], 3);
  CHECK(study_scan_tiles(&s, DAVIT_HOST, 32, maps, corrected, NULL));
  assert_true(corrected[0] == study_affine(1, 0) && corrected[1] == study_affine(3, 0));
}

/* With fewer than 32 warps the one that scans sdata reads entries that were not written; with no whole warp,
 * all of them. */
CASE(test_printed_block_scan_reads_what_nobody_wrote) {
  uint32_t values[1024];
  study_printed_block how = {.exclusive = false};
  for (int n = 1; n <= 1024; n = n < 32 ? 2 * n : n + 31) {
    int unwritten;
    one_to(n, values);
    study_printed_block_scan(&how, n, values, &unwritten);
    assert_int_equal(unwritten, (n < 32 ? n : 32) - n / 32);
  }
}

/* sdata in the memory of the values: harmless up to 31 warps; the 32nd warp's total lands on the first warp's
 * last value, which may not have been read yet. */
CASE(test_printed_block_scan_aliased) {
  static uint32_t apart[1024], aliased[1024];
  for (int n = 992; n <= 1024; n += 32)
    for (int down = 0; down < 2; down++) {
      study_printed_block how = {.aliased = false, .descending = down};
      int unwritten;
      one_to(n, apart);
      one_to(n, aliased);
      study_printed_block_scan(&how, n, apart, &unwritten);
      how.aliased = true;
      study_printed_block_scan(&how, n, aliased, &unwritten);
      assert_true((memcmp(apart, aliased, (size_t)n * sizeof *apart) == 0) == (n < 1024 || !down));
    }
}

/* "The last element of each block", taken from exclusive sums, lacks the block's last input. */
CASE(test_printed_grid_scan_loses_last_inputs) {
  enum { N = 96 };
  uint32_t x[N], y[N];
  int32_t corrected[N];
  study_scan s = {.form = STUDY_BLOCK_SCAN, .block = 32, .exclusive = true};
  one_to(N, x);
  study_printed_grid_scan(false, 32, N, x, y);
  assert_int_equal(y[95], 96 * 97 / 2);
  study_printed_grid_scan(true, 32, N, x, y);
  assert_int_equal(y[31], 31 * 32 / 2);
  assert_int_equal(y[32], 32 * 33 / 2 - 32);
  assert_int_equal(y[64], 64 * 65 / 2 - 32 - 64);
  CHECK(study_scan_grid(&s, DAVIT_HOST, N, x, corrected));
  assert_int_equal(corrected[32], 32 * 33 / 2);
  assert_int_equal(corrected[64], 64 * 65 / 2);
}

/* out[0] = a[0] comes before any look at n. */
CASE(test_printed_segments) {
  static const int32_t a[] = {1, 2, 3, 4, 5, 6, 7, 8}, flags[] = {1, 0, 0, 1, 0, 0, 0, 0};
  static const int32_t right[] = {1, 3, 6, 4, 9, 15, 22, 30};
  int32_t out[8];
  study_guard reads;
  study_printed_segments(8, a, flags, out, &reads);
  assert_memory_equal(out, right, sizeof right);
  assert_int_equal(reads.outside, 0);
  study_printed_segments(0, a, flags, out, &reads);
  assert_int_equal(reads.outside, 1);
  study_reference_segments(false, 0, NULL, NULL, NULL); /* the corrected one reads nothing */
}

/* ---- refusals ---- */

CASE(test_bad_arguments) {
  int32_t x[4] = {1, 2, 3, 4}, y[4] = {5, 5, 5, 5};
  study_printed_word word;
  const study_scan good = {.form = STUDY_BLOCK_SCAN, .block = 32};
  static const struct {
    study_scan s;
    davit_status status;
    const char *words;
  } bad[] = {{{.form = STUDY_BLOCK_SCAN, .block = 33}, DAVIT_INVALID_ARGUMENT, "block is 33"},
             {{.op = STUDY_OPERATORS, .block = 32}, DAVIT_INVALID_ARGUMENT, "op is 3"},
             {{.form = STUDY_SCAN_FORMS, .block = 32}, DAVIT_INVALID_ARGUMENT, "form is 4"},
             {{.form = STUDY_WARP_SCAN, .block = 32}, DAVIT_UNSUPPORTED, "warps"},
             {{.form = STUDY_NAIVE, .block = 32, .exclusive = true}, DAVIT_UNSUPPORTED, "inclusive"}};
  for (int i = 0; i < COUNT(bad); i++)
    CHECK_FAILS(study_scan_grid(&bad[i].s, DAVIT_HOST, 4, x, y), bad[i].status, bad[i].words);
  REFUSED(study_scan_tiles(&bad[2].s, DAVIT_HOST, 4, x, y, NULL), "form is 4");
  CHECK_FAILS(study_scan_grid(&good, -7, 4, x, y), DAVIT_UNKNOWN_DEVICE, "-7");
  CHECK_FAILS(study_scan_grid(&good, DAVIT_HOST, INT64_MAX, x, y), DAVIT_OUT_OF_HOST_MEMORY, "bytes");
  REFUSED(study_scan_words(&good, 33, &word), "n is 33");
  assert_int_equal(y[0], 5);
}
