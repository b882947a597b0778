/* SPDX-License-Identifier: Apache-2.0 */
/* Features of sound. A frame costs one real transform of its length and a pass over its lines.
 *
 * To which bands a line's power goes does not depend on the frame, so it is computed once, as a sparse table:
 * the interval of a line overlaps mostly one band, a few where bands are narrow, and none beyond the last
 * edge. An edge adds at most one overlap, so there are at most lines + DAVIT_FEATURES_BANDS of them.
 *
 * Powers are normalised so that the sum over the lines of a frame is the mean square of its samples, weighted
 * by the squared window (Parseval); lines that stand for two, at positive and negative frequency, count
 * twice. */
#include <davit/features.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "ref/bands.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/fftw.h"
#include "src/runtime/operation.h"

enum { THREAD_SAMPLES = 1 << 16, ALIGNMENT = 64 };

/* The power of one line in one band. */
typedef struct overlap {
  int64_t line;
  int band;
  double share; /* with the normalisation */
} overlap;

typedef struct analysis {
  davit_features_options options;
  int64_t frames, lines, overlap_count;
  int threads;
  float *window;
  overlap *overlaps;
  char *scratch; /* of each thread: samples, and the lines of their spectrum */
  size_t samples_bytes, thread_bytes;
  const dvt_fftw *fftw;
  fftwf_plan plan;
} analysis;

/* ---- checks ---- */

static davit_status check(int64_t count, const float *samples, const davit_features_options *o,
                          const float *features) {
  DVT_TRY(DVT_CHECK_OPTIONS(o));
  if (!(o->rate > 0) || isinf(o->rate))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->rate is %g, not a finite number above 0", o->rate);
  if (o->frame < 2 || o->frame > DAVIT_FEATURES_FRAME_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->frame is %lld, not in 2 ... 2^24",
                      (long long)o->frame);
  if ((unsigned)o->binning > DAVIT_FEATURES_BINNING_HARD)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->binning is %d, neither DAVIT_FEATURES_BINNING_SHARED nor _HARD",
                      (int)o->binning);
  DVT_TRY(dvt_check_length("count", count));
  if (count > 0 && !samples)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "samples is NULL");
  if (count >= o->frame && !features)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "features is NULL");
  return DAVIT_SUCCESS;
}

/* Squares of larger samples are no floats; with all samples below, no sum of the analysis overflows. */
static const float largest = 0x1p63f;

static davit_status check_samples(int64_t count, const float *samples, int threads) {
  int bad = 0;
#pragma omp parallel for simd num_threads(threads) schedule(static) reduction(| : bad)
  for (int64_t i = 0; i < count; i++)
    bad |= !(fabsf(samples[i]) <= largest);
  if (!bad)
    return DAVIT_SUCCESS;
  int64_t first = 0;
  while (fabsf(samples[first]) <= largest)
    first++;
  return davit_fail(DAVIT_INVALID_ARGUMENT, "samples[%lld] is %g, not a number within +-2^63",
                    (long long)first, (double)samples[first]);
}

/* ---- tables ---- */

static double fill_window(int64_t n, float *window) {
  double squares = 0;
  for (int64_t i = 0; i < n; i++) {
    const double w = dvt_hamming(i, n);
    window[i] = (float)w;
    squares += w * w;
  }
  return squares;
}

/* Bands and lines ascend together: the next line has nothing in bands that end before this one begins. */
static void fill_overlaps(analysis *a, double squares) {
  const davit_features_options *o = &a->options;
  const dvt_band_edges edges = dvt_band_edges_for(o->rate);
  const double end = edges.at[DAVIT_FEATURES_BANDS];
  for (int64_t line = 0, first = 0; line < a->lines; line++) {
    const double weight = dvt_line_weight(line, o->frame, squares);
    const double from = ((double)line - 1) * o->rate / (double)o->frame;
    const double to = ((double)line + 1) * o->rate / (double)o->frame;
    while (first < DAVIT_FEATURES_BANDS && edges.at[first + 1] < from)
      first++;
    for (int band = (int)first; band < DAVIT_FEATURES_BANDS && edges.at[band] < to; band++) {
      const double share = dvt_band_share(line, o, edges.at[band], edges.at[band + 1], end);
      if (share > 0)
        a->overlaps[a->overlap_count++] = (overlap){line, band, weight * share};
    }
  }
}

static size_t rounded_up(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static float *samples_of(const analysis *a, int thread) {
  const uintptr_t base = (uintptr_t)rounded_up((size_t)(uintptr_t)a->scratch);
  return (float *)(base + (size_t)thread * a->thread_bytes);
}

static fftwf_complex *spectrum_of(const analysis *a, int thread) {
  return (fftwf_complex *)((char *)samples_of(a, thread) + a->samples_bytes);
}

/* FFTW_ESTIMATE: the same plan, and so the same bits, each time. */
static davit_status make_plan(analysis *a) {
  pthread_mutex_lock(&dvt_fftw_planner);
  const davit_status status = dvt_fftw_load(&a->fftw);
  if (status == DAVIT_SUCCESS)
    a->plan =
        a->fftw->plan_dft_r2c_1d((int)a->options.frame, samples_of(a, 0), spectrum_of(a, 0), FFTW_ESTIMATE);
  pthread_mutex_unlock(&dvt_fftw_planner);
  if (status == DAVIT_SUCCESS && !a->plan)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no host memory for a transform of %lld samples",
                      (long long)a->options.frame);
  return status;
}

