/* SPDX-License-Identifier: Apache-2.0 */
#include "src/level3/model.h"

#include "src/level3/rule.h"
#include <math.h>

void dvt_model_elements(const dvt_plan_shape *shape, double elements[DVT_POOLS]) {
  const dvt_layout layout = shape->rule->layout(shape);
  for (int x = 0; x < DVT_POOLS; x++)
    elements[x] = (double)shape->length[layout.rows[x]] * (double)shape->length[layout.cols[x]];
}

/* Time of a product of more than `tall` rows beside that of fewer: docs/notes/gemm.md, Complex doubles. */
static const double tall_slower = 1.15;

double dvt_model_product(const dvt_model_device *d, double m, double n, double k) {
  if (m <= 0 || n <= 0 || k <= 0)
    return d->launch;
  const double area = m * n / (m * n + d->area), depth = k / (k + d->depth);
  const double slower = d->tall > 0 && m > d->tall ? tall_slower : 1;
  return d->launch + slower * 2 * m * n * k / (d->rate * area * depth);
}

double dvt_model_host_load(const dvt_model *model, double up, double down) {
  const double both = model->all_both * (1 / model->all_up + 1 / model->all_down) / 2;
  const double share_up = up / model->all_up, share_down = down / model->all_down;
  return fmax(fmax(share_up, share_down), (share_up + share_down) / fmax(both, 1));
}

/* Bytes from row to row from which on short rows are looked up, and what that adds to the time of bytes that follow
 * each other, for rows shorter than far_row and than twice that: docs/notes/gemm.md, Short rows that lie far apart. */
static const double far_apart = 65536, far_short = 0.5, far_longer = 0.12;

/* 1 for rows of up to 0.8 of the length, 0 for those of 1.2 and more. */
static double shorter_than(double row, double length) {
  return length > 0 ? fmin(fmax(3 - 2.5 * row / length, 0), 1) : 0;
}

double dvt_model_strided(const dvt_model_device *d, double row, double pitch) {
  if (row <= 0 || row >= pitch)
    return 1;
  const double looked_up =
      far_short * shorter_than(row, d->far_row) + far_longer * shorter_than(row, 2 * d->far_row);
  return (row + d->row) / row + (pitch >= far_apart ? looked_up : 0);
}

double dvt_model_weight(const dvt_model_device *d, double row, double pitch) {
  if (row <= 0 || row >= pitch)
    return 1;
  return sqrt(fmod(pitch, far_apart) == 0 ? dvt_model_strided(d, row, pitch) : (row + d->row) / row);
}

/* ---- floors ---- */

/* Elements of matrices as their tiles are read. */
static void volumes(const dvt_plan_shape *shape, double elements[DVT_POOLS]) {
  const dvt_layout layout = shape->rule->layout(shape);
  dvt_model_elements(shape, elements);
  if (shape->rule->distribution(shape) == DVT_DISTRIBUTE_TRIANGLE)
    elements[DVT_C] /= 2;
  if (layout.same[layout.rows[DVT_A]] ==
      layout.same[layout.cols[DVT_A]]) /* a triangle, or the stored half of a symmetric matrix */
    elements[DVT_A] /= 2;
  if (!shape->rule->uniform)
    elements[DVT_B] = 0; /* C is in its place */
}

static double flops(const dvt_plan_shape *shape) {
  const double all = 2 * (double)shape->length[0] * (double)shape->length[1] * (double)shape->length[2];
  return shape->rule->distribution(shape) == DVT_DISTRIBUTE_BLOCKS ? all : all / 2;
}

void dvt_model_floors(const dvt_model *model, const dvt_plan_shape *shape, int devices,
                      dvt_prediction *prediction) {
  double rate = 0, up = 0, down = 0, both = 0, elements[DVT_POOLS], to = 0, from = 0, copied = 0;
  volumes(shape, elements);
  for (int d = 0; d < devices; d++) {
    rate += model->device[d].rate;
    up += model->device[d].up;
    down += model->device[d].down;
    both += model->device[d].both;
  }
  for (int x = 0; x < DVT_POOLS; x++)
    if (model->on_host[x] && !shape->device[0].resident[x]) {
      const double bytes = elements[x] * (double)shape->element;
      const double up_bytes = x != DVT_C || shape->load_c ? bytes : 0, down_bytes = x == DVT_C ? bytes : 0;
      to += up_bytes;
      from += down_bytes;
      copied += model->pageable[x] ? up_bytes + down_bytes : 0;
    }
  prediction->floor_arithmetic = flops(shape) / rate;
  prediction->floor_link = fmax(fmax(to / up, from / down), (to + from) / both);
  prediction->floor_link = fmax(prediction->floor_link, dvt_model_host_load(model, to, from));
  prediction->floor_link = fmax(prediction->floor_link, copied / model->host_copy);
}
