/* SPDX-License-Identifier: Apache-2.0 */
#include "src/factor/plain.h"

#include "offload/runtime/device.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/team.h"
#include "src/level3/model.h"
#include "src/level3/run.h"
#include "src/runtime/backend.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"
#include "src/runtime/split.h"

davit_status dvt_plain_begin(dvt_plain *p) {
  static const davit_solve_options defaults;
  const dvt_where where = DVT_WHERE(p->given);
  p->call.options = p->given ? p->given : &defaults;
  p->call.report = &p->report;
  p->any_device = !where.devices && !where.mapped;
  DVT_TRY(dvt_check_length("options->block", p->call.options->block));
  if ((unsigned)p->call.options->arithmetic > DAVIT_ARITHMETIC_MIXED)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->arithmetic is %d", (int)p->call.options->arithmetic);
  return dvt_choose_devices(where, p->call.devices, &p->call.count);
}

davit_status dvt_plain_mapped(const dvt_plain *p, const char *name, void **pointer) {
  return p->given && p->given->mapped && *pointer ? dvt_use_mapped(p->call.devices[0], name, pointer)
                                                  : DAVIT_SUCCESS;
}

/* ---- where ---- */

static bool computes_in_place(int device, int place, bool separate) {
  return dvt_place_reached(device, place) && !(separate && dvt_device_find(device)->shares_host_memory);
}

/* Whether the host would be done before the devices, which have the matrix to fetch. */
static bool host_is_faster(const dvt_plain *p) {
  const dvt_factor_call *c = &p->call;
  const double m = (double)c->a.rows, n = (double)c->a.cols, k = p->flops / (2 * m * n),
               bytes = p->elements * (double)davit_type_bytes(c->type), steps = m < n ? m : n;
  dvt_model model;
  dvt_model_of(c->devices, c->count, c->type, &model);
  const dvt_model_device *d = &model.device[0], host = dvt_model_host(dvt_threads(), c->type);
  const double there = model.start + bytes / d->up + bytes / d->down + steps * d->solve +
                       dvt_model_product(d, m, n, k) / c->count;
  return dvt_model_product(&host, m, n, k) < there;
}

bool dvt_plain_is_at_home(dvt_plain *p) {
  dvt_factor_call *c = &p->call;
  const bool separate = c->options->separate_memory;
  c->a.place = dvt_place_of(c->a.a);
  c->b.place = c->b.a ? dvt_place_of(c->b.a) : c->a.place;
  const bool host = dvt_place_is_host(c->a.place),
             together = host ? dvt_place_is_host(c->b.place) : c->b.place == c->a.place;
  if (p->any_device && !host && together) {
    p->home = c->a.place;
    return true;
  }
  bool in_place = host || c->count == 1;
  for (int i = 0; i < c->count; i++)
    in_place = in_place && computes_in_place(c->devices[i], c->a.place, separate) &&
               computes_in_place(c->devices[i], c->b.place, separate);
  if (in_place) {
    p->home = c->count > 1 ? DAVIT_HOST : c->devices[0];
    return true;
  }
  if (!p->any_device || !host || !together || separate || c->options->block || !host_is_faster(p))
    return false;
  p->home = DAVIT_HOST;
  return true;
}

bool dvt_plain_goes_home(dvt_plain *p, davit_status status) {
  const dvt_factor_call *c = &p->call;
  if (status != DAVIT_OUT_OF_DEVICE_MEMORY || !p->any_device || p->report.written || c->options->block ||
      !dvt_place_is_host(c->a.place) || !dvt_place_is_host(c->b.place))
    return false;
  dvt_error_clear();
  p->home = DAVIT_HOST;
  return true;
}

davit_status dvt_plain_level3(dvt_plain *p, dvt_level3 *g) {
  davit_level3_report done = {.seconds = 0};
  davit_level3_options options = {.report = &done};
  davit_solve_report *report = &p->report;
  if (p->given) {
    const bool mapped = p->given->mapped; /* what is, is the device's already */
    options.devices = mapped ? p->call.devices : p->given->devices;
    options.device_count = mapped ? 1 : p->given->device_count;
    options.cache_bytes = p->given->cache_bytes;
    options.separate_memory = p->given->separate_memory;
  }
  const davit_status status = dvt_level3_call_plain(g, &options);
  report->written |= done.written;
  if (status != DAVIT_SUCCESS)
    return status;
  report->bytes_from_host += done.bytes_from_host;
  report->bytes_to_host += done.bytes_to_host;
  report->bytes_from_peers += done.bytes_from_peers;
  report->device_count = done.device_count > report->device_count ? done.device_count : report->device_count;
  return DAVIT_SUCCESS;
}

/* ---- vectors ---- */

static davit_status copy_lent(const dvt_lent *l, bool back) {
  const dvt_copy copy = back ? dvt_copy_bytes(l->bytes, l->pointer, l->copy_place, l->of, l->place)
                             : dvt_copy_bytes(l->bytes, l->of, l->place, l->pointer, l->copy_place);
  return dvt_copy_now(&copy);
}

