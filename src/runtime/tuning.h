/* SPDX-License-Identifier: Apache-2.0 */
/* Tuned values, for those who use them: a number out of a table by device and parameter. */
#ifndef DAVIT_SRC_RUNTIME_TUNING_H
#define DAVIT_SRC_RUNTIME_TUNING_H

#include <davit/tuning.h>

/* Figures of gemm's model: of a device, then of the host. */
#define DVT_TUNABLE_FIGURES(X)                                                                               \
  X(GEMM_RATE, "gemm", "rate_mflops", 1, INT64_C(10000000000))                                               \
  X(GEMM_SINGLE_RATE, "gemm", "single_mflops", 1, INT64_C(10000000000))                                      \
  X(GEMM_AREA, "gemm", "area", 1, 1 << 30)                                                                   \
  X(GEMM_DEPTH, "gemm", "depth", 1, 1 << 20)                                                                 \
  X(GEMM_LAUNCH, "gemm", "launch_ns", 1, 1000000000)                                                         \
  X(GEMM_UP, "gemm", "up_mbytes_s", 1, 100000000)                                                            \
  X(GEMM_DOWN, "gemm", "down_mbytes_s", 1, 100000000)                                                        \
  X(GEMM_BOTH, "gemm", "both_mbytes_s", 1, 100000000)                                                        \
  X(GEMM_ROW, "gemm", "row_bytes", 1, 1 << 20)                                                               \
  X(GEMM_LATENCY, "gemm", "latency_ns", 1, 1000000000)                                                       \
  X(GEMM_PEER, "gemm", "peer_mbytes_s", 1, 100000000)                                                        \
  X(GEMM_MEMORY, "gemm", "memory_mbytes_s", 1, 100000000)                                                    \
  X(GEMM_THREAD_RATE, "gemm", "thread_mflops", 1, 100000000)                                                 \
  X(GEMM_THREAD_COPY, "gemm", "thread_copy_mbytes_s", 1, 100000000)                                          \
  X(GEMM_COPY, "gemm", "copy_mbytes_s", 1, 100000000)                                                        \
  X(GEMM_ALL_UP, "gemm", "all_up_mbytes_s", 1, 100000000)                                                    \
  X(GEMM_ALL_DOWN, "gemm", "all_down_mbytes_s", 1, 100000000)                                                \
  X(GEMM_ALL_BOTH, "gemm", "all_both_mbytes_s", 1, 100000000)                                                \
  X(GEMM_ENQUEUE, "gemm", "enqueue_ns", 1, 1000000000)

/* name, capability, parameter, minimum, maximum. Only parameters that somebody reads. */
#define DVT_TUNABLES(X)                                                                                      \
  DVT_TUNABLE_FIGURES(X)                                                                                     \
  X(AXPY_CHUNK, "axpy", "chunk", 1 << 12, 1 << 26)                                                           \
  X(GEMV_CHUNK, "gemv", "chunk", 1 << 12, 1 << 26)                                                           \
  X(REDUCE_PIECE_BYTES, "reduce", "piece_bytes", 1 << 20, 1 << 30)                                           \
  X(REDUCE_TEAMS, "reduce", "teams", 1, 32)                                                                  \
  X(REDUCE_ROWS, "reduce", "rows", 2, 8)                                                                     \
  X(SCAN_PIECE_BYTES, "scan", "piece_bytes", 1 << 20, 1 << 30)                                               \
  X(STENCIL_CHUNK_BYTES, "stencil", "chunk_bytes", 1 << 16, 1 << 30)                                         \
  X(STENCIL_THREADS, "stencil", "threads", 1, 1024)                                                          \
  X(STENCIL_TEAM_THREADS, "stencil", "team_threads", 32, 512)                                                \
  X(STENCIL_COLUMNS, "stencil", "columns", 4, 16)                                                            \
  X(ATAX_CHUNK_BYTES, "atax", "chunk_bytes", 1 << 16, 1 << 30)                                               \
  X(ATAX_THREADS, "atax", "threads", 1, 1024)                                                                \
  X(ATAX_TEAMS, "atax", "teams", 1, 32)                                                                      \
  X(COVARIANCE_TEAMS, "covariance", "teams", 1, 64)                                                          \
  X(COVARIANCE_PANEL, "covariance", "panel", 64, 4096)                                                       \
  X(ALIGN_TEAM_THREADS, "align", "team_threads", 32, 256)                                                    \
  X(ALIGN_TEAMS, "align", "teams", 1, 32)                                                                    \
  X(DETECT_TEAM_THREADS, "detect", "team_threads", 32, 256)                                                  \
  X(CLOSEST_PAIR_TEAMS, "closest_pair", "teams", 1, 64)                                                      \
  X(COPY_STAGE_BYTES, "copy", "stage_bytes", 1 << 16, 1 << 28)

typedef enum dvt_tunable {
#define DVT_TUNABLE_NAME(name, capability, parameter, minimum, maximum) DVT_TUNE_##name,
  DVT_TUNABLES(DVT_TUNABLE_NAME)
#undef DVT_TUNABLE_NAME
      DVT_TUNE_COUNT
} dvt_tunable;

/* The value for the device (a number, DAVIT_HOST allowed), which is in the parameter's range, or `fallback`.
 * Costs two loads, but for the first call, which reads the file. An operation that needs a value twice reads
 * it once. */
int64_t dvt_tuned(int device, dvt_tunable which, int64_t fallback);

#endif
