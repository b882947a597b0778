/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the stencil, of reductions and scans, and of the closest pair. */
#include "tests/operations.h"
#include "tests/paths.h"
#include "tests/points.h"

/* ---- stencil ---- */

enum { FROM, TO };

static const double skewed[9] = {1, 2, -3, 0.25, -5, 6.5, 7, -0.125, 9};

/* One case of 20 is larger than what a thread or a block of a kernel works on. */
static void draw_stencil(trial *t, uint64_t *seed) {
  const bool is_large = t->number % 20 == 7;
  t->type = real_type(random_below(seed, 2));
  t->which = random_below(seed, 3); /* a davit_stencil_border */
  t->flag[0] = DRAW(seed, char, 'd', 's', 's');
  t->size[0] = draw_length(seed, is_large ? 5000 : 300);
  t->size[1] = draw_length(seed, is_large ? 1000 : 150);
  for (int i = FROM; i <= TO; i++) {
    t->step[i] = random_below(seed, 2) * random_below(seed, 4);
    t->shift[i] = random_below(seed, 2) * random_below(seed, 4);
  }
  t->written = 1 << TO;
}

static void make_stencil(const trial *t, const int places[OPERANDS], dense *o) {
  for (int i = FROM; i <= TO; i++)
    o[i] = dense_new(t->type, t->size[0], t->size[1], t->step[i], t->shift[i], places[i],
                     i == FROM ? t->data : UNSET);
}

static const double *coefficients(const trial *t) {
  return t->flag[0] == 's' ? skewed : NULL;
}

static davit_status call_stencil(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                                 int count) {
  const davit_stencil_options options = {
      .border = (davit_stencil_border)t->which, .devices = devices, .device_count = count};
  return FORM(queue, stencil, t->type, t->size[0], t->size[1], dense_there(&o[FROM]), o[FROM].ld,
              coefficients(t), dense_there(&o[TO]), o[TO].ld, &options);
}

/* The reference's bits; what the border rule leaves is as it was. */
static void expect_stencil(const trial *t, dense *o) {
  const double *k = coefficients(t) ? coefficients(t) : davit_stencil_coefficients;
  const int64_t rows = t->size[0], cols = t->size[1];
  const void *a = dense_image(&o[FROM]);
  void *b = o[TO].before + o[TO].start;
  if (t->type == DAVIT_DOUBLE)
    dvt_ref_dstencil(rows, cols, a, o[FROM].ld, k, (davit_stencil_border)t->which, b, o[TO].ld);
  else
    dvt_ref_sstencil(rows, cols, a, o[FROM].ld, k, (davit_stencil_border)t->which, b, o[TO].ld);
  expect_old("b", &o[TO]);
}

const operation stencil_operation = {.name = "stencil",
                                     .cases = 2000,
                                     .operands = 2,
                                     .tunable = "chunk_bytes",
                                     .shortest = 1 << 16,
                                     .draw = draw_stencil,
                                     .make = make_stencil,
                                     .call = call_stencil,
                                     .expect = expect_stencil};

/* ---- reductions and scans ---- */

enum { OF_X, RESULT, FLAGS };

/* Results that are exact in any order. One case of 40 has several pieces. */
static void draw_array(trial *t, uint64_t *seed) {
  static const davit_type types[] = {DAVIT_FLOAT, DAVIT_DOUBLE, DAVIT_INT32, DAVIT_INT64};
  t->type = types[random_below(seed, COUNT(types))];
  t->which = random_below(seed, DAVIT_OPERATOR_COUNT);
  t->size[0] = t->number % 40 == 7
                   ? (2 << 20) / (int64_t)davit_type_bytes(t->type) + draw_length(seed, 300000)
                   : draw_length(seed, t->number % 4 ? 10000 : 270000);
  for (int i = 0; i < OPERANDS; i++)
    t->shift[i] = random_below(seed, 2) * random_below(seed, 4);
  t->flag[2] =
      is_floating(t->type) ? DRAW(seed, char, '-', '-', '-', 'n', t->which == DAVIT_SUM ? '0' : 'n') : '-';
  t->written = 1 << RESULT;
}

static dense new_array(const trial *t, int which, davit_type type, const void *from, const int *places) {
  dense x = dense_new(type, t->size[0], 1, 0, t->shift[which], places[which], UNSET);
  memcpy(dense_image(&x), from, (size_t)t->size[0] * element_bytes(type));
  dense_give(&x);
  return x;
}

