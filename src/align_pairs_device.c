/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs on devices (offload/align_pairs_stream.h). Each device has some lanes, whose commands take blocks in turn:
 * while one copies, another computes. A block goes in batches, as many of its pairs as their symbols have room
 * together; in a batch pairs of similar lengths are neighbours. Pairs that the device does not take the lane's thread
 * aligns. Symbols are looked at as they are copied. */
#include <davit/memory.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "offload/align_pairs_stream.h"
#include "offload/runtime/device.h"
#include "src/align.h"
#include "src/align_pairs.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"
#include "src/base/team.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"

enum {
  LANES = 8,            /* of a device */
  MOST_PAIRS = 1 << 15, /* of a block, */
  FEWEST_PAIRS = 1 << 10,
  MOST_SYMBOLS = 1 << 25, /* of the queries, and of the targets of a batch, unless one pair has more */
  STAGING_BYTES = 1 << 22,
  DIGIT = 11 /* bits, of a step of sorting */
};

static const dvt_operation operation = {
    .name = "align pairs", .bytes = sizeof(dvt_pairs_work), .stream = dvt_pairs_stream};

/* ---- what a device takes ---- */

typedef enum device_form { NO_FORM, NARROW, WIDE } device_form;

/* In 16 bits differences of any two scores have to fit, too. */
static device_form form_of(const dvt_pairs *p, const dvt_pair_part *a) {
  const davit_align_scoring *s = &p->scoring;
  const int64_t shorter = dvt_at_most(a->m, a->n), most = shorter * p->largest, open = s->gap_open,
                extends = dvt_at_most(s->gap_extend, DVT_PAIRS_WIDE_RANGE),
                cut = dvt_pairs_is_cut(a) ? shorter * p->smallest : 0,
                lost = 3 * open + (a->m + a->n + DVT_PAIRS_SLACK) * extends + cut;
  const bool scores = p->mode == DAVIT_ALIGN_LOCAL && !p->full;
  if (shorter == 0 || dvt_at_least(a->m, a->n) > DVT_PAIRS_LONGEST || open > DVT_PAIRS_WIDE_RANGE ||
      most > DVT_PAIRS_WIDE_RANGE || lost > DVT_PAIRS_WIDE_RANGE)
    return NO_FORM;
  if (p->x_drop > 0)
    return p->x_drop <= DVT_PAIRS_WIDE_RANGE && dvt_pairs_drop_rows(p, a) <= DVT_PAIRS_DROP_ROWS ? WIDE
                                                                                                 : NO_FORM;
  /* Steps are kept of the cells that a band leaves out as well. */
  if (p->full && !dvt_align_is_whole(a->m, a->n))
    return NO_FORM;
  if (open > DVT_PAIRS_NARROW_GAP)
    return WIDE;
  if (scores)
    return most <= DVT_PAIRS_NARROW_LOCAL ? NARROW : WIDE;
  return most <= DVT_PAIRS_NARROW_RANGE && lost <= DVT_PAIRS_NARROW_RANGE ? NARROW : WIDE;
}

/* ---- a lane ---- */

/* What a lane's thread has for batches. */
typedef struct device_worker {
  dvt_pairs_worker host;
  uint32_t
      *keys; /* of the batch's pairs, by which they are sorted, and room for as many; so with the following */
  int32_t *which; /* pair of the block an item is */
  int32_t *moved;
  char *pinned; /* of so many bytes: */
  size_t pinned_bytes;
  dvt_pair_group *groups;
  int32_t *order;
  dvt_pair_item *items;
  dvt_pair_found *found;
  int64_t *places;
  char *staging;
  uint8_t *queries, *targets;
  size_t memory_bytes; /* of the device */
} device_worker;

