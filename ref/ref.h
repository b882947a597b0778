/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU reference: the operations davit runs on the host and on host-offload devices, and the yardstick
 * of its tests. BLIS for level 3, gemv, axpy and dot (ref/blas.h), plain loops elsewhere.
 *
 * Arguments are those of the public operation and have been checked. `threads` is how many threads one
 * call may use (at least 1). Functions with a status fail only for want of memory. */
#ifndef DAVIT_REF_REF_H
#define DAVIT_REF_REF_H

#include <davit/align.h>
#include <davit/closest_pair.h>
#include <davit/detect.h>
#include <davit/features.h>
#include <davit/scan.h>
#include <davit/stencil.h>
#include <stdint.h>

#define DVT_REF_DECLARE(p, T)                                                                                \
  void dvt_ref_##p##stencil(int64_t rows, int64_t cols, const T *a, int64_t lda, const double *coefficients, \
                            davit_stencil_border border, T *b, int64_t ldb);                                 \
  void dvt_ref_##p##atax(char trans, int64_t m, int64_t n, const T *a, int64_t lda, const T *x, T *tmp,      \
                         T *y);                                                                              \
  void dvt_ref_##p##covariance(char trans, int64_t rows, int64_t cols, const T *d, int64_t ldd,              \
                               double mean_divisor, double divisor, T *mean, T *centred, int64_t ldc, T *s,  \
                               int64_t lds);

DVT_REF_DECLARE(d, double)
DVT_REF_DECLARE(s, float)
#undef DVT_REF_DECLARE

/* From left to right; `result` is one element. */
void dvt_ref_reduce(davit_operator op, davit_type type, int64_t n, const void *x, void *result);

/* flags NULL: not segmented. y may be x. */
void dvt_ref_scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n, const void *x,
                  const uint8_t *flags, void *y);

/* The closest pair of n >= 2 points: all pairs, and divide and conquer with scratch memory. */
davit_closest_pair_result dvt_ref_closest_brute(davit_type type, int dim, int64_t n, const void *points);
size_t dvt_ref_closest_scratch(int64_t n);
davit_closest_pair_result dvt_ref_closest_divide(davit_type type, int dim, int64_t n, const void *points,
                                                 int threads, void *scratch);

/* The first k pairs up to a limit (ref/closest_pair.h): all pairs are offered, or those that are near each
 * other on the points' longest axis, with scratch memory as above. `select` leaves the first k of n pairs in
 * front, the k-th of them last; `sort` leaves them in order. */
struct dvt_pair_list;
void dvt_ref_pairs_brute(davit_type type, int dim, int64_t n, const void *points, struct dvt_pair_list *list);
void dvt_ref_pairs_sweep(davit_type type, int dim, int64_t n, const void *points, int threads, void *scratch,
                         struct dvt_pair_list *list);
void dvt_ref_pairs_select(davit_closest_pair_result *pairs, int64_t n, int64_t k);
void dvt_ref_pairs_sort(davit_closest_pair_result *pairs, int64_t n, int64_t k, int threads);

/* How many points are within the radius of a query; the first `room` of them, in order. queries NULL: the points, each
 * without itself. */
int64_t dvt_ref_neighbors(davit_type type, int dim, int64_t n, const void *points, const void *queries,
                          int64_t query, double radius, int64_t room, int64_t *indices, double *distances);

/* The n - 1 edges of the minimum spanning tree in order, by n^2 distances. */
void dvt_ref_emst(davit_type type, int dim, int64_t n, const void *points, davit_closest_pair_result *edges);

/* Options are valid, and may be NULL; their devices are not read. */
davit_status dvt_ref_detect(int width, int64_t frames, const float *stream, int effect_count,
                            const davit_detect_effect *effects, const davit_detect_options *options,
                            davit_detect_hit *detections);

/* The best local score of a pair; `scratch` holds 2 (m + 1) words. */
int32_t dvt_ref_align_score(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                            const uint8_t *target, int32_t *scratch);

/* The same of global or semiglobal alignments. */
int64_t dvt_ref_align_ends(davit_align_mode mode, const davit_align_scoring *scoring, int64_t m,
                           const uint8_t *query, int64_t n, const uint8_t *target, int64_t *scratch);
davit_status dvt_ref_features(int64_t count, const float *samples, const davit_features_options *options,
                              float *features);

/* Elements first … first+count-1 of the Philox4x32-10 sequence of davit_random(). */
void dvt_ref_random_double(double *pointer, int64_t first, int64_t count, uint64_t seed);
void dvt_ref_random_float(float *pointer, int64_t first, int64_t count, uint64_t seed);

#endif
