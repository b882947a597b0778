/* SPDX-License-Identifier: Apache-2.0 */
/* Spectra of blocks of samples, and what a correlation needs of them.
 *
 * A block of 2 M samples has M spectral lines; the last one, at half the rate, is left out. They lie in `rows`
 * rows: row r holds the lines r, r + rows, r + 2 rows, and so on, `columns` of them. That is the order in which the
 * four steps of D. H. Bailey (FFTs in external or hierarchical memory, 1990) leave and take them without a
 * transposition: transforms of the columns, twiddle factors, transforms of the rows. Each of these transforms fits
 * the first cache, where weights, products, twiddle factors and squares are done on the way; FFTW makes the
 * transforms themselves.
 *
 * Sums have one order and products are not fused with them, so all variants of a processor give the same bits. */
#ifndef DAVIT_SRC_DETECT_SPECTRUM_H
#define DAVIT_SRC_DETECT_SPECTRUM_H

#include <stdbool.h>
#include <stdint.h>

#include "src/fftw.h"

/* Samples from one place of a correlation to the next, and places for each line of a range. */
enum { DVT_SPECTRUM_SPACING = 16, DVT_SPECTRUM_PLACES = 2 };

/* Factors of row r and column c of a transform of n points, e^(2 pi i r (c + shift) / n): base[r][c / LANES] *
 * step[r][c % LANES]. */
typedef struct dvt_spectrum_twiddles {
  fftwf_complex *base, *step;
} dvt_spectrum_twiddles;

/* Plans and tables for blocks of one length. */
typedef struct dvt_spectra {
  const dvt_fftw *fftw;
  int64_t lines, rows, columns;
  int64_t pitch;                                /* of rows in memory */
  int64_t range, range_columns;                 /* lines of a range, and of one of its rows */
  fftwf_plan columns_forward, columns_backward; /* LANES columns of `rows` points, in place */
  fftwf_plan row_forward, row_backward;         /* a row, to elsewhere */
  fftwf_plan range_rows;                        /* of a range, LANES or `rows` of them, in place */
  dvt_spectrum_twiddles whole, part[DVT_SPECTRUM_PLACES];
  fftwf_complex *turn;      /* e^(pi i c / columns) */
  fftwf_complex *row_turn;  /* i e^(pi i r / lines) */
  fftwf_complex *half_step; /* e^(pi i c / range_columns) */
  fftwf_complex *lag_first; /* of a column's middle: a lag of -DVT_SPECTRUM_REACH samples, */
  fftwf_complex *lag_step;  /* and from one lag to the next */
} dvt_spectra;

/* Memory of a thread. */
typedef struct dvt_spectrum_memory {
  fftwf_complex *between; /* rows * pitch: between columns and rows */
  fftwf_complex *near;    /* what is transformed at once */
} dvt_spectrum_memory;

/* Lines [begin, end), at most a range. */
typedef struct dvt_spectrum_range {
  int64_t begin, end;
  double energy; /* of the clip, white */
} dvt_spectrum_range;

/* Blocks of 2 * bands * each samples, where each and bands are powers of two; a range has `range_bands` bands. Memory
 * made before a failure is released by dvt_spectra_release(), of {0} too. */
davit_status dvt_spectra_make(int64_t each, int bands, int range_bands, dvt_spectra *s);
void dvt_spectra_release(dvt_spectra *s);

bool dvt_spectrum_reserve(const dvt_spectra *s, dvt_spectrum_memory *m);
void dvt_spectrum_release(dvt_spectrum_memory *m);

/* Bytes of a spectrum. */
size_t dvt_spectrum_bytes(const dvt_spectra *s);

/* Where line number `line` is. */
static inline int64_t dvt_spectrum_at(const dvt_spectra *s, int64_t line) {
  return line % s->rows * s->pitch + line / s->rows;
}

/* The spectrum of samples with silence behind them; power[columns] gets the sums of |X|^2 over the rows. */
void dvt_spectrum_transform(const dvt_spectra *s, const float *samples, int64_t count,
                            const dvt_spectrum_memory *m, fftwf_complex *lines, float *power);

/* Of the block whose spectrum is the lines times root[column], root[columns] included, times the length of the block:
 * energy[k] is the sum of squares of the first SPACING k samples. `white` gets the samples, unless it is NULL. */
void dvt_spectrum_energies(const dvt_spectra *s, const fftwf_complex *lines, const float *root,
                           const dvt_spectrum_memory *m, double *energy, float *white);

/* Lowers least[i], for the first `count` places i, to `scale` times the square of the sum over the range's lines k of
 * x[k] conj(y[k]) weight[column] e^(2 pi i k SPACING i / (2 lines)). */
void dvt_spectrum_correlate(const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y,
                            const float *weight, const dvt_spectrum_range *range, float scale, int64_t count,
                            const dvt_spectrum_memory *m, float *least);

/* How much of y is in x at place i or within DVT_SPECTRUM_REACH samples of it, so that all ranges agree: the real parts
 * of the sums of dvt_spectrum_correlate(), each divided by its range's energy, have one sign there, and the result is
 * the smallest absolute value of them; 0 if they have one sign nowhere. */
enum { DVT_SPECTRUM_REACH = 12 };
float dvt_spectrum_agreement(const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y,
                             const float *weight, int count, const dvt_spectrum_range *ranges, int64_t place,
                             const dvt_spectrum_memory *m);

#endif
