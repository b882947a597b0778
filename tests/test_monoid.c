/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the program's own, made by <davit/define_monoid.h>: associative and not commutative, so that
 * every element must stay in its place; elements of 8, 12, 16, 32 and 256 bytes. All are exact: results are
 * compared bytewise with a loop. */
#include "tests/paths.h"

/* ---- the monoids ---- */

/* The bicyclic monoid: words in p and q with p q = 1, as q^m p^n. */
typedef struct word {
  int32_t m, n;
} word;

static inline word word_product(word a, word b) {
  const int32_t cancelled = a.n < b.m ? a.n : b.m;
  return (word){a.m + b.m - cancelled, a.n - cancelled + b.n};
}

#define DAVIT_MONOID bicyclic
#define DAVIT_MONOID_TYPE word
#define DAVIT_MONOID_IDENTITY ((word){0, 0})
#define DAVIT_MONOID_COMBINE word_product
#include <davit/define_monoid.h>

/* x -> a x + b modulo 2^32; the left operand is applied first. */
typedef struct affine_map {
  uint32_t a, b;
} affine_map;

static inline affine_map affine_then(affine_map f, affine_map g) {
  return (affine_map){g.a * f.a, g.a * f.b + g.b};
}

/* By macros of the program whose names the kernels' texts use as well; they are kept. */
#define T affine_map
#define NAME(x) affine_##x
#define IDENTITY ((T){1, 0})
#define COMBINE NAME(then)
#define DAVIT_MONOID affine
#define DAVIT_MONOID_TYPE T
#define DAVIT_MONOID_IDENTITY IDENTITY
#define DAVIT_MONOID_COMBINE COMBINE
#include <davit/define_monoid.h>
_Static_assert(sizeof COMBINE(IDENTITY, IDENTITY) == sizeof(T), "the program's macros are kept");
#undef T
#undef NAME
#undef IDENTITY
#undef COMBINE

/* The operator of the segmented scan: a sum, and whether it holds a head. */
typedef struct flagged_sum {
  int32_t sum;
  uint32_t head;
} flagged_sum;

static inline flagged_sum flagged_add(flagged_sum a, flagged_sum b) {
  return (flagged_sum){b.head ? b.sum : (int32_t)((uint32_t)a.sum + (uint32_t)b.sum), a.head | b.head};
}

#define DAVIT_MONOID segments
#define DAVIT_MONOID_TYPE flagged_sum
#define DAVIT_MONOID_IDENTITY ((flagged_sum){0, 0})
#define DAVIT_MONOID_COMBINE flagged_add
#include <davit/define_monoid.h>

/* Bytes one after another: a polynomial hash, with its base's power and the length. */
typedef struct hash_part {
  uint32_t hash, power, length;
} hash_part;

static inline hash_part hash_append(hash_part a, hash_part b) {
  return (hash_part){a.hash * b.power + b.hash, a.power * b.power, a.length + b.length};
}

#define DAVIT_MONOID hashing
#define DAVIT_MONOID_TYPE hash_part
#define DAVIT_MONOID_IDENTITY ((hash_part){0, 1, 0})
#define DAVIT_MONOID_COMBINE hash_append
#include <davit/define_monoid.h>

typedef struct matrix_2x2 {
  uint32_t a[4];
} matrix_2x2;

static inline matrix_2x2 matrix_product(matrix_2x2 x, matrix_2x2 y) {
  return (matrix_2x2){{x.a[0] * y.a[0] + x.a[1] * y.a[2], x.a[0] * y.a[1] + x.a[1] * y.a[3],
                       x.a[2] * y.a[0] + x.a[3] * y.a[2], x.a[2] * y.a[1] + x.a[3] * y.a[3]}};
}

#define DAVIT_MONOID matrices
#define DAVIT_MONOID_TYPE matrix_2x2
#define DAVIT_MONOID_IDENTITY ((matrix_2x2){{1, 0, 0, 1}})
#define DAVIT_MONOID_COMBINE matrix_product
#include <davit/define_monoid.h>

