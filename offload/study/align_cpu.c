/* The programs for the host: SERIAL, and the fair CPU program. */
#include <omp.h>

#include "offload/study/align_launch.h"

void dvt_align_cpu_serial(const dvt_align_task *task) {
  for (int64_t unit = 0; unit < task->count; unit++)
    dvt_align_unit_full(task, unit, (dvt_align_part){task->matrices, 1}, NULL);
}

void dvt_align_cpu_rows(const dvt_align_task *task, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t unit = 0; unit < task->count; unit++) {
    const int64_t slot = omp_get_thread_num();
    dvt_align_unit_rows(task, unit, (dvt_align_part){task->matrices + slot * task->slot_floats, 1}, NULL);
  }
}
