/* SPDX-License-Identifier: Apache-2.0 */
/* Where the programs of the study run: on a GPU, in target regions, or on the CPU (also as an OpenMP host
 * device), one team of threads after another. */
#ifndef DAVIT_STUDY_COMMON_SITE_H
#define DAVIT_STUDY_COMMON_SITE_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/error.h"

/* For everything that a kernel calls: it becomes part of the kernel. */
#define STUDY_INLINE static inline __attribute__((always_inline))

typedef struct study_site {
  int device;
  bool gpu;
  int place;       /* of memory for it, see davit_malloc() */
  bool first_team; /* the first team of a grid alone runs, on the CPU: for its record */
} study_site;

/* Ends the function with DAVIT_INVALID_ARGUMENT and the sentence unless the condition holds. */
#define STUDY_REQUIRE(condition, ...)                                                                        \
  DVT_TRY((condition) ? DAVIT_SUCCESS : davit_fail(DAVIT_INVALID_ARGUMENT, __VA_ARGS__))

/* DAVIT_UNKNOWN_DEVICE for a device that does not exist. */
davit_status study_site_of(int device, study_site *site);

/* DAVIT_INVALID_ARGUMENT unless a grid can have so many teams: 0 to 2^31 - 1. */
davit_status study_check_teams(int64_t teams);

/* One of several blocks of memory that are allocated and freed together. */
typedef struct study_block {
  void *at; /* address of the pointer */
  size_t bytes;
  int place;
} study_block;

/* All of them, or none, and every pointer is NULL. */
davit_status study_allocate(const study_block *blocks, int count);
void study_free(const study_block *blocks, int count);

/* Makes room for one more entry of `bytes` bytes in an array that grows; false if there is no memory. */
bool study_room(void **entries, int64_t count, int64_t *capacity, size_t bytes);

/* Milliseconds since *since, which becomes now. */
double study_lap(double *since);

static inline int64_t study_quotient_up(int64_t n, int64_t by) {
  return n / by + (n % by != 0);
}

/* Where part `part` of `parts` of n elements begins; the first n % parts have one element more. */
static inline int64_t study_part_begin(int64_t n, int64_t parts, int64_t part) {
  return n / parts * part + (part < n % parts ? part : n % parts);
}

#endif
