/* SPDX-License-Identifier: Apache-2.0 */
/* The routines of level 3 of BLAS. */
#ifndef DAVIT_SRC_BASE_ROUTINE_H
#define DAVIT_SRC_BASE_ROUTINE_H

typedef enum dvt_routine {
  DVT_GEMM,
  DVT_SYMM,
  DVT_HEMM,
  DVT_SYRK,
  DVT_HERK,
  DVT_SYR2K,
  DVT_HER2K,
  DVT_TRMM,
  DVT_TRSM,
  DVT_ROUTINES
} dvt_routine;

#endif
