/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of tasks over several devices, as lanes and records carry it out: each task is a copy or an operation on a
 * lane, behind tasks of other lanes, which are numbered in an order that respects every dependence. Knows nothing of
 * what is computed.
 *
 * Nothing waits on the host but dvt_graph_await() and dvt_graph_wait(). The first failure stops all lanes: what is not
 * under way is left out. */
#ifndef DAVIT_SRC_RUNTIME_GRAPH_H
#define DAVIT_SRC_RUNTIME_GRAPH_H

#include "src/runtime/copy.h"

typedef struct dvt_graph {
  int lanes;
  dvt_lane **lane; /* NULL: not opened */
  int64_t tasks;
  dvt_record **record; /* of each task that is awaited, once it is enqueued */
  dvt_company company;
} dvt_graph;

/* Room for so many lanes and tasks; after a failure, too, dvt_graph_wait() and dvt_graph_close() follow. */
davit_status dvt_graph_open(dvt_graph *graph, int lanes, int64_t tasks);

/* Opens a lane on a device. */
davit_status dvt_graph_add_lane(dvt_graph *graph, int lane, int device, dvt_stream_role role);

/* A task: its number, its lane, the numbers of those before it that it follows, which are `awaited`, and whether it is
 * itself. Those of its own lane it follows anyway. */
typedef struct dvt_graph_task {
  int64_t number;
  int lane;
  const int32_t *follows;
  int count;
  bool awaited;
} dvt_graph_task;

davit_status dvt_graph_copy(dvt_graph *graph, const dvt_graph_task *task, const dvt_copy *copy);
davit_status dvt_graph_operation(dvt_graph *graph, const dvt_graph_task *task, const dvt_operation *operation,
                                 const void *arguments, int threads);

/* Waits for a task that is awaited. */
davit_status dvt_graph_await(dvt_graph *graph, int64_t number);

/* Waits for everything, once; returns `status`, or else the first error of the tasks. */
davit_status dvt_graph_wait(dvt_graph *graph, davit_status status);

/* Afterwards. */
void dvt_graph_close(dvt_graph *graph);

#endif
