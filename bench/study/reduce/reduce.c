/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder's driver, and its kernels for int32_t sums and for affine maps (K1 and K2). */
#include "bench/study/reduce/reduce.h"

#include <davit/memory.h>
#include <stdlib.h>

#include "bench/study/common/kernel.h"
#include "bench/study/reduce/cpu.h"

#define TEXT "bench/study/reduce/reduce.inc"
#define FORMS study_reduce_forms
#define WANTED(block) ((block) != 48 && (block) != 1000)
#include "bench/study/reduce/each_operator.inc"

enum { DEFAULT_EACH = 8, SMALLEST_BLOCK_OF_LOOPS = 32 };

davit_status study_reduction_find(const study_reduction *r, bool any_operator, study_reduce_form *form) {
  static const study_reduce_form first[] = {STUDY_K1, STUDY_K2,          STUDY_K3,
                                            STUDY_K4, STUDY_K5_BARRIERS, STUDY_K6_BARRIERS};
  STUDY_REQUIRE(r->kernel >= 1 && r->kernel <= 6, "kernel is %d, not 1 to 6", r->kernel);
  STUDY_REQUIRE(r->last_warp == STUDY_BARRIERS || r->last_warp == STUDY_SHUFFLES,
                "last_warp is %d, which is no variant", (int)r->last_warp);
  const bool library = r->op >= STUDY_OPERATORS && r->op < STUDY_ALL_OPERATORS;
  STUDY_REQUIRE(any_operator || r->op == STUDY_SUM || r->op == STUDY_COMPOSE || library,
                "op is %d, which is no operator of the ladder", (int)r->op);
  STUDY_REQUIRE(!library || r->block == STUDY_LIBRARY_BLOCK, "block is %d: the library's operators have %d",
                r->block, STUDY_LIBRARY_BLOCK);
  const int smallest = r->kernel < 5 && !any_operator ? SMALLEST_BLOCK_OF_LOOPS : 2;
  STUDY_REQUIRE(r->block >= smallest && r->block <= 1024 && (r->block & (r->block - 1)) == 0,
                "block is %d, not a power of two from %d to 1024", r->block, smallest);
  STUDY_REQUIRE(r->grid >= 0 && r->each >= 0 && r->each != 1, "grid is %lld and each is %lld",
                (long long)r->grid, (long long)r->each);
  if (!any_operator && r->kernel > 2 && !study_monoid_of(r->op)->commutative)
    return davit_fail(DAVIT_UNSUPPORTED, "kernel %d changes the order of operands, and %s does not commute",
                      r->kernel, study_monoid_of(r->op)->name);
  *form = first[r->kernel - 1] + (r->kernel >= 5 && r->last_warp == STUDY_SHUFFLES);
  return DAVIT_SUCCESS;
}

int64_t study_partials(const study_reduction *r, int64_t n) {
  int64_t tiles = study_quotient_up(n, r->kernel < 4 ? r->block : 2 * (int64_t)r->block);
  if (r->kernel < 6)
    return tiles;
  int64_t each = r->each ? r->each : DEFAULT_EACH;
  int64_t grid = r->grid ? r->grid : study_quotient_up(n, each * r->block);
  return grid < tiles ? grid : tiles;
}

int64_t study_launched_warps(const study_reduction *r, int64_t n) {
  return study_partials(r, n) * WARPS_OF(r->block);
}

/* One grid, all arguments being right. */
static davit_status run_grid(const study_reduction *r, study_reduce_form form, const study_site *site,
                             int64_t n, const void *input, void *partials) {
  const int64_t teams = study_partials(r, n);
  DVT_TRY(study_check_teams(teams));
  const study_reduce_forms *forms = r->op == STUDY_SUM       ? sum_forms(r->block)
                                    : r->op == STUDY_COMPOSE ? compose_forms(r->block)
                                                             : study_library_forms(r->op);
  forms->form[form](site, teams, partials, input, n);
  return DAVIT_SUCCESS;
}

davit_status study_reduce_grid(const study_reduction *r, int device, int64_t n, const void *input,
                               void *partials) {
  study_reduce_form form;
  study_site site;
  DVT_TRY(study_reduction_find(r, false, &form));
  DVT_TRY(study_site_of(device, &site));
  STUDY_REQUIRE(n > 0, "n is %lld", (long long)n);
  return run_grid(r, form, &site, n, input, partials);
}

