/* SPDX-License-Identifier: Apache-2.0 */
/* Points of the benchmarks that search among points: spread evenly, and not. */
#ifndef DAVIT_BENCH_POINTS_H
#define DAVIT_BENCH_POINTS_H

#include "bench/measure.h"

/* The first of the distributions is the uniform one. */
enum { BENCH_POINTS = 6 };
const char *bench_points_name(int which);

/* n points of `dim` coordinates at the place of the site, made on the host; NULL, with a row, if there is no memory. */
void *bench_points(const bench_site *site, int which, davit_type type, int dim, int64_t n);

#endif
