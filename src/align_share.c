/* SPDX-License-Identifier: Apache-2.0 */
#include "src/align_share.h"

#include <davit/memory.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/tuning.h"

const dvt_operation dvt_align_operation = {.name = "align",
                                           .bytes = sizeof(dvt_align_work),
                                           .stream = dvt_align_stream,
                                           .host = dvt_align_host,
                                           .region = dvt_align_region,
                                           .region_on_host = true};

/* ---- batches of the CPU ---- */

static int64_t length_of(const dvt_align_targets *t, int64_t k) {
  return k < t->count ? t->offsets[k + 1] - t->offsets[k] : 0;
}

enum {
  LONG = 1 << 16,  /* symbols of a target that is never one of a batch */
  FOLDED = 1 << 12 /* and of one that is folded, at least */
};

/* Whether at least a quarter of a batch would be symbols. */
static bool is_batch(const dvt_align_targets *t, int64_t first) {
  int64_t used = 0;
  if (length_of(t, first) >= LONG)
    return false;
  for (int64_t k = first; k < first + DVT_ALIGN_LANES; k++)
    used += length_of(t, k);
  return 4 * used >= DVT_ALIGN_LANES * length_of(t, first);
}

static void fill_lanes(const dvt_align_targets *t) {
  memset(t->lanes, DVT_ALIGN_PAD, (size_t)t->rows[t->folds + t->batches] * DVT_ALIGN_LANES);
  for (int64_t k = 0; k < t->folds; k++)
    dvt_align_fold(length_of(t, k), t->symbols + t->offsets[k], t->lanes + t->rows[k] * DVT_ALIGN_LANES);
  for (int64_t k = t->singles; k < t->count; k++) {
    const int64_t at = k - t->singles, row = t->rows[t->folds + at / DVT_ALIGN_LANES];
    for (int64_t i = 0; i < length_of(t, k); i++)
      t->lanes[(row + i) * DVT_ALIGN_LANES + at % DVT_ALIGN_LANES] = t->symbols[t->offsets[k] + i];
  }
}

static davit_status make_batches(dvt_align_targets *t) {
  while (t->singles < t->count && !is_batch(t, t->singles))
    t->singles++;
  while (t->folds < t->singles && length_of(t, t->folds) >= FOLDED)
    t->folds++;
  t->batches = dvt_divide_up(t->count - t->singles, DVT_ALIGN_LANES);
  t->rows = dvt_allocate((size_t)(t->folds + t->batches) + 1, sizeof *t->rows);
  if (!t->rows)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t k = 0; k < t->folds; k++)
    t->rows[k + 1] = t->rows[k] + dvt_divide_up(length_of(t, k), DVT_ALIGN_LANES);
  for (int64_t b = 0, k = t->folds; b < t->batches; b++, k++)
    t->rows[k + 1] = t->rows[k] + length_of(t, t->singles + b * DVT_ALIGN_LANES);
  t->lanes = dvt_allocate_aligned((size_t)t->rows[t->folds + t->batches] * DVT_ALIGN_LANES + 64);
  if (!t->lanes)
    return DAVIT_OUT_OF_HOST_MEMORY;
  fill_lanes(t);
  return DAVIT_SUCCESS;
}

/* ---- parts ---- */

static size_t offsets_bytes(int64_t count) {
  return dvt_aligned_up(((size_t)count + 1) * sizeof(int64_t));
}

static size_t image_bytes(int64_t count, int64_t symbols) {
  return offsets_bytes(count) + dvt_aligned_up((size_t)symbols + 1);
}

/* With scores, as the device has them. */
static size_t part_bytes(int64_t count, int64_t symbols) {
  return image_bytes(count, symbols) + ((size_t)count + 1) * sizeof(int32_t);
}

static int64_t symbols_of(const dvt_align_sized *own, int64_t count) {
  int64_t symbols = 0;
  for (int64_t k = 0; k < count; k++)
    symbols += own[k].length;
  return symbols;
}

