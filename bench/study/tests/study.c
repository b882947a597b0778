/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/tests/study.h"

int main(void) {
  return run_cases(NULL, NULL);
}

int first_device(void) {
  int device, count;
  CHECK(davit_device_defaults(1, &device, &count));
  return device;
}

int study_place(int which) {
  return which == 0 ? DAVIT_HOST : first_device();
}

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

static void drop_trace(void *trace) {
  study_trace_free(trace);
  free(trace);
}

study_trace *new_trace(bool descending) {
  study_trace *trace = calloc(1, sizeof *trace);
  trace->descending = descending;
  return keep(trace, drop_trace);
}

static void look_around(void *object) {
  zone *z = object;
  void *data = malloc(z->bytes + 1);
  zone_take(z, data);
  free(data);
  free(z);
}

void *there(int device, const void *data, int64_t bytes) {
  zone *z = malloc(sizeof *z);
  *z = data ? zone_of(data, (size_t)bytes, place_for(device), 0)
            : zone_new((size_t)bytes, place_for(device), 0);
  return zone_data(keep(z, look_around));
}

void take(const void *there, int64_t bytes, void *data) {
  CHECK(davit_copy((size_t)bytes, there, data));
}

void *taken(const void *there, int64_t bytes) {
  void *data = kept((size_t)bytes);
  take(there, bytes, data);
  return data;
}
