/* SPDX-License-Identifier: Apache-2.0 */
#include "src/exact/processes.h"

/* The maxima of all processes; integers in doubles. *busy: whether one is at work. */
static dvt_exact_end meet(const davit_level3_processes *processes, bool *busy, dvt_exact_end end,
                          dvt_exact_need *need) {
  double values[] = {*busy,
                     end,
                     need->infinite,
                     need->bits[0],
                     need->bits[1],
                     need->growth.even,
                     need->growth.odd,
                     need->growth.both};
  processes->maxima(processes->context, sizeof values / sizeof *values, values);
  *busy = values[0] > 0;
  need->infinite = (int32_t)values[2];
  need->bits[0] = (int32_t)values[3];
  need->bits[1] = (int32_t)values[4];
  need->growth = (dvt_exact_growth){.even = values[5], .odd = values[6], .both = values[7]};
  return (dvt_exact_end)values[1];
}

bool dvt_exact_share(const davit_level3_processes *processes, dvt_exact_need *need) {
  bool busy = true;
  return !processes || meet(processes, &busy, DVT_EXACT_DONE, need) == DVT_EXACT_DONE;
}

dvt_exact_end dvt_exact_leave(const davit_level3_processes *processes, dvt_exact_end end) {
  dvt_exact_end all = end;
  for (bool busy = processes != NULL; busy;) {
    dvt_exact_need nothing = {.infinite = 0};
    busy = false;
    all = meet(processes, &busy, end, &nothing);
  }
  return all;
}
