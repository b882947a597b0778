/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: results that are exact in any order against the reference; the tree's bits, the same on the
 * CPU, on every device, for any list of devices and for aligned parts; |error| <= (8 + log2 n) eps sum |x|. */
#include "tests/paths.h"

enum { CHUNK_BYTES = 128 << 10 };

/* Elements of a chunk. */
static int64_t chunk_of(davit_type type) {
  return CHUNK_BYTES / (int64_t)davit_type_bytes(type);
}

/* ---- bits ---- */

/* The tree of <davit/reduce.h> and offload/kernel/tree.inc, written again from their words. */
#define DEFINE_MODEL(T)                                                                                      \
  static T model_chunk_##T(int64_t n, const T *x) {                                                          \
    enum { WIDTH = 16 / sizeof(T), ROW = 32 * WIDTH, SHARE = 4 * ROW, ROUND = 4 * SHARE, LANES = 16 * ROW }; \
    static T lane[LANES];                                                                                    \
    const int64_t section = (n + 4 * ROUND - 1) / (4 * ROUND) * ROUND;                                       \
    for (int64_t i = 0; i < LANES; i++)                                                                      \
      lane[i] = (T) - 0.0;                                                                                   \
    for (int64_t i = 0; i < n; i++)                                                                          \
      lane[(i / section * 4 + i % ROUND / SHARE) * ROW + i % ROW] += x[i];                                   \
    const int groups[] = {WIDTH, 32, 16};                                                                    \
    int64_t left = LANES;                                                                                    \
    for (int g = 0; g < 3; left /= groups[g++])                                                              \
      for (int64_t i = 0; i < left; i += groups[g]) {                                                        \
        for (int half = groups[g] / 2; half > 0; half /= 2)                                                  \
          for (int k = 0; k < half; k++)                                                                     \
            lane[i + k] += lane[i + k + half];                                                               \
        lane[i / groups[g]] = lane[i];                                                                       \
      }                                                                                                      \
    return lane[0];                                                                                          \
  }                                                                                                          \
  static T model_##T(int64_t n, const T *x) {                                                                \
    enum { CHUNK = CHUNK_BYTES / sizeof(T) };                                                                \
    T *value = kept((size_t)(n / CHUNK + 1) * sizeof(T));                                                    \
    int64_t count = 0;                                                                                       \
    for (int64_t i = 0; i < n || i == 0; i += CHUNK)                                                         \
      value[count++] = model_chunk_##T(n - i < CHUNK ? n - i : CHUNK, x + i);                                \
    while (count > 1) {                                                                                      \
      int64_t above = 0;                                                                                     \
      for (int64_t i = 0; i < count; i += CHUNK)                                                             \
        value[above++] = model_chunk_##T(count - i < CHUNK ? count - i : CHUNK, value + i);                  \
      count = above;                                                                                         \
    }                                                                                                        \
    T result = value[0];                                                                                     \
    return result;                                                                                           \
  }
DEFINE_MODEL(float)
DEFINE_MODEL(double)

static void model(davit_type type, int64_t n, const void *x, void *result) {
  if (type == DAVIT_FLOAT)
    *(float *)result = model_float(n, x);
  else
    *(double *)result = model_double(n, x);
}

static void expect_bits_everywhere(const job *j, const void *should, uint64_t *seed) {
  walk_all_paths(j, chunk_of(j->type), same_bits_or_nan, should, seed);
  walk_streamed(j, same_bits_or_nan, should, seed);
}

CASE(test_same_bits_everywhere) {
  static const int64_t sizes[] = {2,     1000,  16384,      16385,   32768,          32769,
                                  65536, 77777, 17 * 32768, 1000003, 100 * 32768 - 1};
  uint64_t seed = 2;
  EACH_REAL(type)
    for (davit_operator op = DAVIT_SUM; op <= DAVIT_PROD; op++)
      for (int s = 0; s < COUNT(sizes); s++)
        for (size_t shift = 0; shift < 2; shift++) {
          if (left_out())
            continue;
          void *x = rough_data(op, type, sizes[s], next_random(&seed));
          job j = reduction_of(op, type, sizes[s], x);
          double should[1];
          j.shift = shift;
          on_queue(&j, DAVIT_HOST, DAVIT_PAGEABLE, should);
          if (op == DAVIT_SUM) {
            double modelled[1];
            model(j.type, j.n, x, modelled);
            same_bits_or_nan(&j, should, modelled, "the model", 0);
          }
          expect_bits_everywhere(&j, should, &seed);
        }
}