/* Concatenation of which the first 28 characters are kept; what lies behind them is 0. */
enum { TEXT = 28 };
typedef struct bounded_text {
  uint32_t length;
  char text[TEXT];
} bounded_text;

static inline bounded_text text_append(bounded_text a, bounded_text b) {
  for (uint32_t i = 0; i < b.length && a.length < TEXT; i++)
    a.text[a.length++] = b.text[i];
  return a;
}

#define DAVIT_MONOID concatenation
#define DAVIT_MONOID_TYPE bounded_text
#define DAVIT_MONOID_IDENTITY ((bounded_text){0, {0}})
#define DAVIT_MONOID_COMBINE text_append
#include <davit/define_monoid.h>

/* Maps of 64 points into themselves; the left operand is applied first. The largest element there may be. */
enum { POINTS = 64 };
typedef struct point_map {
  uint32_t image[POINTS];
} point_map;

static inline point_map map_then(point_map f, point_map g) {
  point_map result;
  for (int i = 0; i < POINTS; i++)
    result.image[i] = g.image[f.image[i] % POINTS];
  return result;
}

#define ROW(i) i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7
#define DAVIT_MONOID maps
#define DAVIT_MONOID_TYPE point_map
#define DAVIT_MONOID_IDENTITY                                                                                \
  ((point_map){{ROW(0), ROW(8), ROW(16), ROW(24), ROW(32), ROW(40), ROW(48), ROW(56)}})
#define DAVIT_MONOID_COMBINE map_then
#include <davit/define_monoid.h>

/* ---- their elements ---- */

static void make_word(void *at, uint64_t random) {
  *(word *)at = (word){random & 3, random >> 2 & 3};
}

static void make_affine(void *at, uint64_t random) {
  *(affine_map *)at = (affine_map){(uint32_t)random | 1, (uint32_t)(random >> 32)};
}

static void make_flagged(void *at, uint64_t random) {
  *(flagged_sum *)at = (flagged_sum){(int32_t)random, random >> 32 & 31 ? 0 : 1};
}

static void make_hash(void *at, uint64_t random) {
  *(hash_part *)at = (hash_part){random & 255, 16777619, 1};
}

static void make_matrix(void *at, uint64_t random) {
  *(matrix_2x2 *)at = (matrix_2x2){
      {(uint32_t)random, (uint32_t)(random >> 11), (uint32_t)(random >> 17), (uint32_t)(random >> 29) | 1}};
}

/* One letter, or none. */
static void make_text(void *at, uint64_t random) {
  bounded_text text = {random % 7 != 0, {0}};
  text.text[0] = (char)(text.length ? 'a' + (int)(random >> 8 & 15) : 0);
  *(bounded_text *)at = text;
}

/* A permutation in which a few points are exchanged, sometimes one lost. */
static void make_map(void *at, uint64_t random) {
  point_map map = *(const point_map *)maps.identity;
  for (int swap = 0; swap < 4; swap++, random >>= 12) {
    const uint64_t a = random % POINTS, b = (random >> 6) % POINTS;
    const uint32_t kept = map.image[a];
    map.image[a] = map.image[b];
    map.image[b] = kept;
  }
  if (random % 5000 == 0)
    map.image[random >> 8 & 63] = map.image[0];
  *(point_map *)at = map;
}

/* Room for one of any kind. */
typedef char element[sizeof(point_map)] __attribute__((aligned(16)));

typedef struct kind {
  const davit_monoid *monoid;
  void (*make)(void *at, uint64_t random);
} kind;

static const kind kinds[] = {{&bicyclic, make_word}, {&affine, make_affine},   {&segments, make_flagged},
                             {&hashing, make_hash},  {&matrices, make_matrix}, {&concatenation, make_text},
                             {&maps, make_map}};

static const int64_t sizes[] = {0,   1,   2,    31,   33,   127,  128,  129,  255,   257,   511,   513,
                                767, 769, 1023, 1025, 2047, 2049, 4097, 8193, 16385, 30011, 65537, 140001};

static char *make_elements(const kind *k, int64_t n, uint64_t seed) {
  char *x = kept((size_t)n * k->monoid->bytes);
  for (int64_t i = 0; i < n; i++)
    k->make(x + (size_t)i * k->monoid->bytes, next_random(&seed) >> 3);
  return x;
}

