/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, fills and random numbers, each at once and on a queue. */
#include "src/runtime/copy.h"

#include <string.h>

#include "offload/kernel/threads.h"
#include "offload/runtime/device.h"
#include "offload/runtime/space.h"
#include "ref/ref.h"
#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/base/cpu.h"
#include "src/base/ending.h"
#include "src/base/team.h"
#include "src/runtime/memory.h"
#include "src/runtime/staging.h"

/* ---- teams ---- */

enum { SHARE = 1 << 22 }; /* bytes of host memory that one thread works on at a time */

static int64_t shares_of(size_t bytes) {
  return (int64_t)((bytes + SHARE - 1) / SHARE);
}

/* A host form on the calling thread and the team that `bytes` are worth; one share is worth none. */
static davit_status run_on_team(dvt_form form, const void *arguments, size_t bytes) {
  const int64_t shares = shares_of(bytes);
  const dvt_site site = {.device = DAVIT_HOST, .threads = (int)dvt_at_most(shares, dvt_threads())};
  return shares > 1 ? dvt_host_form(form, &site, arguments) : form(&site, arguments);
}

static davit_status submit_host(dvt_lane *lane, const char *name, dvt_form form, const void *arguments,
                                size_t argument_bytes, size_t bytes) {
  const int threads = (int)dvt_at_most(shares_of(bytes), lane->threads);
  const dvt_work work = {.form = form, .name = name, .moves = bytes, .threads = threads};
  return dvt_lane_submit_work(lane, DVT_BLOCKING, &work, arguments, argument_bytes);
}

/* ---- copies ---- */

/* Whether a copy within the host's memory is worth a team. */
static bool is_shared(const dvt_copy *c) {
  return dvt_place_is_host(c->destination_place) && dvt_place_is_host(c->source_place) &&
         shares_of(c->row_bytes * c->cols) > 1;
}

static davit_status copy_part(const dvt_copy *c, size_t from_row, size_t row_bytes, size_t from_col,
                              size_t cols) {
  return dvt_space_copy((char *)c->destination + from_row + from_col * c->destination_pitch,
                        c->destination_pitch, c->destination_place,
                        (const char *)c->source + from_row + from_col * c->source_pitch, c->source_pitch,
                        c->source_place, row_bytes, cols);
}

/* Stores past the caches, which would read each line of the destination before it is written. */
DVT_CPU_INLINE int copy_lines(char *to, const char *from, size_t bytes) {
  typedef char line __attribute__((vector_size(64)));
  typedef line line_anywhere __attribute__((aligned(1)));
  enum { LINE = sizeof(line), TURN = 4 };
  size_t at = (size_t)dvt_at_most((int64_t)(-(uintptr_t)to % LINE), (int64_t)bytes);
  memcpy(to, from, at);
  for (; at + TURN * LINE <= bytes; at += TURN * LINE) {
    line lines[TURN];
#pragma unroll
    for (int i = 0; i < TURN; i++)
      lines[i] = *(const line_anywhere *)(const void *)(from + at + i * LINE);
#pragma unroll
    for (int i = 0; i < TURN; i++)
      __builtin_nontemporal_store(lines[i], (line *)(void *)(to + at + i * LINE));
  }
  memcpy(to + at, from + at, bytes - at);
  dvt_cpu_end_bypass();
  return 0;
}

DVT_CPU_DISPATCH(int, copy_past_caches, copy_lines, (char *to, const char *from, size_t bytes),
                 (to, from, bytes))

static davit_status copy_part_past_caches(const dvt_copy *c, size_t from_row, size_t row_bytes,
                                          size_t from_col, size_t cols) {
  for (size_t j = from_col; j < from_col + cols; j++)
    copy_past_caches((char *)c->destination + from_row + j * c->destination_pitch,
                     (const char *)c->source + from_row + j * c->source_pitch, row_bytes);
  return DAVIT_SUCCESS;
}

/* Whether the destination is more than the caches hold, in columns that are long enough. Pinned memory is what
 * GPUs read next, where there are any. */
static bool goes_past_caches(const dvt_copy *c) {
  enum { LONG_BYTES = 1 << 12 };
  const size_t cached = dvt_place_is_streamable(c->destination_place) ? 0 : (size_t)dvt_cpu_cache_bytes() / 2;
  return c->row_bytes >= LONG_BYTES && c->row_bytes * c->cols > cached;
}