/* flag[2]: '0' for negative zeros among which one may be positive, 'n' for an element that is not finite. */
static dense new_exact(const trial *t, const int *places) {
  const double specials[] = {NAN, INFINITY, -INFINITY};
  const int64_t n = t->size[0], at = (int64_t)(t->data >> 8) % (n + 1);
  void *x = exact_data((davit_operator)t->which, t->type, n, t->data);
  for (int64_t i = 0; i < n && t->flag[2] == '0'; i++)
    element_set(t->type, x, i, i == at && t->data >> 7 & 1 ? 0.0 : -0.0);
  if (t->flag[2] == 'n' && at < n)
    element_set(t->type, x, at, specials[(t->data >> 7) % COUNT(specials)]);
  return new_array(t, OF_X, t->type, x, places);
}

/* Bits, but any NaN for a NaN. */
static void expect_array(const trial *t, dense *x, const void *should, int64_t n) {
  for (int64_t i = 0; i < n && is_floating(t->type); i++)
    if (isnan(dense_at(x, i, 0)) && isnan(element_at(t->type, should, i)))
      dense_set(x, i, 0, element_at(t->type, should, i));
  expect_elements(t->type, n, dense_image(x), should, t->row->name);
}

static char *element_there(const dense *x, int64_t i) {
  return (char *)dense_there(x) + (size_t)i * element_bytes(x->type);
}

static void make_reduce(const trial *t, const int places[OPERANDS], dense *o) {
  o[OF_X] = new_exact(t, places);
  o[RESULT] = dense_new(t->type, 1, 1, 0, t->shift[RESULT], places[RESULT], UNSET);
}

static davit_status call_reduce(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                                int count) {
  return FORM(queue, reduce, (davit_operator)t->which, t->type, t->size[0], dense_there(&o[OF_X]),
              dense_there(&o[RESULT]), ON(davit_reduce_options, devices, count));
}

static davit_status reduce_parts(const trial *t, const dense *o, int count, const int64_t *begin) {
  davit_reduce_part parts[MAX_PARTS] = {{0}};
  for (int p = 0; p < count; p++)
    parts[p] = (davit_reduce_part){.n = begin[p + 1] - begin[p], .x = element_there(&o[OF_X], begin[p])};
  return davit_reduce_parts((davit_operator)t->which, t->type, count, parts, dense_there(&o[RESULT]));
}

static void expect_reduce(const trial *t, dense *o) {
  double should[1];
  dvt_ref_reduce((davit_operator)t->which, t->type, t->size[0], dense_image(&o[OF_X]), should);
  expect_array(t, &o[RESULT], should, 1);
}

const operation reduce_operation = {.name = "reduce",
                                    .cases = 4000,
                                    .operands = 2,
                                    .results = 1 << RESULT,
                                    .tunable = "piece_bytes",
                                    .shortest = 1 << 20,
                                    .draw = draw_array,
                                    .make = make_reduce,
                                    .call = call_reduce,
                                    .parts = reduce_parts,
                                    .expect = expect_reduce};

/* flag[0]: inclusive or exclusive; flag[1]: the pattern of flags, or '-'. */
static void draw_scan(trial *t, uint64_t *seed) {
  draw_array(t, seed);
  t->flag[0] = DRAW(seed, char, 'i', 'e');
  t->flag[1] = DRAW(seed, char, '-', '-', '-', '0', '1', '2', '3', '4');
  t->in_place = random_below(seed, 2);
  t->written = t->in_place ? 1 << OF_X : 1 << RESULT;
}

static void make_scan(const trial *t, const int places[OPERANDS], dense *o) {
  const bool segmented = t->flag[1] != '-';
  o[OF_X] = new_exact(t, places);
  o[RESULT] = dense_new(t->type, t->size[0], 1, 0, t->shift[RESULT], places[RESULT], UNSET);
  o[FLAGS] = new_array(
      t, FLAGS, BYTE_TYPE,
      make_flags(segmented ? (flag_pattern)(t->flag[1] - '0') : FLAGS_NONE, t->size[0], t->data + 1), places);
}

static davit_scan_kind kind_of(const trial *t) {
  return t->flag[0] == 'e' ? DAVIT_SCAN_EXCLUSIVE : DAVIT_SCAN_INCLUSIVE;
}

static davit_status call_scan(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                              int count) {
  const void *x = dense_there(&o[OF_X]), *flags = dense_there(&o[FLAGS]);
  void *y = dense_there(&o[t->in_place ? OF_X : RESULT]);
  const davit_operator op = (davit_operator)t->which;
  const davit_scan_kind kind = kind_of(t);
  const davit_scan_options *options = ON(davit_scan_options, devices, count);
  return t->flag[1] == '-' ? FORM(queue, scan, op, t->type, kind, t->size[0], x, y, options)
                           : FORM(queue, segmented_scan, op, t->type, kind, t->size[0], x, flags, y, options);
}

