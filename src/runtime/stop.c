/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/stop.h"

static void (*stops[DVT_MAX_STOPS])(void);
static int stop_count;

void dvt_on_stop(void (*function)(void)) {
  stops[stop_count++] = function;
}

void dvt_stopped(void) {
  for (int i = 0; i < stop_count; i++)
    stops[i]();
}
