/* SPDX-License-Identifier: Apache-2.0 */
/* Points for the tests of the closest pair: spread evenly and not, at equal places and distances, of every
 * magnitude. */
#ifndef DAVIT_TESTS_POINTS_H
#define DAVIT_TESTS_POINTS_H

#include "tests/elements.h"

typedef struct cloud {
  const char *name; /* of the generator */
  davit_type type;
  int dim;
  int64_t n;
  void *points; /* n x dim */
} cloud;

size_t cloud_bytes(const cloud *c);
cloud cloud_new(davit_type type, int dim, int64_t n);
void put(const cloud *c, int64_t i, double x, double y, double z);
double get(const cloud *c, int64_t i, int k); /* 0 beyond the dimensions */

/* In [0, 1), with 53 bits. */
double uniform(uint64_t *random);

/* The generators, and n points of one. */
enum { GENERATORS = 23 };
int generator_named(const char *name);
cloud cloud_of(int which, davit_type type, int dim, int64_t n);

/* The same; v chooses the type and the dimensions, 0 to 3. */
cloud any_cloud_of(int which, int v, int64_t n);

#endif
