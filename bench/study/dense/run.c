/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs of the dense kernels: host data, memory that is asked for before it is taken, copies both ways. */
#include <davit/device.h>
#include <davit/memory.h>
#include <omp.h>
#include <string.h>

#include "bench/study/common/site.h"
#include "bench/study/dense/dense.h"

void study_dense_counts(study_exercise e, int64_t rows, int64_t cols, int64_t counts[STUDY_ARRAYS]) {
  const int64_t matrix = rows * cols,
                all[STUDY_EXERCISES][STUDY_ARRAYS] = {[STUDY_CONVOLUTION] = {matrix, 0, 0, matrix},
                                                      [STUDY_ATAX] = {matrix, cols, rows, cols},
                                                      [STUDY_COVARIANCE] = {matrix, 0, cols, cols * cols}};
  memcpy(counts, all[e], sizeof all[e]);
}

double study_dense_bytes(study_exercise e, int64_t rows, int64_t cols) {
  int64_t counts[STUDY_ARRAYS];
  double bytes = 0;
  study_dense_counts(e, rows, cols, counts);
  for (int i = 0; i < STUDY_ARRAYS; i++)
    bytes += sizeof(double) * (double)counts[i];
  return bytes;
}

davit_status study_dense_room(const study_dense *d, int device, double bytes) {
  size_t room = d->memory_bytes, total;
  if (!room) {
    const davit_status status = davit_device_memory(device, &room, &total);
    if (status != DAVIT_SUCCESS) /* unknown: the allocations will tell */
      return status == DAVIT_UNSUPPORTED ? DAVIT_SUCCESS : status;
  }
  return bytes <= (double)room
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "the arrays need %.0f bytes, and %s %zu", bytes,
                          d->memory_bytes ? "memory_bytes is" : "the device has", room);
}

/* Array i to the device or back. */
static davit_status copy(const study_dense_data *from, const study_dense_data *to, const study_block *blocks,
                         int i) {
  return davit_copy(blocks[i].bytes, from->array[i], to->array[i]);
}

/* What an exercise has written; of the convolution all but the border. */
static davit_status copy_back(study_exercise e, const study_dense_data *from, const study_dense_data *to,
                              const study_block *blocks) {
  const int64_t ld = to->cols;
  if (e == STUDY_CONVOLUTION)
    return to->rows > 2 && ld > 2 ? davit_copy_2d(ld - 2, to->rows - 2, sizeof(double), from->out + ld + 1,
                                                  ld, to->out + ld + 1, ld)
                                  : DAVIT_SUCCESS;
  if (e == STUDY_COVARIANCE)
    DVT_TRY(copy(from, to, blocks, STUDY_A));
  DVT_TRY(copy(from, to, blocks, STUDY_TMP));
  return copy(from, to, blocks, STUDY_OUT);
}

static davit_status work(study_exercise e, int device, int block, const study_dense_data *data,
                         const study_dense_data *there, const study_block *blocks, study_dense_times *times) {
  double since = omp_get_wtime(), ms;
  DVT_TRY(copy(data, there, blocks, STUDY_A));
  DVT_TRY(copy(data, there, blocks, STUDY_X));
  ms = study_lap(&since);
  DVT_TRY(study_dense_kernels(e, device, block, there, times));
  since = omp_get_wtime();
  DVT_TRY(copy_back(e, there, data, blocks));
  times->transfer_ms = ms + study_lap(&since);
  return DAVIT_SUCCESS;
}

davit_status study_dense_run(study_exercise e, const study_dense *d, int device, const study_dense_data *data,
                             study_dense_times *times) {
  enum { SIDE = 16, THREADS = 256 };
  int64_t counts[STUDY_ARRAYS];
  study_site site;
  study_block blocks[STUDY_ARRAYS];
  study_dense_data there = *data;
  study_dense_times own;
  DVT_TRY(study_dense_room(d, device, study_dense_bytes(e, data->rows, data->cols)));
  DVT_TRY(study_site_of(device, &site));
  study_dense_counts(e, data->rows, data->cols, counts);
  for (int i = 0; i < STUDY_ARRAYS; i++)
    blocks[i] = (study_block){&there.array[i], (size_t)counts[i] * sizeof(double), site.place};
  DVT_TRY(study_allocate(blocks, STUDY_ARRAYS));
  const int block = d->block ? d->block : e == STUDY_ATAX ? THREADS : SIDE;
  davit_status status = work(e, device, block, data, &there, blocks, times ? times : &own);
  study_free(blocks, STUDY_ARRAYS);
  return status;
}
