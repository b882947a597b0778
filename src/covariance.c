/* SPDX-License-Identifier: Apache-2.0 */
/* Covariance: on a queue, and spread over devices. rows cols (cols + 1) flops for the product; every device
 * has all of the centred data, rows cols elements, and computes its columns of the lower triangle. */
#include <davit/covariance.h>
#include <math.h>
#include <string.h>

#include "offload/blas.h"
#include "offload/covariance.h"
#include "offload/runtime/device.h"
#include "src/base/arithmetic.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

/* Rows and columns of the data as they lie. */
static int64_t height(const dvt_covariance *g) {
  return g->trans == 'N' ? g->rows : g->cols;
}

static int64_t width(const dvt_covariance *g) {
  return g->trans == 'N' ? g->cols : g->rows;
}

static int64_t triangle_length(int64_t cols) {
  return cols * (cols - 1) / 2;
}

/* ---- arguments ---- */

static davit_status check_divisor(davit_type type, const char *argument, double given) {
  if (isnan(given))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is %g", argument, given);
  if (isinf(type == DAVIT_DOUBLE ? 1 / given : (double)(float)(1 / given)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is %g, whose reciprocal is beyond the range of %s",
                      argument, given, type == DAVIT_DOUBLE ? "double" : "float");
  return DAVIT_SUCCESS;
}

static davit_status check_sizes(dvt_covariance *g) {
  DVT_TRY(dvt_check_floating(g->type));
  DVT_TRY(dvt_check_trans("trans", g->type, g->trans, &g->trans));
  DVT_TRY(dvt_check_length("rows", g->rows));
  DVT_TRY(dvt_check_length("cols", g->cols));
  DVT_TRY(dvt_check_extent("cols", g->cols, g->cols));
  DVT_TRY(dvt_check_ld("ldd", g->ldd, height(g), width(g)));
  DVT_TRY(check_divisor(g->type, "options->mean_divisor", g->mean_divisor));
  DVT_TRY(check_divisor(g->type, "options->divisor", g->divisor));
  if (g->centred)
    DVT_TRY(dvt_check_ld("ldc", g->ldc, height(g), width(g)));
  if (g->triangle != DAVIT_COVARIANCE_FULL && g->triangle != DAVIT_COVARIANCE_PACKED)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->form is %d, neither DAVIT_COVARIANCE_FULL nor DAVIT_COVARIANCE_PACKED",
                      (int)g->triangle);
  return g->triangle == DAVIT_COVARIANCE_FULL ? dvt_check_ld("lds", g->lds, g->cols, g->cols) : DAVIT_SUCCESS;
}

typedef struct region {
  const char *name;
  const void *base;
  int64_t ld, rows, cols;
} region;

static davit_status check_overlaps(const dvt_covariance *g) {
  int64_t packed = triangle_length(g->cols);
  bool full = g->triangle == DAVIT_COVARIANCE_FULL;
  const region regions[] = {
      {"d", g->d, g->ldd, height(g), width(g)},
      {"centred", g->centred, g->ldc, height(g), width(g)},
      {"mean", g->mean, g->cols, g->cols, 1},
      {"s", g->s, full ? g->lds : packed, full ? g->cols : packed, full ? g->cols : 1},
  };
  if (g->centred && g->centred == g->d && g->ldc != g->ldd)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "ldc is %lld, not ldd, though centred is d", (long long)g->ldc);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) {
      const region *a = &regions[i], *b = &regions[j];
      if (a->base && b->base && !(i == 1 && j == 0 && a->base == b->base) &&
          dvt_blocks_overlap(a->base, a->ld, a->rows, a->cols, b->base, b->ld, b->rows, b->cols,
                             davit_type_bytes(g->type)))
        return davit_fail(DAVIT_INVALID_ARGUMENT, "%s overlaps %s", a->name, b->name);
    }
  return DAVIT_SUCCESS;
}

static davit_status check(void *arguments) {
  dvt_covariance *g = arguments;
  DVT_TRY(check_sizes(g));
  if (!g->d && g->rows > 0 && g->cols > 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "d is NULL");
  if (!g->s && (g->triangle == DAVIT_COVARIANCE_FULL ? g->cols : triangle_length(g->cols)) > 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "s is NULL");
  return check_overlaps(g);
}

