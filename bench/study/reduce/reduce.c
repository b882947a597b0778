/* The ladder's driver, and its kernels for int32_t sums and for affine maps (K1 and K2). */
#include "bench/study/reduce/reduce.h"

#include <davit/device.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/common/kernel.h"

#define ELEMENT int32_t
#define COMBINE(left, right) study_add(left, right)
#define IDENTITY STUDY_SUM_IDENTITY
#define TYPE_NAME(name) sum_##name
#define TABLE sum_table
#define COMMUTES
#include "bench/study/reduce/reduce_sizes.inc"
#undef ELEMENT
#undef COMBINE
#undef IDENTITY
#undef TYPE_NAME
#undef TABLE
#undef COMMUTES
#define ELEMENT uint64_t
#define COMBINE(left, right) study_compose(left, right)
#define IDENTITY STUDY_COMPOSE_IDENTITY
#define TYPE_NAME(name) compose_##name
#define TABLE compose_table
#include "bench/study/reduce/reduce_sizes.inc"

enum { DEFAULT_EACH = 8, LEAST_BLOCK_OF_LOOPS = 32 };

davit_status study_reduction_find(const study_reduction *r, bool any_operator, int *block_number,
                                  study_reduce_form_number *form) {
  static const study_reduce_form_number first[] = {STUDY_K1, STUDY_K2,          STUDY_K3,
                                                   STUDY_K4, STUDY_K5_BARRIERS, STUDY_K6_BARRIERS};
  if (r->kernel < 1 || r->kernel > 6)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "kernel is %d, not 1 to 6", r->kernel);
  if (r->last_warp != STUDY_BARRIERS && r->last_warp != STUDY_SHUFFLES)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "last_warp is %d, which is no variant", (int)r->last_warp);
  if (!any_operator && r->op != STUDY_SUM && r->op != STUDY_COMPOSE)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "op is %d, which is no operator of the ladder", (int)r->op);
  *form = first[r->kernel - 1];
  if (r->kernel >= 5 && r->last_warp == STUDY_SHUFFLES)
    ++*form;
  for (*block_number = 0; *block_number < STUDY_BLOCKS; ++*block_number)
    if (r->block == 2 << *block_number)
      break;
  if (*block_number == STUDY_BLOCKS || (!any_operator && r->kernel < 5 && r->block < LEAST_BLOCK_OF_LOOPS))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block is %d, not a power of two from %d to 1024", r->block,
                      r->kernel < 5 ? LEAST_BLOCK_OF_LOOPS : 2);
  if (r->grid < 0 || r->each < 0 || r->each == 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "grid is %lld and each is %lld", (long long)r->grid,
                      (long long)r->each);
  if (!any_operator && r->kernel > 2 && !study_monoid_of(r->op)->commutative)
    return davit_fail(DAVIT_UNSUPPORTED, "kernel %d changes the order of operands, and %s does not commute",
                      r->kernel, study_monoid_of(r->op)->name);
  return DAVIT_SUCCESS;
}

static int64_t quotient_up(int64_t n, int64_t by) {
  return n / by + (n % by != 0);
}

int64_t study_partials(const study_reduction *r, int64_t n) {
  int64_t tiles = quotient_up(n, r->kernel < 4 ? r->block : 2 * (int64_t)r->block);
  if (r->kernel < 6)
    return tiles;
  int64_t each = r->each ? r->each : DEFAULT_EACH;
  int64_t grid = r->grid ? r->grid : quotient_up(n, each * r->block);
  return grid < tiles ? grid : tiles;
}

int64_t study_launched_warps(const study_reduction *r, int64_t n) {
  return study_partials(r, n) * WARPS_OF(r->block);
}

static davit_status is_gpu(int device, bool *gpu) {
  davit_device_info info;
  davit_status status = davit_device_describe(device, &info);
  *gpu = status == DAVIT_SUCCESS && info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  return status;
}

davit_status study_reduce_grid(const study_reduction *r, int device, int64_t n, const void *input,
                               void *partials) {
  int block_number;
  study_reduce_form_number form_number;
  bool gpu;
  davit_status status = study_reduction_find(r, false, &block_number, &form_number);
  if (status == DAVIT_SUCCESS)
    status = is_gpu(device, &gpu);
  if (status != DAVIT_SUCCESS)
    return status;
  int64_t teams = study_partials(r, n);
  if (teams < 1 || teams > INT32_MAX)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld: a grid has 1 to 2^31 - 1 blocks", (long long)n);
  const study_reduce_form *form =
      &(r->op == STUDY_SUM ? sum_table : compose_table)[block_number][form_number];
  if (gpu)
    form->grid(device, (int)teams, partials, input, n);
  else
    for (int64_t team = 0; team < teams; team++)
      form->block(team, teams, partials, input, n);
  return DAVIT_SUCCESS;
}

static void empty_body(int32_t *output, const int32_t *input, int64_t n) {
  (void)output, (void)input, (void)n;
}

static void empty_grid(int device, int32_t *output, const int32_t *input, int64_t n) {
#pragma omp target teams ompx_bare num_teams(1) thread_limit(32) device(device) is_device_ptr(output, input)
  empty_body(output, input, n);
}

davit_status study_empty_grid(int device, int64_t n, const void *input, void *partials) {
  bool gpu;
  davit_status status = is_gpu(device, &gpu);
  if (status == DAVIT_SUCCESS && gpu)
    empty_grid(device, partials, input, n);
  return status;
}

