/* Reduction for one monoid on the CPU, in the operands' order, and the task that a davit_monoid points to. Included after reduce.h and
 * host.h of the monoid. */

/* Each thread a contiguous range. */
static DVT_T DVT_M(host_reduce)(int threads, int64_t n, const DVT_T *x) {
  DVT_T sums[DVT_M(most_threads)], sum = DVT_IDENTITY;
  const int wanted = n < 2 * DVT_M(block) ? 1 : threads < DVT_M(most_threads) ? threads : DVT_M(most_threads);
  int parts = 1;
  if (n == 0)
    return sum;
#pragma omp parallel num_threads(wanted)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const int64_t each = n / team, rest = n % team;
    const int64_t begin = thread * each + (thread < rest ? thread : rest);
    sums[thread] = DVT_M(host_fold)(each + (thread < rest), x + begin, (DVT_T)DVT_IDENTITY, NULL);
    if (thread == 0)
      parts = team;
  }
  for (int t = 0; t < parts; t++)
    sum = DVT_COMBINE(sum, sums[t]);
  return sum;
}

static void DVT_M(host_fold_tiles)(int threads, int64_t n, const DVT_T *x, DVT_T *sums) {
  const int64_t tiles = n > 0 ? (n + DVT_M(tile) - 1) / DVT_M(tile) : 1;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < tiles; t++) {
    const int64_t left = n - t * DVT_M(tile);
    sums[t] = DVT_M(host_fold)(left < DVT_M(tile) ? left : DVT_M(tile), x + t * DVT_M(tile),
                               (DVT_T)DVT_IDENTITY, NULL);
  }
}

static void DVT_M(reduce_task)(const davit_monoid_task *task) {
  if (task->gpu) {
    DVT_M(reduce_region)(task->device, task->n, task->x, task->levels, task->counters, task->result,
                         task->stop);
    return;
  }
  if (task->stop == 0)
    *(DVT_T *)task->result = DVT_M(host_reduce)(task->threads, task->n, task->x);
  const DVT_T *x = task->x;
  DVT_T *sums = task->levels;
  int64_t n = task->n;
  for (int64_t level = 1; level <= task->stop; level++) {
    DVT_M(host_fold_tiles)(task->threads, n, x, sums);
    n = n > 0 ? (n + DVT_M(tile) - 1) / DVT_M(tile) : 1;
    x = sums;
    sums += n;
  }
}
