/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours of points: checks, and where the queries are answered, which is on the lane of a queue, on one device, or
 * spread over several. Each of several devices gets all points, makes the tree of them, and answers a range of the
 * queries: the tree takes less time than the queries do. */
#include <davit/neighbors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "offload/neighbors.h"
#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/team.h"
#include "src/neighbors.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/split.h"

enum {
  TEAMS = 16, /* on a multiprocessor */
  UNITS = 132 /* multiprocessors of a device that does not tell */
};

/* ---- checks ---- */

static davit_status check_count(const char *name, int64_t given) {
  DVT_TRY(dvt_check_length(name, given));
  return given < UINT32_MAX
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_UNSUPPORTED, "%s is %lld, not below 2^32 - 1", name, (long long)given);
}

static davit_status check_points(const dvt_neighbors *a) {
  DVT_TRY(dvt_check_floating(a->type));
  DVT_TRY(dvt_check_dim(a->dim));
  DVT_TRY(check_count("n", a->n));
  if (a->n < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is 0, less than 1");
  DVT_TRY(dvt_check_pointer("points", a->points));
  DVT_TRY(check_count("m", a->m));
  if (!a->queries && a->m != a->n && a->m != 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "m is %lld, not n, which is %lld, though queries is NULL",
                      (long long)a->m, (long long)a->n);
  return DAVIT_SUCCESS;
}

static davit_status check_nearest(const dvt_neighbors *a) {
  const int64_t most = a->queries || a->m == 0 ? a->n : a->n - 1;
  if (a->k < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "k is %lld, less than 1", (long long)a->k);
  if (a->k > most)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "k is %lld, more than the %lld points that %s", (long long)a->k,
                      (long long)most, a->queries ? "there are" : "a point has beside it");
  DVT_TRY(dvt_check_extent("m", a->m, a->k));
  return a->m > 0 ? dvt_check_pointer("indices", a->indices) : DAVIT_SUCCESS;
}

static davit_status check(const dvt_neighbors *a) {
  DVT_TRY(check_points(a));
  if (a->task == DVT_NEIGHBORS_NEAREST)
    return check_nearest(a);
  if (!(a->radius >= 0))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "radius is %g, not 0 or above", a->radius);
  return dvt_check_pointer("offsets", a->offsets);
}

/* ---- on one device ---- */

static int teams_of(int device) {
  const int units = dvt_device_find(device)->info.compute_units;
  return TEAMS * (units > 0 ? units : UNITS);
}

/* Rows, as far as the offsets on the device say: there is memory of that many bytes for distances that nobody wants. */
static davit_status count_rows(const dvt_neighbors *a, int64_t *rows) {
  int64_t ends[2];
  *rows = a->k * a->m;
  if (a->task != DVT_NEIGHBORS_WITHIN)
    return DAVIT_SUCCESS;
  for (int end = 0; end < 2; end++) {
    const dvt_copy copy = dvt_copy_bytes(sizeof *ends, a->offsets + end * a->m, dvt_place_of(a->offsets),
                                         &ends[end], DAVIT_PAGEABLE);
    DVT_TRY(dvt_copy_now(&copy));
  }
  *rows = ends[1] - ends[0];
  if (ends[0] < 0 || *rows < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "offsets: the last is %lld, the first %lld", (long long)ends[1],
                      (long long)ends[0]);
  return *rows == 0 || a->indices ? DAVIT_SUCCESS : davit_fail(DAVIT_INVALID_ARGUMENT, "indices is NULL");
}

static davit_status perform(dvt_neighbors_site *here, const dvt_neighbors *a) {
  if (here->gpu)
    return dvt_neighbors_perform(here, a);
  const dvt_team team = dvt_team_begin(here->threads);
  here->threads = team.threads;
  davit_status status = dvt_neighbors_perform(here, a);
  dvt_team_end(&team);
  return status;
}

