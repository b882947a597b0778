/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: blocks, places, copies between all places, fills and random numbers.
 *
 * A copy is checked byte by byte against plain loops over host images of the whole buffers, guard zones
 * before and behind, gaps between columns and all. Buffers begin at odd addresses inside their blocks. */
#include "tests/elements.h"

#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/base/cpu.h"
#include "src/base/limit.h"
#include "src/runtime/memory.h"

enum { GUARD = 61 };

/* ---- blocks ---- */

static int place_of(const void *pointer) {
  int place = -77;
  CHECK(davit_pointer_place(pointer, &place));
  return place;
}

CASE(test_blocks_at_every_place) {
  static const size_t sizes[] = {1, 255, 256, 257, 4097, 1048577, 17 << 20};
  int places[MAX_PLACES], count = all_places(places);
  for (int i = 0; i < count; i++)
    for (int s = 0; s < COUNT(sizes); s++) {
      unsigned char *block = new_memory(sizes[s], places[i]), last = 0;
      assert_int_equal((uintptr_t)block % 256, 0);
      assert_int_equal(place_of(block), places[i]);
      assert_int_equal(place_of(block + sizes[s] / 2), places[i]);
      assert_int_equal(place_of(block + sizes[s] - 1), places[i]);
      CHECK(davit_fill(sizes[s], 0xa5, block));
      CHECK(davit_copy(1, block + sizes[s] - 1, &last));
      assert_int_equal(last, 0xa5);
      CHECK(davit_free(block));
    }
}

CASE(test_nothing_and_too_much) {
  int places[MAX_PLACES], count = all_places(places), local = 0;
  for (int i = 0; i < count; i++) {
    void *pointer = &local;
    CHECK(davit_malloc(0, places[i], &pointer));
    assert_null(pointer);
    pointer = &local;
    davit_status expected = places[i] < 0 ? DAVIT_OUT_OF_HOST_MEMORY : DAVIT_OUT_OF_DEVICE_MEMORY;
    CHECK_FAILS(davit_malloc((size_t)1 << 60, places[i], &pointer), expected, "memory");
    CHECK_FAILS(davit_malloc(SIZE_MAX, places[i], &pointer), expected, "memory");
    assert_ptr_equal(pointer, &local);
    void *small = new_memory(64, places[i]); /* and goes on */
    CHECK(davit_free(small));
  }
  CHECK(davit_free(NULL));
  CHECK_FAILS(davit_malloc(1, -5, (void **)&places), DAVIT_UNKNOWN_DEVICE, "place is -5");
}

CASE(test_wrong_frees) {
  int places[MAX_PLACES], count = all_places(places);
  for (int i = 0; i < count; i++) {
    char *block = new_memory(1000, places[i]);
    REFUSED(davit_free(block + 1), "not the start");
    REFUSED(davit_free(block + 999), "not the start");
    CHECK(davit_free(block));
    REFUSED(davit_free(block), "not the start");
  }
  REFUSED(davit_free(kept(100)), "not the start");
}

CASE(test_pointer_places) {
  static int in_data;
  int on_stack = 0, *from_malloc = kept(sizeof(int));
  assert_int_equal(place_of(&in_data), DAVIT_PAGEABLE);
  assert_int_equal(place_of(&on_stack), DAVIT_PAGEABLE);
  assert_int_equal(place_of(from_malloc), DAVIT_PAGEABLE);
}

/* A block ends behind its last byte, where another may begin. */
CASE(test_pointers_behind_a_block) {
  enum { BYTES = 1 << 20 }; /* a whole class, so that nothing of the block lies behind them */
  for (int device = 0; device < device_count(); device++) {
    char *block = new_memory(BYTES, device);
    assert_int_equal(place_of(block + BYTES - 1), device);
    assert_int_equal(place_of(block + BYTES), DAVIT_PAGEABLE);
  }
}

/* What no memory can hold is refused before it is taken, with what the process may have. */
CASE(test_more_than_there_is) {
  const int places[] = {DAVIT_PAGEABLE, DAVIT_PINNED};
  void *pointer = NULL;
  for (int i = 0; i < COUNT(places); i++) {
    CHECK_FAILS(davit_malloc(SIZE_MAX / 4, places[i], &pointer), DAVIT_OUT_OF_HOST_MEMORY,
                "the process may have");
    dvt_memory_allow(1 << 26);
    CHECK_FAILS(davit_malloc((1 << 26) + 1, places[i], &pointer), DAVIT_OUT_OF_HOST_MEMORY,
                "the process may have 67108864");
    CHECK(davit_malloc(1 << 25, places[i], &pointer));
    CHECK(davit_free(pointer));
    dvt_memory_allow(0);
  }
  dvt_memory_allow(1 << 26);
  assert_null(dvt_allocate(1 << 10, 1 << 17));
  assert_null(dvt_allocate_raw(1 << 27));
  assert_null(dvt_reallocate(NULL, 1 << 10, 1 << 17));
  dvt_memory_allow(0);
}

