/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/split.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/team.h"
#include "src/runtime/graph.h"
#include "src/runtime/memory.h"

enum { LANES = 3, MOST_LANES = 16 /* of a device */ };

/* Columns of contiguous bytes. */
typedef struct block {
  char *base;
  size_t pitch, row_bytes, cols;
} block;

/* Memory of a lane's device for an operand. */
typedef struct buffer {
  void *memory; /* made when first asked for */
  block held;   /* what it stands for; no base: nothing */
  bool written;
  block stored; /* what of that is stored once it is written, and where in the buffer it begins */
  size_t offset;
} buffer;

typedef struct split {
  const dvt_operation *operation;
  const void *arguments;
  const dvt_extents *extents;
  int devices, ranges, lanes; /* lane i is on device i % devices */
  int64_t chunks;             /* where each has a number */
  char *results;
  buffer (*buffer)[DVT_ARRAYS]; /* of each lane */
  dvt_graph graph;
} split;

/* ---- operands ---- */

dvt_range dvt_range_of(int64_t n, int index, int count) {
  const int64_t each = n / count, rest = n % count;
  const int64_t begin = index * each + (index < rest ? index : rest);
  return (dvt_range){begin, begin + each + (index < rest)};
}

static int64_t step_of(const dvt_array *operand, const void *arguments) {
  int64_t step = 1;
  if (operand->step)
    memcpy(&step, (const char *)arguments + operand->step, sizeof step);
  return step;
}

static size_t element_of(const split *s, const dvt_array *operand) {
  return operand->element ? operand->element : s->extents->element;
}

static bool is_matrix(const dvt_array *operand) {
  return operand->kind == DVT_MATRIX;
}

/* The axis of a vector. */
static int axis_of(const dvt_array *operand) {
  return operand->kind == DVT_ALONG_IN || operand->kind == DVT_TOTAL ? DVT_IN : DVT_OUT;
}

/* ---- blocks of memory ---- */

/* Columns of a range of elements of a vector as BLAS has it, all of it at once where the increment is 1. */
static block vector_block(char *x, int64_t n, int64_t inc, dvt_range range, size_t element) {
  const int64_t stride = inc < 0 ? -inc : inc, length = dvt_range_length(range);
  const int64_t first = inc < 0 ? (n - range.end) * stride /* a negative increment counts from the end */
                                : range.begin * stride;
  return (block){.base = x + (size_t)first * element,
                 .pitch = (size_t)stride * element,
                 .row_bytes = stride == 1 ? (size_t)length * element : element,
                 .cols = stride == 1 ? 1 : (size_t)length};
}

static dvt_range widened(dvt_range range, int64_t length, int border) {
  return (dvt_range){dvt_at_least(range.begin - border, 0), dvt_at_most(range.end + border, length)};
}

/* What of a range is written. */
static dvt_range narrowed(dvt_range range, int64_t length, int untouched) {
  return (dvt_range){dvt_at_least(range.begin, untouched), dvt_at_most(range.end, length - untouched)};
}

static block matrix_block(char *base, int64_t ld, dvt_range rows, dvt_range cols, size_t element) {
  return (block){.base = base + (rows.begin + cols.begin * ld) * (int64_t)element,
                 .pitch = (size_t)ld * element,
                 .row_bytes = (size_t)dvt_at_least(dvt_range_length(rows), 0) * element,
                 .cols = (size_t)dvt_at_least(dvt_range_length(cols), 0)};
}

static block block_of(const split *s, const dvt_array *operand, const dvt_chunk *chunk) {
  const dvt_extents *e = s->extents;
  char *base = dvt_array_pointer(operand, s->arguments);
  const int64_t step = step_of(operand, s->arguments);
  const int axis = axis_of(operand), rows = e->rows, cols = !rows;
  return is_matrix(operand)
             ? matrix_block(base, step, widened(chunk->range[rows], e->length[rows], operand->border),
                            widened(chunk->range[cols], e->length[cols], operand->border),
                            element_of(s, operand))
             : vector_block(base, e->length[axis], step, chunk->range[axis], element_of(s, operand));
}

/* Of the largest block. */
static size_t buffer_bytes(const split *s, const dvt_array *operand) {
  const dvt_extents *e = s->extents;
  int64_t elements = 1;
  for (int axis = 0; axis < DVT_AXES; axis++)
    if (is_matrix(operand) || axis == axis_of(operand))
      elements *= dvt_at_most(e->chunk[axis] + 2 * operand->border, e->length[axis]);
  return (size_t)elements * element_of(s, operand);
}

