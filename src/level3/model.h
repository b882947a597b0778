/* SPDX-License-Identifier: Apache-2.0 */
/* How long things take on this machine: the parameters of its devices and links, and the simulation of a plan with
 * them (simulate.c). Pure functions but for dvt_model_of(), which reads the tuning table.
 *
 * The simulation gives every stream its steps in order, starts a step when the steps that it waits for are over and
 * a host thread has had the time to enqueue it, and lets what runs at the same time share: both directions of
 * a link, the host's memory, the arithmetic of one device, the threads that copy pageable memory. */
#ifndef DAVIT_SRC_LEVEL3_MODEL_H
#define DAVIT_SRC_LEVEL3_MODEL_H

#include <davit/operator.h>

#include "src/level3/plan.h"

/* Seconds, bytes per second, flops per second. */
typedef struct dvt_model_device {
  bool serial;           /* no streams: one thing after another */
  double rate;           /* of arithmetic, large products */
  double area;           /* elements of C for which a product runs at half that rate */
  double depth;          /* the same for k */
  double tall;           /* products of more rows take 15 % longer; 0: none do */
  double launch;         /* of a product */
  double solve;          /* of each row of a triangle whose system is solved: they wait for each other */
  double up, down, both; /* host link; both: the sum while data goes both ways */
  double row;            /* bytes of a row for which a copy of rows runs at half the link's rate */
  /* Where columns lie 64 KiB apart or more, rows of up to 0.8 times this take 0.62 of the time of bytes that follow
   * each other more, those of 1.2 to 1.6 times 0.12, and from 2.4 times on nothing. The device looks up the page of
   * each row, and reads its tables from memory (docs/notes/gemm.md). */
  double far_row;
  double latency; /* of a copy */
  double peer;    /* from or to another device */
  double memory;  /* device memory, read + write */
} dvt_model_device;

typedef struct dvt_model {
  dvt_model_device device[DVT_PLAN_DEVICES];
  double all_up, all_down;  /* to, or from, all devices together */
  double all_both;          /* to and from all together, as much each way */
  double host_copy;         /* pageable memory, all threads */
  bool pageable[DVT_POOLS]; /* the matrix passes through pinned buffers */
  bool on_host[DVT_POOLS];  /* the matrix is in host memory; else on a device: */
  int owner[DVT_POOLS];     /* that one, -1: none of these */
  double enqueue;           /* a step, on the device's host thread */
  double enqueue_beside;    /* more for each other device, whose thread does the same */
  double react;             /* of a stream to what it waited for */
  double start;             /* of a call */
  double start_device;      /* of each device after the first */
} dvt_model;

/* What the time of a simulated plan was spent on. */
typedef struct dvt_prediction {
  double seconds;
  double arithmetic, load, peer, store; /* time in which the busiest device does that */
  double floor_arithmetic, floor_link;
} dvt_prediction;

/* The parameters for a product of `type` on these devices: tuned ones, else those of the device's kind. */
void dvt_model_of(const int *devices, int count, davit_type type, dvt_model *model);

/* The host, with that many threads of BLIS. */
dvt_model_device dvt_model_host(int threads, davit_type type);

/* Elements of the matrices, all of each. */
void dvt_model_elements(const dvt_plan_shape *shape, double elements[DVT_POOLS]);

/* Seconds of one product of that shape on a device with operands at hand. */
double dvt_model_product(const dvt_model_device *d, double m, double n, double k);

/* How much longer a link takes for a copy of rows of so many bytes, so many bytes apart, than for as many bytes that
 * follow each other. Where the host's memory is the bound, it is the square root of that for rows that lie a multiple
 * of 64 KiB apart, as if they kept few of its channels busy, and of (row + d->row) / row for others. So come out the
 * choices that were measured on one, two and four cards. */
double dvt_model_strided(const dvt_model_device *d, double row, double pitch);
double dvt_model_weight(const dvt_model_device *d, double row, double pitch);

/* The share of the host's memory that takes so many bytes a second to and from devices. */
double dvt_model_host_load(const dvt_model *model, double up, double down);

/* Simulates the plan. */
davit_status dvt_simulate(const dvt_model *model, const dvt_plan_shape *shape, const dvt_plan *plan,
                          dvt_prediction *prediction);

/* No plan on the first `devices` devices is faster. */
void dvt_model_floors(const dvt_model *model, const dvt_plan_shape *shape, int devices,
                      dvt_prediction *prediction);

#endif
