/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/graph.h"

#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/runtime/operation.h"

davit_status dvt_graph_open(dvt_graph *g, int lanes, int64_t tasks) {
  *g = (dvt_graph){.lanes = lanes, .tasks = tasks};
  g->lane = dvt_allocate((size_t)lanes, sizeof(dvt_lane *));
  g->record = dvt_allocate((size_t)tasks + 1, sizeof(dvt_record *));
  return g->lane && g->record ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

davit_status dvt_graph_add_lane(dvt_graph *g, int lane, int device, dvt_stream_role role) {
  DVT_TRY(dvt_lane_open_for(device, role, &g->lane[lane]));
  g->lane[lane]->company = &g->company;
  return DAVIT_SUCCESS;
}

static davit_status begin(dvt_graph *g, const dvt_graph_task *task) {
  for (int i = 0; i < task->count; i++)
    DVT_TRY(dvt_lane_wait(g->lane[task->lane], g->record[task->follows[i]]));
  return DAVIT_SUCCESS;
}

static davit_status end(dvt_graph *g, const dvt_graph_task *task, davit_status status) {
  return status == DAVIT_SUCCESS && task->awaited
             ? dvt_lane_record(g->lane[task->lane], false, &g->record[task->number])
             : status;
}

davit_status dvt_graph_copy(dvt_graph *g, const dvt_graph_task *task, const dvt_copy *copy) {
  DVT_TRY(begin(g, task));
  return end(g, task, dvt_copy_submit(g->lane[task->lane], copy));
}

davit_status dvt_graph_operation(dvt_graph *g, const dvt_graph_task *task, const dvt_operation *operation,
                                 const void *arguments, int threads) {
  DVT_TRY(begin(g, task));
  return end(g, task, dvt_operation_submit(g->lane[task->lane], operation, arguments, threads));
}

davit_status dvt_graph_await(dvt_graph *g, int64_t number) {
  return dvt_record_wait(g->record[number]);
}

davit_status dvt_graph_wait(dvt_graph *g, davit_status status) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, status);
  for (int i = 0; g->lane && i < g->lanes; i++)
    if (g->lane[i])
      dvt_error_keep(&first, dvt_lane_finish(g->lane[i]));
  return dvt_error_report(&first);
}

void dvt_graph_close(dvt_graph *g) {
  for (int64_t i = 0; g->record && i < g->tasks; i++)
    dvt_record_drop(g->record[i]);
  /* So that the next graph of the kind has each lane on the stream that it is on here. */
  for (int i = g->lane ? g->lanes - 1 : -1; i >= 0; i--)
    if (g->lane[i])
      dvt_lane_release(g->lane[i]);
  free(g->record);
  free(g->lane);
}