static davit_status make_buffer(const split *s, int lane, int i) {
  buffer *b = &s->buffer[lane][i];
  return b->memory
             ? DAVIT_SUCCESS
             : dvt_malloc(buffer_bytes(s, &s->operation->array[i]), s->graph.lane[lane]->device, &b->memory);
}

static davit_status copy(split *s, int lane, const dvt_copy *what) {
  return dvt_graph_copy(&s->graph, &(dvt_graph_task){.lane = lane}, what);
}

/* Stores what was written to the buffer. */
static davit_status flush(split *s, int lane, int i) {
  buffer *b = &s->buffer[lane][i];
  const block *to = &b->stored;
  const bool any = b->written && to->row_bytes > 0 && to->cols > 0;
  b->written = false;
  if (!any)
    return DAVIT_SUCCESS;
  const dvt_copy home = {to->base,
                         (char *)b->memory + b->offset,
                         to->pitch,
                         b->held.row_bytes,
                         to->row_bytes,
                         to->cols,
                         dvt_place_of(to->base),
                         s->graph.lane[lane]->device};
  return copy(s, lane, &home);
}

/* The buffer stands for a block from now on. */
static davit_status load(split *s, int lane, int i, const dvt_chunk *chunk, const block *from, int place) {
  const dvt_array *operand = &s->operation->array[i];
  const dvt_extents *e = s->extents;
  buffer *b = &s->buffer[lane][i];
  const int rows = e->rows, cols = !rows, device = s->graph.lane[lane]->device;
  DVT_TRY(make_buffer(s, lane, i));
  b->held = b->stored = *from;
  b->written = operand->writes;
  b->offset = 0;
  if (is_matrix(operand) && operand->writes && e->untouched) {
    const dvt_range r = narrowed(chunk->range[rows], e->length[rows], e->untouched),
                    c = narrowed(chunk->range[cols], e->length[cols], e->untouched);
    const size_t element = element_of(s, operand);
    b->stored =
        matrix_block(dvt_array_pointer(operand, s->arguments), step_of(operand, s->arguments), r, c, element);
    b->offset = (size_t)(r.begin - chunk->range[rows].begin) * element +
                (size_t)(c.begin - chunk->range[cols].begin) * from->row_bytes;
  }
  if (!operand->reads || (e->unread >> i & 1))
    return DAVIT_SUCCESS;
  const dvt_copy in = {b->memory,       from->base, from->row_bytes, from->pitch,
                       from->row_bytes, from->cols, device,          place};
  return copy(s, lane, &in);
}

static bool holds(const buffer *b, const block *what) {
  return b->held.base == what->base && b->held.row_bytes == what->row_bytes && b->held.cols == what->cols;
}

/* Stores what was written to buffers that the chunk wants for other blocks, before anything is loaded: a lane's copies
 * run in order, and to load takes as long as to store. */
static davit_status make_room(split *s, int lane, const dvt_chunk *chunk) {
  for (int i = 0; i < DVT_ARRAYS && s->operation->array[i].name; i++)
    if (s->buffer[lane][i].written) {
      const block next = block_of(s, &s->operation->array[i], chunk);
      DVT_TRY(holds(&s->buffer[lane][i], &next) ? DAVIT_SUCCESS : flush(s, lane, i));
    }
  return DAVIT_SUCCESS;
}

/* Where the lane's device has the block, and how far its columns are apart. */
static davit_status place_block(split *s, int lane, int i, const dvt_chunk *chunk, const block *from,
                                char **at, size_t *pitch) {
  *at = from->base;
  *pitch = from->pitch;
  const int place = dvt_place_of(from->base);
  if (dvt_place_reached(s->graph.lane[lane]->device, place))
    return DAVIT_SUCCESS;
  if (!holds(&s->buffer[lane][i], from))
    DVT_TRY(load(s, lane, i, chunk, from, place));
  *at = s->buffer[lane][i].memory;
  *pitch = from->row_bytes;
  return DAVIT_SUCCESS;
}

/* ---- chunks ---- */

