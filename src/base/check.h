/* SPDX-License-Identifier: Apache-2.0 */
/* Argument checks, in the order and words of the reference BLAS. A sentence names the argument and its value. */
#ifndef DAVIT_SRC_BASE_CHECK_H
#define DAVIT_SRC_BASE_CHECK_H

#include <davit/monoid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/error.h"

/* The reserved words at the end of options (NULL allowed), or of another argument, are 0. */
#define DVT_CHECK_OPTIONS(options)                                                                           \
  ((options)                                                                                                 \
       ? dvt_check_reserved("options", (options)->reserved, sizeof(options)->reserved / sizeof(uint64_t))    \
       : DAVIT_SUCCESS)
davit_status dvt_check_reserved(const char *argument, const uint64_t *reserved, size_t count);

/* Whether two names are the same in their letters and digits, upper or lower case. */
bool dvt_same_name(const char *a, const char *b);

/* Where a list goes: `capacity` elements (NULL allowed with 0), and their number. */
davit_status dvt_check_list(const char *argument, int capacity, const void *list, const int *count);

davit_status dvt_check_pointer(const char *argument, const void *given);

/* `given` is one of `letters` (2 or 3 capitals), in upper or lower case, and becomes `letter` in upper case. */
davit_status dvt_check_letter(const char *argument, char given, const char *letters, char *letter);

/* A letter of 'N', 'T' and 'C', which is 'T' for a real type. */
davit_status dvt_check_trans(const char *argument, davit_type type, char given, char *trans);

/* DAVIT_DOUBLE or DAVIT_FLOAT. */
davit_status dvt_check_floating(davit_type type);

/* Points of the plane or of space: 2 or 3. */
davit_status dvt_check_dim(int dim);

/* A monoid of this version; a kind of scan. */
davit_status dvt_check_monoid(const davit_monoid *monoid);
davit_status dvt_check_kind(davit_scan_kind kind);

/* More elements or bytes than any memory has. Sums and products of a few numbers below it do not overflow. */
#define DVT_MEMORY_MAXIMUM (INT64_C(1) << 57)

/* |given| times `times` elements are less than DVT_MEMORY_MAXIMUM. */
davit_status dvt_check_extent(const char *argument, int64_t given, int64_t times);
davit_status dvt_check_bytes(size_t bytes);

/* A length: at least 0. A leading dimension of `cols` columns: at least max(1, rows). An increment between n
 * elements: not 0. With dvt_check_extent() of what they span. */
davit_status dvt_check_length(const char *argument, int64_t given);
davit_status dvt_check_ld(const char *argument, int64_t given, int64_t rows, int64_t cols);
davit_status dvt_check_increment(const char *argument, int64_t given, int64_t n);

/* Whether two column-major blocks of elements share an element. */
bool dvt_blocks_overlap(const void *a, int64_t lda, int64_t rows_a, int64_t cols_a, const void *b,
                        int64_t ldb, int64_t rows_b, int64_t cols_b, size_t element_bytes);

/* Whether two strided vectors may share an element (by their extents). */
bool dvt_vectors_overlap(const void *x, int64_t nx, int64_t incx, const void *y, int64_t ny, int64_t incy,
                         size_t element_bytes);

#endif
