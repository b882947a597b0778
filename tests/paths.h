/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of reductions and scans share: one job, and every path that it can take: on the queue of
 * each device, as a plain call with memory at each place and for lists of devices, in parts that each lie
 * elsewhere. */
#ifndef DAVIT_TESTS_PATHS_H
#define DAVIT_TESTS_PATHS_H

#include "tests/elements.h"

/* A reduction, whose result is one element, or a scan, whose result is n; by the monoid, or by op and type if
 * that is NULL. */
typedef struct job {
  bool scan;
  const davit_monoid *monoid;
  davit_operator op;
  davit_type type;
  davit_scan_kind kind;
  int64_t n;
  bool in_place;
  size_t shift; /* elements by which arrays are off a multiple of 256 bytes */
  const void *x;
  const uint8_t *flags; /* NULL: not segmented */
} job;

static inline job scan_of(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n) {
  return (job){.scan = true, .op = op, .type = type, .kind = kind, .n = n};
}

static inline job reduction_of(davit_operator op, davit_type type, int64_t n, const void *x) {
  return (job){.op = op, .type = type, .n = n, .x = x};
}

#define EACH_KIND(kind)                                                                                      \
  for (davit_scan_kind kind = DAVIT_SCAN_INCLUSIVE; kind <= DAVIT_SCAN_EXCLUSIVE; kind++)

size_t job_element(const job *j); /* bytes of one */
size_t job_bytes(const job *j);   /* of x */

/* What the job is, with the path that it took; valid until the next call. */
const char *job_label(const job *j, const char *path, int where);

/* Flags of segments: none, all, short and long segments, and flags of all values that mark a head. */
typedef enum flag_pattern {
  FLAGS_NONE,
  FLAGS_ALL,
  FLAGS_SHORT,
  FLAGS_LONG,
  FLAGS_ODD,
  FLAGS_PATTERNS
} flag_pattern;
uint8_t *make_flags(flag_pattern pattern, int64_t n, uint64_t seed);

/* Memory for n elements of a job from `begin` on. job_take() copies the result to the host; the guard zones,
 * and x and the flags of a scan, must be as they were. */
typedef struct arrays {
  zone x, y, flags;
} arrays;
arrays job_place(const job *j, int64_t begin, int64_t n, int x_place, int y_place, int flags_place);
void job_take(const job *j, const arrays *a, int64_t begin, void *result);

/* On the queue; without one on the devices (count 0: the default ones). */
davit_status job_call(const job *j, davit_queue *queue, const arrays *a, const int *devices, int count);

void on_queue(const job *j, int device, int result_place, void *result);
void plain(const job *j, int x_place, int y_place, int flags_place, const int *devices, int count,
           void *result);

/* Cut at random, at multiples of `unit`; some parts are empty, each lies at a place of its own. */
void in_parts(const job *j, int64_t unit, uint64_t *seed, void *result);

/* Compares a result with what it should be: the same bytes; the same, but any NaN for a NaN. */
typedef void expectation(const job *j, void *is, const void *should, const char *path, int where);
expectation same_bits, same_bits_or_nan;

/* Expects the result of all paths. Parts are multiples of `unit`. */
void walk_all_paths(const job *j, int64_t unit, expectation *expect, const void *should, uint64_t *seed);

/* The plain paths, and one over the host and all devices, where the array is streamed though it need not be. */
void walk_streamed(const job *j, expectation *expect, const void *should, uint64_t *seed);

#endif
