/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a routine of level 3, from what its front says to the plan that is carried out. */
#ifndef DAVIT_SRC_LEVEL3_RUN_H
#define DAVIT_SRC_LEVEL3_RUN_H

#include <davit/level3.h>

#include "src/level3/arguments.h"
#include "src/level3/choose.h"
#include "src/level3/rule.h"

typedef struct dvt_level3_call {
  const dvt_rule *rule;
  dvt_level3 arguments;                /* checked */
  const davit_level3_options *options; /* with devices */
  bool any_device;                     /* the caller has named none */
  int devices[DVT_PLAN_DEVICES];       /* in the order in which they are used */
  int places[DVT_POOLS];
  bool in_place[DVT_PLAN_DEVICES]; /* the device reaches all operands */
  bool begun;                      /* a step was tried: a failure is final */
  bool again; /* a device had less room than the plan takes, and now has a smaller share */
  dvt_plan_shape shape;
  dvt_model model;
} dvt_level3_call;

/* Carries out a plan of the call, in the plan's order; the report is filled but for seconds and tile. After a failure C
 * is undefined if the report says that it may have been written, else it is as it was. `full` receives the index of a
 * device that had no room for its tile buffers, else -1, and `begun` whether a step was tried. */
davit_status dvt_plan_run(const dvt_level3_call *call, const dvt_plan *plan, davit_level3_report *report,
                          int *full, bool *begun);

/* A call of the plain form. */
davit_status dvt_level3_call_plain(dvt_level3 *g, const davit_level3_options *options);

/* The whole operation, over the devices that are predicted to be the fastest choice. The options name
 * devices; any_device says that the caller has named none. */
davit_status dvt_level3_run(const dvt_level3 *g, const davit_level3_options *options, bool any_device);

#endif