/* ---- on a lane ---- */

/* Leading dimension of a matrix of davit's own: whole lines, so that all columns are aligned. */
static int64_t padded(int64_t rows, size_t element) {
  int64_t line = 128 / (int64_t)element;
  return dvt_divide_up(dvt_at_least(rows, 1), line) * line;
}

/* Parts of one piece of scratch memory. */
typedef struct scratch {
  char *base;
  size_t used;
} scratch;

static void *take(scratch *from, size_t bytes) {
  void *part = from->base ? from->base + from->used : NULL;
  from->used += dvt_aligned_up(bytes);
  return part;
}

/* Gives what the caller did not ask for, but the work needs, a place. */
static void *complete(dvt_covariance *g, scratch *from, void **square, int64_t *ld) {
  size_t element = davit_type_bytes(g->type);
  if (!g->mean)
    g->mean = take(from, (size_t)g->cols * element);
  if (!g->centred) {
    g->ldc = padded(height(g), element);
    g->centred = take(from, (size_t)(g->ldc * width(g)) * element);
  }
  *square = g->s;
  *ld = g->lds;
  if (g->triangle == DAVIT_COVARIANCE_PACKED) {
    *ld = padded(g->cols, element);
    *square = take(from, (size_t)(*ld * g->cols) * element);
  }
  return take(from, dvt_centre_scratch(g));
}

static davit_status run(const dvt_site *site, const void *arguments) {
  dvt_covariance g = *(const dvt_covariance *)arguments;
  if (g.cols == 0)
    return DAVIT_SUCCESS;
  scratch all = {NULL, 0};
  void *square, *memory = NULL;
  int64_t ld;
  dvt_covariance sizes = g;
  complete(&sizes, &all, &square, &ld);
  if (all.used > 0)
    DVT_TRY(site->workspace(site, all.used, &memory));
  all = (scratch){memory, 0};
  void *rest = complete(&g, &all, &square, &ld);
  DVT_TRY(dvt_centre(site, &g, rest));
  DVT_TRY(dvt_product(site, &g, 0, g.cols, square, ld));
  return g.triangle == DAVIT_COVARIANCE_PACKED
             ? dvt_pack(site, g.type, g.cols, g.cols, square, ld, g.s)
             : dvt_transpose(site, g.type, g.cols, g.cols, square, ld, square, ld, true);
}

/* Teams that share the centring of the device. */
static void tune(void *arguments, int device) {
  ((dvt_covariance *)arguments)->teams =
      dvt_tuned(device, DVT_TUNE_COVARIANCE_TEAMS, 0) * dvt_device_find(device)->info.compute_units;
}

/* It is split by rules of its own, below. */
static const dvt_operation operation = {
    .name = "covariance",
    .bytes = DVT_BYTES_OF(dvt_covariance),
    .check = check,
    .stream = run,
    .prepare = dvt_blas_prepare,
    .host = run,
    .region = run,
    .array = {DVT_ARRAY(dvt_covariance, d, DVT_MATRIX),
              DVT_ARRAY(dvt_covariance, mean, DVT_ALONG_OUT, .writes = true),
              DVT_ARRAY(dvt_covariance, centred, DVT_MATRIX),
              DVT_ARRAY(dvt_covariance, s, DVT_ALONG_OUT, .writes = true)},
    .size = {offsetof(dvt_covariance, cols), offsetof(dvt_covariance, rows)},
    .tune = tune};

/* The arguments with the defaults of the options filled in. */
static dvt_covariance arguments_of(davit_type type, char trans, int64_t rows, int64_t cols, const void *d,
                                   int64_t ldd, void *mean, void *centred, int64_t ldc, void *s, int64_t lds,
                                   const davit_covariance_options *options) {
  const davit_covariance_options defaults = {0}, *o = options ? options : &defaults;
  return (dvt_covariance){.type = type,
                          .trans = trans,
                          .rows = rows,
                          .cols = cols,
                          .d = d,
                          .ldd = ldd,
                          .mean_divisor =
                              o->mean_divisor != 0 ? o->mean_divisor : (double)dvt_at_least(rows, 1),
                          .divisor = o->divisor != 0 ? o->divisor : (double)dvt_at_least(rows, 2) - 1,
                          .mean = mean,
                          .centred = centred,
                          .ldc = ldc,
                          .triangle = o->form,
                          .s = s,
                          .lds = lds};
}

