/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices, which grid, which tiles: what is fastest when its plan is simulated. Plans of a few long tiles are
 * simulated for all grids of up to the given devices, and the choices of the best grids are changed while that helps.
 * What was chosen for a shape is remembered. */
#ifndef DAVIT_SRC_LEVEL3_CHOOSE_H
#define DAVIT_SRC_LEVEL3_CHOOSE_H

#include "src/level3/model.h"

enum { DVT_ALTERNATIVES = 8 };

typedef struct dvt_candidate {
  dvt_plan_choice choice;
  double seconds; /* predicted */
  double score;   /* that, with a margin for further devices and for what they get, as no model is exact */
  double more_received; /* by a device, relative to the least of all grids of as many devices, less 1 */
  bool evicts;          /* tiles make room for others */
  int number;           /* among the candidates, for equal times */
} dvt_candidate;

/* The best candidate first, and the best others behind it. */
typedef struct dvt_chosen {
  int count;
  dvt_candidate candidate[DVT_ALTERNATIVES];
} dvt_chosen;

/* Chooses for the shape. tile > 0: tiles of that length, and all devices that can have work. `remembered`: it
 * may be what was chosen before for such a shape; then the plan may not fit, if there is less memory now.
 * DAVIT_OUT_OF_DEVICE_MEMORY if no candidate fits. */
davit_status dvt_choose(const dvt_model *model, const dvt_plan_shape *shape, int64_t tile, bool remembered,
                        dvt_chosen *chosen);

#endif
