/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/paths.h"

enum { MAX_PARTS = 9 };

size_t job_element(const job *j) {
  return j->monoid ? j->monoid->bytes : davit_type_bytes(j->type);
}

size_t job_bytes(const job *j) {
  return (size_t)j->n * job_element(j);
}

const char *job_label(const job *j, const char *path, int where) {
  static char text[200];
  snprintf(text, sizeof text, "%s%s %s of %s, n %lld, shift %d, %s, %s %d", j->flags ? "segmented " : "",
           !j->scan                          ? "reduction"
           : j->kind == DAVIT_SCAN_EXCLUSIVE ? "exclusive scan"
                                             : "inclusive scan",
           j->monoid ? j->monoid->name : davit_operator_string(j->op),
           j->monoid ? "structs" : davit_type_string(j->type), (long long)j->n, (int)j->shift,
           j->in_place ? "in place" : "out of place", path, where);
  return text;
}

uint8_t *make_flags(flag_pattern pattern, int64_t n, uint64_t seed) {
  uint8_t *flags = kept((size_t)n);
  for (int64_t i = 0; i < n; i++) {
    const uint64_t word = next_random(&seed);
    flags[i] = pattern == FLAGS_NONE    ? 0
               : pattern == FLAGS_ALL   ? 1
               : pattern == FLAGS_SHORT ? word % 5 == 0
               : pattern == FLAGS_LONG  ? word % 20011 == 0
               : word % 37 == 0         ? (uint8_t)(1 << (word >> 32) % 8)
               : word % 97 == 0         ? 255
                                        : 0;
  }
  return flags;
}

/* ---- one path ---- */

arrays job_place(const job *j, int64_t begin, int64_t n, int x_place, int y_place, int flags_place) {
  const size_t element = job_element(j), bytes = (size_t)n * element;
  arrays a = {.x = zone_of((const char *)j->x + (size_t)begin * element, bytes, x_place, j->shift * element)};
  a.y = j->in_place ? a.x : zone_new(j->scan ? bytes : element, y_place, (j->shift ^ 1) * element);
  if (j->flags)
    a.flags = zone_of(j->flags + begin, (size_t)n, flags_place, j->shift);
  return a;
}

static const uint8_t *flags_of(const arrays *a) {
  return a->flags.block ? zone_data(&a->flags) : NULL;
}

static void expect_unchanged(const zone *z, const void *should) {
  void *is = kept(z->bytes);
  zone_take(z, is);
  assert_int_equal(memcmp(is, should, z->bytes), 0);
}

void job_take(const job *j, const arrays *a, int64_t begin, void *result) {
  zone_take(&a->y, result);
  if (j->scan && !j->in_place)
    expect_unchanged(&a->x, (const char *)j->x + (size_t)begin * job_element(j));
  if (j->flags)
    expect_unchanged(&a->flags, j->flags + begin);
}

davit_status job_call(const job *j, davit_queue *queue, const arrays *a, const int *devices, int count) {
  const void *x = zone_data(&a->x);
  void *y = zone_data(&a->y);
  const uint8_t *flags = flags_of(a);
  const davit_scan_options *so = ON(davit_scan_options, devices, count);
  const davit_reduce_options *ro = ON(davit_reduce_options, devices, count);
  if (!j->scan && j->monoid)
    return FORM(queue, monoid_reduce, j->monoid, j->n, x, y, ro);
  if (!j->scan)
    return FORM(queue, reduce, j->op, j->type, j->n, x, y, ro);
  if (j->monoid)
    return FORM(queue, monoid_scan, j->monoid, j->kind, j->n, x, flags, y, so);
  if (flags)
    return FORM(queue, segmented_scan, j->op, j->type, j->kind, j->n, x, flags, y, so);
  return FORM(queue, scan, j->op, j->type, j->kind, j->n, x, y, so);
}

void on_queue(const job *j, int device, int result_place, void *result) {
  SCOPE;
  const int place = place_for(device);
  arrays a = job_place(j, 0, j->n, place, result_place, place);
  davit_queue *queue = new_queue(device, 1);
  CHECK(job_call(j, queue, &a, NULL, 0));
  finish(queue);
  job_take(j, &a, 0, result);
}

void plain(const job *j, int x_place, int y_place, int flags_place, const int *devices, int count,
           void *result) {
  SCOPE;
  arrays a = job_place(j, 0, j->n, x_place, y_place, flags_place);
  CHECK(job_call(j, NULL, &a, devices, count));
  job_take(j, &a, 0, result);
}

static davit_status call_parts(const job *j, int count, const davit_scan_part *scans,
                               const davit_reduce_part *reductions, void *result) {
  if (!j->scan)
    return j->monoid ? davit_monoid_reduce_parts(j->monoid, count, reductions, result)
                     : davit_reduce_parts(j->op, j->type, count, reductions, result);
  if (j->monoid)
    return davit_monoid_scan_parts(j->monoid, j->kind, count, scans);
  return j->flags ? davit_segmented_scan_parts(j->op, j->type, j->kind, count, scans)
                  : davit_scan_parts(j->op, j->type, j->kind, count, scans);
}

