/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and scans over ranks, beside the same calls on the whole array. Run by mpirun on several numbers
 * of ranks. */
#include <davit/davit.h>
#include <davit_mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_test.h"

/* Matrices of 2 × 2 modulo a prime: an operation that does not commute. */
typedef struct square {
  uint32_t a, b, c, d;
} square;
static inline square square_product(square x, square y) {
  const uint64_t p = 65521;
  square z;
  z.a = (uint32_t)(((uint64_t)x.a * y.a + (uint64_t)x.b * y.c) % p);
  z.b = (uint32_t)(((uint64_t)x.a * y.b + (uint64_t)x.b * y.d) % p);
  z.c = (uint32_t)(((uint64_t)x.c * y.a + (uint64_t)x.d * y.c) % p);
  z.d = (uint32_t)(((uint64_t)x.c * y.b + (uint64_t)x.d * y.d) % p);
  return z;
}
#define DAVIT_MONOID squares
#define DAVIT_MONOID_TYPE square
#define DAVIT_MONOID_IDENTITY ((square){1, 0, 0, 1})
#define DAVIT_MONOID_COMBINE square_product
#include <davit/define_monoid.h>

enum { MAXIMUM = 200000 };

/* The same on all ranks. */
static uint32_t random_state = 12345;
static uint32_t random_number(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

static int me, ranks;

/* Divides n: evenly, at random, all on one rank, pieces shorter than a chunk. */
static void divide(int64_t n, int how, int64_t *begin, int64_t *end) {
  int64_t at[65] = {0};
  for (int r = 1; r < ranks; r++)
    at[r] = how == 0   ? n * r / ranks
            : how == 1 ? (int64_t)(random_number() % (uint64_t)(n + 1))
            : how == 2 ? 0
                       : n;
  at[ranks] = n;
  for (int r = 1; r < ranks; r++) /* in order */
    for (int q = r; q > 1 && at[q] < at[q - 1]; q--) {
      const int64_t t = at[q];
      at[q] = at[q - 1];
      at[q - 1] = t;
    }
  *begin = at[me];
  *end = at[me + 1];
}

static const int64_t lengths[] = {0, 1, 2, 7, 1000, 16384, 16385, 32768, 65537, 100000, MAXIMUM};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void test_reduce(void) {
  double *x = malloc(MAXIMUM * sizeof *x);
  for (int i = 0; i < MAXIMUM; i++)
    x[i] = (double)random_number() / 3e6 - 2;
  for (int l = 0; l < LENGTHS; l++)
    for (int how = 0; how < 4; how++) {
      int64_t begin, end;
      divide(lengths[l], how, &begin, &end);
      double all = 0, mine = -1;
      CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, lengths[l], x, &all, NULL));
      CHECK(davit_mpi_reduce(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, end - begin, x + begin, &mine));
      EXPECT(memcmp(&all, &mine, sizeof all) == 0, "sum of %lld, division %d: %.17g, not %.17g",
             (long long)lengths[l], how, mine, all);
    }
  free(x);
}

static square *squares_at_random(void) {
  square *x = malloc(MAXIMUM * sizeof *x);
  for (int i = 0; i < MAXIMUM; i++)
    x[i] = (square){random_number() % 65521, random_number() % 65521, random_number() % 65521,
                    random_number() % 65521};
  return x;
}

