/* SPDX-License-Identifier: Apache-2.0 */
/* FFTW in single precision, loaded when it is first needed: programs that transform nothing do without it. */
#ifndef DAVIT_SRC_FFTW_H
#define DAVIT_SRC_FFTW_H

#include <davit/status.h>
#include <fftw3.h>
#include <pthread.h>

#define DVT_FFTW_FUNCTIONS(X)                                                                                \
  X(plan_dft_r2c_1d)                                                                                         \
  X(execute_dft_r2c)                                                                                         \
  X(plan_many_dft)                                                                                           \
  X(execute_dft)                                                                                             \
  X(destroy_plan)

#define DVT_FFTW_MEMBER(name) __typeof__(&fftwf_##name) name;
typedef struct dvt_fftw {
  DVT_FFTW_FUNCTIONS(DVT_FFTW_MEMBER)
} dvt_fftw;
#undef DVT_FFTW_MEMBER

/* FFTW's planner is not thread safe, its plans are: the lock of the planner. */
extern pthread_mutex_t dvt_fftw_planner;

/* Sets `fftw` to FFTW's functions; DAVIT_UNSUPPORTED if the library cannot be loaded, and then the next call
 * tries again. The caller holds the lock of the planner. The library stays loaded. */
davit_status dvt_fftw_load(const dvt_fftw **fftw);

#endif