davit_status dvt_covariance_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  (void)device;
  return dvt_centre_fit(stream, DAVIT_DOUBLE, fit);
}

davit_status davit_queue_covariance(davit_queue *queue, davit_type type, char trans, int64_t rows,
                                    int64_t cols, const void *d, int64_t ldd, void *mean, void *centred,
                                    int64_t ldc, void *s, int64_t lds,
                                    const davit_covariance_options *options) {
  dvt_covariance g = arguments_of(type, trans, rows, cols, d, ldd, mean, centred, ldc, s, lds, options);
  return dvt_operation_enqueue(queue, &operation, &g, DVT_WHERE(options));
}

/* ---- over several devices ---- */

/* Three phases with a synchronisation after each, as D may be centred in place while other devices read it:
 * all devices fetch D; they centre it; they compute panels of columns of S, dealt in turn, each on one of
 * PANEL_LANES lanes. Devices that share the host's memory share the centred data as well.
 *
 * Devices that have to fetch D do all three at once. Blocks of columns are dealt in turn, the last ones first. A lane
 * of its device fetches and centres a block, and lanes of the other devices copy it from there. The panel of S below
 * the diagonal of a block needs that block and those behind it alone: it is computed, and goes home, while earlier
 * columns are on their way. */
enum {
  PANEL_LANES = 2,
  FETCH_LANE = PANEL_LANES,
  PEER_LANE,
  LANES,
  MIN_PANEL = 64,
  MAX_PANEL = 1024,
  BLOCKS = 8,
  /* The usual blocks of streamed data have at least so many bytes or so many columns. */
  BLOCK_BYTES = 2 << 20,
  MIN_STREAM_PANEL = 256,
  SHARED_BLOCK_BYTES = 12 << 20,
  MIN_SHARED_PANEL = 512
};

typedef struct member {
  int device;
  dvt_lane *lane[LANES];                         /* NULL: not needed */
  dvt_covariance g;                              /* the data as this device has it */
  bool centres;                                  /* it does, and nobody else for it */
  void *own[3];                                  /* memory: data, mean, scratch of centring */
  void *panel[PANEL_LANES], *image[PANEL_LANES]; /* columns of S, their mirror image or packed form */
} member;

typedef struct covariance_run {
  const dvt_covariance *g;
  int count;
  bool streams;  /* the devices do all three at once */
  int64_t width; /* of a panel */
  member member[DVT_MAX_DEVICES];
} covariance_run;

static bool reaches(int device, const void *pointer) {
  return dvt_place_reached(device, dvt_place_of(pointer));
}

static davit_status hold(const dvt_covariance *g, int device, size_t bytes, void **memory) {
  if (bytes == 0)
    return DAVIT_SUCCESS;
  davit_status status = dvt_malloc(bytes, device, memory);
  if (status == DAVIT_OUT_OF_DEVICE_MEMORY)
    return davit_fail(
        status, "covariance: device %d has no memory for %zu bytes; each device holds all %lld x %lld data",
        device, bytes, (long long)g->rows, (long long)g->cols);
  return status;
}

/* The first member whose device shares the host's memory, if this one's does. */
static member *host_member(covariance_run *r, int index) {
  if (dvt_place_is_host(r->member[index].device))
    for (int i = 0; i < index; i++)
      if (dvt_place_is_host(r->member[i].device))
        return &r->member[i];
  return NULL;
}

