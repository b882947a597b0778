/* SPDX-License-Identifier: Apache-2.0 */
/* Operations under test. A row says how a case is drawn, made, called and compared with a reference; the paths that a
 * case takes through the library are in tests/test_operations.c. A reference is a plain loop in long double, with a
 * bound of the error, or the CPU's in ref/, bit for bit. What an operation must not read is NaN. */
#ifndef DAVIT_TESTS_OPERATIONS_H
#define DAVIT_TESTS_OPERATIONS_H

#include "tests/dense.h"

enum { OPERANDS = 4, MAX_PARTS = 9 };

typedef struct operation operation;

/* A case. Every row has its own use of `which`, `flag` and the sizes. */
typedef struct trial {
  const operation *row;
  int number;
  uint64_t data; /* seed of the elements */
  davit_type type;
  int which;
  char flag[6];
  int64_t size[3], step[OPERANDS]; /* increments of vectors, rows that leading dimensions have more */
  int shift[OPERANDS];
  double _Complex alpha, beta;
  bool in_place, lower_case;
  unsigned written; /* a bit for each operand */
  int64_t tile;     /* of the product's options */
  int slots;
} trial;

struct operation {
  const char *name;
  int cases, least; /* with DAVIT_TEST_SCALE 1, and whatever it is */
  int operands;     /* those of `results` may lie anywhere, those of `near` on the host alone */
  unsigned results, near;
  const char *tunable; /* what makes chunks short where it is `shortest`, or NULL */
  int64_t shortest;
  void (*draw)(trial *t, uint64_t *seed);
  void (*make)(const trial *t, const int places[OPERANDS], dense *o);
  davit_status (*call)(const trial *t, const dense *o, davit_queue *queue, const int *devices, int count);
  /* In parts of operands that lie at one place: part p is begin[p] … begin[p + 1] - 1. Or NULL. */
  davit_status (*parts)(const trial *t, const dense *o, int count, const int64_t *begin);
  void (*expect)(const trial *t, dense *o);
  bool (*refer)(const trial *t, const dense *o); /* by the reference of ref/; false: not this case. Or NULL */
};

#define EACH_OPERATION(X)                                                                                    \
  X(axpy)                                                                                                    \
  X(scal)                                                                                                    \
  X(dot)                                                                                                     \
  X(norm)                                                                                                    \
  X(gemv)                                                                                                    \
  X(atax)                                                                                                    \
  X(level3)                                                                                                  \
  X(stencil)                                                                                                 \
  X(reduce)                                                                                                  \
  X(scan)                                                                                                    \
  X(covariance)                                                                                              \
  X(closest_pair)
#define DECLARE_OPERATION(name) extern const operation name##_operation;
EACH_OPERATION(DECLARE_OPERATION)
#undef DECLARE_OPERATION

extern const int pageable[OPERANDS]; /* all at this place */

/* A length up to `most`: beside a power of two or three times one, or any. */
int64_t draw_length(uint64_t *seed, int64_t most);

/* One of the values of type T. */
#define DRAW(seed, T, ...) (((const T[]){__VA_ARGS__})[random_below(seed, COUNT(((const T[]){__VA_ARGS__})))])

/* An increment; a type of BLAS; a factor that is exact in float, often 0, 1 or -1. */
int64_t draw_increment(uint64_t *seed);
davit_type draw_type(uint64_t *seed);
double _Complex draw_factor(davit_type type, uint64_t *seed);

/* The result of the trial's type. */
#define OF_TYPE(type, d, s, z, c)                                                                            \
  ((type) == DAVIT_DOUBLE ? (d) : (type) == DAVIT_FLOAT ? (s) : (type) == DAVIT_COMPLEX_DOUBLE ? (z) : (c))

/* Rounding of one operation; a complex one counts four times. */
long double trial_epsilon(const trial *t);

/* At least the absolute value, and soon computed. */
long double size_of(wide value);

/* Element (i, j) of the operand is right within the bound, or no more finite than what is right. */
void expect_within(const char *name, const dense *m, int64_t i, int64_t j, wide right, long double bound);

/* The operand is as it was. */
void expect_old(const char *name, const dense *m);

bool is_written(const trial *t, int which);

/* What was written becomes the image of its operand; all else is as it was. */
void take_all(const trial *t, dense *o);

/* Calls on a queue of the device, or without one, and compares. */
enum { NO_DEVICE = INT_MIN };
void try_trial(const trial *t, int device);

#endif