/* The kernels number the targets of a part in 32 bits. */
static int64_t end_of_part(const dvt_align_sized *own, int64_t count, int64_t first, size_t room) {
  int64_t symbols = 0, end = first;
  while (end < count && end - first < INT32_MAX - 1 &&
         part_bytes(end + 1 - first, symbols + own[end].length) <= room)
    symbols += own[end++].length;
  return end;
}

/* How a share is cut: bytes of part 0, and of the others at most. */
typedef struct plan {
  size_t resident, buffer;
} plan;

enum { BUFFER = 8 }; /* a buffer has one in so many of the bytes, unless a target needs more */

static davit_status plan_parts(int device, int64_t count, const dvt_align_sized *own, size_t bytes, plan *p) {
  *p = (plan){.resident = bytes};
  if (end_of_part(own, count, 0, bytes) == count)
    return DAVIT_SUCCESS;
  const size_t longest = part_bytes(1, own[0].length), none = part_bytes(0, 0);
  p->buffer = bytes / BUFFER > longest ? bytes / BUFFER : longest;
  if (2 * p->buffer + none > bytes)
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY,
                      "%zu bytes on device %d are too few for targets of %lld symbols", bytes, device,
                      (long long)own[0].length);
  p->resident = bytes - 2 * p->buffer;
  return DAVIT_SUCCESS;
}

static davit_status cut(dvt_align_share *s, int64_t count, const dvt_align_sized *own, const plan *p) {
  int64_t end = end_of_part(own, count, 0, p->resident);
  for (s->parts = 1; end < count; s->parts++)
    end = end_of_part(own, count, end, p->buffer);
  s->part = dvt_allocate((size_t)s->parts, sizeof *s->part);
  if (!s->part)
    return DAVIT_OUT_OF_HOST_MEMORY;
  end = 0;
  for (int64_t k = 0; k < s->parts; k++) {
    s->part[k].first = end;
    end = end_of_part(own, count, end, k ? p->buffer : p->resident);
    s->part[k].targets.count = end - s->part[k].first;
  }
  return DAVIT_SUCCESS;
}

static davit_status allocate_image(dvt_align_part *part, size_t bytes, bool pinned) {
  const bool done = pinned && dvt_malloc(bytes, DAVIT_PINNED, &part->image) == DAVIT_SUCCESS;
  if (pinned && !done)
    dvt_error_clear(); /* copies of pageable memory are slower, and do */
  if (!done)
    DVT_TRY(dvt_malloc(bytes, DAVIT_PAGEABLE, &part->image));
  part->place = dvt_place_of(part->image);
  return DAVIT_SUCCESS;
}

static davit_status fill_part(dvt_align_part *part, const davit_align_sequences *targets,
                              const dvt_align_sized *own, bool pinned) {
  dvt_align_targets *t = &part->targets;
  const int64_t symbols = symbols_of(own + part->first, t->count);
  DVT_TRY(allocate_image(part, image_bytes(t->count, symbols), pinned));
  t->offsets = part->image;
  t->symbols = (uint8_t *)part->image + offsets_bytes(t->count);
  t->offsets[0] = 0;
  for (int64_t k = 0; k < t->count; k++) {
    const dvt_align_sized *from = &own[part->first + k];
    t->offsets[k + 1] = t->offsets[k] + from->length;
    if (from->length > 0)
      memcpy(t->symbols + t->offsets[k], targets->symbols + targets->offsets[from->which],
             (size_t)from->length);
  }
  return DAVIT_SUCCESS;
}

static davit_status fill_parts(dvt_align_share *s, const davit_align_sequences *targets,
                               const dvt_align_sized *own) {
  for (int64_t k = 0; k < s->parts; k++)
    DVT_TRY(fill_part(&s->part[k], targets, own, k > 0));
  return DAVIT_SUCCESS;
}