static davit_status open_device_worker(device_worker *d, const dvt_pairs *p, size_t memory_bytes) {
  const size_t count = (size_t)p->block;
  *d = (device_worker){.memory_bytes = memory_bytes};
  DVT_TRY(dvt_pairs_open_worker(&d->host, p));
  d->keys = dvt_allocate_raw(2 * count * sizeof *d->keys);
  d->which = dvt_allocate_raw(count * sizeof *d->which);
  d->moved = dvt_allocate_raw(2 * count * sizeof *d->moved);
  return d->keys && d->which && d->moved ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

static void close_device_worker(device_worker *d) {
  dvt_pairs_close_worker(&d->host);
  free(d->keys);
  free(d->which);
  free(d->moved);
  davit_free(d->pinned);
}

static char *cut_off(char **at, size_t bytes) {
  char *here = *at;
  *at += dvt_aligned_up(bytes);
  return here;
}

/* Pinned memory for a batch of the block, with so many symbols. */
static davit_status reserve_pinned(device_worker *d, int64_t query_symbols, int64_t target_symbols) {
  const size_t count = (size_t)d->host.pairs->block,
               bytes = dvt_aligned_up(count * sizeof *d->items) + dvt_aligned_up(count * sizeof *d->found) +
                       dvt_aligned_up(count * sizeof *d->places) + dvt_aligned_up(count * sizeof *d->groups) +
                       dvt_aligned_up(count * sizeof *d->order) + STAGING_BYTES +
                       dvt_aligned_up((size_t)query_symbols) + dvt_aligned_up((size_t)target_symbols);
  if (bytes > d->pinned_bytes) {
    davit_free(d->pinned);
    d->pinned = NULL;
    d->pinned_bytes = 0;
    DVT_TRY(dvt_malloc(bytes, DAVIT_PINNED, (void **)&d->pinned));
    d->pinned_bytes = bytes;
  }
  char *at = d->pinned;
  d->items = (dvt_pair_item *)(void *)cut_off(&at, count * sizeof *d->items);
  d->found = (dvt_pair_found *)(void *)cut_off(&at, count * sizeof *d->found);
  d->places = (int64_t *)(void *)cut_off(&at, count * sizeof *d->places);
  d->groups = (dvt_pair_group *)(void *)cut_off(&at, count * sizeof *d->groups);
  d->order = (int32_t *)(void *)cut_off(&at, count * sizeof *d->order);
  d->staging = cut_off(&at, STAGING_BYTES);
  d->queries = (uint8_t *)cut_off(&at, (size_t)query_symbols);
  d->targets = (uint8_t *)at;
  return DAVIT_SUCCESS;
}

/* ---- symbols ---- */

static uint8_t largest_of(const uint8_t *symbols, int64_t count) {
  uint8_t largest = 0;
  for (int64_t i = 0; i < count; i++)
    largest = symbols[i] > largest ? symbols[i] : largest;
  return largest;
}

/* To pinned memory past the caches, as the device reads them next. Returns the largest of them. */
DVT_CPU_INLINE uint8_t bring_inline(uint8_t *to, const uint8_t *from, int64_t count) {
  typedef uint8_t line __attribute__((vector_size(64)));
  typedef line line_anywhere __attribute__((aligned(1)));
  enum { LINE = sizeof(line), TURN = 4 };
  line most[TURN] = {{0}};
  uint8_t largest = 0;
  int64_t at = 0;
  for (; at + TURN * LINE <= count; at += TURN * LINE)
#pragma unroll
    for (int i = 0; i < TURN; i++) {
      const line x = *(const line_anywhere *)(const void *)(from + at + i * LINE);
      most[i] = __builtin_elementwise_max(most[i], x);
      __builtin_nontemporal_store(x, (line *)(void *)(to + at + i * LINE));
    }
  memcpy(to + at, from + at, (size_t)(count - at));
  for (int i = 0; i < TURN; i++)
    for (int l = 0; l < LINE; l++)
      largest = most[i][l] > largest ? most[i][l] : largest;
  dvt_cpu_end_bypass();
  const uint8_t rest = largest_of(from + at, count - at);
  return rest > largest ? rest : largest;
}

DVT_CPU_DISPATCH(uint8_t, bring, bring_inline, (uint8_t *to, const uint8_t *from, int64_t count),
                 (to, from, count))

/* ---- a batch ---- */

/* Pairs from `first` on whose symbols have room, in block `base` …; the device takes `items` of them. */
typedef struct batch {
  int64_t base, first, count, items, text;
  bool masked;
} batch;

static int64_t symbols_of(const davit_align_sequences *s, int64_t first, int64_t count) {
  return s->offsets[first + count] - s->offsets[first];
}

static int64_t batch_length(const dvt_pairs *p, int64_t first, int64_t most) {
  int64_t count = 1;
  while (count < most && symbols_of(p->queries, first, count + 1) <= MOST_SYMBOLS &&
         symbols_of(p->targets, first, count + 1) <= MOST_SYMBOLS)
    count++;
  return count;
}

/* Those in 16 bits first; the longest queries first, by class, of these the longest targets. */
static uint32_t key_of(const dvt_pair_part *a, int64_t class, device_form form) {
  return (uint32_t)(form == WIDE) << 31 | (uint32_t)(63 - class) << 15 | (uint32_t)(INT16_MAX - a->n);
}

/* What pairs of the same lengths share. */
typedef struct lengths {
  int64_t m, n;
  device_form form;
  uint32_t key;
  bool cut;
} lengths;

static lengths lengths_of(const dvt_pairs *p, int64_t pair) {
  const dvt_pair_part a = dvt_pairs_whole(p, pair);
  const device_form form = form_of(p, &a);
  return (lengths){a.m, a.n, form, form == NO_FORM ? 0 : key_of(&a, dvt_pairs_length_class(a.m), form),
                   dvt_pairs_is_cut(&a)};
}

/* What the device takes, in the order of the pairs; `moved` says so for sorting. Neighbours are often alike. */
static void find_items(device_worker *d, batch *b) {
  const dvt_pairs *p = d->host.pairs;
  lengths l = {-1, -1, NO_FORM, 0, false};
  for (int64_t k = b->first; k < b->first + b->count; k++) {
    if (symbols_of(p->queries, k, 1) != l.m || symbols_of(p->targets, k, 1) != l.n)
      l = lengths_of(p, k);
    if (l.form == NO_FORM)
      continue;
    d->keys[b->items] = l.key;
    d->which[b->items] = (int32_t)(k - b->base);
    d->moved[b->items] = (int32_t)b->items;
    b->items++;
    b->masked = b->masked || l.cut;
  }
}

/* moved[] becomes the items' order by keys, equal ones as they were. */
static void sort_items(device_worker *d, int64_t count) {
  bool sorted = true;
  for (int64_t i = 1; i < count && sorted; i++)
    sorted = d->keys[i - 1] <= d->keys[i];
  uint32_t *keys = d->keys, *to_keys = d->keys + d->host.pairs->block;
  int32_t *from = d->moved, *to = d->moved + d->host.pairs->block;
  for (int shift = 0; shift < 32 && !sorted; shift += DIGIT) {
    int64_t places[(1 << DIGIT) + 1] = {0};
    for (int64_t i = 0; i < count; i++)
      places[(keys[i] >> shift & ((1 << DIGIT) - 1)) + 1]++;
    for (int digit = 0; digit < 1 << DIGIT; digit++)
      places[digit + 1] += places[digit];
    for (int64_t i = 0; i < count; i++) {
      const int64_t at = places[keys[i] >> shift & ((1 << DIGIT) - 1)]++;
      to_keys[at] = keys[i];
      to[at] = from[i];
    }
    uint32_t *const swapped = keys;
    keys = to_keys;
    to_keys = swapped;
    int32_t *const moved = from;
    from = to;
    to = moved;
  }
  if (from != d->moved) {
    memcpy(d->moved, from, (size_t)count * sizeof *from);
    memcpy(d->keys, keys, (size_t)count * sizeof *keys);
  }
}

static void fill_items(device_worker *d, batch *b) {
  const dvt_pairs *p = d->host.pairs;
  const int64_t query = p->queries->offsets[b->first], target = p->targets->offsets[b->first];
  b->text = 0;
  for (int64_t i = 0; i < b->items; i++) {
    const int64_t pair = b->base + d->which[d->moved[i]];
    const dvt_pair_part a = dvt_pairs_whole(p, pair);
    b->text += 2 * (a.m + a.n) + 1;
    d->items[i] = (dvt_pair_item){p->queries->offsets[pair] - query,
                                  p->targets->offsets[pair] - target,
                                  b->text,
                                  (int32_t)a.m,
                                  (int32_t)a.n,
                                  (int32_t)a.low,
                                  (int32_t)a.high};
    d->order[d->moved[i]] = (int32_t)i;
  }
}

static bool is_wide(const device_worker *d, int64_t i) {
  return d->keys[i] >> 31;
}

/* Groups of items, none of which is much longer than another. Returns how many, and of them those in 16 bits. */
static int64_t make_groups(device_worker *d, int64_t count, int64_t *narrow) {
  int64_t groups = 0;
  *narrow = 0;
  for (int64_t i = 0; i < count; groups++) {
    dvt_pair_group *g = &d->groups[groups];
    const bool wide = is_wide(d, i);
    const int most = wide ? DVT_PAIRS_WIDE : DVT_PAIRS_NARROW;
    *g = (dvt_pair_group){(int32_t)i, 0, 0, d->items[i].n};
    for (; i < count && g->count < most && is_wide(d, i) == wide; i++, g->count++) {
      const dvt_pair_item *a = &d->items[i];
      const int32_t rows = a->m > g->rows ? a->m : g->rows, columns = a->n > g->columns ? a->n : g->columns;
      if (g->count > 0 && (2 * a->n + 16 < columns || 2 * a->m + 16 < rows ||
                           (int64_t)rows * columns > 2 * (int64_t)DVT_ALIGN_TRACE_CELLS))
        break;
      g->rows = rows;
      g->columns = columns;
    }
    *narrow += !wide;
  }
  return groups;
}

/* Where strings of the batch go: behind those that the block has. */
static char *room_for_strings(void *owner, int64_t bytes) {
  device_worker *d = owner;
  return dvt_pairs_reserve_text(&d->host.strings, bytes) ? d->host.strings.at + d->host.strings.used : NULL;
}

static void keep_results(device_worker *d, const batch *b) {
  const dvt_pairs *p = d->host.pairs;
  for (int64_t k = 0; k < b->items; k++) {
    const dvt_pair_found *f = &d->found[d->order[k]];
    const dvt_pair_item *item = &d->items[d->order[k]];
    const int64_t pair = b->base + d->which[k];
    if (!p->results) {
      p->scores[pair] = f->score;
      continue;
    }
    p->results[pair] = (davit_align_result){.score = f->score,
                                            .banded = item->low > -item->m || item->high < item->n,
                                            .query_begin = f->query_begin,
                                            .query_end = f->query_end,
                                            .target_begin = f->target_begin,
                                            .target_end = f->target_end,
                                            .dropped = f->outcome == DVT_PAIRS_DROPPED};
    if (!p->strings)
      continue;
    d->host.places[d->which[k]] =
        (dvt_pairs_place){.which = pair, .string = d->host.strings.used, .count = f->length};
    d->host.strings.used += f->length;
  }
}

/* Extensions that the device has not done are none of its items any more. */
static void leave_undone(device_worker *d, batch *b) {
  int64_t done = 0;
  for (int64_t k = 0; k < b->items; k++)
    if (d->found[d->order[k]].outcome != DVT_PAIRS_UNDONE) {
      d->which[done] = d->which[k];
      d->order[done++] = d->order[k];
    }
  b->items = done;
}

static davit_status run_items(device_worker *d, const dvt_site *site, batch *b) {
  const dvt_pairs *p = d->host.pairs;
  int64_t narrow;
  const int64_t groups = make_groups(d, b->items, &narrow);
  const dvt_pairs_work work = {.scoring = &p->scoring,
                               .mode = p->mode,
                               .x_drop = p->x_drop,
                               .full = p->full,
                               .columns = p->strings,
                               .masked = b->masked,
                               .queries = d->queries,
                               .targets = d->targets,
                               .query_symbols = symbols_of(p->queries, b->first, b->count),
                               .target_symbols = symbols_of(p->targets, b->first, b->count),
                               .count = b->items,
                               .groups = groups,
                               .narrow = narrow,
                               .items = d->items,
                               .group = d->groups,
                               .text_bytes = b->text,
                               .memory_bytes = d->memory_bytes,
                               .found = d->found,
                               .places = d->places,
                               .staging = d->staging,
                               .staging_bytes = STAGING_BYTES,
                               .order = d->order,
                               .strings = room_for_strings,
                               .owner = d};
  DVT_TRY(dvt_pairs_stream(site, &work));
  leave_undone(d, b);
  keep_results(d, b);
  return DAVIT_SUCCESS;
}

static davit_status check_largest(const device_worker *d, uint8_t queries, uint8_t targets) {
  const int symbols = d->host.pairs->scoring.symbols;
  return queries < symbols && targets < symbols
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_INVALID_ARGUMENT, "a symbol is none of the %d of the alphabet", symbols);
}