/* Where this device has the centred data and the means, and, if it centres, from where it takes D. */
static davit_status place_data(covariance_run *r, int index) {
  const dvt_covariance *g = r->g;
  member *m = &r->member[index], *sharing = host_member(r, index);
  size_t element = davit_type_bytes(g->type);
  m->g = sharing ? sharing->g : *g;
  if (sharing)
    return DAVIT_SUCCESS;
  m->centres = true;
  if (!g->centred || !reaches(m->device, g->centred)) {
    m->g.ldc = padded(height(g), element);
    DVT_TRY(hold(g, m->device, (size_t)(m->g.ldc * width(g)) * element, &m->own[0]));
    m->g.centred = m->own[0];
  }
  if (!g->mean || !reaches(m->device, g->mean)) {
    DVT_TRY(hold(g, m->device, (size_t)g->cols * element, &m->own[1]));
    m->g.mean = m->own[1];
  }
  return hold(g, m->device, dvt_centre_scratch(g), &m->own[2]);
}

static davit_status copy_block(dvt_lane *lane, void *to, int64_t ld_to, const void *from, int64_t ld_from,
                               int64_t rows, int64_t cols, size_t element) {
  if (rows <= 0 || cols <= 0 || to == from)
    return DAVIT_SUCCESS;
  dvt_copy copy = {to,
                   from,
                   (size_t)ld_to * element,
                   (size_t)ld_from * element,
                   (size_t)rows * element,
                   (size_t)cols,
                   dvt_place_of(to),
                   dvt_place_of(from)};
  return dvt_copy_submit(lane, &copy);
}

/* Copies D to where it is centred in place, if the device does not reach it as it lies. */
static davit_status fetch_data(member *m, dvt_covariance *g, dvt_lane *lane) {
  if (!m->centres || !g->d || reaches(m->device, g->d))
    return DAVIT_SUCCESS;
  DVT_TRY(copy_block(lane, g->centred, g->ldc, g->d, g->ldd, height(g), width(g), davit_type_bytes(g->type)));
  g->d = g->centred;
  g->ldd = g->ldc;
  return DAVIT_SUCCESS;
}

typedef struct centring {
  dvt_covariance g;
  void *scratch;
} centring;

static davit_status run_centring(const dvt_site *site, const void *arguments) {
  const centring *c = arguments;
  return dvt_centre(site, &c->g, c->scratch);
}

static const dvt_operation centring_operation = {.name = "covariance: centring",
                                                 .bytes = sizeof(centring),
                                                 .stream = run_centring,
                                                 .host = run_centring,
                                                 .region = run_centring};

static davit_status centre(member *m, const dvt_covariance *g, dvt_lane *lane) {
  centring c = {*g, m->own[2]};
  return m->centres ? dvt_operation_submit(lane, &centring_operation, &c, 0) : DAVIT_SUCCESS;
}

/* The first device's means and centred data, to where the caller wants them and no device has left them. */
static davit_status send_data(covariance_run *r) {
  const dvt_covariance *g = r->g;
  bool centred = false, mean = false;
  for (int i = 0; i < r->count; i++) {
    centred |= g->centred && r->member[i].g.centred == g->centred;
    mean |= g->mean && r->member[i].g.mean == g->mean;
  }
  member *m = &r->member[0];
  size_t element = davit_type_bytes(g->type);
  if (g->mean && !mean)
    DVT_TRY(copy_block(m->lane[0], g->mean, g->cols, m->g.mean, g->cols, g->cols, 1, element));
  if (g->centred && !centred)
    DVT_TRY(copy_block(m->lane[0], g->centred, g->ldc, m->g.centred, m->g.ldc, height(g), width(g), element));
  return DAVIT_SUCCESS;
}

/* Columns [begin, end) of S on a lane: the lower triangle to `square`, at its first row and column; then
 * their mirror image to `image`, or all packed to `image`. */
typedef struct panel {
  dvt_covariance g;
  int64_t begin, end;
  void *square, *image;
  int64_t ld, ld_image;
} panel;

static davit_status run_panel(const dvt_site *site, const void *arguments) {
  const panel *p = arguments;
  const dvt_covariance *g = &p->g;
  int64_t width = p->end - p->begin, below = g->cols - p->end;
  DVT_TRY(dvt_product(site, g, p->begin, p->end, p->square, p->ld));
  if (g->triangle == DAVIT_COVARIANCE_PACKED)
    return dvt_pack(site, g->type, g->cols - p->begin, width, p->square, p->ld, p->image);
  DVT_TRY(dvt_transpose(site, g->type, width, width, p->square, p->ld, p->square, p->ld, true));
  const char *rectangle = (const char *)p->square + (size_t)width * davit_type_bytes(g->type);
  return below == 0
             ? DAVIT_SUCCESS
             : dvt_transpose(site, g->type, below, width, rectangle, p->ld, p->image, p->ld_image, false);
}

