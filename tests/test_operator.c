/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and operators: names and sizes, identities, one and two elements by rules that are written
 * here once more, integers that wrap around. */
#include "tests/elements.h"

CASE(test_names) {
  static const char *const operators[] = {"sum", "prod", "min", "max"}, *const types[] = {"float",
                                                                                          "double",
                                                                                          "int32",
                                                                                          "int64",
                                                                                          "complex_float",
                                                                                          "complex_double"};
  static const size_t bytes[] = {4, 8, 4, 8, 8, 16};
  EACH_OPERATOR(op)
    assert_string_equal(davit_operator_string(op), operators[op]);
  for (davit_type type = DAVIT_FLOAT; type < DAVIT_TYPE_COUNT; type++) {
    assert_string_equal(davit_type_string(type), types[type]);
    assert_int_equal(davit_type_bytes(type), bytes[type]);
  }
  for (int unknown = -1; unknown <= 6; unknown += 7) {
    assert_string_equal(davit_operator_string((davit_operator)unknown), "unknown");
    assert_string_equal(davit_type_string((davit_type)unknown), "unknown");
    assert_int_equal(davit_type_bytes((davit_type)unknown), 0);
  }
}

/* No elements give the identity, one element gives itself. */
CASE(test_identities) {
  static const double floating[] = {0, 1, (double)INFINITY, -(double)INFINITY};
  static const int32_t narrow[] = {0, 1, INT32_MAX, INT32_MIN};
  static const int64_t wide[] = {0, 1, INT64_MAX, INT64_MIN};
  EACH_OPERATOR(op)
    EACH_TYPE(type) {
      double right[1], is[1]; /* of any type */
      if (type == DAVIT_INT32)
        memcpy(right, &narrow[op], sizeof narrow[op]);
      else if (type == DAVIT_INT64)
        memcpy(right, &wide[op], sizeof wide[op]);
      else
        element_set(type, right, 0, floating[op]);
      CHECK(davit_reduce(op, type, 0, NULL, is, NULL));
      assert_memory_equal(is, right, davit_type_bytes(type));
      element_set(type, right, 0, -3);
      CHECK(davit_reduce(op, type, 1, right, is, NULL));
      assert_memory_equal(is, right, davit_type_bytes(type));
    }
}

CASE(test_wrap_around) {
  const int32_t narrow[] = {INT32_MAX, 1, INT32_MIN, INT32_MIN, -1, 3, INT32_MAX, 7};
  const int64_t wide[] = {INT64_MAX, 1, INT64_MIN, INT64_MIN, -1, 3, INT64_MAX, 7};
  EACH_OPERATOR(op)
    for (int n = 0; n <= COUNT(narrow); n++) {
      int32_t is = 5, should = 6;
      int64_t wide_is = 5, wide_should = 6;
      CHECK(davit_reduce(op, DAVIT_INT32, n, narrow, &is, NULL));
      CHECK(davit_reduce(op, DAVIT_INT64, n, wide, &wide_is, NULL));
      dvt_ref_reduce(op, DAVIT_INT32, n, narrow, &should);
      dvt_ref_reduce(op, DAVIT_INT64, n, wide, &wide_should);
      assert_int_equal(is, should);
      assert_true(wide_is == wide_should);
    }
  int32_t sum;
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_INT32, 2, narrow, &sum, NULL));
  assert_int_equal(sum, INT32_MIN);
}

/* Each operator on two elements, by rules that are written here once more. */
static double on_two_doubles(davit_operator op, double a, double b) {
  switch (op) {
  case DAVIT_SUM:
    return a + b;
  case DAVIT_PROD:
    return a * b;
  default:
    if (isnan(a) || isnan(b))
      return NAN;
    return op == DAVIT_MIN ? fmin(a, b) : fmax(a, b);
  }
}

CASE(test_two_elements) {
  const double values[] = {0, 1, -2.5, 1e300, INFINITY, -INFINITY, NAN};
  EACH_OPERATOR(op)
    for (int i = 0; i < COUNT(values) * COUNT(values); i++) {
      const double x[] = {values[i / COUNT(values)], values[i % COUNT(values)]};
      const double right = on_two_doubles(op, x[0], x[1]);
      const float narrow[] = {(float)x[0], (float)x[1]};
      const double narrow_right = on_two_doubles(op, (double)narrow[0], (double)narrow[1]);
      double result = 0, reference = 0;
      float narrow_result = 0;
      CHECK(davit_reduce(op, DAVIT_DOUBLE, 2, x, &result, NULL));
      CHECK(davit_reduce(op, DAVIT_FLOAT, 2, narrow, &narrow_result, NULL));
      dvt_ref_reduce(op, DAVIT_DOUBLE, 2, x, &reference);
      assert_true(isnan(right) ? isnan(result) && isnan(reference) : result == right && reference == right);
      assert_true(isnan(narrow_right) ? isnan(narrow_result) : narrow_result == (float)narrow_right);
    }
}

CASE(test_infinities_of_both_signs) {
  double x[] = {1, INFINITY, 2, -INFINITY}, result = 0;
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, 4, x, &result, NULL));
  assert_true(isnan(result));
  CHECK(davit_reduce(DAVIT_MIN, DAVIT_DOUBLE, 4, x, &result, NULL));
  assert_true(result == -INFINITY);
  CHECK(davit_reduce(DAVIT_MAX, DAVIT_DOUBLE, 4, x, &result, NULL));
  assert_true(result == INFINITY);
}
