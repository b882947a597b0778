/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/common/site.h"

#include <davit/device.h>
#include <davit/memory.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

davit_status study_site_of(int device, study_site *site) {
  davit_device_info info;
  DVT_TRY(davit_device_describe(device, &info));
  *site = (study_site){.device = device,
                       .gpu = info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD,
                       .place = device == DAVIT_HOST ? DAVIT_PAGEABLE : device};
  return DAVIT_SUCCESS;
}

davit_status study_check_teams(int64_t teams) {
  STUDY_REQUIRE(teams >= 0 && teams <= INT32_MAX, "teams is %lld: a grid has at most 2^31 - 1",
                (long long)teams);
  return DAVIT_SUCCESS;
}

davit_status study_allocate(const study_block *blocks, int count) {
  davit_status status = DAVIT_SUCCESS;
  for (int i = 0; i < count; i++) {
    void *memory = NULL;
    if (status == DAVIT_SUCCESS)
      status = davit_malloc(blocks[i].bytes, blocks[i].place, &memory);
    memcpy(blocks[i].at, &memory, sizeof memory);
  }
  if (status != DAVIT_SUCCESS)
    study_free(blocks, count);
  return status;
}

void study_free(const study_block *blocks, int count) {
  for (int i = 0; i < count; i++) {
    void *memory;
    memcpy(&memory, blocks[i].at, sizeof memory);
    (void)davit_free(memory);
  }
}

bool study_room(void **entries, int64_t count, int64_t *capacity, size_t bytes) {
  if (count < *capacity)
    return true;
  const int64_t larger = *capacity ? 2 * *capacity : 64;
  void *moved = realloc(*entries, (size_t)larger * bytes);
  if (!moved)
    return false;
  *entries = moved;
  *capacity = larger;
  return true;
}

double study_lap(double *since) {
  const double now = omp_get_wtime(), ms = 1e3 * (now - *since);
  *since = now;
  return ms;
}