/* ---- the device's memory ---- */

static void free_device(dvt_align_share *s) {
  void **const memory[] = {&s->resident, &s->buffer[0], &s->buffer[1]};
  for (int i = 0; i < 3; i++) {
    davit_free(*memory[i]);
    *memory[i] = NULL;
  }
}

static davit_status allocate_device(dvt_align_share *s, int64_t count, const dvt_align_sized *own,
                                    const plan *p) {
  const int device = s->lane->device;
  const int64_t end = end_of_part(own, count, 0, p->resident);
  DVT_TRY(dvt_malloc(part_bytes(end, symbols_of(own, end)), device, &s->resident));
  for (int i = 0; i < 2 && end < count; i++)
    DVT_TRY(dvt_malloc(p->buffer, device, &s->buffer[i]));
  return DAVIT_SUCCESS;
}

/* Where a device has less memory than it said, half of that is used. */
static davit_status find_memory(dvt_align_share *s, int64_t count, const dvt_align_sized *own,
                                size_t cache_bytes, plan *p) {
  const size_t all = part_bytes(count, symbols_of(own, count));
  size_t bytes = cache_bytes;
  davit_status status = DAVIT_OUT_OF_DEVICE_MEMORY;
  if (bytes == 0)
    DVT_TRY(dvt_memory_usable(s->number, true, &bytes));
  for (bool again = true; again; bytes = (bytes < all ? bytes : all) / 2) {
    free_device(s);
    DVT_TRY(plan_parts(s->number, count, own, bytes, p));
    status = allocate_device(s, count, own, p);
    again = status == DAVIT_OUT_OF_DEVICE_MEMORY && !cache_bytes;
    if (again)
      dvt_error_clear();
  }
  return status;
}

static void place_parts(dvt_align_share *s) {
  for (int64_t k = 0; k < s->parts; k++) {
    dvt_align_part *part = &s->part[k];
    const dvt_align_targets *t = &part->targets;
    char *there = k ? s->buffer[k % 2] : s->resident;
    part->device = (dvt_align_device){
        .offsets = (int64_t *)(void *)there,
        .symbols = (uint8_t *)there + offsets_bytes(t->count),
        .scores = (int32_t *)(void *)(there + image_bytes(t->count, t->offsets[t->count]))};
  }
}

static dvt_copy copy_of(const dvt_align_share *s, const dvt_align_part *part) {
  const dvt_align_targets *t = &part->targets;
  return dvt_copy_bytes(image_bytes(t->count, t->offsets[t->count]), part->image, part->place,
                        part->device.offsets, dvt_place_for(s->lane->device));
}

static davit_status make_on_device(dvt_align_share *s, const davit_align_sequences *targets, int64_t count,
                                   const dvt_align_sized *own, size_t cache_bytes) {
  plan p;
  DVT_TRY(find_memory(s, count, own, cache_bytes, &p));
  DVT_TRY(cut(s, count, own, &p));
  DVT_TRY(fill_parts(s, targets, own));
  place_parts(s);
  const dvt_copy copy = copy_of(s, &s->part[0]);
  return dvt_copy_now(&copy);
}

static davit_status make_on_host(dvt_align_share *s, const davit_align_sequences *targets, int64_t count,
                                 const dvt_align_sized *own) {
  s->parts = 1;
  s->part = dvt_allocate(1, sizeof *s->part);
  if (!s->part)
    return DAVIT_OUT_OF_HOST_MEMORY;
  s->part[0].targets.count = count;
  DVT_TRY(fill_parts(s, targets, own));
  return make_batches(&s->part[0].targets);
}

