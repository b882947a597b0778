/* Reduction for one built-in operator on one of the four types. Included once for each, with DVT_T, DVT_COMBINE, DVT_IDENTITY and the
 * names as for scan.h, after words.h.
 *
 * The elements are folded in chunks of 128 KiB, the chunks' values in chunks again, and so on: one fixed tree, on the CPU and on every
 * GPU. Within a chunk 512 lanes take 16 bytes in turn and fold what they took from the left; then the elements of a lane, 32
 * lanes, and 16 groups of 32 lanes meet in binary trees; the identity stands for what is missing, but a chunk of one element is that
 * element, so that a level more changes no bit (0 + -0 is not -0). Operators here commute, so lanes may take elements as memory likes
 * it. On a GPU a team folds a chunk, and the team that finds itself the last of a chunk of values goes on with it: one launch.
 * Reads x once; the levels above add n / 16384 elements or fewer. */

enum {
  DVT_M(chunk) =
      (128 << 10) / sizeof(DVT_T), /* of half that size, chunks of 4-byte elements were 9 % slower */
  DVT_M(lanes) = 512,
  DVT_M(line) = DVT_M(lanes) * DVT_N(width), /* elements that the lanes take at once */
  DVT_M(lines) = DVT_M(chunk) / DVT_M(line),
  DVT_M(batch) = 4 /* lines on their way: few enough registers for four teams on a multiprocessor */
};

#ifdef DVT_GPU
DVT_INLINE void DVT_M(take)(DVT_N(pack) * value, DVT_N(pack) next) {
#pragma unroll
  for (int k = 0; k < DVT_N(width); k++)
    value->at[k] = DVT_COMBINE(value->at[k], next.at[k]);
}

/* The value of a chunk of `size` elements, in thread 0. `others`: written by other teams of this launch. */
DVT_INLINE DVT_T DVT_M(chunk_value)(const DVT_T *x, int64_t size, bool others) {
  DVT_SHARED DVT_T group[DVT_M(lanes) / 32];
  const int thread = dvt_thread(), lane = dvt_lane_number();
  if (size == 1) {
    dvt_barrier(); /* as below: what the team shares may be written again */
    return others ? DVT_N(peek)(x) : x[0];
  }
  DVT_N(pack) lane_value;
  if (size == DVT_M(chunk) && ((uintptr_t)x & 15) == 0 && !others) {
    x += thread * DVT_N(width);
    DVT_N(pack) taken[DVT_M(batch)];
#pragma unroll 1
    for (int first = 0; first < DVT_M(lines); first += DVT_M(batch)) {
#pragma unroll
      for (int l = 0; l < DVT_M(batch); l++)
        taken[l] = DVT_N(load_constant)(x + (first + l) * DVT_M(line));
      if (first == 0)
        lane_value = taken[0];
      else
        DVT_M(take)(&lane_value, taken[0]);
#pragma unroll
      for (int l = 1; l < DVT_M(batch); l++)
        DVT_M(take)(&lane_value, taken[l]);
    }
  } else {
    const int count = (int)size;
#pragma unroll
    for (int k = 0; k < DVT_N(width); k++) {
      int at = thread * DVT_N(width) + k;
      DVT_T value = DVT_IDENTITY;
      if (at < count)
        value = others ? DVT_N(peek)(x + at) : x[at];
#pragma unroll 1
      for (at += DVT_M(line); at < count; at += DVT_M(line)) {
        DVT_T next = others ? DVT_N(peek)(x + at) : x[at];
        value = DVT_COMBINE(value, next);
      }
      lane_value.at[k] = value;
    }
  }
#pragma unroll
  for (int half = DVT_N(width) / 2; half > 0; half /= 2)
#pragma unroll
    for (int k = 0; k < half; k++)
      lane_value.at[k] = DVT_COMBINE(lane_value.at[k], lane_value.at[k + half]);
  DVT_T value = lane_value.at[0];
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    DVT_T other = DVT_N(shuffle)(value, lane + half);
    value = DVT_COMBINE(value, other);
  }
  if (lane == 0)
    group[thread / 32] = value;
  dvt_barrier();
  if (thread < 32) {
    value = thread < DVT_M(lanes) / 32 ? group[thread] : (DVT_T)DVT_IDENTITY;
#pragma unroll
    for (int half = DVT_M(lanes) / 64; half > 0; half /= 2) {
      DVT_T other = DVT_N(shuffle)(value, lane + half);
      value = DVT_COMBINE(value, other);
    }
  }
  dvt_barrier();
  return value;
}