static const dvt_operation panel_operation = {.name = "covariance: columns",
                                              .bytes = sizeof(panel),
                                              .stream = run_panel,
                                              .prepare = dvt_blas_prepare,
                                              .host = run_panel,
                                              .region = run_panel};

static char *element_of_s(const dvt_covariance *g, int64_t i, int64_t j) {
  return (char *)g->s + (size_t)(i + j * g->lds) * davit_type_bytes(g->type);
}

/* Memory for the panels of a lane where the device does not compute in S itself. */
static davit_status hold_panel(covariance_run *r, member *m, int lane, bool square, bool image) {
  size_t element = davit_type_bytes(r->g->type);
  size_t bytes = (size_t)(padded(r->g->cols, element) * r->width) * element;
  if (square && !m->panel[lane])
    DVT_TRY(hold(r->g, m->device, bytes, &m->panel[lane]));
  return image && !m->image[lane] ? hold(r->g, m->device, bytes, &m->image[lane]) : DAVIT_SUCCESS;
}

static davit_status packed_panel(covariance_run *r, member *m, int lane, panel *p) {
  const dvt_covariance *g = r->g;
  size_t element = davit_type_bytes(g->type);
  int64_t first = davit_covariance_packed_index(g->cols, p->begin, p->begin + 1);
  int64_t count = davit_covariance_packed_index(g->cols, p->end, p->end + 1) - first;
  if (count == 0)
    return DAVIT_SUCCESS;
  void *home = (char *)g->s + (size_t)first * element;
  bool here = reaches(m->device, g->s);
  DVT_TRY(hold_panel(r, m, lane, true, !here));
  p->square = m->panel[lane];
  p->ld = padded(g->cols - p->begin, element);
  p->image = here ? home : m->image[lane];
  DVT_TRY(dvt_operation_submit(m->lane[lane], &panel_operation, p, 0));
  return copy_block(m->lane[lane], home, count, p->image, count, count, 1, element);
}

static davit_status full_panel(covariance_run *r, member *m, int lane, panel *p) {
  const dvt_covariance *g = r->g;
  size_t element = davit_type_bytes(g->type);
  int64_t width = p->end - p->begin, below = g->cols - p->end;
  char *home = element_of_s(g, p->begin, p->begin), *home_image = element_of_s(g, p->begin, p->end);
  bool here = reaches(m->device, g->s);
  DVT_TRY(hold_panel(r, m, lane, !here, !here));
  p->square = here ? home : m->panel[lane];
  p->ld = here ? g->lds : padded(g->cols - p->begin, element);
  p->image = here ? home_image : m->image[lane];
  p->ld_image = here ? g->lds : padded(width, element);
  DVT_TRY(dvt_operation_submit(m->lane[lane], &panel_operation, p, 0));
  if (here)
    return DAVIT_SUCCESS;
  DVT_TRY(copy_block(m->lane[lane], home, g->lds, p->square, p->ld, g->cols - p->begin, width, element));
  return copy_block(m->lane[lane], home_image, g->lds, p->image, p->ld_image, width, below, element);
}

static davit_status synchronize(covariance_run *r) {
  dvt_lane *lanes[DVT_MAX_DEVICES * PANEL_LANES];
  int count = 0;
  for (int i = 0; i < r->count; i++)
    for (int k = 0; k < PANEL_LANES; k++)
      lanes[count++] = r->member[i].lane[k];
  return dvt_lanes_synchronize(lanes, count);
}

/* The `index`-th panel that is computed, with columns from `begin` on. */
static davit_status submit_panel(covariance_run *r, int64_t index, int64_t begin) {
  const dvt_covariance *g = r->g;
  member *m = &r->member[index % r->count];
  const int lane = (int)(index / r->count % PANEL_LANES);
  panel p = {.g = m->g, .begin = begin, .end = dvt_at_most(begin + r->width, g->cols)};
  return g->triangle == DAVIT_COVARIANCE_PACKED ? packed_panel(r, m, lane, &p) : full_panel(r, m, lane, &p);
}

