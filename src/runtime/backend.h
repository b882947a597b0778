/* SPDX-License-Identifier: Apache-2.0 */
/* Back ends: who carries out the commands of lanes. One is chosen when the library starts.
 *
 * The library has two of its own. A program that links another one, which registers itself before main() by a
 * constructor in its source, can choose that by DAVIT_BACKEND. submit() never waits for work and never fails:
 * all memory is in the command already. */
#ifndef DAVIT_SRC_RUNTIME_BACKEND_H
#define DAVIT_SRC_RUNTIME_BACKEND_H

#include <davit/status.h>
#include <stdbool.h>

typedef struct dvt_lane dvt_lane;
typedef struct dvt_command dvt_command;

typedef struct dvt_backend {
  const char *name;
  davit_status (*start)(void);
  void (*stop)(void);                   /* all lanes are closed */
  void (*leave)(void);                  /* the process ends with lanes open: leave what runs alone */
  davit_status (*open)(dvt_lane *lane); /* sets issues_records, backend; the stream is there */
  void (*close)(dvt_lane *lane);        /* the lane is flushed */
  void (*submit)(dvt_command *command); /* takes the command; any thread */
  bool (*flush)(
      dvt_lane *lane); /* waits for the lane's work, if that is a device's alone; NULL: it never is */
  bool (*is_idle)(
      dvt_lane *lane);      /* after leave(): whether nothing of the lane is under way, or ever will be */
  struct dvt_backend *next; /* of the registered ones */
} dvt_backend;

/* The library's own; others register by constructors, before there are threads. */
extern dvt_backend dvt_backend_openmp, dvt_backend_threads;
void dvt_backend_register(dvt_backend *backend);

/* Runs a command to its end on the calling thread, as "threads" does, when everything before it on its lane is over. */
void dvt_command_run(dvt_command *command);

/* ---- the back end that is a graph of OpenMP tasks, and regions for the others ---- */

/* For a back end that runs a lane's commands itself: a DVT_REGION command of a lane whose earlier commands
 * are over. The generator emits the region, because OpenMP gives `depend` a meaning among its own tasks only;
 * returns when the region is over. */
void dvt_region_run_alone(dvt_command *command);

/* Must come before the first DVT_REGION command. Fails where there can be no generator. */
davit_status dvt_region_prepare(void);

/* The process ends: regions that are under way are waited for (src/base/ending.h), and nothing of the graph, if there
 * is one, enters the OpenMP runtime after this. */
void dvt_graph_leave(void);

/* ---- the library ---- */

/* Starts the library on first use, with the back end named by DAVIT_BACKEND. The default is "openmp", or
 * "threads" where OpenMP has no second thread to give. */
davit_status dvt_start(void);

/* The back end that runs; NULL before the start. */
const dvt_backend *dvt_backend_running(void);

/* What is done each time the library has stopped. One function, by a constructor: memory's. */
void dvt_on_stop(void (*function)(void));

/* Counts open lanes: the library cannot be stopped while there are any. */
void dvt_backend_hold(void);
void dvt_backend_drop(void);

#endif
