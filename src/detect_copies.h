/* SPDX-License-Identifier: Apache-2.0 */
/* What a correlation needs to be that of a copy. */
#ifndef DAVIT_SRC_DETECT_COPIES_H
#define DAVIT_SRC_DETECT_COPIES_H

#include <math.h>
#include <stdint.h>

/* A copy's correlation, for clips of n samples: at least 0.08, 15 n^-0.5 and 105 n^-0.7. */
static inline double dvt_detect_least_correlation(int64_t samples) {
  const double n = (double)samples;
  return fmax(0.08, fmax(15 * pow(n, -0.5), 105 * pow(n, -0.7)));
}

#endif