static davit_status run_phases(covariance_run *r) {
  for (int i = 0; i < r->count; i++)
    DVT_TRY(fetch_data(&r->member[i], &r->member[i].g, r->member[i].lane[0]));
  DVT_TRY(synchronize(r));
  for (int i = 0; i < r->count; i++)
    DVT_TRY(centre(&r->member[i], &r->member[i].g, r->member[i].lane[0]));
  DVT_TRY(synchronize(r));
  int64_t index = 0;
  for (int64_t begin = 0; begin < r->g->cols; begin += r->width, index++)
    DVT_TRY(submit_panel(r, index, begin));
  return DAVIT_SUCCESS;
}

/* Columns [begin, end) of the member's data. */
static dvt_covariance part_of(const dvt_covariance *g, int64_t begin, int64_t end) {
  const size_t element = davit_type_bytes(g->type);
  const size_t step = g->trans == 'N' ? (size_t)g->ldd : 1,
               centred_step = g->trans == 'N' ? (size_t)g->ldc : 1;
  dvt_covariance part = *g;
  part.all_cols = g->cols;
  part.cols = end - begin;
  part.d = (const char *)g->d + (size_t)begin * step * element;
  if (g->centred)
    part.centred = (char *)g->centred + (size_t)begin * centred_step * element;
  part.mean = (char *)g->mean + (size_t)begin * element;
  return part;
}

/* The second lane waits for all that the first has. */
static davit_status follow(dvt_lane *first, dvt_lane *second) {
  dvt_record *record;
  DVT_TRY(dvt_lane_record(first, false, &record));
  davit_status status = dvt_lane_wait(second, record);
  dvt_record_drop(record);
  return status;
}

/* Copies a block that is `centred`, with its means if anybody wants them, to another device. */
static davit_status pass_on(covariance_run *r, member *from, dvt_record *centred, member *to, int64_t begin,
                            int64_t end) {
  const dvt_covariance source = part_of(&from->g, begin, end), copy = part_of(&to->g, begin, end);
  const size_t element = davit_type_bytes(source.type);
  dvt_lane *lane = to->lane[PEER_LANE];
  DVT_TRY(dvt_lane_wait(lane, centred));
  if (r->g->mean)
    DVT_TRY(copy_block(lane, copy.mean, source.cols, source.mean, source.cols, source.cols, 1, element));
  return copy_block(lane, copy.centred, copy.ldc, source.centred, source.ldc, height(&source), width(&source),
                    element);
}

/* Whether a device needs a block: for a panel of its own that comes later, or for what the caller wants beside S. */
static bool needs(const covariance_run *r, int which, int64_t index) {
  const int64_t next = index + 1, ahead = (which - next % r->count + r->count) % r->count;
  return r->g->mean || r->g->centred || next + ahead < dvt_divide_up(r->g->cols, r->width);
}

static davit_status stream_block(covariance_run *r, int64_t index, int64_t begin) {
  member *m = &r->member[index % r->count];
  dvt_lane *panel_lane = m->lane[index / r->count % PANEL_LANES];
  const int64_t end = dvt_at_most(begin + r->width, r->g->cols);
  dvt_covariance block = part_of(&m->g, begin, end);
  dvt_record *centred;
  DVT_TRY(fetch_data(m, &block, m->lane[FETCH_LANE]));
  DVT_TRY(centre(m, &block, m->lane[FETCH_LANE]));
  DVT_TRY(dvt_lane_record(m->lane[FETCH_LANE], false, &centred));
  davit_status status = dvt_lane_wait(panel_lane, centred);
  for (int i = 0; i < r->count && status == DAVIT_SUCCESS; i++)
    if (&r->member[i] != m && needs(r, i, index))
      status = pass_on(r, m, centred, &r->member[i], begin, end);
  dvt_record_drop(centred);
  DVT_TRY(status);
  return r->count > 1 ? follow(m->lane[PEER_LANE], panel_lane) : DAVIT_SUCCESS;
}

