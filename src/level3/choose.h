/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices, which grid, which tiles. Candidates come from a short list of tile lengths and all grids of
 * up to the given devices; a formula drops all but a few, whose plans are played on the model, and the best of these
 * are changed while that helps. What was chosen for a shape is remembered. */
#ifndef DAVIT_SRC_LEVEL3_CHOOSE_H
#define DAVIT_SRC_LEVEL3_CHOOSE_H

#include "src/level3/model.h"

enum { DVT_ALTERNATIVES = 8 };

typedef struct dvt_candidate {
  dvt_plan_choice choice;
  double seconds; /* predicted */
  double score;   /* that, with a margin for further devices and for what they get, as no model is exact */
  int rank;       /* lower ones come first: with a given tile those with more devices */
  int number;     /* among the candidates, for equal times */
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