/* The pointer and the step of an operand in the arguments of a chunk. */
static davit_status place_operand(split *s, int lane, int i, const dvt_chunk *chunk, void *part) {
  const dvt_array *operand = &s->operation->array[i];
  const dvt_extents *e = s->extents;
  const size_t element = element_of(s, operand);
  if (e->skipped >> i & 1)
    return DAVIT_SUCCESS;
  if (operand->kind == DVT_RESULT) {
    dvt_array_point(operand, part, s->results + (size_t)(chunk->number * e->results) * e->result_bytes);
    return DAVIT_SUCCESS;
  }
  if (operand->kind == DVT_TOTAL) {
    DVT_TRY(make_buffer(s, lane, i));
    dvt_array_point(operand, part, s->buffer[lane][i].memory);
    return DAVIT_SUCCESS;
  }
  const int64_t step = step_of(operand, s->arguments);
  const block from = block_of(s, operand, chunk);
  char *at;
  size_t pitch;
  DVT_TRY(place_block(s, lane, i, chunk, &from, &at, &pitch));
  if (is_matrix(operand)) {
    const int64_t rows = dvt_at_most(chunk->range[e->rows].begin, operand->border),
                  cols = dvt_at_most(chunk->range[!e->rows].begin, operand->border);
    at += (size_t)rows * element + (size_t)cols * pitch;
  }
  const bool is_dense = !is_matrix(operand) && (step == 1 || step == -1);
  const int64_t distance = is_dense ? 1 : (int64_t)(pitch / element), apart = step < 0 ? -distance : distance;
  dvt_array_point(operand, part, at);
  if (operand->step)
    memcpy((char *)part + operand->step, &apart, sizeof apart);
  return DAVIT_SUCCESS;
}

static davit_status run_chunk(split *s, int lane, const dvt_chunk *chunk) {
  alignas(16) unsigned char part[DVT_ARGUMENT_BYTES];
  const bool follows = s->operation->order == DVT_CHUNKS_FOLLOW;
  const int32_t before = (int32_t)chunk->number - 1;
  memcpy(part, s->arguments, s->operation->bytes);
  DVT_TRY(make_room(s, lane, chunk));
  for (int i = 0; i < DVT_ARRAYS && s->operation->array[i].name; i++)
    DVT_TRY(place_operand(s, lane, i, chunk, part));
  for (int axis = 0; axis < DVT_AXES; axis++) {
    const int64_t length = dvt_range_length(chunk->range[axis == 0 ? s->extents->rows : !s->extents->rows]);
    if (s->operation->size[axis])
      memcpy(part + s->operation->size[axis], &length, sizeof length);
  }
  if (s->operation->part)
    s->operation->part(s->arguments, chunk, part);
  const dvt_graph_task task = {follows ? chunk->number : 0, lane, &before, follows && before >= 0, follows};
  return dvt_graph_operation(&s->graph, &task, s->operation, part, 0);
}

/* Whether chunks begin at whole multiples of their length, so that each has a place for its results. */
static bool are_numbered(const split *s) {
  return s->operation->order == DVT_CHUNKS_FOLLOW || dvt_operation_result(s->operation);
}

static int lane_of(const split *s, int range, int turn) {
  switch (s->operation->order) {
  case DVT_CHUNKS_TURN:
    return turn % (s->lanes / s->devices) * s->devices + range;
  case DVT_CHUNKS_STAY:
    return range;
  default:
    return turn % s->lanes;
  }
}

static davit_status run_range(split *s, int range) {
  const dvt_extents *e = s->extents;
  const int64_t long_out = e->chunk[DVT_OUT], long_in = e->chunk[DVT_IN], all_out = e->length[DVT_OUT],
                all_in = e->length[DVT_IN], unit = are_numbered(s) ? long_out : 1;
  const dvt_range units = dvt_range_of(dvt_divide_up(all_out, unit), range, s->ranges);
  const int64_t begin = units.begin * unit, end = dvt_at_most(units.end * unit, all_out);
  int turn = 0;
  for (int64_t out = begin; out < end; out += long_out)
    for (int64_t in = 0; in < all_in; in += long_in, turn++) {
      const dvt_chunk chunk = {
          .range = {{out, dvt_at_most(out + long_out, end)}, {in, dvt_at_most(in + long_in, all_in)}},
          .number = out / long_out,
          .first = turn == 0,
          .results = s->results};
      DVT_TRY(run_chunk(s, lane_of(s, range, turn), &chunk));
    }
  return DAVIT_SUCCESS;
}

/* ---- all of it ---- */

static davit_status store_total(split *s, int lane, const void *total) {
  const size_t bytes = s->extents->result_bytes;
  const dvt_copy out = dvt_copy_bytes(bytes, total, s->graph.lane[lane]->device,
                                      s->results + (size_t)lane * bytes, DAVIT_PINNED);
  return copy(s, lane, &out);
}