/* Also of pairs that the device does not take, if there are any that it does. */
static davit_status bring_symbols(device_worker *d, const batch *b) {
  const dvt_pairs *p = d->host.pairs;
  const int64_t m = symbols_of(p->queries, b->first, b->count),
                n = symbols_of(p->targets, b->first, b->count);
  const uint8_t *queries = p->queries->symbols + p->queries->offsets[b->first],
                *targets = p->targets->symbols + p->targets->offsets[b->first];
  if (b->items == 0)
    return check_largest(d, largest_of(queries, m), largest_of(targets, n));
  DVT_TRY(reserve_pinned(d, m, n));
  return check_largest(d, bring(d->queries, queries, m), bring(d->targets, targets, n));
}

/* Results of the pairs that the device takes, none if it is full: that is no obstacle. */
static davit_status run_batch(device_worker *d, const dvt_site *site, batch *b) {
  find_items(d, b);
  DVT_TRY(bring_symbols(d, b));
  if (b->items == 0)
    return DAVIT_SUCCESS;
  sort_items(d, b->items);
  fill_items(d, b);
  const davit_status status = run_items(d, site, b);
  if (status != DAVIT_OUT_OF_DEVICE_MEMORY)
    return status;
  dvt_error_clear();
  b->items = 0;
  return DAVIT_SUCCESS;
}

