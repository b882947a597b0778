/* SPDX-License-Identifier: Apache-2.0 */
/* What the study's tests share. Programs of the study run at two places: on the CPU, and on the first device
 * that work is spread over (tests/support.h). */
#ifndef DAVIT_STUDY_TESTS_STUDY_H
#define DAVIT_STUDY_TESTS_STUDY_H

#include "tests/elements.h"

#include "bench/study/common/site.h"
#include "bench/study/common/trace.h"

bool on_gpu(int device);

/* kept() memory for `count` elements of `bytes` bytes. */
void *host_memory(int64_t count, size_t bytes);

/* n random words of 32 bits. */
void *random_words(int64_t n, uint64_t seed);

/* Data on the device between guard zones, with `bytes` of them (NULL: poison); drops the zone, with its data
 * to the host, NULL if they are not wanted. */
zone to_device(int device, const void *data, int64_t bytes);
void from_device(zone *z, void *data);

#endif
