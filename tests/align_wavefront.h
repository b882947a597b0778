/* SPDX-License-Identifier: Apache-2.0 */
/* offload/align_wavefront.c on the emulated GPU, and the rows of its kernels for `emulator_kernels`. Included
 * after tests/emulator.h. */
#ifndef DAVIT_TESTS_ALIGN_WAVEFRONT_H
#define DAVIT_TESTS_ALIGN_WAVEFRONT_H

#define dvt_align_wavefront_fits emulated_align_wavefront_fits
#define dvt_align_wavefront_seconds emulated_align_wavefront_seconds
#define dvt_align_wavefront_bytes emulated_align_wavefront_bytes
#define dvt_align_wavefront_staging_bytes emulated_align_wavefront_staging_bytes
#define dvt_align_wavefront_open emulated_align_wavefront_open
#define dvt_align_wavefront_sweeps emulated_align_wavefront_sweeps
#define dvt_align_wavefront_column emulated_align_wavefront_column
#define dvt_align_wavefront_best emulated_align_wavefront_best
#define dvt_align_wavefront_kept emulated_align_wavefront_kept
#include "offload/align_wavefront.c"
#undef NAME
#undef dvt_align_wavefront_seconds

#define WAVE_BODY(rows)                                                                                      \
  static void run_wavefront_##rows(void *arguments) {                                                        \
    const dvt_argument *a = arguments;                                                                       \
    wavefront_##rows(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2], emulator_pointer(a + 3),             \
                     emulator_pointer(a + 4), emulator_pointer(a + 5), (int64_t)a[6], (int64_t)a[7],         \
                     (int64_t)a[8], (int64_t)a[9], (int64_t)a[10], (int64_t)a[11], emulator_pointer(a + 12), \
                     emulator_pointer(a + 13), emulator_pointer(a + 14), (int64_t)a[15],                     \
                     emulator_pointer(a + 16));                                                              \
  }
WAVE_BODY(4)
WAVE_BODY(8)
WAVE_BODY(16)

#define WAVE_KERNELS                                                                                         \
  {"wavefront_region_4", run_wavefront_4}, {"wavefront_region_8", run_wavefront_8}, {                        \
    "wavefront_region_16", run_wavefront_16                                                                  \
  }

#endif