/* ---- a block ---- */

/* The pairs of a batch that the device has not taken. */
static void find_rest(const device_worker *d, const batch *b, dvt_pairs_place *places) {
  for (int64_t k = b->first, item = 0, at = 0; k < b->first + b->count; k++)
    if (item < b->items && b->base + d->which[item] == k)
      item++;
    else
      places[at++] = (dvt_pairs_place){.which = k, .part = dvt_pairs_whole(d->host.pairs, k)};
}

/* Aligned they may be in another order. */
static void keep_rest(device_worker *d, const batch *b, int64_t rest, const dvt_pairs_place *places) {
  for (int64_t k = 0; k < rest && d->host.pairs->strings; k++)
    d->host.places[places[k].which - b->base] = places[k];
}

/* Scores alone: results of places, numbered from 0 on for that. */
static davit_status score_rest(dvt_pairs_worker *own, int64_t rest) {
  const dvt_pairs *all = own->pairs;
  dvt_pairs few = *all;
  few.costs.likes = few.likes;
  few.results = dvt_allocate_raw((size_t)rest * sizeof *few.results);
  int64_t *pairs = dvt_allocate_raw((size_t)rest * sizeof *pairs);
  davit_status status = few.results && pairs ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t k = 0; k < rest && status == DAVIT_SUCCESS; k++) {
    pairs[k] = own->places[k].which;
    own->places[k].which = k;
  }
  own->pairs = &few;
  if (status == DAVIT_SUCCESS)
    status = dvt_pairs_align_places(own, rest);
  for (int64_t k = 0; k < rest && status == DAVIT_SUCCESS; k++)
    all->scores[pairs[k]] = few.results[k].score;
  own->pairs = all;
  free(few.results);
  free(pairs);
  return status;
}