/* Columns together, or what is one piece of memory in parts. */
static davit_status copy_host(const dvt_site *site, const void *arguments) {
  dvt_copy c = *(const dvt_copy *)arguments;
  if (c.destination_pitch == c.row_bytes && c.source_pitch == c.row_bytes) {
    c.row_bytes *= c.cols;
    c.cols = 1;
  }
  const bool rows = c.cols == 1;
  const int64_t whole = (int64_t)(rows ? c.row_bytes : c.cols),
                each = rows ? SHARE : dvt_at_least(SHARE / (int64_t)c.row_bytes, 1),
                shares = dvt_divide_up(whole, each);
  const int threads = site->threads;
  davit_status (*const copy)(const dvt_copy *, size_t, size_t, size_t, size_t) =
      goes_past_caches(&c) ? copy_part_past_caches : copy_part;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < shares; i++) {
    const size_t first = (size_t)(i * each), count = (size_t)dvt_at_most(each, whole - i * each);
    if (rows)
      copy(&c, first, count, 0, 1);
    else
      copy(&c, 0, c.row_bytes, first, count);
  }
  return DAVIT_SUCCESS; /* a copy within the host's memory does not fail */
}

enum { WORTH_STAGING = 1 << 17 };

/* The device with streams that the copy goes to or comes from, in pageable memory; -1: none. */
static int staging_device(const dvt_copy *c) {
  const int to = c->destination_place, from = c->source_place, device = to >= 0 ? to : from,
            host = to >= 0 ? from : to;
  return device >= 0 && dvt_place_is_streamable(device) && dvt_place_is_host(host) && host != DAVIT_PINNED
             ? device
             : -1;
}

static davit_status stage_here(const dvt_copy *c, int device) {
  dvt_stream *stream;
  DVT_KEEP_CURRENT;
  davit_status status = dvt_stream_acquire(device, DVT_STREAM_MIXED, &stream);
  if (status == DAVIT_SUCCESS) {
    status = dvt_stage(stream, c);
    const davit_status end = dvt_stream_synchronize(stream);
    status = status == DAVIT_SUCCESS ? end : status;
    dvt_stream_release(stream);
  }
  return status;
}

static davit_status copy_here(const dvt_copy *c) {
  const int device = c->row_bytes * c->cols < WORTH_STAGING ? -1 : staging_device(c);
  return device >= 0 ? stage_here(c, device)
                     : dvt_space_copy(c->destination, c->destination_pitch, c->destination_place, c->source,
                                      c->source_pitch, c->source_place, c->row_bytes, c->cols);
}

davit_status dvt_copy_now(const dvt_copy *c) {
  if (is_shared(c))
    return run_on_team(copy_host, c, c->row_bytes * c->cols);
  if (dvt_place_is_host(c->destination_place) && dvt_place_is_host(c->source_place))
    return copy_here(c);
  DVT_INSIDE;
  return copy_here(c);
}

static davit_status run_stream(const dvt_site *site, const void *arguments) {
  const dvt_copy *c = arguments;
  if (c->destination_place == site->device && c->source_place >= 0 && c->source_place != site->device)
    return dvt_stream_copy_peer(site->stream, c->source_place, c->destination, c->destination_pitch,
                                c->source, c->source_pitch, c->row_bytes, c->cols);
  return dvt_stream_copy(site->stream, c->destination, c->destination_pitch, c->source, c->source_pitch,
                         c->row_bytes, c->cols);
}

static davit_status run_staged(const dvt_site *site, const void *arguments) {
  return site->over ? dvt_stage_begin(site->stream, arguments, site->over, site->argument)
                    : dvt_stage(site->stream, arguments);
}

static davit_status run_blocking(const dvt_site *site, const void *arguments) {
  (void)site;
  return dvt_copy_now(arguments);
}

davit_status dvt_copy_submit(dvt_lane *lane, const dvt_copy *copy) {
  const int to = copy->destination_place, from = copy->source_place;
  const size_t bytes = copy->row_bytes * copy->cols;
  dvt_work work = {.form = run_blocking, .name = "copy", .moves = bytes, .stream = true};
  dvt_command_kind kind = DVT_TRANSFER;
  if (lane->stream && dvt_place_is_streamable(to) && dvt_place_is_streamable(from) &&
      (to >= 0 || from >= 0 || !is_shared(copy))) {
    kind = DVT_STREAMED;
    work.form = run_stream;
  } else if (lane->stream && staging_device(copy) == lane->device) {
    kind = DVT_STAGED;
    work.form = run_staged;
  } else if (is_shared(copy)) {
    return submit_host(lane, "copy", copy_host, copy, sizeof *copy, bytes);
  }
  return dvt_lane_submit_work(lane, kind, &work, copy, sizeof *copy);
}

