/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/reduce_fold.h"

#include <davit/reduce.h>
#include <davit/scan.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"
#include "src/base/error.h"
#include "src/cli/ranks.h"

static bool is_divided(const reduction *r) {
  return r->job.sizes->count > 1;
}

/* ---- folds ---- */

static davit_status fold_by_scan(const reduction *r, davit_operator op, const void *x, void *results) {
  const size_t bytes = cli_type_bytes(r->x.type);
  const davit_type type = cli_number_type(r->x.type);
  DVT_TRY(davit_segmented_scan(op, type, DAVIT_SCAN_INCLUSIVE, r->groups * r->length, x, r->flags.data,
                               r->scan.data, &(davit_scan_options){CLI_DEVICES(r)}));
  for (int64_t i = 0; i < r->groups; i++)
    memcpy((char *)results + (size_t)i * bytes,
           (const char *)r->scan.data + (size_t)((i + 1) * r->length - 1) * bytes, bytes);
  return DAVIT_SUCCESS;
}

/* One group, or its real and its imaginary parts. */
static davit_status fold_single(const reduction *r, davit_operator op, const void *x, void *results) {
  const size_t bytes = cli_type_bytes(r->x.type);
  for (int64_t i = 0; i < r->groups; i++)
    DVT_TRY(davit_reduce(op, cli_number_type(r->x.type), r->length,
                         r->length ? (const char *)x + (size_t)(i * r->length) * bytes : NULL,
                         (char *)results + (size_t)i * bytes, &(davit_reduce_options){CLI_DEVICES(r)}));
  return DAVIT_SUCCESS;
}

static davit_status fold(const reduction *r, davit_operator op, const void *x, void *results,
                         bool reference) {
  const size_t bytes = cli_type_bytes(r->x.type);
  const davit_type type = cli_number_type(r->x.type);
  if (is_divided(r) && !reference)
    return cli_ranks->reduce(op, type, r->length, x, results);
  if (reduce_is_single(r) && !reference)
    return fold_single(r, op, x, results);
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
    results[i] /= (double)reduce_length(r);
}

static void squares_of_differences(const reduction *r, const double *means, double *terms) {
  const double *x = r->x.data;
  for (int64_t i = 0; i < r->groups; i++)
    for (int64_t k = i * r->length; k < (i + 1) * r->length; k++)
      terms[k] = (x[k] - means[i]) * (x[k] - means[i]);
}

/* The exponent of the group's largest element: divided by it, squares neither overflow nor vanish. */
static davit_status find_exponent(const reduction *r, int64_t group, int *exponent) {
  const double *x = r->length > 0 ? (const double *)r->x.data + group * r->length : NULL;
  double largest = 0, here = 0;
  for (int64_t k = 0; k < r->length; k++)
    here = fmax(here, fabs(x[k]));
  largest = here;
  if (is_divided(r))
    DVT_TRY(cli_ranks->reduce(DAVIT_MAX, DAVIT_DOUBLE, 1, &here, &largest));
  *exponent = largest > 0 && isfinite(largest) ? ilogb(largest) : 0;
  return DAVIT_SUCCESS;
}

static davit_status scale_squares(const reduction *r, double *terms) {
  const double *x = r->x.data;
  for (int64_t i = 0; i < r->groups; i++) {
    int exponent;
    DVT_TRY(find_exponent(r, i, &exponent));
    for (int64_t k = i * r->length; k < (i + 1) * r->length; k++)
      terms[k] = ldexp(x[k], -exponent) * ldexp(x[k], -exponent);
  }
  return DAVIT_SUCCESS;
}

static davit_status scale_roots(const reduction *r, double *results) {
  for (int64_t i = 0; i < r->groups; i++) {
    int exponent;
    DVT_TRY(find_exponent(r, i, &exponent));
    results[i] = ldexp(sqrt(results[i]), exponent);
  }
  return DAVIT_SUCCESS;
}

static davit_status norms(const reduction *r, double *results, bool reference) {
  DVT_TRY(scale_squares(r, r->terms.data));
  DVT_TRY(fold(r, DAVIT_SUM, r->terms.data, results, reference));
  return scale_roots(r, results);
}

static davit_status means(const reduction *r, double *results, bool reference) {
  DVT_TRY(fold(r, DAVIT_SUM, r->x.data, results, reference));
  divide(r, results);
  return DAVIT_SUCCESS;
}

static davit_status variances_of_groups(const reduction *r, double *results, bool reference) {
  DVT_TRY(means(r, results, reference));
  squares_of_differences(r, results, r->terms.data);
  DVT_TRY(fold(r, DAVIT_SUM, r->terms.data, results, reference));
  divide(r, results);
  return DAVIT_SUCCESS;
}