void in_parts(const job *j, int64_t unit, uint64_t *seed, void *result) {
  SCOPE;
  const int count = 1 + random_below(seed, MAX_PARTS);
  int places[MAX_PLACES], place_count = all_places(places);
  davit_scan_part scans[MAX_PARTS] = {0};
  davit_reduce_part reductions[MAX_PARTS] = {0};
  arrays a[MAX_PARTS];
  int64_t begin[MAX_PARTS + 1] = {0};
  for (int p = 0; p < count; p++) {
    const int64_t left = j->n - begin[p], units = left / unit,
                  most = units < INT32_MAX ? units : INT32_MAX - 1;
    const int64_t some = random_below(seed, 3) ? unit * random_below(seed, (int)most + 1) : 0;
    const int64_t n = p + 1 == count ? left : some;
    const int place = places[random_below(seed, place_count)];
    a[p] = job_place(j, begin[p], n, place, place, place);
    begin[p + 1] = begin[p] + n;
    if (n == 0)
      continue;
    const void *x = zone_data(&a[p].x);
    scans[p] = (davit_scan_part){.n = n, .x = x, .y = zone_data(&a[p].y), .flags = flags_of(&a[p])};
    reductions[p] = (davit_reduce_part){.n = n, .x = x};
  }
  CHECK(call_parts(j, count, scans, reductions, result));
  char *unused = kept(job_element(j));
  for (int p = 0; p < count; p++)
    job_take(j, &a[p], begin[p], j->scan ? (char *)result + (size_t)begin[p] * job_element(j) : unused);
}

/* ---- all paths ---- */

void same_bits(const job *j, void *is, const void *should, const char *path, int where) {
  const int64_t n = j->scan ? j->n : 1;
  const size_t element = job_element(j);
  if (!j->monoid) {
    expect_elements(j->type, n, is, should, job_label(j, path, where));
    return;
  }
  for (int64_t i = 0; i < n; i++)
    if (memcmp((const char *)is + (size_t)i * element, (const char *)should + (size_t)i * element, element))
      fail_msg("%s: element %lld is wrong", job_label(j, path, where), (long long)i);
}

void same_bits_or_nan(const job *j, void *is, const void *should, const char *path, int where) {
  for (int64_t i = 0; i < (j->scan ? j->n : 1) && is_floating(j->type); i++)
    if (isnan(element_at(j->type, should, i)) && isnan(element_at(j->type, is, i)))
      element_set(j->type, is, i, element_at(j->type, should, i));
  same_bits(j, is, should, path, where);
}

static void *new_result(const job *j) {
  return kept(j->scan ? job_bytes(j) : job_element(j));
}

/* Expects the result of the plain calls. */
static void walk_plain_paths(const job *j, expectation *expect, const void *should, uint64_t *seed) {
  SCOPE;
  int places[MAX_PLACES], spread[MAX_PLACES], place_count = all_places(places);
  const int spread_count = spread_devices(spread);
  void *result = new_result(j);
  for (int p = 0; p < place_count; p++) {
    const int place = places[p];
    plain(j, place, j->scan ? place : places[random_below(seed, place_count)], place, NULL, 0, result);
    expect(j, result, should, "place", place);
  }
  for (int d = 1; d <= spread_count && d <= 16; d++) {
    const int x = places[random_below(seed, d % 2 ? place_count : 2)],
              y = places[random_below(seed, d % 2 ? place_count : 2)];
    plain(j, x, y, places[random_below(seed, place_count)], spread, d, result);
    expect(j, result, should, "so many devices:", d);
  }
}

void walk_all_paths(const job *j, int64_t unit, expectation *expect, const void *should, uint64_t *seed) {
  SCOPE;
  int places[MAX_PLACES], place_count = all_places(places);
  void *result = new_result(j);
  EACH_DEVICE(device) {
    on_queue(j, device, j->scan ? place_for(device) : places[random_below(seed, place_count)], result);
    expect(j, result, should, "queue of device", device);
  }
  in_parts(j, unit, seed, result);
  expect(j, result, should, "parts", 0);
  walk_plain_paths(j, expect, should, seed);
}

void walk_streamed(const job *j, expectation *expect, const void *should, uint64_t *seed) {
  SCOPE;
  int devices[MAX_PLACES], count = plain_devices(devices);
  void *result = new_result(j);
  dvt_split_always(true);
  walk_plain_paths(j, expect, should, seed);
  plain(j, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE, devices, count, result);
  dvt_split_always(false);
  expect(j, result, should, "host and devices", count);
}