static davit_status run_stream(covariance_run *r) {
  const int64_t blocks = dvt_divide_up(r->g->cols, r->width);
  for (int64_t index = 0; index < blocks; index++) {
    const int64_t begin = (blocks - 1 - index) * r->width;
    DVT_TRY(stream_block(r, index, begin));
    DVT_TRY(submit_panel(r, index, begin));
  }
  member *m = &r->member[0]; /* send_data() uses its first lane */
  DVT_TRY(follow(m->lane[FETCH_LANE], m->lane[0]));
  return r->count > 1 ? follow(m->lane[PEER_LANE], m->lane[0]) : DAVIT_SUCCESS;
}

static davit_status run_all(covariance_run *r) {
  for (int i = 0; i < r->count; i++)
    DVT_TRY(place_data(r, i));
  DVT_TRY(r->streams ? run_stream(r) : run_phases(r));
  return send_data(r);
}

static davit_status open(covariance_run *r, const int *devices) {
  for (int i = 0; i < r->count; i++) {
    r->member[i].device = devices[i];
    for (int k = 0; k < (!r->streams ? PANEL_LANES : r->count > 1 ? LANES : PEER_LANE); k++)
      DVT_TRY(dvt_lane_open(devices[i], &r->member[i].lane[k]));
  }
  return DAVIT_SUCCESS;
}

/* Waits for all work, then gives everything back. */
static davit_status close(covariance_run *r, davit_status status) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, status);
  for (int i = 0; i < r->count; i++)
    for (int k = 0; k < LANES; k++)
      if (r->member[i].lane[k])
        dvt_error_keep(&first, dvt_lane_close(r->member[i].lane[k]));
  for (int i = 0; i < r->count; i++) {
    member *m = &r->member[i];
    for (int k = 0; k < 3; k++)
      davit_free(m->own[k]);
    for (int k = 0; k < PANEL_LANES; k++) {
      davit_free(m->panel[k]);
      davit_free(m->image[k]);
    }
  }
  return dvt_error_report(&first);
}

/* Wide enough for the products to be fast, and several for each device, as the first are the longest, or as
 * many as keep the link busy. One device that reaches D and S takes S in one. */
static int64_t panel_width(const covariance_run *r, const int *devices) {
  const dvt_covariance *g = r->g;
  if (r->count == 1 && !r->streams && g->s && reaches(devices[0], g->s) &&
      g->triangle == DAVIT_COVARIANCE_FULL)
    return g->cols;
  const int64_t column = dvt_at_least(g->rows, 1) * (int64_t)davit_type_bytes(g->type);
  int64_t parts = 4 * r->count, least = 0;
  if (r->streams && r->count == 1) {
    parts = BLOCKS;
    least = dvt_at_most(BLOCK_BYTES / column, MIN_STREAM_PANEL);
  } else if (r->streams) { /* a block costs commands of all devices */
    least = dvt_at_most(SHARED_BLOCK_BYTES / column, MIN_SHARED_PANEL);
  }
  const int64_t usual = dvt_at_least(g->cols / parts, least) / MIN_PANEL * MIN_PANEL;
  return dvt_at_most(dvt_tuned(devices[0], DVT_TUNE_COVARIANCE_PANEL,
                               dvt_at_most(dvt_at_least(usual, MIN_PANEL), MAX_PANEL)),
                     g->cols);
}

/* Whether none of the devices reaches D, and each copies directly to each other. */
static bool can_stream(const dvt_covariance *g, const int *devices, int count) {
  if (!g->d)
    return false;
  const int place = dvt_place_of(g->d);
  for (int i = 0; i < count; i++) {
    if (dvt_place_reached(devices[i], place))
      return false;
    for (int j = 0; j < count; j++)
      if (i != j && !dvt_device_peers(dvt_device_find(devices[i]), dvt_device_find(devices[j])))
        return false;
  }
  return true;
}

/* How many of the devices are used if they cannot do all at once. One could; several have all of D before they
 * multiply, which pays if a device has more to multiply than to fetch: more columns than BALANCED_BYTES hold (50
 * TFLOP/s, 55 GB/s). */