static int64_t most_elements(const kind *k) {
  return k->monoid->bytes > 64 ? 4097 : 140001;
}

/* ---- the loop ---- */

/* y gets the scan, `last` the reduction (of the last segment). */
static void loop(const kind *k, davit_scan_kind scan, int64_t n, const char *x, const uint8_t *flags, char *y,
                 char *last) {
  const size_t bytes = k->monoid->bytes;
  element before;
  memcpy(last, k->monoid->identity, bytes);
  for (int64_t i = 0; i < n; i++) {
    if (flags && flags[i])
      memcpy(last, k->monoid->identity, bytes);
    memcpy(before, last, bytes);
    k->monoid->combine(before, x + (size_t)i * bytes, last);
    if (y)
      memcpy(y + (size_t)i * bytes, scan == DAVIT_SCAN_EXCLUSIVE ? before : last, bytes);
  }
}

CASE(test_reduce) {
  uint64_t seed = 1;
  for (int t = 0; t < COUNT(kinds); t++)
    for (int s = 0; s < COUNT(sizes) && sizes[s] <= most_elements(&kinds[t]); s++) {
      if (left_out())
        continue;
      char *x = make_elements(&kinds[t], sizes[s], next_random(&seed));
      element should;
      const job j = {.monoid = kinds[t].monoid, .n = sizes[s], .shift = (size_t)(s % 3), .x = x};
      loop(&kinds[t], DAVIT_SCAN_INCLUSIVE, sizes[s], x, NULL, NULL, should);
      walk_all_paths(&j, 1, same_bits, should, &seed);
      walk_streamed(&j, same_bits, should, &seed);
    }
}

CASE(test_scan) {
  uint64_t seed = 2;
  int turn = 0;
  for (int t = 0; t < COUNT(kinds); t++)
    for (int s = 0; s < COUNT(sizes) && sizes[s] <= most_elements(&kinds[t]); s++)
      for (int way = 0; way < 4; way++, turn++) {
        if (left_out())
          continue;
        static const flag_pattern patterns[] = {FLAGS_SHORT, FLAGS_ODD, FLAGS_LONG};
        char *x = make_elements(&kinds[t], sizes[s], next_random(&seed));
        uint8_t *flags = way >= 2 ? make_flags(patterns[turn % 3], sizes[s], next_random(&seed)) : NULL;
        const job j = {.scan = true,
                       .monoid = kinds[t].monoid,
                       .kind = way % 2 ? DAVIT_SCAN_EXCLUSIVE : DAVIT_SCAN_INCLUSIVE,
                       .n = sizes[s],
                       .in_place = turn % 5 < 2,
                       .shift = (size_t)(turn % 2),
                       .x = x,
                       .flags = flags};
        char *should = kept(job_bytes(&j));
        element last;
        loop(&kinds[t], j.kind, j.n, x, flags, should, last);
        walk_all_paths(&j, 1, same_bits, should, &seed);
        if (turn % 2)
          walk_streamed(&j, same_bits, should, &seed);
      }
}

/* Beyond two pieces of 32 MiB, of elements that do not divide them. */
CASE(test_many_pieces) {
  const kind *k = &kinds[3];
  const int64_t n = 2 * ((32 << 20) / 12) + 777;
  int devices[MAX_PLACES], count = spread_devices(devices);
  char *x = make_elements(k, n, 3), *should = kept((size_t)n * 12);
  element last, result;
  loop(k, DAVIT_SCAN_INCLUSIVE, n, x, NULL, should, last);
  dvt_split_always(true);
  CHECK(davit_monoid_reduce(k->monoid, n, x, result, ON(davit_reduce_options, devices, count)));
  assert_memory_equal(result, last, 12);
  CHECK(davit_monoid_scan(k->monoid, DAVIT_SCAN_INCLUSIVE, n, x, NULL, x,
                          ON(davit_scan_options, devices, count)));
  assert_int_equal(memcmp(x, should, (size_t)n * 12), 0);
  dvt_split_always(false);
}