/* Every variant of the CPU's code gives the model's bits. */
CASE(test_variants) {
  enum { ELEMENTS = 5 * 32768 + 12345 };
  EACH_CPU(variant)
    EACH_REAL(type) {
      job j = reduction_of(DAVIT_SUM, type, ELEMENTS, rough_data(DAVIT_SUM, type, ELEMENTS, 3));
      double should[1], result[1];
      model(type, j.n, j.x, should);
      on_queue(&j, DAVIT_HOST, DAVIT_PAGEABLE, result);
      same_bits_or_nan(&j, result, should, "the model", 0);
    }
}

/* Beyond two pieces of 32 MiB. */
CASE(test_many_pieces) {
  static const int64_t pieces[] = {[DAVIT_FLOAT] = 8 << 20, [DAVIT_DOUBLE] = 4 << 20};
  uint64_t seed = 3;
  EACH_REAL(type) {
    const int64_t n = 3 * pieces[type] + 12345;
    void *x = rough_data(DAVIT_SUM, type, n, 4);
    const job j = {.type = type, .n = n, .shift = 1, .x = x};
    int spread[MAX_PLACES], count = spread_devices(spread);
    double should[1], result[1];
    model(j.type, n, x, should);
    for (int travel = 0; travel < 2; travel++) {
      dvt_split_always(travel);
      for (int d = 1; d <= count; d += d < 2 || d == count ? 1 : count - d) {
        plain(&j, d % 2 ? DAVIT_PINNED : DAVIT_PAGEABLE, DAVIT_PAGEABLE, 0, spread, d, result);
        same_bits_or_nan(&j, result, should, "so many devices:", d);
      }
    }
    dvt_split_always(false);
    in_parts(&j, chunk_of(j.type), &seed, result);
    same_bits_or_nan(&j, result, should, "aligned parts", 0);
    on_queue(&j, count > 0 ? spread[0] : DAVIT_HOST, DAVIT_PINNED, result);
    same_bits_or_nan(&j, result, should, "queue of device", 0);
  }
}

CASE(test_again_and_again) {
  enum { N = 300001 };
  float *x = rough_data(DAVIT_SUM, DAVIT_FLOAT, N, 5);
  const float should = model_float(N, x);
  EACH_DEVICE(device) {
    const int repeats = scaled(is_gpu(device) ? 1000 : 40);
    zone there = zone_of(x, sizeof *x * N, place_for(device), 0);
    zone results = zone_new(sizeof(float) * (size_t)repeats, DAVIT_PINNED, 0);
    davit_queue *queue = new_queue(device, 3);
    for (int r = 0; r < repeats; r++) {
      CHECK(davit_queue_set_subqueue(queue, r % 3));
      CHECK(davit_queue_reduce(queue, DAVIT_SUM, DAVIT_FLOAT, N, zone_data(&there),
                               (float *)zone_data(&results) + r, NULL));
    }
    finish(queue);
    float *is = kept(results.bytes);
    zone_take(&results, is);
    for (int r = 0; r < repeats; r++)
      assert_memory_equal(&is[r], &should, sizeof should);
  }
}

/* ---- values ---- */

CASE(test_error_bound) {
  static const int64_t sizes[] = {1, 100, 5000, 16384, 32768, 1000003, 5000000};
  EACH_REAL(type)
    for (int s = 0; s < COUNT(sizes); s++)
      for (int positive = 0; positive < 2; positive++) {
        const int64_t n = sizes[s];
        void *x = rough_data(DAVIT_SUM, type, n, (uint64_t)s);
        long double sum = 0, size = 0;
        for (int64_t i = 0; i < n; i++) {
          if (positive)
            element_set(type, x, i, fabs(element_at(type, x, i)));
          sum += (long double)element_at(type, x, i);
          size += fabsl((long double)element_at(type, x, i));
        }
        double result[1];
        CHECK(davit_reduce(DAVIT_SUM, type, n, x, result, NULL));
        const double error = (double)fabsl((long double)element_at(type, result, 0) - sum);
        const double bound = (8 + log2((double)n)) * element_epsilon(type) * (double)size;
        if (!(error <= bound))
          fail_msg("%s, n %lld: error %g > %g", davit_type_string(type), (long long)n, error, bound);
      }
}

