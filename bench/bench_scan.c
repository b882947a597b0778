/* SPDX-License-Identifier: Apache-2.0 */
/* Scan and segmented scan: on a queue against CUB (NVIDIA) and an OpenMP loop in two passes (CPU; there the plain
 * form as well), in parts over several devices, and of pinned host data. Sums; exclusive scans on GPUs only.
 * Clocks, ceilings and the options of all programs: bench/measure.h.
 *
 * Bytes are those that davit must move: x, y, and a byte of flag an element. CUB's scan by key reads keys of four
 * bytes in place of flags; the ratio compares times. Segments: each element begins one with probability 1/100
 * ("random"), all do, or none does. --parts is the number of elements of the whole (strong) and of each device
 * (weak), for the segmented scan half of it; "in turn": each device has --turns parts, which follow each other from
 * device to device. --plain is the number of elements of the arrays in pinned memory, where y is x. */
#include "bench/peers/loops.h"
#include "bench/series.h"

enum { TURNS = 64 };

typedef enum pattern { RANDOM, ALL, NONE, PATTERNS } pattern;
static const char *const pattern_names[] = {"random", "all ones", "none"};

typedef struct problem {
  const bench_site *site;
  davit_type type;
  davit_scan_kind kind;
  int64_t n, whole; /* of --parts */
  BENCH_VECTORS(*x, *y);
  void *temp;
  uint8_t *flags; /* NULL: not segmented */
  int32_t *keys;  /* CUB's, on NVIDIA devices */
  const char *variant;
  size_t temp_bytes;
  int turns;                        /* parts of a device */
  davit_scan_part home[BENCH_MOST]; /* where the devices' parts begin */
  davit_scan_part parts[BENCH_MOST * TURNS];
  bench_spread spread;
} problem;

static davit_status here_call(void *argument) {
  const problem *p = argument;
  const davit_scan_options options = {.devices = &p->site->device, .device_count = 1};
  return p->flags ? davit_segmented_scan(DAVIT_SUM, p->type, p->kind, p->n, p->x, p->flags, p->y, &options)
                  : davit_scan(DAVIT_SUM, p->type, p->kind, p->n, p->x, p->y, &options);
}

static davit_status queue_call(void *argument) {
  const problem *p = argument;
  return p->flags ? davit_queue_segmented_scan(p->site->queue, DAVIT_SUM, p->type, p->kind, p->n, p->x,
                                               p->flags, p->y, NULL)
                  : davit_queue_scan(p->site->queue, DAVIT_SUM, p->type, p->kind, p->n, p->x, p->y, NULL);
}

/* The first call finds temporary memory. */
static davit_status cub_call(void *argument) {
  problem *p = argument;
  const peer_cub *cub = p->site->cub;
  for (;;) {
    const int n = (int)p->n, result = p->flags ? cub->scan_by_key(p->site->stream, p->type, n, p->keys, p->x,
                                                                  p->y, p->temp, &p->temp_bytes)
                                               : cub->scan(p->site->stream, p->type, p->kind, n, p->x, p->y,
                                                           p->temp, &p->temp_bytes);
    if (result != 0 || p->temp)
      return bench_cuda(result, "CUB");
    if (!(p->temp = bench_memory(bench_place(p->site), p->temp_bytes)))
      return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "no temporary memory");
  }
}

static davit_status loop_call(void *argument) {
  const problem *p = argument;
  peer_loop_scan(p->type, p->kind, p->n, p->x, p->flags, p->y);
  return DAVIT_SUCCESS;
}

static davit_status parts_call(void *argument) {
  const problem *p = argument;
  const int count = p->spread.count * p->turns;
  return p->parts[0].flags ? davit_segmented_scan_parts(DAVIT_SUM, p->type, p->kind, count, p->parts)
                           : davit_scan_parts(DAVIT_SUM, p->type, p->kind, count, p->parts);
}

static davit_status plain_call(void *argument) {
  const problem *p = argument;
  return davit_scan(DAVIT_SUM, p->type, p->kind, p->n, p->x, p->y,
                    &(davit_scan_options){.devices = p->spread.devices, .device_count = p->spread.count});
}

/* ---- on one device ---- */

static bench_case case_of(const problem *p, const char *form, bool segmented) {
  const size_t element = 2 * davit_type_bytes(p->type) + (segmented ? 1 : 0);
  return (bench_case){.operation = segmented ? "segmented" : "scan",
                      .type = bench_type_name(p->type),
                      .variant = p->variant,
                      .form = form,
                      .rows = p->n,
                      .bytes = (double)p->n * (double)element};
}

