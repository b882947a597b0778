/* SPDX-License-Identifier: Apache-2.0 */
/* The back end that is a graph of OpenMP tasks, and regions for the others. */
#ifndef DAVIT_SRC_RUNTIME_BACKEND_OPENMP_H
#define DAVIT_SRC_RUNTIME_BACKEND_OPENMP_H

#include "src/runtime/backend.h"

extern dvt_backend dvt_backend_openmp;

/* For a back end that runs a lane's commands itself: a DVT_REGION command of a lane whose earlier commands
 * are over. The generator emits the region, because OpenMP gives `depend` a meaning among its own tasks only;
 * returns when the region is over. */
void dvt_region_run_alone(dvt_command *command);

/* Must come before the first DVT_REGION command. Fails where there can be no generator. */
davit_status dvt_region_prepare(void);

/* The process ends: regions that are under way are waited for (src/base/ending.h), and nothing of the graph, if there
 * is one, enters the OpenMP runtime after this. */
void dvt_graph_leave(void);

#endif
