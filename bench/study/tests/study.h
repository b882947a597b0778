/* SPDX-License-Identifier: Apache-2.0 */
/* What the study's tests share. Programs of the study run at two places: on the CPU, and on the first device
 * that work is spread over (tests/support.h). */
#ifndef DAVIT_STUDY_TESTS_STUDY_H
#define DAVIT_STUDY_TESTS_STUDY_H

#include "tests/elements.h"

#include "bench/study/common/site.h"
#include "bench/study/common/trace.h"

/* The first device that work is spread over, which without a GPU is the CPU by another name. */
int first_device(void);

/* For each place, and for each value in an array. */
#define EACH_PLACE(device)                                                                                   \
  for (int device##_at = 0, device; device##_at < 2 && (device = study_place(device##_at), true);            \
       device##_at++)
#define EACH(type, name, array)                                                                              \
  for (int name##_at = 0; name##_at < COUNT(array); name##_at++)                                             \
    for (bool name##_once = true; name##_once;)                                                              \
      for (type name = (array)[name##_at]; name##_once; name##_once = false)
int study_place(int which); /* 0 or 1 */

bool on_gpu(int device);

/* kept() memory for `count` elements of `bytes` bytes. */
void *host_memory(int64_t count, size_t bytes);

/* n random words of 32 bits. */
void *random_words(int64_t n, uint64_t seed);

/* A record that is freed with the case or its scope. Not begun. */
study_trace *new_trace(bool descending);

/* Memory of the device between guard zones, with `bytes` of data (NULL: poison). When the case or its scope
 * ends, the guard zones are looked at. */
void *there(int device, const void *data, int64_t bytes);

/* What lies there, in memory of the host; the second in new memory. */
void take(const void *there, int64_t bytes, void *data);
void *taken(const void *there, int64_t bytes);

#endif