davit_status dvt_lend(void *of, size_t bytes, int device, bool reads, dvt_lent *l) {
  if (bytes == 0)
    of = NULL; /* wherever it lies, nobody reads it */
  *l = (dvt_lent){.pointer = of, .of = of, .bytes = bytes, .copy_place = dvt_place_for(device)};
  if (!of)
    return DAVIT_SUCCESS;
  l->place = dvt_place_of(of);
  if (device == DAVIT_HOST ? dvt_place_is_host(l->place) : dvt_place_reached(device, l->place))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_malloc(bytes, l->copy_place, &l->pointer));
  if (!reads)
    return DAVIT_SUCCESS;
  const davit_status status = copy_lent(l, false);
  if (status != DAVIT_SUCCESS)
    davit_free(l->pointer);
  return status;
}

davit_status dvt_lent_back(dvt_lent *l, bool writes) {
  if (l->pointer == l->of)
    return DAVIT_SUCCESS;
  const davit_status status = writes ? copy_lent(l, true) : DAVIT_SUCCESS;
  davit_free(l->pointer);
  return status;
}

/* ---- the whole ---- */

static davit_status run_here(dvt_plain *p, const dvt_operation *operation, void *arguments) {
  p->report.block = p->call.a.cols;
  p->report.device_count = 1;
  p->report.written = true;
  return dvt_operation_call(operation, arguments, (dvt_where){.devices = &p->home, .device_count = 1});
}

static davit_status run_at_home(dvt_plain *p, const dvt_at_home *form) {
  void *of, **const at = (void **)(void *)((char *)form->arguments + form->vector);
  dvt_lent lent;
  if (form->vector == 0)
    return run_here(p, form->operation, form->arguments);
  memcpy(&of, at, sizeof of);
  DVT_TRY(dvt_lend(of, form->bytes, p->home, !form->writes, &lent));
  memcpy(at, &lent.pointer, sizeof lent.pointer);
  const davit_status status = run_here(p, form->operation, form->arguments),
                     back = dvt_lent_back(&lent, form->writes && status == DAVIT_SUCCESS);
  memcpy(at, &of, sizeof of);
  return status == DAVIT_SUCCESS ? back : status;
}

/* Where the caller leaves the choice: more devices would wait for each other's panels. */
static void choose_count(dvt_plain *p) {
  dvt_factor_call *c = &p->call;
  const double flops = (c->type >= DAVIT_COMPLEX_FLOAT ? 4 : 1) * p->flops,
               worth = flops / c->rule->flops_each;
  if (p->any_device && c->work == DVT_FACTOR && worth < c->count)
    c->count = worth < 1 ? 1 : (int)worth;
}

/* The host has the pivots of LU in hand meanwhile. */
static davit_status run_blocks(dvt_plain *p, const dvt_at_home *form, int *info) {
  dvt_lent ipiv;
  DVT_UNCANCELLED;
  DVT_TRY(dvt_may_wait());
  DVT_TRY(dvt_lend(p->call.ipiv, form->bytes, DAVIT_HOST, false, &ipiv));
  p->call.ipiv = ipiv.pointer;
  dvt_backend_hold();
  DVT_INSIDE_IF(dvt_place_any_gpu(p->call.devices, p->call.count));
  const davit_status status = dvt_factor_run(&p->call, info);
  dvt_backend_drop();
  p->call.ipiv = ipiv.of;
  const davit_status back = dvt_lent_back(&ipiv, status == DAVIT_SUCCESS);
  return status == DAVIT_SUCCESS ? back : status;
}

/* By blocks on the one device where the matrix lies, in a copy: where the rule is faster so, and there is room. */
static davit_status run_blocks_at_home(dvt_plain *p, const dvt_at_home *form, int *info, bool *done) {
  dvt_factor_call *c = &p->call;
  *done = c->work == DVT_FACTOR && p->flops >= c->rule->flops_at_home && dvt_lane_has_stream(p->home);
  if (!*done)
    return DAVIT_SUCCESS;
  c->devices[0] = p->home;
  c->count = 1;
  const davit_status status = run_blocks(p, form, info);
  if (status != DAVIT_OUT_OF_DEVICE_MEMORY || p->report.written)
    return status;
  dvt_error_clear();
  *done = false;
  return DAVIT_SUCCESS;
}

davit_status dvt_plain_run(dvt_plain *p, bool is_at_home, const dvt_at_home *form, int *info) {
  bool done = !is_at_home;
  if (!is_at_home)
    choose_count(p);
  const davit_status status =
      is_at_home ? run_blocks_at_home(p, form, info, &done) : run_blocks(p, form, info);
  return !done || dvt_plain_goes_home(p, status) ? run_at_home(p, form) : status;
}

/* ---- fronts ---- */

davit_status dvt_plain_end(dvt_plain *p, int64_t begin_ns, davit_status status) {
  p->report.seconds = 1e-9 * (double)(dvt_now_ns() - begin_ns);
  if (p->given && p->given->report)
    *p->given->report = p->report;
  return status;
}

davit_status dvt_queue_options(const davit_solve_options *options) {
  const char *member = !options                   ? NULL
                       : options->block           ? "block"
                       : options->cache_bytes     ? "cache_bytes"
                       : options->separate_memory ? "separate_memory"
                       : options->report          ? "report"
                       : options->arithmetic      ? "arithmetic"
                                                  : NULL;
  return member ? davit_fail(DAVIT_INVALID_ARGUMENT,
                             "options->%s is set, but a queue computes the whole on its device", member)
                : DAVIT_SUCCESS;
}