/* A command of a lane. */
static davit_status run_here(const dvt_site *site, const void *arguments) {
  dvt_neighbors a = *(const dvt_neighbors *)arguments;
  const dvt_lane *lane = site->owner;
  const bool gpu = dvt_place_any_gpu(&lane->device, 1);
  dvt_neighbors_site here = {.device = lane->device,
                             .gpu = gpu,
                             .threads = a.threads ? a.threads : dvt_device_threads(lane->device),
                             .teams = gpu ? teams_of(lane->device) : 0,
                             .stream = gpu && dvt_path_of(lane, NULL) == DVT_ON_STREAM ? lane->stream : NULL};
  int64_t rows;
  DVT_TRY(count_rows(&a, &rows));
  const size_t bytes = dvt_neighbors_bytes(&here, &a),
               spare = a.task != DVT_NEIGHBORS_COUNT && !a.distances ? (size_t)rows * sizeof(double) : 0;
  DVT_TRY(site->workspace(site, bytes + spare, &here.memory));
  if (spare > 0)
    a.distances = (double *)(void *)((char *)here.memory + bytes);
  if (here.stream)
    DVT_TRY(dvt_malloc(DVT_NEIGHBORS_STAGED, DAVIT_PINNED, &here.staged));
  davit_status status = perform(&here, &a);
  davit_free(here.staged);
  return status;
}

static davit_status run_alone(const dvt_neighbors *a, int device) {
  dvt_lane *lane;
  DVT_TRY(dvt_lane_open(device, &lane));
  return dvt_lane_end(lane, dvt_lane_submit(lane, DVT_BLOCKING, run_here, a, sizeof *a));
}

/* ---- on several devices ---- */

enum { BUFFERS = 5 };

/* A device's range of the queries, and what it has of operands that it does not reach. */
typedef struct piece {
  dvt_lane *lane;
  dvt_neighbors part;
  void *buffer[BUFFERS];
  int buffers;
} piece;

/* The lane's device gets what it does not reach: *pointer becomes its own, of `bytes` bytes. */
static davit_status bring(piece *p, const void **pointer, size_t bytes, bool reads) {
  const int place = dvt_place_of(*pointer);
  void *own;
  if (dvt_place_reached(p->lane->device, place))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_malloc(bytes, p->lane->device, &own));
  p->buffer[p->buffers++] = own;
  const dvt_copy copy = dvt_copy_bytes(bytes, *pointer, place, own, p->lane->device);
  *pointer = own;
  return reads && bytes > 0 ? dvt_copy_submit(p->lane, &copy) : DAVIT_SUCCESS;
}

static davit_status take(const piece *p, const void *from, void *to, size_t bytes) {
  const dvt_copy copy = dvt_copy_bytes(bytes, from, p->lane->device, to, dvt_place_of(to));
  return from == to || bytes == 0 ? DAVIT_SUCCESS : dvt_copy_submit(p->lane, &copy);
}

/* Rows of the piece; where they begin in the arrays of all. */
static davit_status find_rows(const dvt_neighbors *a, dvt_neighbors *part, int64_t begin, int64_t *first,
                              int64_t *rows) {
  *first = a->k * begin;
  DVT_TRY(count_rows(part, rows));
  if (a->task != DVT_NEIGHBORS_WITHIN)
    return DAVIT_SUCCESS;
  dvt_neighbors before = *a;
  before.m = begin;
  return count_rows(&before, first);
}

