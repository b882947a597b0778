/* SPDX-License-Identifier: Apache-2.0 */
/* The name nearest to a misspelt one, for "did you mean". */
#ifndef DAVIT_SRC_CLI_FRAME_NEAREST_H
#define DAVIT_SRC_CLI_FRAME_NEAREST_H

typedef struct cli_nearest {
  const char *word; /* as given */
  const char *name; /* the nearest so far; NULL: none is near enough */
  int distance;
} cli_nearest;

/* Takes `name` if it is nearer than the nearest so far, and near enough: at most a third of its letters,
 * and one at least, are inserted, left out, replaced or exchanged with their neighbour; or one of the two
 * goes on with '_' or '-' and more where the other ends. */
void cli_nearest_try(cli_nearest *nearest, const char *name);

#endif
