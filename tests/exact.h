/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of exact products share: a product whose operands are known as vectors, and the bound
 * |C - A B| <= min(k, 64) u |A||B| in numbers of 113 bits. */
#ifndef DAVIT_TESTS_EXACT_H
#define DAVIT_TESTS_EXACT_H

#include "tests/problem.h"

/* Those that plain forms use by default, of which there are `exact_spread`; for run_cases(). */
enum { MOST_DEVICES = 4 };
extern int exact_devices[MAX_PLACES], exact_spread;
int find_exact_devices(void **state);

/* op(A) and op(B) are vectors of length k: part p of element h of vector i is x[side][(i k + h) 2 + p]. */
typedef struct trial {
  davit_type type;
  char transa, transb;
  int64_t m, n, k;
  double _Complex alpha, beta;
  double *x[2];
  dense o[3];
  davit_level3_options options;
  davit_level3_report report;
} trial;

/* Numbers are 0, options say EXACT on one device. */
trial trial_new(davit_type type, int64_t m, int64_t n, int64_t k);
int trial_parts(const trial *t);
bool trial_is_long(const trial *t);
int64_t trial_vectors(const trial *t, int side);
double *trial_number(const trial *t, int side, int64_t i, int64_t h);

/* Random transposes. */
void trial_set_layout(trial *t, uint64_t *seed);

/* Makes the matrices of the vectors, which are rounded to the type, and a C, of NaN if beta is 0. */
void trial_lay_out(trial *t, const int places[3], uint64_t *seed);
extern const int all_pageable[3];

/* The second takes C, and expects A and B as they were. */
davit_status trial_call(trial *t);
void trial_run(trial *t);
double trial_result(const trial *t, int64_t i, int64_t j, int part);

void trial_expect_exact(const trial *t);

/* The bound holds of C; the most of it that was found. */
void trial_expect_bound(const trial *t, const char *what);
extern double worst_excess;

/* It was computed natively, and has the bits of the native product. */
void trial_expect_native(trial *t);

/* (random - 1/2) exp(phi normal), rows of A and columns of B times powers of two, some of them 0. */
typedef struct operands {
  double phi;
  int wild;   /* powers of vectors */
  int inside; /* powers of their elements */
  int zeros;  /* one of so many vectors is 0, and one of so many elements; 0: none */
} operands;
void trial_fill(trial *t, operands o, uint64_t *seed);
int random_power(uint64_t *seed, int most); /* from -most to most */
int64_t random_integer(uint64_t *seed, int bits);

#endif