/* `counts`: of a piece of its own, with an end more than it has queries. */
static davit_status run_piece(piece *p, const dvt_neighbors *a, dvt_range range, int64_t *counts) {
  dvt_neighbors *part = &p->part;
  const size_t point = (size_t)a->dim * davit_type_bytes(a->type), word = sizeof(int64_t);
  const bool counting = a->task == DVT_NEIGHBORS_COUNT;
  int64_t first = 0, rows = 0;
  *part = *a;
  part->m = range.end - range.begin;
  part->first = range.begin;
  part->queries = a->queries ? (const char *)a->queries + (size_t)range.begin * point : NULL;
  part->offsets = counting ? counts : a->offsets ? a->offsets + range.begin : NULL;
  if (!counting)
    DVT_TRY(find_rows(a, part, range.begin, &first, &rows));
  int64_t *const offsets = part->offsets, *const indices = a->indices ? a->indices + first : NULL;
  double *const distances = a->distances ? a->distances + first : NULL;
  part->indices = indices;
  part->distances = distances;
  DVT_TRY(bring(p, &part->points, (size_t)a->n * point, true));
  if (part->queries)
    DVT_TRY(bring(p, &part->queries, (size_t)part->m * point, true));
  if (offsets)
    DVT_TRY(bring(p, (const void **)(void *)&part->offsets, (size_t)(part->m + 1) * word, !counting));
  if (rows > 0)
    DVT_TRY(bring(p, (const void **)(void *)&part->indices, (size_t)rows * word, false));
  if (rows > 0 && distances)
    DVT_TRY(bring(p, (const void **)(void *)&part->distances, (size_t)rows * sizeof *distances, false));
  DVT_TRY(dvt_lane_submit(p->lane, DVT_BLOCKING, run_here, part, sizeof *part));
  if (counting)
    return take(p, part->offsets + 1, offsets + 1, (size_t)part->m * word);
  DVT_TRY(take(p, part->indices, indices, (size_t)rows * word));
  return distances ? take(p, part->distances, distances, (size_t)rows * sizeof *distances) : DAVIT_SUCCESS;
}

/* The pieces' offsets, each from 0 on, become those of all. */
static davit_status join_counts(const dvt_neighbors *a, int count, int64_t *counts) {
  int64_t sum = 0;
  for (int d = 0; d < count; d++) {
    const dvt_range range = dvt_range_of(a->m, d, count);
    for (int64_t q = range.begin; q < range.end; q++)
      counts[q + 1] = counts[q + d + 1] + sum;
    sum = counts[range.end];
  }
  counts[0] = 0;
  const dvt_copy copy = dvt_copy_bytes((size_t)(a->m + 1) * sizeof *counts, counts, DAVIT_PAGEABLE,
                                       a->offsets, dvt_place_of(a->offsets));
  return dvt_copy_now(&copy);
}

static davit_status spread_over(const dvt_neighbors *a, const int *devices, int count) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  piece pieces[DVT_MAX_DEVICES] = {0};
  int64_t *counts = NULL;
  if (a->task == DVT_NEIGHBORS_COUNT && !(counts = dvt_allocate((size_t)(a->m + count + 1), sizeof *counts)))
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int d = 0; d < count && first.status == DAVIT_SUCCESS; d++) {
    const dvt_range range = dvt_range_of(a->m, d, count);
    dvt_error_keep(&first, dvt_lane_open(devices[d], &pieces[d].lane));
    if (first.status == DAVIT_SUCCESS && range.begin < range.end)
      dvt_error_keep(&first, run_piece(&pieces[d], a, range, counts ? counts + range.begin + d : NULL));
  }
  for (int d = 0; d < count; d++)
    if (pieces[d].lane)
      dvt_error_keep(&first, dvt_lane_close(pieces[d].lane));
  for (int d = 0; d < count; d++)
    for (int b = 0; b < pieces[d].buffers; b++)
      davit_free(pieces[d].buffer[b]);
  if (counts && first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, join_counts(a, count, counts));
  free(counts);
  return dvt_error_report(&first);
}

/* ---- on one of several devices ---- */

/* Results on the host: a GPU's kernels write them faster to its own memory. */
static davit_status bring_result(piece *p, void **pointer, size_t bytes) {
  void *own;
  const int place = dvt_place_of(*pointer);
  if (dvt_place_reached(p->lane->device, place) &&
      !(dvt_place_is_host(place) && dvt_place_any_gpu(&p->lane->device, 1)))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_malloc(bytes, p->lane->device, &own));
  p->buffer[p->buffers++] = own;
  *pointer = own;
  return DAVIT_SUCCESS;
}