/* Where freeing would wait for a device, blocks are kept: the same one comes back, another size does not take
 * it, and trimming gives it away. */
CASE(test_pool) {
  int places[MAX_PLACES], count = all_places(places);
  for (int i = 0; i < count; i++) {
    CHECK(davit_memory_trim(places[i]));
    assert_int_equal(dvt_memory_kept(places[i]), 0);
    void *first = new_memory(3 << 20, places[i]);
    CHECK(davit_free(first));
    size_t kept = dvt_memory_kept(places[i]);
    if (!place_is_host(places[i])) {
      assert_true(kept >= 3 << 20 && kept <= (3 << 20) / 8 * 9);
      void *other = new_memory(9 << 20, places[i]), *again = new_memory((3 << 20) - 5, places[i]);
      assert_ptr_not_equal(other, first);
      assert_ptr_equal(again, first);
      assert_int_equal(dvt_memory_kept(places[i]), 0);
      CHECK(davit_free(again));
      CHECK(davit_free(other));
    } else if (places[i] != DAVIT_PINNED) {
      assert_int_equal(kept, 0); /* malloc keeps its own */
    }
    CHECK(davit_memory_trim(places[i]));
    assert_int_equal(dvt_memory_kept(places[i]), 0);
  }
}

typedef struct churn {
  uint64_t seed;
  const int *places;
  int count, wrong;
} churn;

static void *allocate_and_free(void *argument) {
  enum { BLOCKS = 40, STEPS = 2000 };
  churn *c = argument;
  char *blocks[BLOCKS] = {NULL};
  int where[BLOCKS] = {0}, steps = scaled(STEPS);
  for (int i = 0; i < steps; i++) {
    int b = random_below(&c->seed, BLOCKS), place = 0;
    if (blocks[b]) {
      c->wrong += davit_pointer_place(blocks[b] + 99, &place) != DAVIT_SUCCESS || place != where[b];
      c->wrong += davit_free(blocks[b]) != DAVIT_SUCCESS;
      blocks[b] = NULL;
    } else {
      where[b] = c->places[random_below(&c->seed, c->count)];
      c->wrong +=
          davit_malloc((size_t)random_below(&c->seed, 40000) + 100, where[b], (void **)&blocks[b]) != 0;
    }
  }
  for (int b = 0; b < BLOCKS; b++)
    c->wrong += davit_free(blocks[b]) != DAVIT_SUCCESS;
  return NULL;
}

CASE(test_many_threads_allocate) {
  enum { THREADS = 8 };
  int places[MAX_PLACES], count = all_places(places);
  churn churns[THREADS];
  for (int i = 0; i < THREADS; i++)
    churns[i] = (churn){(uint64_t)i, places, count, 0};
  in_threads(THREADS, allocate_and_free, churns, sizeof *churns);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(churns[i].wrong, 0);
}

CASE(test_pinning) {
  enum { BYTES = 3 << 20 };
  char *memory = kept(BYTES), back = 0;
  int places[MAX_PLACES], count = all_places(places);
  memset(memory, 5, BYTES);
  CHECK(davit_pin(memory, BYTES));
  for (int i = 0; i < count; i++) {
    char *there = kept_at(BYTES, places[i]);
    CHECK(davit_copy(BYTES, memory, there));
    CHECK(davit_copy(1, there + BYTES - 1, &back));
    assert_int_equal(back, 5);
  }
  CHECK(davit_unpin(memory));
}

/* Large enough to be mapped, touched by several threads and registered where there is a GPU; at no page's end. */
CASE(test_large_pinned_memory) {
  enum { BYTES = (96 << 20) + 12345 };
  const unsigned char byte = 7;
  int places[MAX_PLACES], count = all_places(places);
  for (int turn = 0; turn < 2; turn++) { /* the second one gets what is kept */
    unsigned char *memory = NULL, back[2] = {0};
    CHECK(davit_malloc(BYTES, DAVIT_PINNED, (void **)&memory));
    memset(memory, byte, BYTES);
    for (int i = 0; i < count; i++) {
      unsigned char *there = kept_at(BYTES, places[i]);
      CHECK(davit_copy(BYTES, memory, there));
      CHECK(davit_copy(1, there, &back[0]));
      CHECK(davit_copy(1, there + BYTES - 1, &back[1]));
      assert_true(back[0] == byte && back[1] == byte);
    }
    CHECK_FAILS(davit_unpin(memory), DAVIT_INVALID_STATE, "pinned until davit_free");
    CHECK(davit_free(memory));
  }
  CHECK(davit_memory_trim(DAVIT_PINNED));
}

