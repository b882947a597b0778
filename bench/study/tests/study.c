/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/tests/study.h"

bool on_gpu(int device) {
  study_site site;
  CHECK(study_site_of(device, &site));
  return site.gpu;
}

void *host_memory(int64_t count, size_t bytes) {
  return kept((size_t)count * bytes);
}

void *random_words(int64_t n, uint64_t seed) {
  uint32_t *words = host_memory(n, sizeof *words);
  for (int64_t i = 0; i < n; i++)
    words[i] = (uint32_t)next_random(&seed);
  return words;
}

zone to_device(int device, const void *data, int64_t bytes) {
  return data ? zone_of(data, (size_t)bytes, place_for(device), 0)
              : zone_new((size_t)bytes, place_for(device), 0);
}

void from_device(zone *z, void *data) {
  zone_take(z, data ? data : kept(z->bytes)); /* what lies around the zone is as it was */
}
