/* The scans' driver, and their kernels for sums, affine maps and segments. */
#include "bench/study/reduce/scan.h"

#include <davit/device.h>
#include <omp.h>

#include "bench/study/common/kernel.h"

#define ELEMENT int32_t
#define COMBINE(left, right) study_add(left, right)
#define IDENTITY STUDY_SUM_IDENTITY
#define TYPE_NAME(name) scan_sum_##name
#define TABLE sum_table
#include "bench/study/reduce/scan_sizes.inc"
#undef ELEMENT
#undef COMBINE
#undef IDENTITY
#undef TYPE_NAME
#undef TABLE
#define ELEMENT uint64_t
#define COMBINE(left, right) study_compose(left, right)
#define IDENTITY STUDY_COMPOSE_IDENTITY
#define TYPE_NAME(name) scan_compose_##name
#define TABLE compose_table
#include "bench/study/reduce/scan_sizes.inc"
#undef ELEMENT
#undef COMBINE
#undef IDENTITY
#undef TYPE_NAME
#undef TABLE
#define ELEMENT uint64_t
#define COMBINE(left, right) study_join(left, right)
#define IDENTITY STUDY_SEGMENTS_IDENTITY
#define TYPE_NAME(name) scan_segments_##name
#define TABLE segments_table
#include "bench/study/reduce/scan_sizes.inc"

static const study_scan_forms *const *const tables[] = {sum_table, compose_table, segments_table};
enum { SEVERAL_EACH = scan_sum_each_32 };

static int64_t quotient_up(int64_t n, int64_t by) {
  return n / by + (n % by != 0);
}

int64_t study_scan_tile(const study_scan *s) {
  return s->form == STUDY_WARP_SCAN ? STUDY_WARP
         : s->form == STUDY_SEVERAL ? (int64_t)SEVERAL_EACH * s->block
                                    : s->block;
}

/* Elements of a block: those of all its warps for WARP. */
static int64_t elements_of_block(const study_scan *s) {
  return s->form == STUDY_WARP_SCAN ? WARPS_OF(s->block) * 32 : study_scan_tile(s);
}

static davit_status is_gpu(int device, bool *gpu) {
  davit_device_info info;
  davit_status status = davit_device_describe(device, &info);
  *gpu = status == DAVIT_SUCCESS && info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  return status;
}

static int64_t most_blocks(const study_scan *s) {
  return s->most_blocks > 0 && s->most_blocks < INT32_MAX ? s->most_blocks : INT32_MAX;
}

davit_status study_scan_tiles(const study_scan *s, int device, int64_t n, const void *x, void *y,
                              void *totals) {
  int block_number;
  bool gpu;
  davit_status status = study_scan_find(s, &block_number);
  if (status == DAVIT_SUCCESS)
    status = is_gpu(device, &gpu);
  if (status != DAVIT_SUCCESS)
    return status;
  const study_scan_kernel *kernel = &tables[s->op][block_number]->form[s->form];
  int64_t blocks = quotient_up(n, elements_of_block(s)), most = most_blocks(s);
  for (int64_t first = 0; first < blocks; first += most) {
    int64_t count = blocks - first < most ? blocks - first : most;
    if (gpu)
      kernel->grid(device, (int)count, first, n, x, y, totals, s->exclusive);
    else
      for (int64_t team = first; team < first + count; team++)
        kernel->block(team, n, x, y, totals, s->exclusive);
  }
  return DAVIT_SUCCESS;
}

/* y[i] = prefixes[i / tile] ∘ y[i] */
static davit_status shift(const study_scan *s, int device, int64_t n, const void *prefixes, void *y) {
  int block_number;
  bool gpu;
  davit_status status = study_scan_find(s, &block_number);
  if (status == DAVIT_SUCCESS)
    status = is_gpu(device, &gpu);
  if (status != DAVIT_SUCCESS)
    return status;
  const study_scan_forms *forms = tables[s->op][block_number];
  int64_t blocks = quotient_up(n, s->block), most = most_blocks(s);
  for (int64_t first = 0; first < blocks; first += most) {
    int64_t count = blocks - first < most ? blocks - first : most;
    if (gpu)
      forms->shift_grid(device, (int)count, first, n, study_scan_tile(s), prefixes, y);
    else
      for (int64_t team = first; team < first + count; team++)
        forms->shift_block(team, n, study_scan_tile(s), prefixes, y);
  }
  return DAVIT_SUCCESS;
}

/* The scan of the totals: exclusive, by P3. */
static study_scan of_totals(const study_scan *s) {
  study_scan totals = *s;
  totals.form = STUDY_BLOCK_SCAN;
  totals.exclusive = true;
  return totals;
}

davit_status study_scan_grid(const study_scan *s, int device, int64_t n, const void *x, void *y) {
  if (s->form == STUDY_WARP_SCAN)
    return davit_fail(DAVIT_UNSUPPORTED, "a grid is made of blocks, not of warps");
  int block_number;
  bool gpu;
  davit_status status = study_scan_find(s, &block_number);
  if (status == DAVIT_SUCCESS)
    status = is_gpu(device, &gpu); /* the runtime ends the program over a device that it does not know */
  if (status != DAVIT_SUCCESS)
    return status;
  int64_t tiles = n < 0 ? 0 : quotient_up(n, study_scan_tile(s));
  if (tiles < 2)
    return study_scan_tiles(s, device, n, x, y, NULL);
  int memory = device == DAVIT_HOST ? omp_get_initial_device() : device;
  size_t bytes = (size_t)tiles * study_monoid_of(s->op)->bytes;
  void *totals = omp_target_alloc(bytes, memory);
  if (!totals)
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "no memory for the totals of %lld blocks",
                      (long long)tiles);
  study_scan next = of_totals(s);
  status = study_scan_tiles(s, device, n, x, y, totals);
  if (status == DAVIT_SUCCESS)
    status = study_scan_grid(&next, device, tiles, totals, totals);
  if (status == DAVIT_SUCCESS)
    status = shift(s, device, n, totals, y);
  omp_target_free(totals, memory);
  return status;
}

int study_scan_levels(const study_scan *s, int64_t n) {
  study_scan next = of_totals(s);
  if (n < 1)
    return 0;
  int64_t tiles = quotient_up(n, study_scan_tile(s));
  return tiles < 2 ? 1 : 1 + study_scan_levels(&next, tiles);
}