static davit_status prepare(analysis *a) {
  const size_t frame = (size_t)a->options.frame, lines = (size_t)a->lines;
  a->samples_bytes = rounded_up(frame * sizeof(float));
  a->thread_bytes = a->samples_bytes + rounded_up(lines * sizeof(fftwf_complex));
  a->window = dvt_allocate(frame, sizeof *a->window);
  a->overlaps = a->window ? dvt_allocate(lines + DAVIT_FEATURES_BANDS, sizeof *a->overlaps) : NULL;
  a->scratch = a->overlaps ? dvt_allocate(a->thread_bytes * (size_t)a->threads + ALIGNMENT, 1) : NULL;
  if (!a->scratch)
    return DAVIT_OUT_OF_HOST_MEMORY;
  fill_overlaps(a, fill_window(a->options.frame, a->window));
  return make_plan(a);
}

static void release(analysis *a) {
  if (a->plan) {
    pthread_mutex_lock(&dvt_fftw_planner);
    a->fftw->destroy_plan(a->plan);
    pthread_mutex_unlock(&dvt_fftw_planner);
  }
  free(a->window);
  free(a->overlaps);
  free(a->scratch);
}

/* ---- frames ---- */

static void analyse_frame(const analysis *a, int thread, const float *samples, float *bands) {
  float *windowed = samples_of(a, thread);
  fftwf_complex *spectrum = spectrum_of(a, thread);
  double sums[DAVIT_FEATURES_BANDS] = {0};
  for (int64_t i = 0; i < a->options.frame; i++)
    windowed[i] = samples[i] * a->window[i];
  a->fftw->execute_dft_r2c(a->plan, windowed, spectrum);
  for (int64_t i = 0; i < a->overlap_count; i++) {
    const overlap *o = &a->overlaps[i];
    const double re = spectrum[o->line][0], im = spectrum[o->line][1];
    sums[o->band] += o->share * (re * re + im * im);
  }
  for (int band = 0; band < DAVIT_FEATURES_BANDS; band++)
    bands[band] = (float)sums[band];
}

static void analyse(const analysis *a, const float *samples, float *features) {
#pragma omp parallel num_threads(a->threads)
  {
    const int thread = omp_get_thread_num();
#pragma omp for schedule(static)
    for (int64_t i = 0; i < a->frames; i++)
      analyse_frame(a, thread, samples + i * a->options.frame, features + i * DAVIT_FEATURES_WIDTH);
  }
}

static void add_changes(const analysis *a, float *features) {
#pragma omp parallel for num_threads(a->threads) schedule(static)
  for (int64_t i = 0; i < a->frames; i++) {
    float *here = features + i * DAVIT_FEATURES_WIDTH;
    const float *next = i + 1 < a->frames ? here + DAVIT_FEATURES_WIDTH : here;
    for (int band = 0; band < DAVIT_FEATURES_BANDS; band++)
      here[DAVIT_FEATURES_BANDS + band] = DVT_CHANGE * (next[band] - here[band]);
  }
}

/* One thread for every THREAD_SAMPLES samples, and no more than frames: each has memory for one. */
static int threads_for(int64_t count, int64_t frames) {
  const int64_t worth = dvt_at_most(1 + count / THREAD_SAMPLES, dvt_at_least(frames, 1));
  return (int)dvt_at_most(worth, dvt_threads());
}

static davit_status run(analysis *a, int64_t count, const float *samples, float *features) {
  DVT_TRY(check_samples(count, samples, a->threads));
  if (a->frames == 0)
    return DAVIT_SUCCESS;
  davit_status status = prepare(a);
  if (status == DAVIT_SUCCESS) {
    analyse(a, samples, features);
    add_changes(a, features);
  }
  release(a);
  return status;
}

davit_status davit_features(int64_t count, const float *samples, float *features,
                            const davit_features_options *options) {
  davit_features_options chosen = options ? *options : (davit_features_options){0};
  if (chosen.rate == 0)
    chosen.rate = DAVIT_FEATURES_RATE;
  if (chosen.frame == 0)
    chosen.frame = DAVIT_FEATURES_FRAME;
  DVT_TRY(check(count, samples, &chosen, features));
  const dvt_team team = dvt_team_begin(threads_for(count, count / chosen.frame));
  analysis a = {.options = chosen,
                .frames = count / chosen.frame,
                .lines = chosen.frame / 2 + 1,
                .threads = team.threads};
  const davit_status status = run(&a, count, samples, features);
  dvt_team_end(&team);
  return status;
}
