/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of figures of bench_mpi. */
#ifndef DAVIT_BENCH_MPI_MEASURE_H
#define DAVIT_BENCH_MPI_MEASURE_H

#include "bench/mpi/world.h"

/* Between ranks; nothing on one rank. `panel` is the order of the matrix whose panels are broadcast. Sets the
 * bandwidth of the largest message, bytes per second. */
void measure_messages(const world *w, int64_t panel, double *bandwidth);

/* Reduction and scan of n doubles in all, divided evenly. `variant` is "strong" or "weak". */
void measure_vectors(const world *w, const char *variant, int64_t n);

/* gemm of doubles and floats, syrk, trsm, potrf and getrf of doubles, all of order n. */
void measure_matrices(const world *w, const char *variant, int64_t n);

#endif