/* ---- copies ---- */

typedef struct shape {
  int64_t rows, cols, destination_ld, source_ld;
  size_t element;
} shape;

typedef struct image {
  unsigned char *bytes, *block;
  size_t size;
} image;

/* A host image with guard zones, and the same bytes in a block at the place. */
static image new_image(int64_t ld, const shape *s, int place, uint64_t seed) {
  image i = {.size = (size_t)(ld * s->cols) * s->element + 2 * GUARD};
  i.bytes = kept(i.size);
  i.block = kept_at(i.size, place);
  for (size_t k = 0; k < i.size; k += sizeof seed) {
    uint64_t word = next_random(&seed);
    memcpy(i.bytes + k, &word, i.size - k < sizeof word ? i.size - k : sizeof word);
  }
  CHECK(davit_copy(i.size, i.bytes, i.block));
  return i;
}

static void expect_image(const image *i) {
  unsigned char *found = kept(i->size);
  CHECK(davit_copy(i->size, i->block, found));
  assert_memory_equal(found, i->bytes, i->size);
}

static void expect_copy(const shape *s, int to, int from, bool linear) {
  SCOPE;
  image source = new_image(s->source_ld, s, from, 1), destination = new_image(s->destination_ld, s, to, 2);
  size_t column = (size_t)s->rows * s->element;
  for (int64_t j = 0; j < s->cols; j++)
    memcpy(destination.bytes + GUARD + (size_t)(j * s->destination_ld) * s->element,
           source.bytes + GUARD + (size_t)(j * s->source_ld) * s->element, column);
  if (linear)
    CHECK(davit_copy(column * (size_t)s->cols, source.block + GUARD, destination.block + GUARD));
  else
    CHECK(davit_copy_2d(s->rows, s->cols, s->element, source.block + GUARD, s->source_ld,
                        destination.block + GUARD, s->destination_ld));
  expect_image(&destination);
  expect_image(&source);
}

static void copy_between_all_places(const shape *shapes, int count, bool linear) {
  int places[MAX_PLACES], place_count = all_places(places);
  for (int i = 0; i < place_count; i++)
    for (int j = 0; j < place_count; j++)
      for (int k = 0; k < count; k++)
        if (!left_out())
          expect_copy(&shapes[k], places[i], places[j], linear);
}

CASE(test_copy) {
  static const shape shapes[] = {
      {1, 1, 1, 1, 1}, {131071, 1, 131071, 131071, 1}, {262147, 1, 262147, 262147, 1}};
  copy_between_all_places(shapes, COUNT(shapes), true);
}

CASE(test_copy_2d) {
  static const shape shapes[] = {
      {1, 1, 1, 1, 1},           {7, 5, 7, 10, 8},         {7, 5, 9, 7, 8},
      {33, 17, 40, 37, 4},       {129, 3, 129, 130, 3},    {1, 1000, 3, 2, 8},
      {1000, 1, 1000, 1001, 16}, {4099, 9, 5000, 4101, 8}, {64, 2051, 64, 64, 8},
  };
  copy_between_all_places(shapes, COUNT(shapes), false);
}

/* Larger than every buffer on the way; a column alone is larger than a staging buffer. */
CASE(test_big_copies) {
  static const shape linear[] = {{(17 << 20) + 3, 1, (17 << 20) + 3, (17 << 20) + 3, 1}};
  static const shape matrices[] = {{(4 << 20) + 4099, 2, (4 << 20) + 4100, (4 << 20) + 4106, 1},
                                   {699050, 3, 700001, 699051, 6}};
  copy_between_all_places(linear, COUNT(linear), true);
  copy_between_all_places(matrices, COUNT(matrices), false);
}

/* Columns of a matrix in `to`, and nothing between them. */
static void expect_columns(const char *from, const char *to, int64_t rows, int64_t cols, int64_t ld_from,
                           int64_t ld_to) {
  for (int64_t j = 0; j < cols; j++) {
    assert_memory_equal(to + j * ld_to, from + j * ld_from, (size_t)rows);
    for (int64_t i = rows; i < ld_to; i++)
      assert_int_equal(to[j * ld_to + i], 1);
  }
}

