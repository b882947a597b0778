/* SPDX-License-Identifier: Apache-2.0 */
/* Argument checks, in the order and words of the reference BLAS. A sentence names the argument and its value.
 */
#ifndef DAVIT_SRC_BASE_CHECK_H
#define DAVIT_SRC_BASE_CHECK_H

#include <davit/operator.h>
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

/* 'n' and 'N' give 'N'; 't', 'T', 'c', 'C' give 'T' (real types); anything else fails naming `argument`. */
davit_status dvt_check_trans(const char *argument, char given, char *trans);

/* DAVIT_DOUBLE or DAVIT_FLOAT. */
davit_status dvt_check_floating(davit_type type);

/* length >= 0 and ld >= max(1, rows), with the argument's name in the sentence. */
davit_status dvt_check_length(const char *argument, int64_t given);
davit_status dvt_check_ld(const char *argument, int64_t given, int64_t rows);
davit_status dvt_check_increment(const char *argument, int64_t given);

/* Whether two column-major blocks of elements share an element. */
bool dvt_blocks_overlap(const void *a, int64_t lda, int64_t rows_a, int64_t cols_a, const void *b,
                        int64_t ldb, int64_t rows_b, int64_t cols_b, size_t element_bytes);

/* Whether two strided vectors may share an element (by their extents). */
bool dvt_vectors_overlap(const void *x, int64_t nx, int64_t incx, const void *y, int64_t ny, int64_t incy,
                         size_t element_bytes);

#endif