/* What is still in buffers: written blocks, and the lanes' totals. */
static davit_status store_all(split *s) {
  for (int lane = 0; lane < s->lanes; lane++)
    for (int i = 0; i < DVT_ARRAYS && s->operation->array[i].name; i++) {
      const void *total = s->operation->array[i].kind == DVT_TOTAL ? s->buffer[lane][i].memory : NULL;
      DVT_TRY(total ? store_total(s, lane, total) : flush(s, lane, i));
    }
  return DAVIT_SUCCESS;
}

static davit_status open(split *s, const int *devices) {
  const dvt_extents *e = s->extents;
  s->chunks = are_numbered(s) ? dvt_divide_up(e->length[DVT_OUT], e->chunk[DVT_OUT]) : 0;
  DVT_TRY(dvt_graph_open(&s->graph, s->lanes, s->chunks));
  s->buffer = dvt_allocate((size_t)s->lanes, sizeof *s->buffer);
  if (!s->buffer)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int i = 0; i < s->lanes; i++)
    DVT_TRY(dvt_graph_add_lane(&s->graph, i, devices[i % s->devices], DVT_STREAM_MIXED));
  const int64_t results = s->chunks > 0 ? (s->chunks + 1) * e->results : s->operation->merge ? s->lanes : 0;
  return results > 0 ? dvt_malloc((size_t)results * e->result_bytes, DAVIT_PINNED, (void **)&s->results)
                     : DAVIT_SUCCESS;
}

static davit_status run_all(split *s) {
  for (int i = 0; i < s->ranges; i++)
    DVT_TRY(run_range(s, i));
  return store_all(s);
}

static davit_status merge(const split *s) {
  const int64_t lanes = dvt_at_most(s->lanes, s->extents->length[DVT_OUT]);
  return s->operation->merge
             ? s->operation->merge(s->arguments, s->results, s->chunks > 0 ? s->chunks : lanes)
             : DAVIT_SUCCESS;
}

static davit_status run_split(split *s, const int *devices) {
  davit_status status = open(s, devices);
  status = dvt_graph_wait(&s->graph, status == DAVIT_SUCCESS ? run_all(s) : status);
  if (status == DAVIT_SUCCESS)
    status = merge(s);
  dvt_graph_close(&s->graph);
  for (int i = 0; s->buffer && i < s->lanes; i++)
    for (int j = 0; j < DVT_ARRAYS; j++)
      davit_free(s->buffer[i][j].memory);
  free(s->buffer);
  davit_free(s->results);
  return status;
}

/* ---- as a whole ---- */

static atomic_bool always;

void dvt_split_always(bool is_so) {
  atomic_store(&always, is_so);
}

bool dvt_home_of(const void *const arrays[], int count, const int *devices, int device_count, bool named,
                 int *device, int *threads) {
  if (atomic_load(&always))
    return false;
  const int place = dvt_place_of(arrays[0]);
  bool on_host = dvt_place_is_host(place), shared = true, together = true, among = !named;
  int sum = 0;
  for (int i = 1; i < count; i++) {
    const int other = dvt_place_of(arrays[i]);
    on_host = on_host && dvt_place_is_host(other);
    together = together && other == place;
  }
  for (int i = 0; i < device_count; i++) {
    shared = shared && dvt_device_find(devices[i])->shares_host_memory;
    among = among || devices[i] == place;
    sum += dvt_device_threads(devices[i]);
  }
  *device = on_host ? devices[0] : place;
  *threads = !on_host || device_count == 1 ? 0 : named ? sum : dvt_threads();
  return on_host ? shared : together && among && place >= 0;
}

static davit_status run_whole(int device, const dvt_operation *operation, const void *arguments,
                              const dvt_extents *e, int threads) {
  alignas(16) unsigned char near[DVT_ARGUMENT_BYTES];
  if (dvt_operation_bytes(operation, e) <= operation->short_bytes)
    threads = DVT_ALONE;
  if (dvt_operation_runs_here(device, operation, threads))
    return dvt_operation_run_here(device, operation, arguments, threads);
  /* A result in memory that the device's stream does not reach: a thread would wait for the stream to copy it there. */
  const dvt_array *result = dvt_operation_result(operation);
  void *const wanted = result ? dvt_array_pointer(result, arguments) : NULL, *pinned = NULL;
  if (wanted && dvt_lane_has_stream(device) && dvt_place_is_host(dvt_place_of(wanted)) &&
      !dvt_place_is_streamable(dvt_place_of(wanted))) {
    DVT_TRY(dvt_malloc(e->result_bytes, DAVIT_PINNED, &pinned));
    memcpy(near, arguments, operation->bytes);
    dvt_array_point(result, near, pinned);
    arguments = near;
  }
  dvt_lane *lane;
  davit_status status = dvt_lane_open(device, &lane);
  if (status == DAVIT_SUCCESS)
    status = dvt_lane_end(lane, dvt_operation_submit(lane, operation, arguments, threads));
  if (status == DAVIT_SUCCESS && pinned)
    memcpy(wanted, pinned, e->result_bytes);
  davit_free(pinned);
  return status;
}