static davit_status scan_parts(const trial *t, const dense *o, int count, const int64_t *begin) {
  const davit_operator op = (davit_operator)t->which;
  const bool segmented = t->flag[1] != '-';
  davit_scan_part parts[MAX_PARTS] = {{0}};
  for (int p = 0; p < count; p++)
    parts[p] = (davit_scan_part){.n = begin[p + 1] - begin[p],
                                 .x = element_there(&o[OF_X], begin[p]),
                                 .y = element_there(&o[t->in_place ? OF_X : RESULT], begin[p]),
                                 .flags = segmented ? (uint8_t *)element_there(&o[FLAGS], begin[p]) : NULL};
  return segmented ? davit_segmented_scan_parts(op, t->type, kind_of(t), count, parts)
                   : davit_scan_parts(op, t->type, kind_of(t), count, parts);
}

static void expect_scan(const trial *t, dense *o) {
  dense *y = &o[t->in_place ? OF_X : RESULT];
  const void *x = t->in_place ? y->before + y->start : dense_image(&o[OF_X]);
  void *should = kept((size_t)t->size[0] * davit_type_bytes(t->type));
  dvt_ref_scan((davit_operator)t->which, t->type, kind_of(t), t->size[0], x,
               t->flag[1] == '-' ? NULL : dense_image(&o[FLAGS]), should);
  expect_array(t, y, should, t->size[0]);
}

const operation scan_operation = {.name = "scan",
                                  .cases = 4000,
                                  .operands = 3,
                                  .tunable = "piece_bytes",
                                  .shortest = 1 << 20,
                                  .draw = draw_scan,
                                  .make = make_scan,
                                  .call = call_scan,
                                  .parts = scan_parts,
                                  .expect = expect_scan};

/* ---- the closest pair ---- */

enum { POINTS, PAIR };

/* Every kind of points by every algorithm in every type and dimension. */
static void draw_closest_pair(trial *t, uint64_t *seed) {
  const int v = t->number / GENERATORS;
  t->which = t->number % GENERATORS;
  t->flag[0] = "abdg"[v % 4];
  t->type = real_type(v / 4);
  t->size[0] = 2 + draw_length(seed, t->number % 20 == 7 ? 5000 : 1000);
  t->size[1] = 2 + v / 8 % 2;
  t->shift[POINTS] = random_below(seed, 4);
  t->written = 1 << PAIR;
}

static void make_closest_pair(const trial *t, const int places[OPERANDS], dense *o) {
  const cloud c = cloud_of(t->which, t->type, (int)t->size[1], t->size[0]);
  o[POINTS] = dense_new(t->type, c.dim, c.n, 0, t->shift[POINTS], places[POINTS], UNSET);
  memcpy(dense_image(&o[POINTS]), c.points, cloud_bytes(&c));
  dense_give(&o[POINTS]);
  o[PAIR] = dense_new(DAVIT_DOUBLE, 3, 1, 0, 0, places[PAIR], UNSET);
}

static davit_status call_closest_pair(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                                      int count) {
  const davit_closest_pair_options options = {.algorithm = t->flag[0] == 'a'   ? DAVIT_CLOSEST_PAIR_AUTO
                                                           : t->flag[0] == 'b' ? DAVIT_CLOSEST_PAIR_BRUTE
                                                           : t->flag[0] == 'd' ? DAVIT_CLOSEST_PAIR_DIVIDE
                                                                               : DAVIT_CLOSEST_PAIR_GRID,
                                              .devices = devices,
                                              .device_count = count};
  return FORM(queue, closest_pair, t->type, (int)t->size[1], t->size[0], dense_there(&o[POINTS]),
              dense_there(&o[PAIR]), &options);
}

static void expect_closest_pair(const trial *t, dense *o) {
  static davit_closest_pair_result right; /* the same on all paths: as many distances as pairs */
  static int of = -1;
  if (of != t->number)
    right = dvt_ref_closest_brute(t->type, (int)t->size[1], t->size[0], dense_image(&o[POINTS]));
  of = t->number;
  assert_memory_equal(dense_image(&o[PAIR]), &right, sizeof right);
}

const operation closest_pair_operation = {.name = "closest pair",
                                          .cases = 2000,
                                          .least = 16 * GENERATORS,
                                          .operands = 2,
                                          .results = 1 << PAIR,
                                          .near = 1 << PAIR,
                                          .draw = draw_closest_pair,
                                          .make = make_closest_pair,
                                          .call = call_closest_pair,
                                          .expect = expect_closest_pair};
