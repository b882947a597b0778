/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of operations on arrays share: memory between guard zones at any place, elements of every
 * type, data whose results are exact in any order and data that round, and a scenario whose every step is
 * made to fail. Memory belongs to the case or its scope (tests/support.h). */
#ifndef DAVIT_TESTS_ELEMENTS_H
#define DAVIT_TESTS_ELEMENTS_H

#include "tests/support.h"

#include <float.h>

#include "ref/blas.h"
#include "ref/ref.h"
#include "src/base/cpu.h"
#include "src/base/inject.h"
#include "src/base/operator.h"
#include "src/monoid.h"

/* ---- memory ---- */

enum { ZONE_GUARD = 512 };

typedef struct zone {
  size_t bytes, shift;
  unsigned char *block;
} zone;

/* `bytes` bytes of poison, `shift` bytes behind a multiple of 256; the second is filled from the host's
 * memory. */
zone zone_new(size_t bytes, int place, size_t shift);
zone zone_of(const void *from, size_t bytes, int place, size_t shift);
void *zone_data(const zone *z);

/* Copies to the host's memory; nothing around the zone may have changed. */
void zone_take(const zone *z, void *to);

/* ---- elements ---- */

/* DAVIT_DOUBLE for odd v, DAVIT_FLOAT for even ones. */
davit_type real_type(int v);
bool is_floating(davit_type type);
bool is_complex_type(davit_type type);
davit_type part_type(davit_type type); /* of a complex number, else the type itself */
double element_epsilon(davit_type type);

/* A type of bytes, which the library does not have: flags. */
#define BYTE_TYPE ((davit_type)100)

static inline size_t element_bytes(davit_type type) {
  return type == BYTE_TYPE ? 1 : davit_type_bytes(type);
}

typedef long double _Complex wide;

static inline void element_set(davit_type type, void *x, int64_t i, double value) {
  if (type == DAVIT_FLOAT)
    ((float *)x)[i] = (float)value;
  else if (type == DAVIT_DOUBLE)
    ((double *)x)[i] = value;
  else if (type == DAVIT_INT32)
    ((int32_t *)x)[i] = (int32_t)value;
  else
    ((int64_t *)x)[i] = (int64_t)value;
}

static inline double element_at(davit_type type, const void *x, int64_t i) {
  return type == DAVIT_FLOAT    ? (double)((const float *)x)[i]
         : type == DAVIT_DOUBLE ? ((const double *)x)[i]
         : type == DAVIT_INT32  ? (double)((const int32_t *)x)[i]
                                : (double)((const int64_t *)x)[i];
}

#define EACH_OPERATOR(op) for (davit_operator op = DAVIT_SUM; op < DAVIT_OPERATOR_COUNT; op++)
#define EACH_TYPE(type) for (davit_type type = DAVIT_FLOAT; type < DVT_MONOID_TYPES; type++)
#define EACH_REAL(type) for (davit_type type = DAVIT_FLOAT; type <= DAVIT_DOUBLE; type++)

/* Integers of any size; floating elements whose results are exact, in whatever order they are combined. */
void *exact_data(davit_operator op, davit_type type, int64_t n, uint64_t seed);

/* Floating elements that round: terms of either sign for sums, factors near 1 for products. */
void *rough_data(davit_operator op, davit_type type, int64_t n, uint64_t seed);

/* Fails at the first element that differs in a bit. */
void expect_elements(davit_type type, int64_t n, const void *is, const void *should, const char *label);

/* Runs the statement with every set of instructions of the CPU. */
#define EACH_CPU(variant) for (int variant = 0; next_cpu(variant); variant++)
bool next_cpu(int variant);

/* Does the work with DAVIT_BLAS=target: davit's own regions in place of cuBLAS and BLIS. */
void without_blas(void (*work)(void));

/* ---- failures ---- */

/* Starts the library anew and lets the n-th passage of `kind` in the scenario fail, for n = 1, 2 … as far as
 * the scenario reaches; returns how many of these calls failed. Each failure has a sentence and the status of
 * its kind. The scenario gives back what it took, and checks its result where it succeeds. */
typedef davit_status scenario_function(void *argument);
int fail_each(dvt_injection kind, scenario_function *scenario, void *argument);

/* Whether a call that meets this kind of failure may return the status. */
bool may_fail_so(dvt_injection kind, davit_status status);

/* The same for all kinds; some call must fail, and the scenario succeed afterwards. */
void fail_everywhere(scenario_function *scenario, void *argument);

/* Work of a scenario with a queue of the first device and memory there. What the work took is given back
 * whatever becomes of it; returns the first failure. */
typedef davit_status queue_work(davit_queue *queue, void *memory, void *argument);
davit_status with_queue(size_t bytes, queue_work *work, void *argument);

#endif
