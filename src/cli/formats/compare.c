/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing results with a reference. */
#include "src/cli/formats/compare.h"

#include <math.h>

bool cli_same(long double a, long double b) {
  return a == b || (isnan(a) && isnan(b));
}

long double cli_difference(long double a, long double b) {
  return cli_same(a, b) ? 0 : a - b;
}

double cli_norm(const cli_array *array, cli_nonfinite nonfinite) {
  long double sum = 0;
  const int64_t count = cli_array_count(array);
  for (int64_t i = 0; i < count; i++) {
    const long double x = cli_number(array, i);
    sum += isfinite(x) || nonfinite == CLI_NONFINITE_FAILS ? x * x : 0;
  }
  return (double)sqrtl(sum);
}

double cli_distance(const cli_array *a, const cli_array *b, cli_nonfinite nonfinite) {
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

double cli_product_bound(int64_t k, double alpha, const cli_array *a, const cli_array *b, double beta,
                         const cli_array *c0) {
  const double product = fabs(alpha) * cli_norm(a, CLI_NONFINITE_FAILS) * cli_norm(b, CLI_NONFINITE_FAILS);
  const double addend = c0->ndim ? fabs(beta) * cli_norm(c0, CLI_NONFINITE_FAILS) : 0;
  return 3 * cli_epsilon(a->type) * (sqrt((double)k + 2) * product + 2 * addend);
}

/* ---- running values ---- */

cli_running cli_running_start(davit_operator op) {
  return (cli_running){.op = op, .value = op == DAVIT_PROD};
}

void cli_running_add(cli_running *running, long double x) {
  running->terms++;
  if (running->op == DAVIT_PROD) {
    running->value *= x;
    return;
  }
  const long double sum = running->value + x;
  running->rest +=
      fabsl(running->value) >= fabsl(x) ? (running->value - sum) + x : (x - sum) + running->value;
  running->value = sum;
  running->magnitude += fabsl(x);
}

/* The value; an infinity of `type` where that overflows. */
static long double total(const cli_running *running, cli_type type) {
  const long double value = isfinite(running->value) ? running->value + running->rest : running->value;
  const long double rounded = type == CLI_F4 ? (long double)(float)value : (long double)(double)value;
  return isfinite(rounded) ? value : rounded;
}

double cli_running_error(const cli_running *running, cli_type type, long double found) {
  const long double value = total(running, type);
  if (cli_same(value, found))
    return 0;
  return isfinite(value) ? (double)fabsl(found - value) : INFINITY;
}

double cli_running_bound(const cli_running *running, cli_type type, double depth) {
  const long double value = total(running, type), eps = (long double)cli_epsilon(type);
  if (!isfinite(value))
    return 0;
  if (running->op == DAVIT_SUM)
    return (double)(2 * eps * (long double)depth * running->magnitude);
  const long double lost = running->terms > 1 ? (long double)cli_smallest(type) : 0;
  return (double)((long double)running->terms * eps * fabsl(value) + lost);
}