#define PARAMETERS void *output, const void *input, int64_t n
#define ARGUMENTS output, input, n
STUDY_INLINE void do_nothing(PARAMETERS) {
}
GRID(empty, 32, (output, input), do_nothing(ARGUMENTS))

davit_status study_empty_grid(int device, int64_t n, const void *input, void *partials) {
  study_site site;
  DVT_TRY(study_site_of(device, &site));
  empty(&site, 1, partials, input, n);
  return DAVIT_SUCCESS;
}

/* ---- all levels ---- */

/* The CPU combines `count` elements of the device from the left. */
static davit_status finish(study_operator op, int64_t count, const void *elements, void *result) {
  const size_t bytes = (size_t)count * study_monoid_of(op)->bytes;
  void *copy = malloc(bytes + 1);
  if (!copy)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for %lld partial results", (long long)count);
  davit_status status = davit_copy(bytes, elements, copy);
  if (status == DAVIT_SUCCESS)
    study_reference_reduce(op, count, copy, result);
  free(copy);
  return status;
}

davit_status study_reduce(const study_reduction *r, int device, int64_t n, const void *x, void *result) {
  study_reduce_form form;
  study_site site;
  DVT_TRY(study_reduction_find(r, false, &form));
  STUDY_REQUIRE(n >= 0, "n is %lld", (long long)n);
  DVT_TRY(study_site_of(device, &site));
  const size_t bytes = study_monoid_of(r->op)->bytes * (size_t)study_partials(r, n);
  void *levels[2]; /* the results of a level are the input of the next one */
  const study_block blocks[] = {{&levels[0], bytes, site.place}, {&levels[1], bytes, site.place}};
  DVT_TRY(study_allocate(blocks, 2));
  davit_status status = DAVIT_SUCCESS;
  const int64_t enough = r->cpu_threshold > 1 ? r->cpu_threshold : 1;
  for (int level = 0; n > enough && status == DAVIT_SUCCESS; level = !level) {
    status = run_grid(r, form, &site, n, x, levels[level]);
    x = levels[level];
    n = study_partials(r, n);
  }
  if (status == DAVIT_SUCCESS)
    status = finish(r->op, n, x, result);
  study_free(blocks, 2);
  return status;
}

/* result = reduction of `count` elements of the host on the rank's device. */
static davit_status reduce_part(const study_reduction *r, int device, int64_t count, const void *elements,
                                void *result) {
  study_site site;
  void *part;
  const size_t bytes = (size_t)count * study_monoid_of(r->op)->bytes;
  DVT_TRY(study_site_of(device, &site));
  DVT_TRY(davit_malloc(bytes, site.place, &part));
  davit_status status = davit_copy(bytes, elements, part);
  if (status == DAVIT_SUCCESS)
    status = study_reduce(r, device, count, part, result);
  (void)davit_free(part);
  return status;
}

davit_status study_reduce_ranks(const study_reduction *r, int ranks, const int *devices, int64_t n,
                                const void *x, void *result) {
  STUDY_REQUIRE(ranks > 0, "ranks is %d", ranks);
  const study_monoid *monoid = study_monoid_of(r->op);
  uint64_t sum = study_identity(monoid), of_rank = 0;
  for (int rank = 0; rank < ranks; rank++) {
    const int64_t first = study_part_begin(n, ranks, rank), end = study_part_begin(n, ranks, rank + 1);
    DVT_TRY(reduce_part(r, devices[rank], end - first, (const char *)x + (size_t)first * monoid->bytes,
                        &of_rank));
    sum = monoid->combine(sum, study_get(monoid, &of_rank, 0));
  }
  study_set(monoid, result, 0, sum);
  return DAVIT_SUCCESS;
}

davit_status study_trace_block(const study_reduction *r, int64_t n, const int32_t *input,
                               study_trace *trace) {
  const study_site first_team = {.device = DAVIT_HOST, .first_team = true};
  study_reduce_form form;
  int32_t partial;
  DVT_TRY(study_reduction_find(r, false, &form));
  study_record(trace);
  davit_status status = run_grid(r, form, &first_team, n, input, &partial);
  study_stop();
  return status == DAVIT_SUCCESS && trace->full
             ? davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the record")
             : status;
}
