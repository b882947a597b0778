/* SPDX-License-Identifier: Apache-2.0 */
/* The lecture's scans, built up from the warp to the grid, corrected. They are here to be studied; the
 * library's own scan is <davit/scan.h>.
 *
 *   P1  NAIVE     a block, every value adds the one `offset` to its left: θ(n log n) combinations;
 *                 inclusive alone
 *   P2  WARP      each warp its own 32 values
 *   P3  BLOCK     warps, the scan of their totals, totals added
 *       SEVERAL   P3 over the sums of 8 elements a thread: cost-optimal, about 2 combinations an element
 *   P4            the grid: P1, P3 or SEVERAL in each block, the exclusive scan of the blocks' totals,
 *                 totals added; the totals are scanned in the same way, level by level, until one block
 *                 takes them
 *
 * Any n and any associative operator: operands keep their order. A segmented scan is the scan of
 * study_pair(value, flag) by SEGMENTS. GPUs run target regions, one block after another on the CPU otherwise;
 * calls return when all is done. Errors: DAVIT_INVALID_ARGUMENT names the member; DAVIT_UNSUPPORTED: NAIVE
 * and exclusive, WARP in a grid. */
#ifndef DAVIT_STUDY_REDUCE_SCAN_H
#define DAVIT_STUDY_REDUCE_SCAN_H

#include "bench/study/common/site.h"
#include "bench/study/reduce/operator.h"
#include "bench/study/reduce/printed.h"

typedef enum study_scan_form {
  STUDY_NAIVE,
  STUDY_WARP_SCAN,
  STUDY_BLOCK_SCAN,
  STUDY_SEVERAL,
  STUDY_SCAN_FORMS
} study_scan_form;

enum { STUDY_SCAN_EACH = 8 }; /* elements a thread of SEVERAL */

typedef struct study_scan {
  study_operator op;
  study_scan_form form;
  int block; /* 32, 48, 64, 128, 256, 512, 1000 or 1024 */
  bool exclusive;
  int64_t most_blocks; /* of one launch; a larger grid takes several. 0: 2^31 - 1 */
} study_scan;

/* Elements that a block takes: 32 (WARP: for each warp), block, or 8 block. */
int64_t study_scan_tile(const study_scan *s);

/* P1 … P3: each tile of x for itself. totals[i] = sum of tile i, NULL if not wanted (WARP has none). Memory
 * of the device; y may be x. */
davit_status study_scan_tiles(const study_scan *s, int device, int64_t n, const void *x, void *y,
                              void *totals);

/* P4. Memory of the device; y may be x. */
davit_status study_scan_grid(const study_scan *s, int device, int64_t n, const void *x, void *y);

/* How often P4 scans: x, the totals of x's tiles, their totals, …. 0 for n = 0. */
int study_scan_levels(const study_scan *s, int64_t n);

/* Words joined end to end by P1 … P3 in one block, in place: spells the order of the operands. n is at most
 * `block`. CPU alone. */
davit_status study_scan_words(const study_scan *s, int64_t n, study_printed_word *words);

/* ---- for the files of the scans ---- */

/* The kernels of one operator and one number of threads, for teams from `first` on. */
typedef struct study_scan_forms {
  void (*form[STUDY_SCAN_FORMS])(const study_site *site, int64_t teams, int64_t first, int64_t n,
                                 const void *x, void *y, void *totals, int64_t exclusive);
  void (*shift)(const study_site *site, int64_t teams, int64_t first, int64_t n, int64_t tile,
                const void *prefixes, void *y);
} study_scan_forms;

davit_status study_scan_check(const study_scan *s);

#endif