/* Aligns what the device has not taken, by the lane's thread. */
static davit_status run_rest(device_worker *d, const batch *b) {
  dvt_pairs_worker *w = &d->host;
  const int64_t rest = b->count - b->items;
  dvt_pairs_worker own = {.pairs = w->pairs, .strings = w->strings};
  if (rest == 0)
    return DAVIT_SUCCESS;
  own.places = dvt_allocate_raw((size_t)rest * sizeof *own.places);
  davit_status status = own.places ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  if (status == DAVIT_SUCCESS) {
    find_rest(d, b, own.places);
    status = w->pairs->results ? dvt_pairs_align_places(&own, rest) : score_rest(&own, rest);
  }
  if (status == DAVIT_SUCCESS)
    keep_rest(d, b, rest, own.places);
  w->strings = own.strings;
  own.strings = (dvt_pairs_text){0};
  dvt_pairs_close_worker(&own);
  return status;
}

/* Where the strings of a block are in the order of its pairs already they stay as they are. */
static bool keep_strings(device_worker *d, int64_t count, dvt_pairs_text *to) {
  const dvt_pairs *p = d->host.pairs;
  int64_t used = 0;
  for (int64_t k = 0; k < count; k++) {
    const dvt_pairs_place *at = &d->host.places[k];
    if (at->string != used)
      return false;
    p->results[at->which].cigar = used;
    used += at->count;
  }
  *to = d->host.strings;
  d->host.strings = (dvt_pairs_text){0};
  return true;
}

