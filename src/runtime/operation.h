/* What the BLAS operations share: argument checks in reference BLAS's order and words, and the choice of who
 * computes on a lane. */
#ifndef DAVIT_SRC_RUNTIME_OPERATION_H
#define DAVIT_SRC_RUNTIME_OPERATION_H

#include "src/base/check.h"
#include "src/runtime/lane.h"

typedef enum dvt_blas_path {
  DVT_BLAS_STREAM, /* cuBLAS on the lane's stream */
  DVT_BLAS_REF,    /* BLIS on the host */
  DVT_BLAS_TARGET  /* davit's own target regions */
} dvt_blas_path;

/* The path of a lane. DAVIT_BLAS=target in the environment takes davit's own regions on all devices (not on DAVIT_HOST, whose
 * number OpenMP takes for the default device). */
dvt_blas_path dvt_blas_path_of(const dvt_lane *lane);

/* The same operation for each path, indexed by dvt_blas_path; enqueues the one that fits the lane with a copy of the
 * arguments. */
typedef dvt_work dvt_blas_works[3];
davit_status dvt_blas_submit(dvt_lane *lane, const dvt_blas_works works, const void *arguments, size_t bytes);

/* Host threads that one operation of the device may use: all for the CPU, its share for one of several
 * host-offload devices. */
int dvt_blas_threads(int device);

/* The caller's device list checked, or the default devices where there is none. `chosen` has room for
 * DVT_MOST_DEVICES. */
enum { DVT_MOST_DEVICES = 16 };
davit_status dvt_choose_devices(const int *devices, int device_count, int *chosen, int *count);

/* The devices that options (NULL allowed) name, after the check of the options' reserved words. */
#define DVT_CHOOSE_DEVICES(options, chosen, count)                                                           \
  (DVT_CHECK_OPTIONS(options) != DAVIT_SUCCESS                                                               \
       ? DAVIT_INVALID_ARGUMENT                                                                              \
       : dvt_choose_devices((options) ? (options)->devices : NULL, (options) ? (options)->device_count : 0,  \
                            chosen, count))

/* Options of a queue form: reserved words are 0 and no devices are named. */
#define DVT_CHECK_QUEUE_OPTIONS(options)                                                                     \
  (DVT_CHECK_OPTIONS(options) != DAVIT_SUCCESS ? DAVIT_INVALID_ARGUMENT                                      \
   : (options) ? dvt_check_no_devices((options)->devices, (options)->device_count)                           \
               : DAVIT_SUCCESS)
davit_status dvt_check_no_devices(const int *devices, int device_count);

#endif
