/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products (ref/exact.h) on devices with streams: kernels, and products of 8-bit integers by cuBLASLt. */
#ifndef DAVIT_OFFLOAD_EXACT_H
#define DAVIT_OFFLOAD_EXACT_H

#include "ref/exact.h"

davit_status dvt_exact_measure_stream(const dvt_site *site, const void *vectors);
davit_status dvt_exact_cut_stream(const dvt_site *site, const void *vectors);
davit_status dvt_exact_multiply_stream(const dvt_site *site, const void *tile);
davit_status dvt_exact_mirror_stream(const dvt_site *site, const void *mirror);

/* Loads what the products need. */
davit_status dvt_exact_prepare(const dvt_site *site);

enum { DVT_EXACT_SQUARE = 4096 }; /* rows and columns of sums at once, if there is room */

/* Bytes of sums of a tile of so many rows and columns, whose lengths are multiples of DVT_EXACT_GROUP. */
size_t dvt_exact_sum_bytes(const dvt_exact_tile *tile, int64_t rows, int64_t columns);

/* ---- between the kernels and the products of integers ---- */

/* C = A' B for `count` pairs of matrices of 8-bit integers, of `length` rows, at distances of their planes; C of 32-bit
 * integers, m × n. All lengths are multiples of DVT_EXACT_GROUP. */
typedef struct dvt_exact_integers {
  int64_t m, n, length, pitch;
  int count;
  const void *a, *b;
  int64_t plane_a, plane_b;
  void *c;
  int64_t plane_c;
} dvt_exact_integers;

davit_status dvt_exact_integers_stream(const dvt_site *site, const dvt_exact_integers *product);

#endif
