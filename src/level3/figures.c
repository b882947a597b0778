/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of devices and links: those that were measured on this machine (`davit tune gemm`), else those of
 * the kind of device. */
#include "offload/runtime/device.h"
#include "src/base/team.h"
#include "src/level3/model.h"
#include "src/runtime/place.h"

/* An H200 of a host with PCIe 5 (docs/gemm.md): rates under sustained load, when power is the limit. */
static const dvt_model_device nvidia = {.rate = 53.5e12,
                                        .area = 150e3,
                                        .depth = 64,
                                        .launch = 4e-6,
                                        .up = 55e9,
                                        .down = 55e9,
                                        .both = 99e9,
                                        .row = 1500,
                                        .aligned_row = 20e3,
                                        .latency = 5e-6,
                                        .peer = 389e9,
                                        .memory = 4.0e12};

/* A device that davit's own target regions run on, one thing after another. */
static const dvt_model_device other = {.serial = true,
                                       .rate = 5e12,
                                       .area = 500e3,
                                       .depth = 64,
                                       .launch = 40e-6,
                                       .up = 10e9,
                                       .down = 10e9,
                                       .both = 10e9,
                                       .row = 4096,
                                       .latency = 20e-6,
                                       .peer = 20e9,
                                       .memory = 1e12};

/* Threads of the host, by BLIS; for each thread: */
static const dvt_model_device host_thread = {.serial = true,
                                             .rate = 16e9,
                                             .area = 4096,
                                             .depth = 32,
                                             .launch = 3e-6,
                                             .up = 5e9,
                                             .down = 5e9,
                                             .both = 5e9,
                                             .row = 64,
                                             .latency = 1e-6,
                                             .peer = 5e9,
                                             .memory = 5e9};

static dvt_model_device host_of(int threads) {
  dvt_model_device d = host_thread;
  d.rate *= threads;
  d.area *= threads;
  d.memory *= threads < 8 ? threads : 8;
  return d;
}

void dvt_model_of(const int *devices, int count, davit_type type, dvt_model *model) {
  int hosts = 0;
  for (int i = 0; i < count; i++)
    hosts += dvt_device_find(devices[i])->shares_host_memory;
  for (int i = 0; i < count; i++) {
    const dvt_device *device = dvt_device_find(devices[i]);
    const int threads = dvt_threads() / (hosts > 0 ? hosts : 1);
    model->device[i] = device->shares_host_memory ? host_of(threads > 0 ? threads : 1)
                       : device->ordinal >= 0     ? nvidia
                                                  : other;
    const bool single = type == DAVIT_FLOAT || type == DAVIT_COMPLEX_FLOAT;
    if (single && device->shares_host_memory)
      model->device[i].rate *= 2;
    if (type == DAVIT_COMPLEX_FLOAT || type == DAVIT_COMPLEX_DOUBLE)
      model->device[i].rate /= 4; /* four products of real numbers for one */
  }
  const double threads = dvt_threads();
  model->host_total = 169e9;
  model->host_copy = threads * 11.7e9 / (1 + threads * 11.7e9 / 85e9); /* 1: 10, 16: 58, 64: 76 GB/s */
  model->enqueue = 6e-6;
  model->enqueue_beside = 8e-6;
  model->react = 4e-6;
  model->start = 20e-6;
  model->start_device = 100e-6;
}