/* The arguments of both forms as a copy; cols = 0 if there is nothing to do. */
static davit_status make_copy(int64_t rows, int64_t cols, size_t element_bytes, const void *source,
                              int64_t source_ld, void *destination, int64_t destination_ld, dvt_copy *copy) {
  *copy = (dvt_copy){0};
  DVT_TRY(dvt_check_length("rows", rows));
  DVT_TRY(dvt_check_length("cols", cols));
  if (destination_ld < rows || source_ld < rows)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is %lld, less than rows",
                      destination_ld < rows ? "destination_ld" : "source_ld",
                      (long long)(destination_ld < rows ? destination_ld : source_ld));
  if (element_bytes == 0 || element_bytes > DVT_MEMORY_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "element_bytes is %zu%s", element_bytes,
                      element_bytes ? ": more than any memory holds" : "");
  DVT_TRY(dvt_check_extent("cols", cols, (int64_t)element_bytes));
  DVT_TRY(dvt_check_extent("destination_ld", destination_ld, cols * (int64_t)element_bytes));
  DVT_TRY(dvt_check_extent("source_ld", source_ld, cols * (int64_t)element_bytes));
  if (rows == 0 || cols == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("destination", destination));
  DVT_TRY(dvt_check_pointer("source", source));
  DVT_TRY(dvt_start());
  *copy = dvt_copy_columns(
      (size_t)rows * element_bytes, (size_t)cols,
      (dvt_columns){source, (size_t)source_ld * element_bytes, dvt_place_of(source)},
      (dvt_columns){destination, (size_t)destination_ld * element_bytes, dvt_place_of(destination)});
  return DAVIT_SUCCESS;
}

davit_status davit_copy_2d(int64_t rows, int64_t cols, size_t element_bytes, const void *source,
                           int64_t source_ld, void *destination, int64_t destination_ld) {
  dvt_copy copy;
  DVT_TRY(make_copy(rows, cols, element_bytes, source, source_ld, destination, destination_ld, &copy));
  return copy.cols == 0 ? DAVIT_SUCCESS : dvt_copy_now(&copy);
}

davit_status davit_queue_copy_2d(davit_queue *queue, int64_t rows, int64_t cols, size_t element_bytes,
                                 const void *source, int64_t source_ld, void *destination,
                                 int64_t destination_ld) {
  dvt_lane *lane = dvt_queue_lane(queue);
  dvt_copy copy;
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(make_copy(rows, cols, element_bytes, source, source_ld, destination, destination_ld, &copy));
  return copy.cols == 0 ? DAVIT_SUCCESS : dvt_copy_submit(lane, &copy);
}

/* One column of `bytes` elements of a byte. */
davit_status davit_copy(size_t bytes, const void *source, void *destination) {
  const int64_t rows = (int64_t)bytes;
  DVT_TRY(dvt_check_bytes(bytes));
  return davit_copy_2d(rows, 1, 1, source, rows, destination, rows);
}

davit_status davit_queue_copy(davit_queue *queue, size_t bytes, const void *source, void *destination) {
  const int64_t rows = (int64_t)bytes;
  if (!dvt_queue_lane(queue))
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(dvt_check_bytes(bytes));
  return davit_queue_copy_2d(queue, rows, 1, 1, source, rows, destination, rows);
}

/* ---- fills and random numbers ---- */

/* What writes so many bytes at a place. */
typedef struct written {
  void *to;
  size_t bytes;
  int place;
  int value; /* of a fill */
  davit_type type;
  uint64_t seed;
} written;

/* The forms of a row. `stream` may be NULL. */
typedef struct writer {
  const char *name;
  dvt_form stream, device, host;
} writer;

static davit_status fill_stream(const dvt_site *site, const void *arguments) {
  const written *f = arguments;
  return dvt_stream_fill(site->stream, f->to, f->value, f->bytes);
}

static davit_status fill_device(const dvt_site *site, const void *arguments) {
  const written *f = arguments;
  (void)site;
  return dvt_space_fill(f->to, f->place, f->value, f->bytes);
}