/* A special value in the first row of the last tile, in its last whole row, or behind that: with every variant of the
 * CPU's code. */
static void try_last_tile(davit_operator op, davit_type type, int whole, int rest, double special) {
  const int64_t row = 512 / (int64_t)davit_type_bytes(type), tile = 256 * row, n = tile + whole * row + rest,
                positions[] = {tile, tile + (whole > 1 ? whole - 1 : 0) * row + 3, n - 1};
  for (int p = 0; p < COUNT(positions); p++) {
    void *x = exact_data(op, type, n, 9);
    const job j = reduction_of(op, type, n, x);
    double should[1], result[1];
    element_set(type, x, positions[p], special);
    dvt_ref_reduce(op, type, n, x, should);
    on_queue(&j, DAVIT_HOST, DAVIT_PAGEABLE, result);
    same_bits_or_nan(&j, result, should, "special", p);
  }
}

CASE(test_special_in_a_last_tile) {
  static const int rows[] = {0, 1, 4, 17, 63, 64, 255};
  const double specials[] = {NAN, INFINITY, -INFINITY};
  EACH_CPU(variant)
    EACH_REAL(type)
      EACH_OPERATOR(op)
        for (int k = 0; k < COUNT(rows); k++)
          for (int s = 0; s < COUNT(specials); s++)
            for (int rest = rows[k] == 0 ? 5 : 0; rest <= 5; rest += 5)
              try_last_tile(op, type, rows[k], rest, specials[s]);
}

CASE(test_empty) {
  const double should[DAVIT_OPERATOR_COUNT] = {0, 1, INFINITY, -INFINITY};
  EACH_OPERATOR(op) {
    double result = NAN;
    float narrow = NAN;
    const davit_reduce_part nothing[3] = {{0}};
    CHECK(davit_reduce(op, DAVIT_DOUBLE, 0, NULL, &result, NULL));
    assert_true(result == should[op]);
    result = NAN;
    CHECK(davit_reduce_parts(op, DAVIT_DOUBLE, 0, NULL, &result));
    assert_true(result == should[op]);
    CHECK(davit_reduce_parts(op, DAVIT_FLOAT, 3, nothing, &narrow));
    assert_true((double)narrow == should[op]);
    davit_queue *queue = new_queue(DAVIT_HOST, 1);
    result = NAN;
    CHECK(davit_queue_reduce(queue, op, DAVIT_DOUBLE, 0, NULL, &result, NULL));
    CHECK(davit_queue_destroy(queue));
    assert_true(result == should[op] && signbit(result) == signbit(should[op]));
  }
}

/* Constant elements with some that differ, beyond 2^31 of them. */
CASE(test_beyond_two_to_the_31) {
  const int64_t n = (INT64_C(1) << 31) + 12345;
  const int device = some_gpu((size_t)n * 4 + (size_t)(1 << 30));
  const int64_t odd[] = {0, 1, INT32_MAX, INT64_C(1) << 31, n - 1};
  int32_t *x = kept_at((size_t)n * 4, device);
  uint32_t sum = 0x01010101u * (uint32_t)n;
  CHECK(davit_fill((size_t)n * 4, 1, x));
  for (int i = 0; i < COUNT(odd); i++) {
    const int32_t value = 0x02000000 + i;
    CHECK(davit_copy(sizeof value, &value, x + odd[i]));
    sum += (uint32_t)value - 0x01010101u;
  }
  int32_t result;
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_INT32, n, x, &result, ON(davit_reduce_options, &device, 1)));
  assert_int_equal((uint32_t)result, sum);
  CHECK(davit_reduce(DAVIT_MAX, DAVIT_INT32, n, x, &result, NULL));
  assert_int_equal(result, 0x02000000 + COUNT(odd) - 1);
  CHECK(davit_reduce(DAVIT_MIN, DAVIT_INT32, n, x, &result, NULL));
  assert_int_equal(result, 0x01010101);
}

