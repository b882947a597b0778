/* SPDX-License-Identifier: Apache-2.0 */
/* How many pairs of points are within a radius, at least: what a list of them needs is known before they are
 * counted. */
#ifndef DAVIT_SRC_CLI_PAIRS_BOUND_H
#define DAVIT_SRC_CLI_PAIRS_BOUND_H

#include "src/cli/coordinates.h"

/* Stores a number of pairs that are not farther apart than `radius`; 0 where that is too small to be worth the time.
 * Takes O(n), and at most 0.1 s more. CLI_DEVICE, after a message, without memory for 8 MiB. */
int cli_pairs_at_least(const cli_coordinates *points, double radius, int64_t *pairs);

#endif