static void measure(problem *p) {
  const bench_case what = case_of(p, "queue", p->flags);
  const bench_peers peers = {p->flags ? "cub by key" : "cub", p->site->cub ? cub_call : NULL, "loop",
                             loop_call};
  bench_queue_row(p->site, &what, queue_call, &peers, p);
  bench_plain_row(p->site, &what, here_call, &peers, p);
  davit_free(p->temp);
  p->temp = NULL;
}

static bool make_vectors(problem *p, int64_t n) {
  return bench_vectors_open(bench_place(p->site), p->type, (int64_t[4]){n, n}, p->operand);
}

static void plain_scans(problem *p) {
  const bench_values sizes =
      bench_sizes("sizes", p->site->gpu ? "4096,65536,262144,1048576,16777216,268435456,1073741824"
                                        : "4096,262144,4194304,33554432");
  const bench_kinds types = bench_types("dsil");
  const davit_scan_kind last = p->site->gpu ? DAVIT_SCAN_EXCLUSIVE : DAVIT_SCAN_INCLUSIVE;
  for (int t = 0; t < types.count; t++) {
    p->type = types.at[t];
    if (make_vectors(p, bench_largest(&sizes)))
      for (p->kind = DAVIT_SCAN_INCLUSIVE; p->kind <= last; p->kind++)
        for (int i = 0; i < sizes.count; i++) {
          p->variant = p->kind == DAVIT_SCAN_INCLUSIVE ? "inclusive" : "exclusive";
          p->n = sizes.at[i];
          measure(p);
        }
    bench_vectors_close(p->operand);
  }
}

/* ---- segmented ---- */

/* Writes flags, and the number of each element's segment where `keys` is not NULL. */
static void mark(pattern what, int64_t n, uint8_t *flags, int32_t *keys) {
  uint64_t state = 1;
  int32_t segment = 0;
  for (int64_t i = 0; i < n; i++) {
    state = 6364136223846793005u * state + 1442695040888963407u;
    flags[i] = what == ALL || (what == RANDOM && (state >> 32) < UINT32_MAX / 100);
    segment += flags[i];
    if (keys)
      keys[i] = segment;
  }
}

/* What is made on the host goes where the site works. */
static void *moved(const bench_site *site, void *pointer, size_t bytes) {
  if (!pointer || !site->gpu)
    return pointer;
  void *there = bench_memory(site->device, bytes);
  if (there && davit_copy(bytes, pointer, there) != DAVIT_SUCCESS) {
    bench_failure("copy", davit_last_error());
    davit_free(there);
    there = NULL;
  }
  davit_free(pointer);
  return there;
}

static bool make_segments(problem *p, pattern what, int64_t n) {
  const size_t key_bytes = (size_t)n * sizeof *p->keys;
  p->keys = p->site->cub ? bench_memory(DAVIT_PAGEABLE, key_bytes) : NULL;
  p->flags = bench_memory(DAVIT_PAGEABLE, (size_t)n);
  if (p->flags)
    mark(what, n, p->flags, p->keys);
  p->flags = moved(p->site, p->flags, (size_t)n);
  p->keys = moved(p->site, p->keys, key_bytes);
  return p->flags && (p->keys || !p->site->cub);
}

static void free_segments(problem *p) {
  davit_free(p->flags);
  davit_free(p->keys);
  p->flags = NULL;
  p->keys = NULL;
}

static void segmented_scans(problem *p) {
  const bench_values sizes =
      bench_sizes("segmented", p->site->gpu ? "65536,1048576,16777216,268435456" : "65536,1048576,16777216");
  const bench_kinds types = bench_types("ds");
  p->kind = DAVIT_SCAN_INCLUSIVE;
  for (pattern what = RANDOM; what < PATTERNS && sizes.count > 0; what++) {
    const bool segments = make_segments(p, what, bench_largest(&sizes));
    for (int t = 0; t < types.count && segments; t++) {
      p->type = types.at[t];
      p->variant = pattern_names[what];
      const bool vectors = make_vectors(p, bench_largest(&sizes));
      for (int i = 0; i < sizes.count && vectors; i++) {
        p->n = sizes.at[i];
        measure(p);
      }
      bench_vectors_close(p->operand);
    }
    free_segments(p);
  }
}