static void test_order(void) {
  square *x = squares_at_random();
  for (int l = 0; l < LENGTHS; l++)
    for (int how = 0; how < 4; how++) {
      int64_t begin, end;
      divide(lengths[l], how, &begin, &end);
      square all = {1, 0, 0, 1}, mine;
      for (int64_t i = 0; i < lengths[l]; i++)
        all = square_product(all, x[i]);
      CHECK(davit_mpi_monoid_reduce(MPI_COMM_WORLD, &squares, end - begin, x + begin, &mine));
      EXPECT(memcmp(&all, &mine, sizeof all) == 0, "product of %lld, division %d", (long long)lengths[l],
             how);
    }
  /* The same by a call of MPI's. */
  MPI_Datatype type;
  MPI_Op op;
  int commute;
  CHECK(davit_mpi_operator(&squares, &type, &op));
  MPI_Op_commutative(op, &commute);
  EXPECT(!commute, "the product commutes");
  square all = x[0], got;
  for (int r = 1; r < ranks; r++)
    all = square_product(all, x[r]);
  MPI_Allreduce(&x[me], &got, 1, type, op, MPI_COMM_WORLD);
  EXPECT(memcmp(&all, &got, sizeof all) == 0, "MPI_Allreduce");
  MPI_Type_free(&type);
  MPI_Op_free(&op);
  const davit_monoid *sum;
  CHECK(davit_monoid_builtin(DAVIT_SUM, DAVIT_INT64, &sum));
  CHECK(davit_mpi_operator(sum, &type, &op));
  MPI_Op_commutative(op, &commute);
  EXPECT(commute, "the sum does not commute");
  MPI_Type_free(&type);
  MPI_Op_free(&op);
  free(x);
}

/* What a loop gives for the whole array. */
static void reference(const square *x, const uint8_t *flags, davit_scan_kind kind, int64_t n, square *y) {
  const square one = {1, 0, 0, 1};
  square sum = one;
  for (int64_t i = 0; i < n; i++) {
    if (flags && flags[i])
      sum = one;
    if (kind == DAVIT_SCAN_EXCLUSIVE)
      y[i] = sum;
    sum = square_product(sum, x[i]);
    if (kind == DAVIT_SCAN_INCLUSIVE)
      y[i] = sum;
  }
}

static void test_scan(void) {
  square *x = squares_at_random(), *want = malloc(MAXIMUM * sizeof *want), *y = malloc(MAXIMUM * sizeof *y);
  uint8_t *flags = malloc(MAXIMUM);
  for (int l = 0; l < LENGTHS; l++)
    for (int how = 0; how < 4; how++)
      for (int segments = 0; segments < 4; segments++)
        for (davit_scan_kind kind = 0; kind < 2; kind++) {
          /* None, few (some ranks have no head), many. */
          const uint32_t rarity = segments == 1 ? 1u << 30 : segments == 2 ? 30000 : 5;
          for (int64_t i = 0; i < lengths[l]; i++)
            flags[i] = random_number() % rarity == 0;
          int64_t begin, end;
          divide(lengths[l], how, &begin, &end);
          reference(x, segments ? flags : NULL, kind, lengths[l], want);
          const bool in_place = segments == 3;
          if (in_place)
            memcpy(y, x, (size_t)lengths[l] * sizeof *y);
          CHECK(davit_mpi_monoid_scan(MPI_COMM_WORLD, &squares, kind, end - begin, (in_place ? y : x) + begin,
                                      segments ? flags + begin : NULL, y + begin));
          EXPECT(memcmp(want + begin, y + begin, (size_t)(end - begin) * sizeof *y) == 0,
                 "scan of %lld, division %d, segments %d, kind %d", (long long)lengths[l], how, segments,
                 (int)kind);
        }
  free(x);
  free(want);
  free(y);
  free(flags);
}