static davit_status submit_whole(piece *p, const dvt_neighbors *a) {
  const bool spans = a->task == DVT_NEIGHBORS_SPAN;
  const size_t bytes = spans ? (size_t)(a->n - 1) * sizeof *a->edges : (size_t)a->n * sizeof *a->labels;
  void *const result = spans ? (void *)a->edges : a->labels, *own = result;
  p->part = *a;
  DVT_TRY(bring(p, &p->part.points, (size_t)(a->n * a->dim) * davit_type_bytes(a->type), true));
  if (bytes > 0)
    DVT_TRY(bring_result(p, &own, bytes));
  p->part.edges = spans ? own : NULL;
  p->part.labels = spans ? NULL : own;
  DVT_TRY(dvt_lane_submit(p->lane, DVT_BLOCKING, run_here, &p->part, sizeof p->part));
  return take(p, own, result, bytes);
}

davit_status dvt_neighbors_whole(dvt_neighbors *a, dvt_where where) {
  int devices[DVT_MAX_DEVICES], count, device;
  int64_t found = 0, *const clusters = a->clusters;
  dvt_error first = {.status = DAVIT_SUCCESS};
  piece p = {0};
  a->clusters = &found;
  DVT_TRY(dvt_choose_devices(where, devices, &count));
  if (!dvt_home_of(&a->points, 1, devices, count, where.devices, &device, &a->threads)) {
    a->threads = 0;
    device = devices[0];
  }
  DVT_TRY(dvt_lane_open(device, &p.lane));
  dvt_error_keep(&first, submit_whole(&p, a));
  dvt_error_keep(&first, dvt_lane_close(p.lane));
  for (int b = 0; b < p.buffers; b++)
    davit_free(p.buffer[b]);
  if (clusters && first.status == DAVIT_SUCCESS)
    *clusters = found;
  return dvt_error_report(&first);
}

/* ---- calls ---- */

static davit_status use_mapped(dvt_neighbors *a, int device) {
  const struct {
    const char *name;
    void *pointer;
  } operands[] = {{"points", &a->points},
                  {"queries", &a->queries},
                  {"offsets", &a->offsets},
                  {"indices", &a->indices},
                  {"distances", &a->distances}};
  for (int i = 0; i < BUFFERS; i++) {
    void *pointer;
    memcpy(&pointer, operands[i].pointer, sizeof pointer);
    if (pointer)
      DVT_TRY(dvt_use_mapped(device, operands[i].name, &pointer));
    memcpy(operands[i].pointer, &pointer, sizeof pointer);
  }
  return DAVIT_SUCCESS;
}

/* Operands that are accessed; those of an empty call are not looked at. */
static int operands_of(const dvt_neighbors *a, const void *operand[BUFFERS]) {
  const void *const all[BUFFERS] = {a->points, a->queries, a->offsets, a->indices, a->distances};
  int count = 0;
  for (int i = 0; i < BUFFERS; i++)
    if (all[i])
      operand[count++] = all[i];
  return count;
}

static davit_status call(dvt_neighbors *a, const davit_neighbors_options *options) {
  const dvt_where where = DVT_WHERE(options);
  int devices[DVT_MAX_DEVICES], count, device;
  const void *operand[BUFFERS];
  DVT_TRY(check(a));
  DVT_TRY(dvt_choose_devices(where, devices, &count));
  if (where.mapped)
    DVT_TRY(use_mapped(a, devices[0]));
  if (a->m == 0 && a->task != DVT_NEIGHBORS_COUNT)
    return DAVIT_SUCCESS;
  const bool alone = dvt_home_of(operand, operands_of(a, operand), devices, count,
                                 where.devices || where.mapped, &device, &a->threads);
  if (alone)
    return run_alone(a, device);
  a->threads = 0;
  return spread_over(a, devices, count);
}