/* ---- what they are for ---- */

/* The source's kernels made aecgbfdh of this. */
CASE(test_letters_stay_in_order) {
  const char letters[] = "abcdefgh";
  bounded_text x[8], y[8], result;
  memset(x, 0, sizeof x);
  for (int i = 0; i < 8; i++)
    x[i].length = 1, x[i].text[0] = letters[i];
  EACH_DEVICE(device) {
    CHECK(davit_monoid_reduce(&concatenation, 8, x, &result, ON(davit_reduce_options, &device, 1)));
    assert_string_equal(result.text, letters);
    CHECK(davit_monoid_scan(&concatenation, DAVIT_SCAN_EXCLUSIVE, 8, x, NULL, y,
                            ON(davit_scan_options, &device, 1)));
    for (int i = 0; i < 8; i++) {
      assert_int_equal(y[i].length, i);
      assert_memory_equal(y[i].text, letters, (size_t)i);
    }
  }
}

/* q^m p^n by its rules. */
CASE(test_bicyclic) {
  const word p = {0, 1}, q = {1, 0};
  word result;
  CHECK(davit_monoid_reduce(&bicyclic, 2, ((word[]){p, q}), &result, NULL));
  assert_true(result.m == 0 && result.n == 0);
  CHECK(davit_monoid_reduce(&bicyclic, 2, ((word[]){q, p}), &result, NULL));
  assert_true(result.m == 1 && result.n == 1);
  CHECK(davit_monoid_reduce(&bicyclic, 0, NULL, &result, NULL));
  assert_true(result.m == 0 && result.n == 0);
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  result.m = 7;
  CHECK(davit_queue_monoid_reduce(queue, &bicyclic, 0, NULL, &result, NULL));
  CHECK(davit_queue_destroy(queue));
  assert_true(result.m == 0 && result.n == 0);
}

/* The operators are what they have to be: associative, with an identity, and not commutative. */
CASE(test_laws) {
  uint64_t seed = 4;
  for (int t = 0; t < COUNT(kinds); t++) {
    const davit_monoid *m = kinds[t].monoid;
    element a, b, c, left, right, step;
    bool commutes = true;
    for (int i = 0; i < 500; i++) {
      kinds[t].make(a, next_random(&seed));
      kinds[t].make(b, next_random(&seed));
      kinds[t].make(c, next_random(&seed));
      m->combine(a, b, step);
      m->combine(step, c, left);
      m->combine(b, c, right);
      commutes = commutes && memcmp(step, (m->combine(b, a, left), left), m->bytes) == 0;
      m->combine(step, c, left);
      m->combine(a, right, step);
      assert_memory_equal(left, step, m->bytes);
      m->combine(m->identity, a, left);
      m->combine(a, m->identity, right);
      assert_memory_equal(left, a, m->bytes);
      assert_memory_equal(right, a, m->bytes);
    }
    assert_false(commutes);
  }
}

/* The segmented scan is the scan of pairs of value and flag. */
CASE(test_pairs_are_segments) {
  enum { N = 50021 };
  uint64_t seed = 5;
  flagged_sum *pairs = (flagged_sum *)(void *)make_elements(&kinds[2], N, 6);
  int32_t *x = kept(sizeof *x * N), *y = kept(sizeof *y * N);
  uint8_t *flags = kept(N);
  for (int i = 0; i < N; i++) {
    x[i] = pairs[i].sum;
    flags[i] = pairs[i].head ? (uint8_t)(1 + random_below(&seed, 255)) : 0;
  }
  CHECK(davit_monoid_scan(&segments, DAVIT_SCAN_INCLUSIVE, N, pairs, NULL, pairs, NULL));
  CHECK(davit_segmented_scan(DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, N, x, flags, y, NULL));
  for (int i = 0; i < N; i++)
    assert_int_equal(pairs[i].sum, y[i]);
}