/* Sums that round have the bits of the same call on the whole array, whose groups have 65536 doubles. */
static void test_bits_of_a_scan(void) {
  enum { LENGTH = 300007 };
  const davit_monoid *sum;
  double *x = malloc(LENGTH * sizeof *x), *want = malloc(LENGTH * sizeof *want),
         *y = malloc(LENGTH * sizeof *y);
  uint8_t *flags = malloc(LENGTH);
  CHECK(davit_monoid_builtin(DAVIT_SUM, DAVIT_DOUBLE, &sum));
  for (int i = 0; i < LENGTH; i++)
    x[i] = (double)(random_number() % 1000003) / 7 - 5000;
  for (int how = 0; how < 4; how++)
    for (int turn = 0; turn < 6; turn++) {
      const davit_scan_kind kind = (davit_scan_kind)(turn % 2);
      const uint32_t rarity = turn < 2 ? 0 : turn < 4 ? 100000 : 50;
      int64_t begin, end;
      for (int i = 0; i < LENGTH; i++)
        flags[i] = rarity > 0 && random_number() % rarity == 0;
      divide(turn == 5 ? 1000 : LENGTH, how, &begin, &end);
      const int64_t n = turn == 5 ? 1000 : LENGTH, mine = end - begin;
      CHECK(rarity ? davit_segmented_scan(DAVIT_SUM, DAVIT_DOUBLE, kind, n, x, flags, want, NULL)
                   : davit_scan(DAVIT_SUM, DAVIT_DOUBLE, kind, n, x, want, NULL));
      /* A rank without heads may say so by NULL. */
      const uint8_t *own = rarity && memchr(flags + begin, 1, (size_t)mine) ? flags + begin : NULL;
      CHECK(davit_mpi_monoid_scan(MPI_COMM_WORLD, sum, kind, mine, x + begin, own, y));
      EXPECT(memcmp(want + begin, y, (size_t)mine * sizeof *y) == 0, "bits of a scan, division %d, turn %d",
             how, turn);
    }
  free(x);
  free(want);
  free(y);
  free(flags);
}

static void test_builtin_scan(void) {
  int64_t x[100], y[100];
  uint8_t flags[100] = {0};
  for (int i = 0; i < 100; i++)
    x[i] = me * 100 + i;
  flags[50] = 1;
  CHECK(davit_mpi_scan(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_INT64, DAVIT_SCAN_EXCLUSIVE, 100, x, y));
  const int64_t first = me * 100;
  EXPECT(y[0] == first * (first - 1) / 2, "sums before rank %d: %lld", me, (long long)y[0]);
  CHECK(davit_mpi_segmented_scan(MPI_COMM_WORLD, DAVIT_MAX, DAVIT_INT64, DAVIT_SCAN_INCLUSIVE, 100, x, flags,
                                 y));
  EXPECT(y[99] == x[99] && y[50] == x[50] && y[0] == x[0], "maxima");
}

/* A failure of one rank is everybody's, and the ranks can go on. */
static void test_errors(void) {
  double x = 1, y = 0;
  const int last = ranks - 1;
  char sentence[100];
  EXPECT(davit_mpi_reduce(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, me == last ? -1 : 1, &x, &y) ==
             DAVIT_INVALID_ARGUMENT,
         "a negative n");
  snprintf(sentence, sizeof sentence, "rank %d: n is -1", last);
  EXPECT(strstr(davit_last_error(), sentence), "the sentence is: %s", davit_last_error());
  EXPECT(y == 0, "an output was written");
  EXPECT(davit_mpi_scan(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, 1, me == 0 ? NULL : &x,
                        &y) == DAVIT_INVALID_ARGUMENT,
         "x = NULL");
  EXPECT(strstr(davit_last_error(), "rank 0: x is NULL"), "the sentence is: %s", davit_last_error());
  EXPECT(davit_mpi_reduce(MPI_COMM_WORLD, (davit_operator)9, DAVIT_DOUBLE, 1, &x, &y) ==
             DAVIT_INVALID_ARGUMENT,
         "an unknown operator");
  EXPECT(davit_mpi_reduce(MPI_COMM_NULL, DAVIT_SUM, DAVIT_DOUBLE, 1, &x, &y) == DAVIT_INVALID_ARGUMENT,
         "no communicator");
  if (ranks > 1) {
    EXPECT(davit_mpi_reduce(MPI_COMM_WORLD, DAVIT_SUM, me == 0 ? DAVIT_DOUBLE : DAVIT_FLOAT, 1, &x, &y) ==
               DAVIT_INVALID_ARGUMENT,
           "types that differ");
    EXPECT(strstr(davit_last_error(), "differ"), "the sentence is: %s", davit_last_error());
  }
  CHECK(davit_mpi_reduce(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, 1, &x, &y));
  EXPECT(y == ranks, "a sum after failures");
}

int main(int argc, char **argv) {
  mpi_test_begin(&argc, &argv, &me, &ranks);
  test_reduce();
  test_order();
  test_scan();
  test_bits_of_a_scan();
  test_builtin_scan();
  test_errors();
  return mpi_test_end();
}