/* ---- all levels ---- */

static int memory_of(int device) {
  return device == DAVIT_HOST ? omp_get_initial_device() : device;
}

/* The CPU combines `count` elements of the device from the left. */
static davit_status finish(const study_monoid *monoid, int device, int64_t count, const void *elements,
                           void *result) {
  uint64_t sum = monoid->identity;
  void *copy = malloc((size_t)(count ? count : 1) * monoid->bytes);
  if (!copy)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for %lld partial results", (long long)count);
  int failed = count && omp_target_memcpy(copy, elements, (size_t)count * monoid->bytes, 0, 0,
                                          omp_get_initial_device(), memory_of(device));
  for (int64_t i = 0; i < count && !failed; i++)
    sum = monoid->combine(sum, study_get(monoid, copy, i));
  free(copy);
  if (failed)
    return davit_fail(DAVIT_DEVICE_ERROR, "copying the partial results failed");
  study_set(monoid, result, 0, sum);
  return DAVIT_SUCCESS;
}

/* Level after level, from `x` to rooms[0], from there to rooms[1], and back. */
static davit_status descend(const study_reduction *r, int device, int64_t n, const void *x,
                            void *const rooms[2], void *result) {
  davit_status status = DAVIT_SUCCESS;
  int64_t enough = r->cpu_threshold > 1 ? r->cpu_threshold : 1;
  for (int level = 0; n > enough && status == DAVIT_SUCCESS; level++) {
    int64_t left = study_partials(r, n);
    status = study_reduce_grid(r, device, n, x, rooms[level % 2]);
    x = rooms[level % 2];
    n = left;
  }
  return status == DAVIT_SUCCESS ? finish(study_monoid_of(r->op), device, n, x, result) : status;
}

davit_status study_reduce(const study_reduction *r, int device, int64_t n, const void *x, void *result) {
  int block_number;
  study_reduce_form_number form;
  davit_status status = study_reduction_find(r, false, &block_number, &form);
  if (status != DAVIT_SUCCESS)
    return status;
  if (n < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld", (long long)n);
  bool gpu;
  status = is_gpu(device, &gpu); /* the runtime ends the program over a device that it does not know */
  if (status != DAVIT_SUCCESS)
    return status;
  size_t bytes = study_monoid_of(r->op)->bytes * (size_t)(n ? study_partials(r, n) : 1);
  void *rooms[2] = {omp_target_alloc(bytes, memory_of(device)), omp_target_alloc(bytes, memory_of(device))};
  if (rooms[0] && rooms[1])
    status = descend(r, device, n, x, rooms, result);
  else
    status = davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "no memory for partial results of %zu bytes", 2 * bytes);
  omp_target_free(rooms[0], memory_of(device));
  omp_target_free(rooms[1], memory_of(device));
  return status;
}

/* result = reduction of `count` elements of the host on the rank's device. */
static davit_status reduce_part(const study_reduction *r, int device, int64_t count, const void *elements,
                                void *result) {
  bool gpu;
  davit_status status = is_gpu(device, &gpu);
  if (status != DAVIT_SUCCESS)
    return status;
  size_t bytes = (size_t)(count ? count : 1) * study_monoid_of(r->op)->bytes;
  void *part = omp_target_alloc(bytes, memory_of(device));
  if (!part)
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "no memory for a part of %zu bytes", bytes);
  if (count && omp_target_memcpy(part, elements, bytes, 0, 0, memory_of(device), omp_get_initial_device()))
    status = davit_fail(DAVIT_DEVICE_ERROR, "copying a part of %zu bytes failed", bytes);
  else
    status = study_reduce(r, device, count, part, result);
  omp_target_free(part, memory_of(device));
  return status;
}

davit_status study_reduce_ranks(const study_reduction *r, int ranks, const int *devices, int64_t n,
                                const void *x, void *result) {
  int block_number;
  study_reduce_form_number form;
  davit_status status = study_reduction_find(r, false, &block_number, &form);
  if (status != DAVIT_SUCCESS)
    return status;
  if (ranks < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "ranks is %d", ranks);
  const study_monoid *monoid = study_monoid_of(r->op);
  uint64_t sum = monoid->identity, of_rank = 0;
  for (int rank = 0; rank < ranks; rank++) {
    int64_t first = n / ranks * rank + (rank < n % ranks ? rank : n % ranks);
    int64_t count = n / ranks + (rank < n % ranks);
    status = reduce_part(r, devices[rank], count, (const char *)x + (size_t)first * monoid->bytes, &of_rank);
    if (status != DAVIT_SUCCESS)
      return status;
    sum = monoid->combine(sum, study_get(monoid, &of_rank, 0));
  }
  study_set(monoid, result, 0, sum);
  return DAVIT_SUCCESS;
}

davit_status study_trace_block(const study_reduction *r, int64_t n, const int32_t *input,
                               study_trace *trace) {
  int block_number;
  study_reduce_form_number form;
  davit_status status = study_reduction_find(r, false, &block_number, &form);
  if (status != DAVIT_SUCCESS)
    return status;
  int64_t teams = study_partials(r, n);
  int32_t *partials = calloc((size_t)teams, sizeof *partials);
  if (!partials)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for %lld partial results", (long long)teams);
  study_record(trace);
  sum_table[block_number][form].block(0, teams, partials, input, n);
  study_stop();
  free(partials);
  return trace->full ? davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the record") : DAVIT_SUCCESS;
}