static void fill_shares(int thread, int team, const void *arguments) {
  const written *f = arguments;
  const int64_t shares = shares_of(f->bytes), end = dvt_share_begin(shares, thread + 1, team);
  for (int64_t i = dvt_share_begin(shares, thread, team); i < end; i++) {
    const size_t first = (size_t)i * SHARE, left = f->bytes - first;
    memset((char *)f->to + first, f->value, left < SHARE ? left : SHARE);
  }
}

static davit_status fill_host(const dvt_site *site, const void *arguments) {
  dvt_on_threads(site->threads, fill_shares, arguments);
  return DAVIT_SUCCESS;
}

static int64_t numbers_of(const written *r) {
  return (int64_t)(r->bytes / davit_type_bytes(r->type));
}

static davit_status random_device(const dvt_site *site, const void *arguments) {
  const written *r = arguments;
  (void)site;
  return dvt_space_random(r->type, r->to, r->place, numbers_of(r), r->seed);
}

static void random_shares(int thread, int team, const void *arguments) {
  const written *r = arguments;
  const int64_t n = numbers_of(r), each = SHARE / (int64_t)davit_type_bytes(r->type),
                shares = dvt_divide_up(n, each), end = dvt_share_begin(shares, thread + 1, team);
  for (int64_t i = dvt_share_begin(shares, thread, team); i < end; i++) {
    const int64_t first = i * each, count = dvt_at_most(each, n - first);
    if (r->type == DAVIT_DOUBLE)
      dvt_ref_random_double((double *)r->to + first, first, count, r->seed);
    else
      dvt_ref_random_float((float *)r->to + first, first, count, r->seed);
  }
}

static davit_status random_host(const dvt_site *site, const void *arguments) {
  dvt_on_threads(site->threads, random_shares, arguments);
  return DAVIT_SUCCESS;
}

static const writer fills = {"fill", fill_stream, fill_device, fill_host},
                    randoms = {"random", NULL, random_device, random_host};

/* On a lane, or NULL: now. */
static davit_status write_to(dvt_lane *lane, const writer *w, written *to) {
  DVT_TRY(dvt_start());
  to->place = dvt_place_of(to->to);
  const bool on_host = dvt_place_is_host(to->place);
  const bool streamed = lane && w->stream && lane->stream && to->place == lane->device;
  if (on_host && !streamed)
    return lane ? submit_host(lane, w->name, w->host, to, sizeof *to, to->bytes)
                : run_on_team(w->host, to, to->bytes);
  const dvt_work work = {
      .form = streamed ? w->stream : w->device, .name = w->name, .moves = to->bytes, .stream = true};
  if (lane)
    return dvt_lane_submit_work(lane, streamed ? DVT_STREAMED : DVT_TRANSFER, &work, to, sizeof *to);
  DVT_INSIDE;
  return w->device(NULL, to);
}

static davit_status fill(dvt_lane *lane, size_t bytes, int value, void *destination) {
  if (bytes == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_bytes(bytes));
  DVT_TRY(dvt_check_pointer("destination", destination));
  return write_to(lane, &fills, &(written){.to = destination, .bytes = bytes, .value = value});
}

davit_status davit_fill(size_t bytes, int value, void *destination) {
  return fill(NULL, bytes, value, destination);
}

davit_status davit_queue_fill(davit_queue *queue, size_t bytes, int value, void *destination) {
  dvt_lane *lane = dvt_queue_lane(queue);
  return lane ? fill(lane, bytes, value, destination) : DAVIT_INVALID_ARGUMENT;
}

static davit_status fill_random(dvt_lane *lane, davit_type type, int64_t n, uint64_t seed, void *x) {
  DVT_TRY(dvt_check_floating(type));
  DVT_TRY(dvt_check_length("n", n));
  if (n == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("x", x));
  return write_to(
      lane, &randoms,
      &(written){.to = x, .bytes = (size_t)n * davit_type_bytes(type), .type = type, .seed = seed});
}

davit_status davit_random(davit_type type, int64_t n, uint64_t seed, void *x) {
  return fill_random(NULL, type, n, seed, x);
}

davit_status davit_queue_random(davit_queue *queue, davit_type type, int64_t n, uint64_t seed, void *x) {
  dvt_lane *lane = dvt_queue_lane(queue);
  return lane ? fill_random(lane, type, n, seed, x) : DAVIT_INVALID_ARGUMENT;
}