/* ---- over several devices ---- */

static bench_case divide(void *argument, bool weak) {
  problem *p = argument;
  const int count = p->spread.count;
  const int64_t n = (weak ? p->whole : p->whole / count) / p->turns;
  const size_t bytes = (size_t)n * davit_type_bytes(p->type);
  for (int i = 0; i < count * p->turns; i++) {
    const davit_scan_part *home = &p->home[i % count];
    const size_t turn = (size_t)(i / count);
    p->parts[i] = (davit_scan_part){.n = n,
                                    .x = (const char *)home->x + turn * bytes,
                                    .y = (char *)home->y + turn * bytes,
                                    .flags = home->flags};
  }
  p->n = n * count * p->turns;
  return case_of(p, weak ? "parts, weak" : "parts, strong", p->parts[0].flags);
}

/* The slabs' operands as parts, with flags where there are any; what is not there is NULL. */
static bool make_parts(problem *p, const bench_slab *slabs, int64_t n, const uint8_t *flags) {
  bool complete = true;
  for (int d = 0; d < p->spread.most; d++) {
    void *here = flags && complete ? bench_memory(p->spread.devices[d], (size_t)n) : NULL;
    complete = complete && (here || !flags);
    p->home[d] = (davit_scan_part){.x = slabs[d].operand[0], .y = slabs[d].operand[1], .flags = here};
    if (here && davit_copy((size_t)n, flags, here) != DAVIT_SUCCESS)
      bench_failure("copy", davit_last_error());
  }
  return complete;
}

static void in_parts(problem *p, int64_t whole, const uint8_t *flags) {
  bench_slab slabs[BENCH_MOST];
  if (!bench_slabs_open(&p->spread, p->type, (int64_t[4]){whole, whole}, slabs))
    return;
  p->whole = whole;
  if (make_parts(p, slabs, whole, flags))
    bench_both_series(&p->spread, p->site, 1, divide, parts_call, p);
  for (int d = 0; d < p->spread.most; d++)
    davit_free((void *)(uintptr_t)p->home[d].flags);
  bench_slabs_close(&p->spread, slabs);
}

static void all_parts(problem *p) {
  const int64_t whole = bench_whole("parts", p->site->gpu ? 1 << 30 : 1 << 23);
  const bench_kinds types = bench_types("ds");
  uint8_t *flags = whole > 1 ? bench_memory(DAVIT_PAGEABLE, (size_t)whole / 2) : NULL;
  if (flags)
    mark(RANDOM, whole / 2, flags, NULL);
  p->kind = DAVIT_SCAN_INCLUSIVE;
  for (int t = 0; t < types.count && flags; t++) {
    p->type = types.at[t];
    p->variant = "inclusive";
    in_parts(p, whole, NULL);
    p->variant = "in turn";
    p->turns = (int)bench_whole("turns", 8);
    if (p->turns > 1 && p->turns <= TURNS)
      in_parts(p, whole, NULL);
    p->turns = 1;
    p->variant = pattern_names[RANDOM];
    in_parts(p, whole / 2, flags);
  }
  davit_free(flags);
}

/* From pinned memory ("plain") or pageable one. */
static void from_host(problem *p, int place) {
  const char *form = place == DAVIT_PINNED ? "plain" : "pageable";
  p->n = bench_whole("plain", p->site->gpu ? 1 << 27 : 1 << 22);
  p->kind = DAVIT_SCAN_INCLUSIVE;
  p->type = DAVIT_DOUBLE;
  p->variant = "inclusive";
  if (p->n < 1 || !(p->x = bench_vector(place, p->type, p->n)))
    return;
  p->y = p->x;
  bench_case what = case_of(p, form, false);
  what.link_bytes = what.bytes / 2;
  bench_series(&p->spread, p->site, what, plain_call, p);
  davit_free(p->x);
  davit_memory_trim(DAVIT_PINNED);
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  problem p = {.site = site, .turns = 1};
  plain_scans(&p);
  segmented_scans(&p);
  if (!spread)
    return;
  p.spread = *spread;
  all_parts(&p);
  from_host(&p, DAVIT_PINNED);
  from_host(&p, DAVIT_PAGEABLE);
}

static const char usage[] = "bench_scan [--sizes 4096,65536,...] [--segmented 1048576,...] [--parts "
                            "1073741824] [--turns 8] [--plain 134217728]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("scan", usage, argc, argv, measure_site);
}