static davit_status enqueue(davit_queue *queue, dvt_neighbors *a, const davit_neighbors_options *options) {
  const dvt_where where = DVT_WHERE(options);
  dvt_lane *lane;
  DVT_TRY(dvt_choose_lane(queue, where, &lane));
  DVT_TRY(check(a));
  if (where.mapped)
    DVT_TRY(use_mapped(a, lane->device));
  return a->m == 0 && a->task != DVT_NEIGHBORS_COUNT
             ? DAVIT_SUCCESS
             : dvt_lane_submit(lane, DVT_BLOCKING, run_here, a, sizeof *a);
}

static dvt_neighbors nearest(davit_type type, int dim, int64_t n, const void *points, int64_t m,
                             const void *queries, int64_t k, int64_t *indices, double *distances) {
  return (dvt_neighbors){.task = DVT_NEIGHBORS_NEAREST,
                         .type = type,
                         .dim = dim,
                         .n = n,
                         .points = points,
                         .m = m,
                         .queries = queries,
                         .k = k,
                         .indices = indices,
                         .distances = distances};
}

static dvt_neighbors within(davit_type type, int dim, int64_t n, const void *points, int64_t m,
                            const void *queries, double radius, int64_t *offsets) {
  return (dvt_neighbors){.task = DVT_NEIGHBORS_COUNT,
                         .type = type,
                         .dim = dim,
                         .n = n,
                         .points = points,
                         .m = m,
                         .queries = queries,
                         .radius = radius,
                         .offsets = offsets};
}

static dvt_neighbors rows_of(dvt_neighbors counted, int64_t *indices, double *distances) {
  counted.task = DVT_NEIGHBORS_WITHIN;
  counted.indices = indices;
  counted.distances = distances;
  return counted;
}

davit_status davit_neighbors(davit_type type, int dim, int64_t n, const void *points, int64_t m,
                             const void *queries, int64_t k, int64_t *indices, double *distances,
                             const davit_neighbors_options *options) {
  dvt_neighbors a = nearest(type, dim, n, points, m, queries, k, indices, distances);
  return call(&a, options);
}

davit_status davit_queue_neighbors(davit_queue *queue, davit_type type, int dim, int64_t n,
                                   const void *points, int64_t m, const void *queries, int64_t k,
                                   int64_t *indices, double *distances,
                                   const davit_neighbors_options *options) {
  dvt_neighbors a = nearest(type, dim, n, points, m, queries, k, indices, distances);
  return enqueue(queue, &a, options);
}

davit_status davit_radius_count(davit_type type, int dim, int64_t n, const void *points, int64_t m,
                                const void *queries, double radius, int64_t *offsets,
                                const davit_neighbors_options *options) {
  dvt_neighbors a = within(type, dim, n, points, m, queries, radius, offsets);
  return call(&a, options);
}

davit_status davit_queue_radius_count(davit_queue *queue, davit_type type, int dim, int64_t n,
                                      const void *points, int64_t m, const void *queries, double radius,
                                      int64_t *offsets, const davit_neighbors_options *options) {
  dvt_neighbors a = within(type, dim, n, points, m, queries, radius, offsets);
  return enqueue(queue, &a, options);
}

davit_status davit_radius(davit_type type, int dim, int64_t n, const void *points, int64_t m,
                          const void *queries, double radius, const int64_t *offsets, int64_t *indices,
                          double *distances, const davit_neighbors_options *options) {
  dvt_neighbors a = rows_of(within(type, dim, n, points, m, queries, radius, (int64_t *)(uintptr_t)offsets),
                            indices, distances);
  return call(&a, options);
}

davit_status davit_queue_radius(davit_queue *queue, davit_type type, int dim, int64_t n, const void *points,
                                int64_t m, const void *queries, double radius, const int64_t *offsets,
                                int64_t *indices, double *distances, const davit_neighbors_options *options) {
  dvt_neighbors a = rows_of(within(type, dim, n, points, m, queries, radius, (int64_t *)(uintptr_t)offsets),
                            indices, distances);
  return enqueue(queue, &a, options);
}