/* Every variant of the CPU's code copies what the caches do not hold past them, from and to any address. */
CASE(test_copies_past_the_caches) {
  enum { BYTES = (9 << 20) + 77, ROWS = 5003, COLS = 1700, LD_FROM = 5011, LD_TO = 5007 };
  char *from = kept(BYTES + 64), *to = kept(BYTES + 64);
  for (size_t i = 0; i < BYTES + 64; i++)
    from[i] = (char)(i * 7 + i / 251);
  dvt_cpu_cache_assume(1 << 20);
  EACH_CPU(variant)
    for (size_t shift = 0; shift < 64; shift += 21) {
      memset(to, 1, BYTES + 64);
      CHECK(davit_copy(BYTES - shift, from + 63 - shift, to + shift));
      assert_memory_equal(to + shift, from + 63 - shift, BYTES - shift);
      for (size_t i = 0; i < shift; i++)
        assert_int_equal(to[i], 1);
      for (size_t i = BYTES; i < BYTES + 64; i++)
        assert_int_equal(to[i], 1);
      memset(to, 1, BYTES + 64);
      CHECK(davit_copy_2d(ROWS, COLS, 1, from + shift, LD_FROM, to + 63 - shift, LD_TO));
      expect_columns(from + shift, to + 63 - shift, ROWS, COLS, LD_FROM, LD_TO);
    }
  dvt_cpu_cache_assume(0);
}

CASE(test_empty_copies_and_arguments) {
  char x[16] = "0123456789abcde", y[16] = {0};
  CHECK(davit_copy(0, NULL, NULL));
  CHECK(davit_copy_2d(0, 3, 1, NULL, 3, NULL, 3));
  CHECK(davit_copy_2d(3, 0, 1, NULL, 3, NULL, 3));
  CHECK(davit_fill(0, 1, NULL));
  REFUSED(davit_copy_2d(2, 2, 1, x, 2, y, 1), "destination_ld is 1, less than rows");
  REFUSED(davit_copy_2d(2, 2, 1, x, 1, y, 2), "source_ld");
  REFUSED(davit_random(DAVIT_INT32, 1, 1, y), "type is 2");
  CHECK(davit_random(DAVIT_DOUBLE, 0, 1, NULL));
  CHECK(davit_random(DAVIT_FLOAT, 0, 1, NULL));
  for (int i = 0; i < COUNT(y); i++)
    assert_int_equal(y[i], 0);
}

/* ---- fills ---- */

CASE(test_fill) {
  static const int64_t sizes[] = {1, 3, 255, 4097, 1000003};
  int places[MAX_PLACES], count = all_places(places);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < COUNT(sizes); k++) {
      shape s = {sizes[k], 1, sizes[k], sizes[k], 1};
      image im = new_image(sizes[k], &s, places[i], 7);
      memset(im.bytes + GUARD, 0xab, (size_t)sizes[k]);
      CHECK(davit_fill((size_t)sizes[k], 0xab - 256 * (k % 2), im.block + GUARD)); /* the low byte counts */
      expect_image(&im);
    }
}

/* Every place gets the bits of the definition, in the elements asked for and in no other. */
CASE(test_random) {
  enum { MOST = 300007 };
  static const int64_t counts[] = {1, 2, 3, 4, 5, 1001, MOST};
  static const uint64_t seeds[] = {0, 1, UINT64_C(0xfedcba9876543210)};
  static double d[MOST], d_found[MOST + 1];
  static float f[MOST], f_found[MOST + 1];
  int places[MAX_PLACES], count = all_places(places);
  for (int s = 0; s < COUNT(seeds); s++) {
    dvt_ref_random_double(d, 0, MOST, seeds[s]);
    dvt_ref_random_float(f, 0, MOST, seeds[s]);
    for (int i = 0; i < count; i++)
      for (int k = 0; k < COUNT(counts); k++) {
        size_t n = (size_t)counts[k];
        double *x = kept_at((n + 1) * sizeof *x, places[i]);
        float *y = kept_at((n + 1) * sizeof *y, places[i]);
        CHECK(davit_fill((n + 1) * sizeof *x, 0xff, x));
        CHECK(davit_fill((n + 1) * sizeof *y, 0xff, y));
        CHECK(davit_random(DAVIT_DOUBLE, counts[k], seeds[s], x));
        CHECK(davit_random(DAVIT_FLOAT, counts[k], seeds[s], y));
        CHECK(davit_copy((n + 1) * sizeof *x, x, d_found));
        CHECK(davit_copy((n + 1) * sizeof *y, y, f_found));
        assert_memory_equal(d_found, d, n * sizeof *d);
        assert_memory_equal(f_found, f, n * sizeof *f);
        assert_true(d_found[n] != d_found[n] && f_found[n] != f_found[n]); /* still the NaN it was */
      }
    double sum = 0;
    for (int k = 0; k < MOST; k++) {
      assert_true(d[k] >= 0 && d[k] < 1 && f[k] >= 0 && f[k] < 1);
      sum += d[k];
    }
    assert_true(sum > 0.495 * (double)MOST && sum < 0.505 * (double)MOST);
  }
  dvt_ref_random_double(d, 0, 1, seeds[0]);
  dvt_ref_random_double(d + 1, 0, 1, seeds[1]);
  assert_true(d[0] != d[1]);
}
