/* SPDX-License-Identifier: Apache-2.0 */
/* Results of groups of elements. */
#include "src/cli/reduce_fold.h"

#include <davit/reduce.h>
#include <davit/scan.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"

/* ---- folds ---- */

static davit_status fold_by_scan(const reduction *r, davit_operator op, const void *x, void *results) {
  const size_t bytes = cli_type_bytes(r->x.type);
  const davit_type type = cli_number_type(r->x.type);
  const davit_status status =
      davit_segmented_scan(op, type, DAVIT_SCAN_INCLUSIVE, r->groups * r->length, x, r->flags.data,
                           r->scan.data, &(davit_scan_options){CLI_DEVICES(r)});
  for (int64_t i = 0; i < r->groups && status == DAVIT_SUCCESS; i++)
    memcpy((char *)results + (size_t)i * bytes,
           (const char *)r->scan.data + (size_t)((i + 1) * r->length - 1) * bytes, bytes);
  return status;
}

static davit_status fold(const reduction *r, davit_operator op, const void *x, void *results,
                         bool reference) {
  const size_t bytes = cli_type_bytes(r->x.type);
  const davit_type type = cli_number_type(r->x.type);
  if (r->groups == 1 && !reference)
    return davit_reduce(op, type, r->length, x, results, &(davit_reduce_options){CLI_DEVICES(r)});
  if (r->length > 0 && !reference)
    return r->groups ? fold_by_scan(r, op, x, results) : DAVIT_SUCCESS;
  const size_t step = (size_t)r->length * bytes;
  for (int64_t i = 0; i < r->groups; i++)
    dvt_ref_reduce(op, type, r->length, step ? (const char *)x + (size_t)i * step : NULL,
                   (char *)results + (size_t)i * bytes);
  return DAVIT_SUCCESS;
}

/* ---- element by element ---- */

static void divide(const reduction *r, double *results) {
  for (int64_t i = 0; i < r->groups; i++)
    results[i] /= (double)r->length;
}

static void squares_of_differences(const reduction *r, const double *means, double *terms) {
  const double *x = r->x.data;
  for (int64_t i = 0; i < r->groups; i++)
    for (int64_t k = i * r->length; k < (i + 1) * r->length; k++)
      terms[k] = (x[k] - means[i]) * (x[k] - means[i]);
}

/* The exponent of the group's largest element: divided by it, squares neither overflow nor vanish. */
static int exponent_of(const reduction *r, int64_t group) {
  if (r->length == 0)
    return 0;
  const double *x = (const double *)r->x.data + group * r->length;
  double largest = 0;
  for (int64_t k = 0; k < r->length; k++)
    largest = fmax(largest, fabs(x[k]));
  return largest > 0 && isfinite(largest) ? ilogb(largest) : 0;
}

static void scaled_squares(const reduction *r, double *terms) {
  const double *x = r->x.data;
  for (int64_t i = 0; i < r->groups; i++) {
    const int exponent = exponent_of(r, i);
    for (int64_t k = i * r->length; k < (i + 1) * r->length; k++)
      terms[k] = ldexp(x[k], -exponent) * ldexp(x[k], -exponent);
  }
}

static void scaled_roots(const reduction *r, double *results) {
  for (int64_t i = 0; i < r->groups; i++)
    results[i] = ldexp(sqrt(results[i]), exponent_of(r, i));
}

static davit_status norms(const reduction *r, double *results, bool reference) {
  scaled_squares(r, r->terms.data);
  const davit_status status = fold(r, DAVIT_SUM, r->terms.data, results, reference);
  if (status == DAVIT_SUCCESS)
    scaled_roots(r, results);
  return status;
}

static davit_status means(const reduction *r, double *results, bool reference) {
  const davit_status status = fold(r, DAVIT_SUM, r->x.data, results, reference);
  divide(r, results);
  return status;
}

static davit_status variances(const reduction *r, double *results, bool reference) {
  davit_status status = means(r, results, reference);
  squares_of_differences(r, results, r->terms.data);
  if (status == DAVIT_SUCCESS)
    status = fold(r, DAVIT_SUM, r->terms.data, results, reference);
  divide(r, results);
  return status;
}

/* The first element that is the extreme one, which is NaN as soon as one of them is. */
static int64_t first_like(const cli_array *x, int64_t begin, int64_t length, const cli_array *extreme,
                          int64_t group) {
  int64_t k = 0;
  if (cli_is_floating(x->type)) {
    const long double value = cli_number(extreme, group);
    while (k < length - 1 && cli_number(x, begin + k) != value &&
           !(isnan(value) && isnan(cli_number(x, begin + k))))
      k++;
    return k;
  }
  const int64_t value = cli_integer(extreme, group);
  while (k < length - 1 && cli_integer(x, begin + k) != value)
    k++;
  return k;
}

static davit_status places(const reduction *r, int64_t *results, bool reference) {
  const davit_operator op = r->op == REDUCE_ARGMIN ? DAVIT_MIN : DAVIT_MAX;
  const davit_status status = fold(r, op, r->x.data, r->extremes.data, reference);
  for (int64_t i = 0; i < r->groups && status == DAVIT_SUCCESS; i++)
    results[i] = first_like(&r->x, i * r->length, r->length, &r->extremes, i);
  return status;
}

/* ---- all ---- */

int reduce_room(reduction *r) {
  const int64_t elements = r->groups * r->length;
  const cli_memory memory = r->job.memory;
  int code = CLI_OK;
  if (r->op == REDUCE_VAR || r->op == REDUCE_NORM)
    code = cli_array_create(r->x.type, 1, elements, 1, memory, &r->terms);
  if (code == CLI_OK && reduce_gives_place(r))
    code = cli_array_create(r->x.type, 1, r->groups, 1, memory, &r->extremes);
  if (code == CLI_OK && r->groups > 1)
    code = cli_array_create(r->x.type, 1, elements, 1, memory, &r->scan);
  if (code == CLI_OK && r->groups > 1)
    code = cli_array_create(CLI_U1, 1, elements, 1, memory, &r->flags);
  if (code != CLI_OK || r->groups < 2 || !elements)
    return code;
  uint8_t *flags = r->flags.data;
  memset(flags, 0, (size_t)elements);
  for (int64_t i = 0; i < r->groups; i++)
    flags[i * r->length] = 1;
  return code;
}

davit_status reduce_compute(const reduction *r, void *results, bool reference) {
  switch (r->op) {
  case REDUCE_MEAN:
    return means(r, results, reference);
  case REDUCE_VAR:
    return variances(r, results, reference);
  case REDUCE_NORM:
    return norms(r, results, reference);
  case REDUCE_ARGMIN:
  case REDUCE_ARGMAX:
    return places(r, results, reference);
  default:
    return fold(r, (davit_operator)r->op, r->x.data, results, reference);
  }
}