/* ---- refusals and failures ---- */

#define FLOAT_SUM DAVIT_SUM, DAVIT_FLOAT

CASE(test_bad_arguments) {
  const davit_operator no_op = (davit_operator)9;
  const davit_type no_type = (davit_type)-1;
  float x[4] = {1, 2, 3, 4}, result = 5;
  const int wrong = -7, twice[] = {DAVIT_HOST, DAVIT_HOST};
  const davit_reduce_options unknown = {.devices = &wrong, .device_count = 1}, none = {.device_count = 2},
                             doubled = {.devices = twice, .device_count = 2};
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  REFUSED(davit_reduce(no_op, DAVIT_FLOAT, 4, x, &result, NULL), "op is 9");
  REFUSED(davit_reduce(DAVIT_SUM, no_type, 4, x, &result, NULL), "type is -1");
  CHECK_FAILS(davit_reduce(FLOAT_SUM, 4, x, &result, &unknown), DAVIT_UNKNOWN_DEVICE, "-7");
  REFUSED(davit_reduce(FLOAT_SUM, 4, x, &result, &doubled), "twice");
  REFUSED(davit_reduce(FLOAT_SUM, 4, x, &result, &none), "devices is NULL");
  REFUSED(davit_queue_reduce(queue, no_op, DAVIT_FLOAT, 4, x, &result, NULL), "op is 9");
  finish(queue);
  davit_reduce_part parts[] = {{.n = 2, .x = x}, {.n = -2, .x = x}, {.n = 2}};
  REFUSED(davit_reduce_parts(FLOAT_SUM, 3, parts, &result), "parts[1].n");
  parts[1].n = 0;
  REFUSED(davit_reduce_parts(FLOAT_SUM, 3, parts, &result), "parts[2].x is NULL");
  REFUSED(davit_reduce_parts(no_op, DAVIT_FLOAT, 1, parts, &result), "op is 9");
  assert_true(result == 5);
  CHECK(davit_reduce_parts(FLOAT_SUM, 2, parts, &result));
  assert_true(result == 3);
}

enum { SCENARIO_N = 100003 };

typedef struct scenario {
  int32_t *x, is[3];
} scenario;

static davit_status reduce_on_device(davit_queue *queue, void *there, void *argument) {
  scenario *s = argument;
  DVT_TRY(davit_queue_copy(queue, SCENARIO_N * sizeof *s->x, s->x, there));
  DVT_TRY(davit_queue_reduce(queue, DAVIT_SUM, DAVIT_INT32, SCENARIO_N, there, &s->is[0], NULL));
  DVT_TRY(davit_queue_synchronize(queue));
  const davit_reduce_part parts[] = {{.n = 50000, .x = there}, {.n = SCENARIO_N - 50000, .x = s->x + 50000}};
  return davit_reduce_parts(DAVIT_SUM, DAVIT_INT32, 2, parts, &s->is[1]);
}

static davit_status reduce_all(void *argument) {
  scenario *s = argument;
  int32_t should;
  DVT_TRY(with_queue(SCENARIO_N * sizeof *s->x, reduce_on_device, s));
  dvt_split_always(true);
  davit_status status = davit_reduce(DAVIT_SUM, DAVIT_INT32, SCENARIO_N, s->x, &s->is[2], NULL);
  dvt_split_always(false);
  DVT_TRY(status);
  dvt_ref_reduce(DAVIT_SUM, DAVIT_INT32, SCENARIO_N, s->x, &should);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(s->is[i], should);
    s->is[i] = 0;
  }
  return DAVIT_SUCCESS;
}

CASE(test_failures) {
  scenario s = {.x = exact_data(DAVIT_SUM, DAVIT_INT32, SCENARIO_N, 11)};
  fail_everywhere(reduce_all, &s);
}
