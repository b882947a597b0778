/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/compare.h"

#include <float.h>
#include <math.h>

bool cli_same(long double a, long double b) {
  return a == b || (isnan(a) && isnan(b));
}

long double cli_difference(long double a, long double b) {
  return cli_same(a, b) ? 0 : a - b;
}

double cli_error(cli_type type, long double value, long double found, bool may_overflow) {
  const long double rounded = type == CLI_F4 ? (long double)(float)value : (long double)(double)value;
  if (cli_same(isfinite(rounded) ? value : rounded, found))
    return 0;
  if (isfinite(found))
    return isfinite(value) ? (double)fabsl(found - value) : INFINITY;
  return may_overflow ? 0 : INFINITY;
}

double cli_bound(long double value, long double bound) {
  return isfinite(value) && !isnan(bound) ? (double)fminl(bound, (long double)DBL_MAX) : 0;
}

bool cli_overflows(cli_type type, long double size, int64_t roundings) {
  const long double slack = 1 + (long double)roundings * (long double)cli_epsilon(type);
  return !(size * slack <= (long double)cli_largest(type));
}

double cli_norm(const cli_array *whole, cli_nonfinite nonfinite) {
  const cli_array parts = cli_array_parts(whole), *array = &parts;
  long double sum = 0;
  const int64_t count = cli_array_count(array);
  for (int64_t i = 0; i < count; i++) {
    const long double x = cli_number(array, i);
    sum += isfinite(x) || nonfinite == CLI_NONFINITE_FAILS ? x * x : 0;
  }
  return (double)sqrtl(sum);
}

double cli_distance(const cli_array *whole_a, const cli_array *whole_b, cli_nonfinite nonfinite) {
  const cli_array parts_a = cli_array_parts(whole_a), parts_b = cli_array_parts(whole_b);
  const cli_array *a = &parts_a, *b = &parts_b;
  long double sum = 0;
  const int64_t count = cli_array_count(a);
  for (int64_t i = 0; i < count; i++) {
    const long double x = cli_number(a, i), y = cli_number(b, i);
    const long double difference = nonfinite == CLI_NONFINITE_PASSES ? cli_difference(x, y) : x - y;
    sum += difference * difference;
  }
  return (double)sqrtl(sum);
}

int64_t cli_differences(const cli_array *a, const cli_array *b) {
  int64_t differences = 0;
  const int64_t count = cli_array_count(a);
  const bool floating = cli_is_floating(a->type);
  for (int64_t i = 0; i < count; i++)
    differences +=
        floating ? !cli_same(cli_number(a, i), cli_number(b, i)) : cli_integer(a, i) != cli_integer(b, i);
  return differences;
}

double cli_rounding(cli_type type) {
  return cli_epsilon(type) * (cli_is_complex(type) ? 2 * sqrt(2) : 1);
}

double cli_product_bound(int64_t k, double alpha, const cli_array *a, const cli_array *b, double beta,
                         const cli_array *c0) {
  const double product =
      alpha != 0 ? alpha * cli_norm(a, CLI_NONFINITE_FAILS) * cli_norm(b, CLI_NONFINITE_FAILS) : 0;
  const double addend = beta != 0 && c0->ndim ? beta * cli_norm(c0, CLI_NONFINITE_FAILS) : 0;
  return 3 * cli_rounding(a->type) * (sqrt((double)k + 2) * product + 2 * addend);
}

/* ---- running values ---- */

static void multiply(cli_scaled *product, long double x) {
  int exponent = 0;
  product->x *= x;
  if (isfinite(product->x))
    product->x = frexpl(product->x, &exponent);
  product->exponent += exponent;
}

/* 0 or infinity beyond the range of long double. */
static long double scaled_value(const cli_scaled *product) {
  return ldexpl(product->x, (int)fmax(fmin((double)product->exponent, 1e5), -1e5));
}

cli_running cli_running_start(davit_operator op) {
  const cli_scaled one = {.x = 1};
  return (cli_running){.op = op, .product = one, .above = one, .below = one};
}

static void add_term(cli_running *running, long double x) {
  const long double sum = running->value + x;
  running->rest +=
      fabsl(running->value) >= fabsl(x) ? (running->value - sum) + x : (x - sum) + running->value;
  running->value = sum;
  running->magnitude += isfinite(x) ? fabsl(x) : 0;
}

static void add_factor(cli_running *running, long double x) {
  multiply(&running->product, x);
  if (isfinite(x) && x != 0)
    multiply(fabsl(x) > 1 ? &running->above : &running->below, fabsl(x));
}

void cli_running_add(cli_running *running, long double x) {
  running->terms++;
  (running->op == DAVIT_PROD ? add_factor : add_term)(running, x);
}

long double cli_running_value(const cli_running *running) {
  if (running->op == DAVIT_PROD)
    return scaled_value(&running->product);
  return isfinite(running->value) ? running->value + running->rest : running->value;
}

static bool may_overflow(const cli_running *running, cli_type type) {
  const long double largest = running->op == DAVIT_PROD ? scaled_value(&running->above) : running->magnitude;
  return cli_overflows(type, largest, running->terms);
}

static bool may_underflow(const cli_running *running, cli_type type) {
  const long double slack = 1 + (long double)running->terms * (long double)cli_epsilon(type);
  return running->op == DAVIT_PROD && scaled_value(&running->below) < (long double)cli_smallest(type) * slack;
}

double cli_running_error(const cli_running *running, cli_type type, long double found) {
  const long double value = cli_running_value(running);
  const bool nan_of_0 = isinf(value) && isnan(found) && may_underflow(running, type); /* 0 times infinity */
  return cli_error(type, value, found, nan_of_0 || may_overflow(running, type));
}

double cli_running_bound(const cli_running *running, cli_type type, double depth) {
  const long double value = cli_running_value(running), eps = (long double)cli_epsilon(type);
  if (running->op == DAVIT_SUM)
    return cli_bound(value, 2 * eps * (long double)depth * running->magnitude);
  const long double growth = fminl(scaled_value(&running->above), (long double)cli_largest(type));
  const long double lost = may_underflow(running, type) ? (long double)cli_smallest(type) * growth : 0;
  return cli_bound(value, (long double)running->terms * eps * fabsl(value) + lost);
}