DVT_INLINE void DVT_M(tree_body)(int64_t n, const DVT_T *x, DVT_T *levels, uint32_t *counters, DVT_T *result,
                                 int64_t stop) {
  DVT_SHARED uint32_t last;
  int64_t index = dvt_team(), count = n > 0 ? (n + DVT_M(chunk) - 1) / DVT_M(chunk) : 1;
  int64_t left = n - index * DVT_M(chunk);
  DVT_T value =
      DVT_M(chunk_value)(x + index * DVT_M(chunk), left < DVT_M(chunk) ? left : DVT_M(chunk), false);
  for (int64_t level = 1; level <= stop || count > 1; level++) {
    const int64_t group = index / DVT_M(chunk);
    left = count - group * DVT_M(chunk);
    const int64_t members = left < DVT_M(chunk) ? left : DVT_M(chunk);
    if (dvt_thread() == 0)
      levels[index] = value;
    if (level == stop)
      return;
    if (dvt_thread() == 0) {
      dvt_fence();
      last = dvt_atomic_add(&counters[group], 1) == (uint32_t)members - 1;
      if (last)
        counters[group] = 0;
      dvt_fence();
    }
    dvt_barrier();
    if (!last)
      return;
    value = DVT_M(chunk_value)(levels + group * DVT_M(chunk), members, true);
    levels += count;
    index = group;
    count = (count + DVT_M(chunk) - 1) / DVT_M(chunk);
    counters += count;
  }
  if (dvt_thread() == 0)
    *result = value;
}
#else
static inline void DVT_M(tree_body)(int64_t n, const DVT_T *x, DVT_T *levels, uint32_t *counters,
                                    DVT_T *result, int64_t stop) {
  (void)n, (void)x, (void)levels, (void)counters, (void)result, (void)stop;
}
#endif

/* Arguments as in reduce.h. */
static void DVT_M(tree_region)(int device, int64_t n, const DVT_T *x, DVT_T *levels, uint32_t *counters,
                               DVT_T *result, int64_t stop) {
  const int teams = n > 0 ? (int)((n + DVT_M(chunk) - 1) / DVT_M(chunk)) : 1;
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(DVT_M(lanes)) device(device)                \
    is_device_ptr(x, levels, counters, result)
  DVT_M(tree_body)(n, x, levels, counters, result, stop);
}

/* ---- the same tree on the CPU ---- */

/* value[g] = binary tree over the g-th `members` elements. */
static inline void DVT_M(host_meet)(DVT_T *value, int groups, int members) {
  for (int group = 0; group < groups; group++) {
    DVT_T *from = value + group * members;
    for (int half = members / 2; half > 0; half /= 2)
      for (int k = 0; k < half; k++)
        from[k] = DVT_COMBINE(from[k], from[k + half]);
    value[group] = from[0];
  }
}

static inline __attribute__((always_inline)) DVT_T DVT_M(fold_chunk)(const DVT_T *x, int64_t size) {
  DVT_T value[DVT_M(line)];
  if (size == 1)
    return x[0];
  const int64_t first = size < DVT_M(line) ? size : DVT_M(line);
  for (int64_t i = 0; i < first; i++)
    value[i] = x[i];
  for (int64_t i = first; i < DVT_M(line); i++)
    value[i] = DVT_IDENTITY;
  int64_t at = DVT_M(line);
  for (; at + DVT_M(line) <= size; at += DVT_M(line))
    for (int i = 0; i < DVT_M(line); i++)
      value[i] = DVT_COMBINE(value[i], x[at + i]);
  for (int64_t i = 0; at + i < size; i++)
    value[i] = DVT_COMBINE(value[i], x[at + i]);
  DVT_M(host_meet)(value, DVT_M(lanes), DVT_N(width));
  DVT_M(host_meet)(value, DVT_M(lanes) / 32, 32);
  DVT_M(host_meet)(value, 1, DVT_M(lanes) / 32);
  return value[0];
}

#define VARIANT(number, attributes)                                                                          \
  attributes static DVT_T DVT_M(host_chunk_##number)(const DVT_T *x, int64_t size) {                         \
    return DVT_M(fold_chunk)(x, size);                                                                       \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

/* The values of all chunks. */
static void DVT_M(host_chunks)(int threads, int64_t n, const DVT_T *x, DVT_T *values) {
  const int64_t chunks = n > 0 ? (n + DVT_M(chunk) - 1) / DVT_M(chunk) : 1;
  const int wanted = chunks < threads ? (int)chunks : threads;
  static DVT_T (*const variants[])(const DVT_T *, int64_t) = {
#define VARIANT(number, attributes) DVT_M(host_chunk_##number),
      DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
  };
  DVT_T (*const host_chunk)(const DVT_T *, int64_t) = variants[dvt_cpu_best()];
#pragma omp parallel for num_threads(wanted) schedule(static)
  for (int64_t c = 0; c < chunks; c++) {
    const int64_t left = n - c * DVT_M(chunk);
    const DVT_T *from = c > 0 ? x + c * DVT_M(chunk) : x; /* NULL where n is 0 */
    values[c] = host_chunk(from, left < DVT_M(chunk) ? left : DVT_M(chunk));
  }
}

static void DVT_M(tree_task)(const davit_monoid_task *task) {
  if (task->gpu) {
    DVT_M(tree_region)(task->device, task->n, task->x, task->levels, task->counters, task->result,
                       task->stop);
    return;
  }
  const DVT_T *x = task->x;
  DVT_T *values = task->levels;
  int64_t n = task->n;
  for (int64_t level = 1;; level++) {
    DVT_M(host_chunks)(task->threads, n, x, values);
    const int64_t count = n > 0 ? (n + DVT_M(chunk) - 1) / DVT_M(chunk) : 1;
    if (level == task->stop)
      return;
    if (count == 1 && level > task->stop)
      break;
    x = values;
    values += count;
    n = count;
  }
  *(DVT_T *)task->result = values[0];
}