static davit_status run_block(device_worker *d, const dvt_site *site, int64_t block) {
  const dvt_pairs *p = d->host.pairs;
  const int64_t first = block * p->block, count = dvt_at_most(p->block, p->queries->count - first);
  for (int64_t at = first, next; at < first + count; at = next) {
    batch b = {.base = first, .first = at, .count = batch_length(p, at, first + count - at)};
    next = at + b.count;
    DVT_TRY(run_batch(d, site, &b));
    DVT_TRY(run_rest(d, &b));
  }
  if (!p->strings || keep_strings(d, count, &p->texts[block]))
    return DAVIT_SUCCESS;
  return dvt_pairs_order_strings(&d->host, first, count, &p->texts[block]);
}

/* ---- all lanes ---- */

typedef struct device_work {
  const dvt_pairs *pairs;
  int64_t blocks;
  size_t memory_bytes[DVT_MAX_DEVICES * LANES]; /* of each lane */
  atomic_llong next;
  atomic_bool stopped; /* by a failure */
} device_work;

typedef struct lane_work {
  device_work *all;
  int lane;
} lane_work;

static davit_status run_lane(const dvt_site *site, const void *arguments) {
  const lane_work *l = arguments;
  device_work *all = l->all;
  device_worker d;
  davit_status status = open_device_worker(&d, all->pairs, all->memory_bytes[l->lane]);
  while (status == DAVIT_SUCCESS && !atomic_load(&all->stopped)) {
    const int64_t block = atomic_fetch_add(&all->next, 1);
    if (block >= all->blocks)
      break;
    status = run_block(&d, site, block);
  }
  if (status != DAVIT_SUCCESS)
    atomic_store(&all->stopped, true);
  close_device_worker(&d);
  return status;
}

