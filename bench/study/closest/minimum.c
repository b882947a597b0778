/* SPDX-License-Identifier: Apache-2.0 */
/* minDistReduction, of P3 and P5. */
#include "bench/study/closest/closest.h"

#include <math.h>

#include "bench/study/common/kernel.h"

typedef struct form {
  void (*grid)(int device, int64_t m, float *dist, study_two_points *pairs);
  void (*block)(int64_t m, float *dist, study_two_points *pairs);
} form;

#ifdef DVT_GPU
#define ON_GPU(kernel, ...) kernel(dvt_team(), __VA_ARGS__)
#else
#define ON_GPU(kernel, ...) ((void)0)
#endif

#define KERNELS "bench/study/closest/minimum.inc"
#include "bench/study/closest/sizes.inc"

static const form *const forms[STUDY_CLOSEST_BLOCKS] = ALL_SIZES(form);

davit_status study_min_dist(int device, int threads, int64_t m, float *dist, study_two_points *pairs) {
  int number;
  bool gpu;
  davit_status status = study_closest_block_find("threads", threads, &number);
  if (status == DAVIT_SUCCESS)
    status = study_closest_on_gpu(device, &gpu);
  if (status != DAVIT_SUCCESS)
    return status;
  if (m < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "m is %lld", (long long)m);
  if (gpu)
    forms[number]->grid(device, m, dist, pairs);
  else
    forms[number]->block(m, dist, pairs);
  return DAVIT_SUCCESS;
}
