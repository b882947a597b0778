/* SPDX-License-Identifier: Apache-2.0 */
/* Where tiles lie on devices, and which steps wait for which. A tile buffer knows the step that wrote it last and
 * the newest read of each stream since then: who reads waits for the writer, who overwrites waits for all. */
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/error.h"
#include "src/level3/planning.h"

/* ---- tiles ---- */

int64_t dvt_tile_count(const dvt_plan *plan, int matrix) {
  return (int64_t)plan->cut[plan->layout.rows[matrix]].tiles * plan->cut[plan->layout.cols[matrix]].tiles;
}

int64_t dvt_tile_index(const dvt_plan *plan, const dvt_operand *tile) {
  return tile->row + (int64_t)tile->col * plan->cut[plan->layout.rows[tile->matrix]].tiles;
}

int64_t dvt_tile_rows(const dvt_plan *plan, const dvt_operand *tile) {
  return dvt_cut_length(&plan->cut[plan->layout.rows[tile->matrix]], tile->row);
}

int64_t dvt_tile_cols(const dvt_plan *plan, const dvt_operand *tile) {
  return dvt_cut_length(&plan->cut[plan->layout.cols[tile->matrix]], tile->col);
}

/* ---- pools ---- */

davit_status dvt_pool_open(dvt_pool *pool, int64_t capacity) {
  *pool = (dvt_pool){.capacity = capacity, .oldest = -1, .newest = -1};
  pool->buffer = dvt_allocate((size_t)capacity + 1, sizeof *pool->buffer);
  return pool->buffer ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

void dvt_pool_close(dvt_pool *pool) {
  for (int64_t s = 0; pool->buffer && s < pool->buffers; s++)
    free(pool->buffer[s].reader);
  free(pool->buffer);
  pool->buffer = NULL;
}

static void unlink_buffer(dvt_pool *pool, int32_t s) {
  dvt_tile_buffer *one = &pool->buffer[s];
  *(one->older < 0 ? &pool->oldest : &pool->buffer[one->older].newer) = one->newer;
  *(one->newer < 0 ? &pool->newest : &pool->buffer[one->newer].older) = one->older;
}

/* Between the newest buffer and the end of the list, or between its begin and the oldest one. */
static void link_buffer(dvt_pool *pool, int32_t s, bool newest) {
  dvt_tile_buffer *one = &pool->buffer[s];
  one->older = newest ? pool->newest : -1;
  one->newer = newest ? -1 : pool->oldest;
  *(one->older < 0 ? &pool->oldest : &pool->buffer[one->older].newer) = s;
  *(one->newer < 0 ? &pool->newest : &pool->buffer[one->newer].older) = s;
}

dvt_tile_buffer *dvt_tile_buffer_at(dvt_planning *p, int device, int matrix, int32_t buffer) {
  return buffer < 0 ? NULL : &p->device[device].pool[dvt_pool_of(matrix)].buffer[buffer];
}

void dvt_tile_buffer_touch(dvt_planning *p, int device, int matrix, int32_t buffer) {
  dvt_planner *d = &p->device[device];
  dvt_pool *pool = &d->pool[dvt_pool_of(matrix)];
  unlink_buffer(pool, buffer);
  link_buffer(pool, buffer, true);
  pool->buffer[buffer].used = d->products;
}

int32_t dvt_tile_buffer_find(const dvt_planning *p, int device, const dvt_operand *tile) {
  return p->device[device].place[tile->matrix][dvt_tile_index(p->plan, tile)];
}

static void empty(dvt_planner *d, dvt_tile_buffer *buffer) {
  if (buffer->tile >= 0)
    d->place[buffer->tile % DVT_MATRICES][buffer->tile / DVT_MATRICES] = -1;
  buffer->tile = -1;
  buffer->held = false;
}

/* The tile buffer to give away: the one that was used longest ago. */
static int32_t find_victim(const dvt_planner *d, const dvt_pool *pool) {
  for (int32_t s = pool->oldest; s >= 0; s = pool->buffer[s].newer) {
    const dvt_tile_buffer *one = &pool->buffer[s];
    if (one->tile < 0 || (!one->held && one->used != d->products))
      return s;
  }
  return -1;
}

bool dvt_tile_buffer_has_room(const dvt_planning *p, int device, int matrix) {
  const dvt_planner *d = &p->device[device];
  const dvt_pool *pool = &d->pool[dvt_pool_of(matrix)];
  return pool->buffers < pool->capacity || find_victim(d, pool) >= 0;
}

static int32_t find_room(dvt_planning *p, dvt_planner *d, dvt_pool *pool) {
  if (pool->buffers < pool->capacity) {
    int32_t s = (int32_t)pool->buffers++;
    pool->buffer[s] = (dvt_tile_buffer){.tile = -1, .writer = -1};
    link_buffer(pool, s, true);
    return s;
  }
  const int32_t s = find_victim(d, pool);
  if (s >= 0 && pool->buffer[s].tile >= 0)
    p->plan->evictions +=
        pool->buffer[s].tile % DVT_MATRICES != DVT_C; /* those of C have gone home by then */
  if (s >= 0)
    empty(d, &pool->buffer[s]);
  return s;
}

int32_t dvt_tile_buffer_take(dvt_planning *p, int device, const dvt_operand *tile) {
  dvt_planner *d = &p->device[device];
  const int64_t index = dvt_tile_index(p->plan, tile);
  dvt_pool *pool = &d->pool[dvt_pool_of(tile->matrix)];
  int32_t s = find_room(p, d, pool);
  if (s < 0)
    return s;
  pool->buffer[s].tile = index * DVT_MATRICES + tile->matrix;
  d->place[tile->matrix][index] = s;
  dvt_tile_buffer_touch(p, device, tile->matrix, s);
  return s;
}

void dvt_tile_buffer_release(dvt_planning *p, int device, int matrix, int32_t buffer) {
  dvt_planner *d = &p->device[device];
  dvt_pool *pool = &d->pool[dvt_pool_of(matrix)];
  empty(d, &pool->buffer[buffer]);
  unlink_buffer(pool, buffer);
  link_buffer(pool, buffer, false);
}

/* ---- who waits for whom ---- */

/* Steps that a step waits for. */
enum { MOST_WAITS = 128 };
typedef struct wait_list {
  int count;
  int32_t step[MOST_WAITS];
} wait_list;

static void add(wait_list *waits, int32_t step) {
  if (step >= 0 && waits->count < MOST_WAITS)
    waits->step[waits->count++] = step;
}

static void wait_to_write(wait_list *waits, const dvt_tile_buffer *buffer) {
  add(waits, buffer->writer);
  for (int32_t i = 0; i < buffer->readers; i++)
    add(waits, buffer->reader[i].step);
}

static davit_status note_read(dvt_tile_buffer *buffer, int32_t stream, int32_t step) {
  for (int32_t i = 0; i < buffer->readers; i++)
    if (buffer->reader[i].stream == stream) {
      buffer->reader[i].step = step;
      return DAVIT_SUCCESS;
    }
  if (!dvt_grow(&buffer->reader, &buffer->room, buffer->readers + 1, 4, sizeof *buffer->reader))
    return DAVIT_OUT_OF_HOST_MEMORY;
  buffer->reader[buffer->readers++] = (dvt_tile_buffer_reader){stream, step};
  return DAVIT_SUCCESS;
}

/* ---- the sequence ---- */

static int stream_of(const dvt_step *step) {
  return step->device * DVT_ROLES + step->role;
}

/* Of the steps of one stream only the newest is waited for, and only if the stream has not waited for it or a
 * later one before. */
static bool is_news(dvt_planning *p, int stream, const wait_list *waits, int at) {
  const dvt_step *steps = p->plan->step;
  const int other = stream_of(&steps[waits->step[at]]);
  if (other == stream || p->known[stream][other] >= waits->step[at])
    return false;
  for (int i = 0; i < waits->count; i++)
    if (stream_of(&steps[waits->step[i]]) == other && waits->step[i] > waits->step[at])
      return false;
  return true;
}

/* With what of its waits is news. */
static davit_status append(dvt_planning *p, dvt_step *step, const wait_list *waits) {
  dvt_plan *plan = p->plan;
  const int stream = stream_of(step);
  if (!dvt_grow(&plan->step, &plan->capacity, plan->steps + 1, 256, sizeof *plan->step) ||
      !dvt_grow(&plan->wait, &plan->wait_capacity, plan->waits + waits->count, 256, sizeof *plan->wait))
    return DAVIT_OUT_OF_HOST_MEMORY;
  step->first_wait = (int32_t)plan->waits;
  step->waits = 0;
  for (int i = 0; i < waits->count; i++) {
    if (!is_news(p, stream, waits, i))
      continue;
    p->known[stream][stream_of(&plan->step[waits->step[i]])] = waits->step[i];
    plan->step[waits->step[i]].marked = true;
    plan->wait[plan->waits++] = waits->step[i];
    step->waits++;
  }
  plan->step[plan->steps++] = *step;
  return DAVIT_SUCCESS;
}

davit_status dvt_emit(dvt_planning *p, dvt_step *step, dvt_tile_buffer *left, dvt_tile_buffer *right,
                      dvt_tile_buffer *written) {
  dvt_tile_buffer *const reads[] = {left, right};
  const int32_t number = (int32_t)p->plan->steps;
  wait_list waits;
  waits.count = 0;
  if (written)
    wait_to_write(&waits, written);
  for (int x = 0; x < 2; x++)
    if (reads[x])
      add(&waits, reads[x]->writer);
  DVT_TRY(append(p, step, &waits));
  for (int x = 0; x < 2; x++)
    if (reads[x])
      DVT_TRY(note_read(reads[x], stream_of(step), number));
  if (written) {
    written->writer = number;
    written->readers = 0;
  }
  return DAVIT_SUCCESS;
}
