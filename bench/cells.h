/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of alignments have in common: cells a second, and the time that they must take.
 *
 * The floor of a cell is its arithmetic, everything else being free:
 *
 *   CPU, integers   9 vector operations, of which 6 (maxima, saturating differences) have one port with 512
 *                   bits, two with less
 *   CPU, float      10 vector operations on two ports
 *   GPU, integers   4.5 instructions for two cells (maxima, one permutation of bytes) of a unit of 4 x 16
 *                   lanes a clock and multiprocessor; sums alone go elsewhere. 5.5 for one cell of 32 bits
 *   GPU, float      7.5 instructions at 4 x 32 lanes; 3.5 of them go to that unit, which is less
 *
 * The clock of a core is measured for each row, and the fastest so far counts; that of a GPU is --clock (GHz;
 * 1.98). */
#ifndef DAVIT_BENCH_CELLS_H
#define DAVIT_BENCH_CELLS_H

#include "bench/series.h"

typedef enum bench_words { BENCH_BYTES, BENCH_SHORTS, BENCH_WORDS, BENCH_FLOATS } bench_words;

typedef struct bench_cells {
  const bench_site *site;
  int threads;  /* of the CPU: what davit uses there, and the peer gets */
  double clock; /* Hz */
  int units;    /* multiprocessors of a GPU */
} bench_cells;

/* A site for works that return when they are done; nothing has to be closed. */
void bench_cells_open(int device, bench_site *site, bench_cells *cells);

/* Adds to the row that is open, and prints: gcups, floor_us and of_floor; on a CPU by the processor's time,
 * cpu_us: gcups_core, of_floor, and ratio_core against each peer, whose names are given (NULL: none).
 * times[0] is davit's, the peers' follow. */
void bench_cells_report(bench_cells *cells, double count, bench_words words, int devices,
                        const bench_time *times, const char *const *peers);

/* A whole program: --avx2 1 leaves vectors of 512 bits out; `measure` is called for each of --device,
 * `several` where it is the first and a GPU. Without parasail (`peer_there`) there is a row that says so. */
typedef void bench_cells_program(bench_cells *cells, bool several);
int bench_cells_run(const char *name, const char *usage, int argc, char **argv, bool peer_there,
                    bench_cells_program *measure);

/* Random numbers of any quality that is good enough for a sequence: the state moves on. */
uint64_t bench_random(uint64_t *state);

#endif