/* The built-in operators are monoids as well, with the same results by either door. */
CASE(test_builtin) {
  enum { N = 40001 };
  EACH_OPERATOR(op)
    EACH_TYPE(type) {
      const davit_monoid *m;
      char a[8], b[8], left[8];
      CHECK(davit_monoid_builtin(op, type, &m));
      assert_int_equal(m->bytes, davit_type_bytes(type));
      assert_string_equal(m->name, davit_operator_string(op));
      void *x = rough_data(op, type, N, 7);
      CHECK(davit_monoid_reduce(m, N, x, a, NULL));
      CHECK(davit_reduce(op, type, N, x, b, NULL));
      assert_memory_equal(a, b, m->bytes);
      m->combine(m->identity, b, left);
      assert_memory_equal(left, b, m->bytes);
    }
}

/* ---- refusals and failures ---- */

CASE(test_bad_arguments) {
  const davit_monoid *m = NULL;
  word x[4] = {{1, 2}}, y[4] = {{7, 7}}, result = {7, 7};
  REFUSED(davit_monoid_builtin(DAVIT_OPERATOR_COUNT, DAVIT_FLOAT, &m), "op is 4");
  REFUSED(davit_monoid_builtin(DAVIT_SUM, (davit_type)-1, &m), "type is -1");
  assert_null(m);
  davit_monoid old = bicyclic;
  old.version = DAVIT_MONOID_VERSION - 1;
  REFUSED(davit_monoid_reduce(&old, 4, x, &result, NULL), "monoid has version 1");
  REFUSED(davit_monoid_scan(&old, DAVIT_SCAN_INCLUSIVE, 4, x, NULL, y, NULL), "monoid has version 1");
  REFUSED(davit_monoid_scan(&bicyclic, (davit_scan_kind)5, 4, x, NULL, y, NULL), "kind is 5");
  REFUSED(davit_monoid_scan(&bicyclic, DAVIT_SCAN_INCLUSIVE, 3, x, NULL, x + 1, NULL), "y overlaps x");
  assert_true(y[0].m == 7 && result.m == 7);
}

static bool never_works(int device) {
  (void)device;
  return false;
}

/* Code for a GPU that does nothing is noticed. */
CASE(test_without_code) {
  const int device = some_gpu(1 << 20);
  if (!is_gpu(device)) /* it only poses as one, and its code is the host's */
    skip();
  davit_monoid hollow = bicyclic;
  hollow.works = never_works;
  word *x = kept_at(4 * sizeof *x, device), result = {7, 7};
  CHECK_FAILS(davit_monoid_reduce(&hollow, 4, x, &result, NULL), DAVIT_UNSUPPORTED, "bicyclic");
  CHECK_FAILS(davit_monoid_scan(&hollow, DAVIT_SCAN_INCLUSIVE, 4, x, NULL, x, NULL), DAVIT_UNSUPPORTED,
              "bicyclic");
  assert_int_equal(result.m, 7);
}

enum { SCENARIO_N = 20011 };

static davit_status scan_on_device(davit_queue *queue, void *there, void *argument) {
  hash_part *y = argument; /* scanned in place */
  const size_t bytes = SCENARIO_N * sizeof *y;
  DVT_TRY(davit_queue_copy(queue, bytes, y, there));
  DVT_TRY(
      davit_queue_monoid_scan(queue, &hashing, DAVIT_SCAN_INCLUSIVE, SCENARIO_N, there, NULL, there, NULL));
  return davit_queue_copy(queue, bytes, there, y);
}

static davit_status scan_and_reduce(void *argument) {
  const size_t bytes = SCENARIO_N * sizeof(hash_part);
  hash_part *y = kept(bytes), result;
  memcpy(y, argument, bytes);
  davit_status status = with_queue(bytes, scan_on_device, y);
  dvt_split_always(true);
  if (status == DAVIT_SUCCESS)
    status = davit_monoid_reduce(&hashing, SCENARIO_N, argument, &result, NULL);
  dvt_split_always(false);
  if (status == DAVIT_SUCCESS)
    assert_memory_equal(&result, y + SCENARIO_N - 1, sizeof result);
  return status;
}

CASE(test_failures) {
  char *x = make_elements(&kinds[3], SCENARIO_N, 8);
  fail_everywhere(scan_and_reduce, x);
}