davit_status dvt_align_share_make(dvt_align_share *s, const davit_align_sequences *targets, int64_t count,
                                  const dvt_align_sized *own, size_t cache_bytes) {
  DVT_TRY(dvt_lane_open(s->number, &s->lane));
  DVT_TRY(dvt_malloc(((size_t)count + 1) * sizeof *s->scores, s->lane->stream ? DAVIT_PINNED : DAVIT_PAGEABLE,
                     (void **)&s->scores));
  return dvt_path_of(s->lane, &dvt_align_operation) == DVT_ON_HOST
             ? make_on_host(s, targets, count, own)
             : make_on_device(s, targets, count, own, cache_bytes);
}

/* ---- queries ---- */

static davit_status run_query(const dvt_site *site, const void *work) {
  return dvt_operation_run(site, &dvt_align_operation, work);
}

static davit_status search(dvt_align_share *s, const dvt_align_part *part, const dvt_align_query *query) {
  const int units = dvt_device_find(s->number)->info.compute_units;
  const dvt_align_work work = {.query = query,
                               .targets = &part->targets,
                               .device = &part->device,
                               .scores = s->scores + part->first,
                               .threads = dvt_tuned(s->number, DVT_TUNE_ALIGN_TEAM_THREADS, 0),
                               .teams = dvt_tuned(s->number, DVT_TUNE_ALIGN_TEAMS, 0) * units};
  return part->targets.count > 0 ? dvt_lane_submit(s->lane, DVT_BLOCKING, run_query, &work, sizeof work)
                                 : DAVIT_SUCCESS;
}

/* Behind the search of the part that has the buffer, if there is one; the lane of searches waits for it. */
static davit_status bring(dvt_align_share *s, const dvt_align_part *part, dvt_record *searched) {
  const dvt_copy copy = copy_of(s, part);
  dvt_record *brought;
  if (searched)
    DVT_TRY(dvt_lane_wait(s->copies, searched));
  DVT_TRY(dvt_copy_submit(s->copies, &copy));
  DVT_TRY(dvt_lane_record(s->copies, false, &brought));
  const davit_status status = dvt_lane_wait(s->lane, brought);
  dvt_record_drop(brought);
  return status;
}

/* searched[b]: the search of the part in buffer b. */
static davit_status submit_part(dvt_align_share *s, int64_t k, const dvt_align_query *query,
                                dvt_record **searched) {
  dvt_record **last = &searched[k % 2];
  if (k > 0)
    DVT_TRY(bring(s, &s->part[k], *last));
  DVT_TRY(search(s, &s->part[k], query));
  if (k == 0 || k + 2 >= s->parts)
    return DAVIT_SUCCESS;
  dvt_record_drop(*last);
  *last = NULL;
  return dvt_lane_record(s->lane, false, last);
}

davit_status dvt_align_share_submit(dvt_align_share *s, const dvt_align_query *query) {
  dvt_record *searched[2] = {NULL, NULL};
  davit_status status = DAVIT_SUCCESS;
  if (!s->lane)
    DVT_TRY(dvt_lane_open(s->number, &s->lane));
  if (!s->copies && s->parts > 1)
    DVT_TRY(dvt_lane_open_for(s->number, DVT_STREAM_LOADS, &s->copies));
  for (int64_t k = 0; k < s->parts && status == DAVIT_SUCCESS; k++)
    status = submit_part(s, k, query, searched);
  dvt_record_drop(searched[0]);
  dvt_record_drop(searched[1]);
  return status;
}

/* ---- the end ---- */

void dvt_align_share_close(dvt_align_share *s, dvt_error *first) {
  dvt_lane **const lanes[] = {&s->lane, &s->copies};
  for (int i = 0; i < 2; i++) {
    if (*lanes[i])
      dvt_error_keep(first, dvt_lane_close(*lanes[i]));
    *lanes[i] = NULL;
  }
}

void dvt_align_share_free(dvt_align_share *s) {
  for (int64_t k = 0; s->part && k < s->parts; k++) {
    davit_free(s->part[k].image);
    free(s->part[k].targets.rows);
    free(s->part[k].targets.lanes);
  }
  free(s->part);
  davit_free(s->scores);
  free_device(s);
}
