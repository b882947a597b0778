/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors.h"

#include "offload/runtime/stream.h"

static dvt_stream *stream;

const davit_type vector_types[VECTOR_TYPES] = {DAVIT_DOUBLE, DAVIT_FLOAT, DAVIT_COMPLEX_DOUBLE,
                                               DAVIT_COMPLEX_FLOAT};
static const int64_t lengths[] = {0, 1, 2, 5, 33, 5000};
const int64_t vector_increments[VECTOR_INCREMENTS] = {1, 2, -1, -3};

bool is_complex_type(davit_type type) {
  return type >= DAVIT_COMPLEX_FLOAT;
}

davit_type part_type(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE : DAVIT_FLOAT;
}

vector vector_at(davit_type type, int64_t n, int64_t inc, int place, uint64_t seed) {
  const int64_t parts = is_complex_type(type) ? 2 : 1;
  return (vector){dense_new(part_type(type), parts, n, (llabs(inc) - 1) * parts, 0, place, seed), type, n,
                  inc};
}

wide vector_element(const vector *v, int64_t i, bool was) {
  const int64_t j = v->inc < 0 ? v->n - 1 - i : i;
  double (*const at)(const dense *, int64_t, int64_t) = was ? dense_was : dense_at;
  const long double real = (long double)at(&v->d, 0, j);
  return is_complex_type(v->type) ? __builtin_complex(real, (long double)at(&v->d, 1, j)) : (wide)real;
}

long double vector_epsilon(davit_type type) {
  return (long double)element_epsilon(part_type(type)) * (is_complex_type(type) ? 4 : 1);
}

void perform_form(const dvt_form forms[FORMS], int form, const void *arguments) {
  const dvt_site site = {.device = form == HOST ? DAVIT_HOST : 0, .stream = stream, .threads = 1};
  CHECK(forms[form](&site, arguments));
  if (form == STREAM)
    CHECK(dvt_stream_synchronize(stream));
}

bool form_available(int form) {
  return form == HOST || (form == REGION && device_count() > 0) || (form == STREAM && stream);
}

void open_forms(void) {
  if (device_count() > 0)
    (void)dvt_stream_acquire(0, &stream);
}

void close_forms(void) {
  if (stream)
    dvt_stream_release(stream);
  stream = NULL;
}

void each_vector(void (*work)(davit_type type, int64_t n, int64_t inc)) {
  open_forms();
  for (int t = 0; t < VECTOR_TYPES; t++)
    for (int s = 0; s < COUNT(lengths); s++)
      for (int i = 0; i < VECTOR_INCREMENTS; i++)
        work(vector_types[t], lengths[s], vector_increments[i]);
  close_forms();
}

double _Complex vector_factor(davit_type type) {
  const double _Complex value =
      is_complex_type(type) ? __builtin_complex(0.75, -0.5) : 0.75; /* exact in float */
  return value;
}

void expect_element(const vector *v, int64_t i, wide right, long double size) {
  const long double error = cabsl(vector_element(v, i, false) - right);
  assert_true(error <= 2 * vector_epsilon(v->type) * size);
}

void close_to(double is, long double right, long double eps) {
  assert_true(fabsl((long double)is - right) <= eps * fabsl(right));
}

int some_devices(int devices[4]) {
  int all = 0;
  for (; all < device_count() && all < 4; all++)
    devices[all] = all;
  if (all == 0)
    devices[all++] = DAVIT_HOST;
  return all;
}
