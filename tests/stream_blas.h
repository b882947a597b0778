/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of tiles on the streams of tests/stream.h share: host-offload devices that have these streams, and what of
 * offload/blas_stream.c no such test has work for. A test includes this in place of tests/stream.h. */
#ifndef DAVIT_TESTS_STREAM_BLAS_H
#define DAVIT_TESTS_STREAM_BLAS_H

#include "tests/stream.h"

#include "offload/blas.h"

davit_status dvt_blas_prepare(const dvt_site *site) {
  void *handle;
  return dvt_stream_cublas(site->stream, &handle);
}

#define NO_FORM(name)                                                                                        \
  davit_status dvt_##name##_stream(const dvt_site *site, const void *arguments) {                            \
    (void)site, (void)arguments;                                                                             \
    return davit_fail(DAVIT_UNSUPPORTED, #name " has no stand-in");                                          \
  }
NO_FORM(gemv)
NO_FORM(axpy)
NO_FORM(dot)
NO_FORM(scal)
NO_FORM(norm)

/* Level 3 by its host form, in the order of the stream: for tests whose products are not what they are about. */
#define LEVEL3_STANDS_IN                                                                                     \
  static void run_level3(void *argument) {                                                                   \
    const dvt_site site = {.device = DAVIT_HOST, .threads = 1};                                              \
    dvt_level3_host(&site, argument);                                                                        \
    free(argument);                                                                                          \
  }                                                                                                          \
                                                                                                             \
  davit_status dvt_level3_stream(const dvt_site *site, const void *level3) {                                 \
    DVT_TRY(device_call());                                                                                  \
    dvt_level3 *work = malloc(sizeof *work);                                                                 \
    *work = *(const dvt_level3 *)level3;                                                                     \
    push(site->stream, (item){.run = run_level3, .argument = work});                                         \
    return DAVIT_SUCCESS;                                                                                    \
  }

enum { MOST = 4 };
static int devices[MOST], spread;

static int give_streams(void **state) {
  (void)state;
  const int all = device_count();
  for (int d = 0; d < all && spread < MOST; d++) {
    dvt_device *device = (dvt_device *)(uintptr_t)dvt_device_find(d);
    if (!device->shares_host_memory)
      continue;
    device->ordinal = spread;
    devices[spread++] = d;
  }
  return 0;
}

#endif