bool dvt_pairs_has_device_form(int device) {
  return device != DAVIT_HOST && dvt_path_on(device, &operation) == DVT_ON_STREAM;
}

int64_t dvt_pairs_device_block(int64_t count, int devices) {
  return dvt_at_least(dvt_at_most(dvt_divide_up(count, 2 * LANES * devices), MOST_PAIRS), FEWEST_PAIRS);
}

static davit_status submit_lanes(device_work *all, int count, const int *devices, int each,
                                 dvt_lane **lanes) {
  for (int i = 0; i < count * each; i++) {
    const int device = devices[i % count];
    const lane_work l = {all, i};
    if (i < count) {
      DVT_TRY(dvt_memory_usable(device, true, &all->memory_bytes[i]));
      all->memory_bytes[i] /= LANES;
    }
    all->memory_bytes[i] = all->memory_bytes[i % count];
    DVT_TRY(dvt_lane_open(device, &lanes[i]));
    DVT_TRY(dvt_lane_submit(lanes[i], DVT_BLOCKING, run_lane, &l, sizeof l));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_pairs_on_devices(const dvt_pairs *p, int count, const int *devices) {
  const int64_t blocks = dvt_divide_up(p->queries->count, p->block);
  const int64_t most = dvt_at_least(dvt_at_most(dvt_threads() / count, LANES), 2);
  const int each = (int)dvt_at_most(dvt_divide_up(blocks, count), most);
  dvt_lane *lanes[DVT_MAX_DEVICES * LANES] = {0};
  device_work all = {.pairs = p, .blocks = blocks};
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, submit_lanes(&all, count, devices, each, lanes));
  if (first.status != DAVIT_SUCCESS)
    atomic_store(&all.stopped, true);
  for (int i = 0; i < count * each; i++)
    if (lanes[i])
      dvt_error_keep(&first, dvt_lane_close(lanes[i]));
  return dvt_error_report(&first);
}

/* ---- the choice ---- */

#define SCORE_RATE 1e12       /* cells a second of a device with enough warps: for scores, */
#define COLUMN_RATE 4e11      /* with columns, */
#define DROP_RATE 1.7e11      /* with an X-drop, */
#define DROP_COLUMN_RATE 1e11 /* and with both */
#define WARPS 570.0           /* that are enough, each with DVT_PAIRS_NARROW pairs, */
#define DROP_WARPS 2000.0     /* or with a pair that has an X-drop: 15 on each multiprocessor */
#define SYMBOL_SECONDS 6e-11  /* to bring a symbol there */
#define PAIR_SECONDS 5e-9     /* to bring a pair's results back */
#define LANE_SECONDS 3e-3     /* until a device is at work */

double dvt_pairs_device_seconds(const dvt_pairs *p, double cells, int devices) {
  const int64_t count = p->queries->count;
  const double symbols = count > 0
                             ? (double)(symbols_of(p->queries, 0, count) + symbols_of(p->targets, 0, count))
                             : 0,
               rate = p->x_drop > 0 ? (p->full ? DROP_COLUMN_RATE : DROP_RATE)
                      : p->full     ? COLUMN_RATE
                                    : SCORE_RATE,
               filled = p->x_drop > 0 ? (double)count / DROP_WARPS
                                      : (double)dvt_divide_up(count, DVT_PAIRS_NARROW) / WARPS,
               compute = count > 0 ? cells / rate / (filled < devices ? filled : devices) : 0,
               copies = symbols * SYMBOL_SECONDS + (double)count * PAIR_SECONDS;
  return LANE_SECONDS + (compute > copies ? compute : copies);
}
