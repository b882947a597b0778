/* SPDX-License-Identifier: Apache-2.0 */
/* Searches among points: the closest pair, and the first k pairs within a radius. Here is what they share:
 * the problem, its checks, and where the stages of a search (offload/closest_pair.h) run, which is on the
 * lane of a queue, on one device, or spread over several. */
#ifndef DAVIT_SRC_CLOSEST_SEARCH_H
#define DAVIT_SRC_CLOSEST_SEARCH_H

#include "offload/closest_pair.h"
#include "src/base/check.h"
#include "src/runtime/lane.h"

typedef struct dvt_closest_search dvt_closest_search;

typedef struct dvt_closest_problem {
  davit_type type;
  int dim;
  int64_t n;
  const void *points;
  davit_closest_pair_algorithm algorithm;
  int threads; /* of a CPU; 0: as many as its device has */

  /* What is wanted. */
  davit_status (*find)(dvt_closest_search *search, davit_closest_pair_algorithm algorithm);
  bool single; /* the closest pair alone; else: */
  int64_t k;   /* pairs; 0: only how many there are */
  double radius;
  int64_t capacity; /* of DVT_CLOSEST_COLLECT */

  davit_closest_pair_result *pairs;
  int64_t *count;
} dvt_closest_problem;

/* Does a stage wherever the points are. */
typedef davit_status dvt_closest_everywhere(void *context, dvt_closest_stage stage, dvt_closest_state *state);

struct dvt_closest_search {
  const dvt_closest_problem *p;
  dvt_closest_everywhere *perform;
  void *context;
  davit_closest_pair_result *pairs; /* room for p->capacity of each device that shares a stage */
  dvt_closest_state state;
};

davit_status dvt_closest_check(const dvt_closest_problem *p);

/* Does a stage; DAVIT_INVALID_ARGUMENT if it has met a point that is not finite. */
davit_status dvt_closest_stage_run(dvt_closest_search *search, dvt_closest_stage stage);

/* What is done on the host, with all its threads, whatever the devices are: `points` are host memory. */
typedef davit_status dvt_closest_host_work(const dvt_closest_problem *p, const void *points, int threads,
                                           void *context);
davit_status dvt_closest_on_host(const dvt_closest_problem *p, dvt_closest_host_work *work, void *context);

/* The search, on the devices of the options or on a queue. */
davit_status dvt_closest_run(dvt_closest_problem *p, const davit_closest_pair_options *options);
davit_status dvt_closest_submit(davit_queue *queue, const dvt_closest_problem *p,
                                const davit_closest_pair_options *options);

/* The algorithm that dvt_closest_run() takes. */
davit_status dvt_closest_plan(dvt_closest_problem *p, const davit_closest_pair_options *options,
                              davit_closest_pair_algorithm *algorithm);

#endif