static int worth_using(const dvt_covariance *g, const int *devices, int count) {
  enum { BALANCED_BYTES = 58 << 10 };
  if (!g->d || !dvt_place_is_host(dvt_place_of(g->d)) || reaches(devices[0], g->d))
    return count;
  const int64_t balanced = BALANCED_BYTES / (int64_t)davit_type_bytes(g->type);
  return g->cols / count * (count - 1) > balanced ? count : 1;
}

davit_status davit_covariance(davit_type type, char trans, int64_t rows, int64_t cols, const void *d,
                              int64_t ldd, void *mean, void *centred, int64_t ldc, void *s, int64_t lds,
                              const davit_covariance_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  dvt_covariance g = arguments_of(type, trans, rows, cols, d, ldd, mean, centred, ldc, s, lds, options);
  DVT_TRY(check(&g));
  const dvt_where where = DVT_WHERE(options);
  DVT_TRY(dvt_choose_devices(where, chosen, &count));
  if (where.mapped)
    DVT_TRY(dvt_operation_use_mapped(&operation, &g, chosen[0]));
  if (cols == 0)
    return DAVIT_SUCCESS;
  tune(&g, chosen[0]);
  bool streams = can_stream(&g, chosen, count);
  if (!streams && (count = worth_using(&g, chosen, count)) == 1)
    streams = can_stream(&g, chosen, 1);
  covariance_run r = {.g = &g, .count = count, .streams = streams};
  r.width = panel_width(&r, chosen);
  if (r.streams && dvt_divide_up(cols, r.width) < count) { /* fewer blocks than devices */
    r.count = (int)dvt_divide_up(cols, r.width);
    r.width = panel_width(&r, chosen);
  }
  davit_status status = open(&r, chosen);
  return close(&r, status == DAVIT_SUCCESS ? run_all(&r) : status);
}

/* ---- packed form and full matrix on the host ---- */

static davit_status check_triangle(davit_type type, int64_t cols, const void *packed, const void *s,
                                   int64_t lds) {
  DVT_TRY(dvt_check_floating(type));
  DVT_TRY(dvt_check_length("cols", cols));
  DVT_TRY(dvt_check_ld("lds", lds, cols, cols));
  if (!packed && cols > 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "packed is NULL");
  if (!s && cols > 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "s is NULL");
  return DAVIT_SUCCESS;
}

davit_status davit_covariance_unpack(davit_type type, int64_t cols, const void *packed, const void *diagonal,
                                     void *s, int64_t lds) {
  DVT_TRY(check_triangle(type, cols, packed, s, lds));
  const dvt_site here = {.threads = 1, .device = DAVIT_HOST};
  size_t element = type == DAVIT_DOUBLE ? sizeof(double) : sizeof(float);
  for (int64_t j = 0; j < cols; j++) {
    char *corner = (char *)s + (size_t)(j + j * lds) * element;
    if (diagonal)
      memcpy(corner, (const char *)diagonal + (size_t)j * element, element);
    if (j + 1 < cols)
      memcpy(corner + element,
             (const char *)packed + (size_t)davit_covariance_packed_index(cols, j, j + 1) * element,
             (size_t)(cols - j - 1) * element);
  }
  return cols > 1 ? dvt_transpose(&here, type, cols, cols, s, lds, s, lds, true) : DAVIT_SUCCESS;
}

davit_status davit_covariance_pack(davit_type type, int64_t cols, const void *s, int64_t lds, void *packed,
                                   void *diagonal) {
  DVT_TRY(check_triangle(type, cols, packed, s, lds));
  const dvt_site here = {.threads = 1, .device = DAVIT_HOST};
  size_t element = type == DAVIT_DOUBLE ? sizeof(double) : sizeof(float);
  for (int64_t j = 0; j < cols && diagonal; j++)
    memcpy((char *)diagonal + (size_t)j * element, (const char *)s + (size_t)(j + j * lds) * element,
           element);
  return cols > 1 ? dvt_pack(&here, type, cols, cols, s, lds, packed) : DAVIT_SUCCESS;
}