static davit_status variances(const reduction *r, double *results, bool reference) {
  double *each = r->parts ? r->extremes.data : results;
  DVT_TRY(variances_of_groups(r, each, reference));
  for (int64_t i = 0; r->parts && i < r->groups / 2; i++)
    results[i] = each[2 * i] + each[2 * i + 1];
  for (int64_t i = 0; r->op == REDUCE_STD && i < (r->parts ? r->groups / 2 : r->groups); i++)
    results[i] = sqrt(results[i]);
  return DAVIT_SUCCESS;
}

#define DEFINE_PRODUCTS(name, T)                                                                             \
  static void name(const reduction *r, T *results) {                                                         \
    const T *x = r->x.data;                                                                                  \
    for (int64_t i = 0; i < r->groups; i++) {                                                                \
      results[i] = 1;                                                                                        \
      for (int64_t k = 0; k < r->length; k++)                                                                \
        results[i] *= x[i * r->length + k];                                                                  \
    }                                                                                                        \
  }
DEFINE_PRODUCTS(products_c, float _Complex)
DEFINE_PRODUCTS(products_z, double _Complex)
#undef DEFINE_PRODUCTS

/* The extreme one is NaN as soon as an element is. */
static bool is_extreme(const cli_array *x, int64_t k, const cli_array *extreme, int64_t group) {
  if (!cli_is_floating(x->type))
    return cli_integer(x, k) == cli_integer(extreme, group);
  const long double value = cli_number(extreme, group), found = cli_number(x, k);
  return found == value || (isnan(value) && isnan(found));
}

static int64_t first_extreme(const reduction *r, int64_t group) {
  int64_t k = 0;
  while (k < r->length - 1 && !is_extreme(&r->x, group * r->length + k, &r->extremes, group))
    k++;
  return k;
}

/* The number in C order of what is at `place` in memory. */
static int64_t number_of(const cli_array *array, int64_t place) {
  int64_t number = 0;
  if (!array->fortran)
    return place;
  for (int k = 0; k < array->ndim; k++) {
    number = number * array->shape[k] + place % array->shape[k];
    place /= array->shape[k];
  }
  return number;
}

/* Of all ranks; the number of their elements may be that of C order, but they lie as in the file. */
static davit_status first_of_ranks(const reduction *r, int64_t *result) {
  int64_t first = INT64_MAX;
  for (int64_t k = 0; k < r->length; k++)
    if (is_extreme(&r->x, k, &r->extremes, 0)) {
      const int64_t number = number_of(&r->job.first, r->job.sizes->begin + k);
      first = number < first ? number : first;
    }
  return cli_ranks->reduce(DAVIT_MIN, DAVIT_INT64, 1, &first, result);
}

static davit_status places(const reduction *r, int64_t *results, bool reference) {
  const davit_operator op = r->op == REDUCE_ARGMIN ? DAVIT_MIN : DAVIT_MAX;
  DVT_TRY(fold(r, op, r->x.data, r->extremes.data, reference));
  if (is_divided(r))
    return first_of_ranks(r, results);
  for (int64_t i = 0; i < r->groups; i++)
    results[i] = first_extreme(r, i);
  return DAVIT_SUCCESS;
}

/* ---- all ---- */

int reduce_room(reduction *r) {
  const int64_t elements = r->groups * r->length;
  const cli_memory memory = r->job.memory;
  const bool scans = !reduce_is_single(r) && !cli_is_complex(r->x.type);
  if (reduce_has_variance(r) || r->op == REDUCE_NORM)
    CLI_TRY(cli_array_create(r->x.type, 1, elements, 1, memory, &r->terms));
  if (reduce_gives_place(r) || (reduce_has_variance(r) && r->parts))
    CLI_TRY(cli_array_create(r->x.type, 1, r->groups, 1, memory, &r->extremes));
  if (!scans)
    return CLI_OK;
  CLI_TRY(cli_array_create(r->x.type, 1, elements, 1, memory, &r->scan));
  CLI_TRY(cli_array_create(CLI_U1, 1, elements, 1, memory, &r->flags));
  if (!elements)
    return CLI_OK;
  uint8_t *flags = r->flags.data;
  memset(flags, 0, (size_t)elements);
  for (int64_t i = 0; i < r->groups; i++)
    flags[i * r->length] = 1;
  return CLI_OK;
}

davit_status reduce_compute(const reduction *r, void *results, bool reference) {
  switch (r->op) {
  case REDUCE_MEAN:
    return means(r, results, reference);
  case REDUCE_VAR:
  case REDUCE_STD:
    return variances(r, results, reference);
  case REDUCE_NORM:
    return norms(r, results, reference);
  case REDUCE_ARGMIN:
  case REDUCE_ARGMAX:
    return places(r, results, reference);
  default:
    if (r->x.type == CLI_C8)
      products_c(r, results);
    else if (r->x.type == CLI_C16)
      products_z(r, results);
    if (cli_is_complex(r->x.type))
      return DAVIT_SUCCESS;
    return fold(r, (davit_operator)r->op, r->x.data, results, reference);
  }
}