davit_status dvt_operation_now(int device, const dvt_operation *operation, const void *arguments,
                               int threads) {
  dvt_extents e;
  dvt_operation_measure(operation, arguments, device, 1, &e);
  return run_whole(device, operation, arguments, &e, threads);
}

/* Where the operation runs as a whole. */
static bool find_home(const dvt_operation *o, const void *arguments, const dvt_extents *e, const int *devices,
                      int count, bool named, int *device, int *threads) {
  const void *array[DVT_ARRAYS];
  int arrays = 0;
  bool result_on_host = true;
  for (int i = 0; i < DVT_ARRAYS && o->array[i].name; i++) {
    const void *pointer = dvt_array_pointer(&o->array[i], arguments);
    if (o->array[i].kind == DVT_RESULT)
      result_on_host = dvt_place_is_host(dvt_place_of(pointer));
    else if (!(e->skipped >> i & 1))
      array[arrays++] = pointer;
  }
  if (arrays == 0 || !dvt_home_of(array, arrays, devices, count, named, device, threads))
    return false;
  const bool on_host = dvt_place_is_host(*device);
  if (o->frozen && (!on_host || e->length[DVT_OUT] > e->chunk[DVT_OUT]))
    return false;
  if (!on_host)
    return true;
  /* Named host devices share the work. A serial form is split over lanes instead. */
  const bool shares = count > 1 && named && o->order != DVT_CHUNKS_FOLLOW;
  return result_on_host && !shares && (!o->serial || dvt_operation_bytes(o, e) <= o->short_bytes);
}

static int ranges_of(dvt_order order, int devices) {
  return order == DVT_CHUNKS_TURN ? devices : order == DVT_CHUNKS_STAY ? devices * LANES : 1;
}

/* Lanes of each device. Where ranges belong to lanes the bits depend on how many there are. Elsewhere there are no more
 * than chunks, and on the host as many as threads, if the form is one. */
static int lanes_of(const dvt_operation *operation, const dvt_extents *e, const int *devices, int count) {
  bool on_host = operation->serial;
  if (operation->order == DVT_CHUNKS_STAY)
    return LANES;
  for (int i = 0; i < count; i++)
    on_host = on_host && dvt_device_find(devices[i])->shares_host_memory &&
              dvt_path_on(devices[i], operation) == DVT_ON_HOST;
  const int most =
      on_host ? (int)dvt_at_most(dvt_at_least(dvt_device_threads(devices[0]), LANES), MOST_LANES) : LANES;
  int64_t chunks = 1;
  for (int axis = 0; axis < DVT_AXES; axis++)
    chunks *= dvt_divide_up(axis == DVT_OUT ? dvt_divide_up(e->length[axis], count) : e->length[axis],
                            e->chunk[axis]);
  return (int)dvt_at_most(chunks, most);
}

davit_status dvt_operation_call(const dvt_operation *operation, void *arguments, dvt_where where) {
  int devices[DVT_MAX_DEVICES], count, device, threads;
  dvt_extents extents;
  DVT_TRY(operation->check(arguments));
  DVT_TRY(dvt_choose_devices(where, devices, &count));
  if (where.mapped)
    DVT_TRY(dvt_operation_use_mapped(operation, arguments, devices[0]));
  const int ranges = ranges_of(operation->order, count);
  dvt_operation_measure(operation, arguments, devices[0], ranges, &extents);
  if (dvt_extents_are_empty(&extents))
    return operation->merge ? operation->merge(arguments, NULL, 0) : DAVIT_SUCCESS;
  if (find_home(operation, arguments, &extents, devices, count, where.devices || where.mapped, &device,
                &threads))
    return run_whole(device, operation, arguments, &extents, threads);
  split s = {.operation = operation,
             .arguments = arguments,
             .extents = &extents,
             .devices = count,
             .ranges = ranges,
             .lanes = count * lanes_of(operation, &extents, devices, count)};
  return run_split(&s, devices);
}
