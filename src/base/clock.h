/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of all times that are taken. */
#ifndef DAVIT_SRC_BASE_CLOCK_H
#define DAVIT_SRC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC, and seconds. */
static inline int64_t dvt_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline double dvt_now(void) {
  return 1e-9 * (double)dvt_now_ns();
}

#endif
