/* SPDX-License-Identifier: Apache-2.0 */
/* Correlation of effects with a stream, place by place.
 *
 * The stream is cut into blocks of 2^k samples that overlap by the longest clip. X is a block's spectrum, C a clip's,
 * P the mean of |X|^2 in each of BANDS equal bands, and no less than `least_power` of the mean of all. In the white
 * block, X / sqrt(P), a clip has the energy sum |C|^2 / P. The lines are cut into RANGES parts with as much of it
 * each, and in each part the neighbouring lines of RANGE bands with the most of it are compared: the transform of X
 * conj(C) / P in these, moved to zero frequency, is short, and its absolute value, divided by the clip's energy
 * there, says how much of the clip is in the stream from each place on. The value of a place is the smallest of all
 * parts', times the root of the clip's energy, over the root of the energy of as many samples of the white block. So
 * a tone that both sounds have in common is not enough. Places are 16 samples apart, two for each sample that a
 * range's width needs.
 *
 * Blocks are computed by as many threads, each with memory of its own: about 25 bytes for each sample of a block. Each
 * clip's spectrum takes 4. */
#include <davit/detect.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/fftw.h"

enum {
  BANDS = 512,
  RANGES = 4,
  RANGE = 32, /* bands */
  PLACES = 2, /* for each line of a range */
  BLOCK = 1 << 18,
  CLIPS = 4 /* lengths of the longest clip in a block, at least */
};
static const double least_power = 1e-3;
static const double least_energy = 1e-7; /* of the block's mean: below it there is only rounding */
static const float loudest = 0x1p31F;    /* sample */

typedef struct clip_spectrum {
  int64_t count;
  fftwf_complex *lines; /* NULL: it has no samples */
  double *sums;         /* of |C|^2 over the lines before each */
} clip_spectrum;

typedef struct correlation {
  const dvt_fftw *fftw;
  fftwf_plan forward, backward, range;
  int64_t frame, count, block, step; /* step: places of a block, whole frames */
  const float *stream;
  int clip_count;
  clip_spectrum *clips;
  float *peaks;
  int threads;
} correlation;

/* Memory of a thread. */
typedef struct bench {
  float *samples; /* block */
  fftwf_complex *spectrum, *product;
  fftwf_complex *places; /* of a range */
  float *least;          /* of all ranges, at each place */
  double *energy;        /* of the white samples before each, block + 1 */
  double weight[BANDS];
} bench;

/* ---- memory and plans ---- */

static int64_t lines_of(const correlation *c) {
  return c->block / 2 + 1;
}

/* The band of lines [first, end) number `band`. The last line belongs to none: it is no more than any other. */
static int64_t first_line(const correlation *c, int band) {
  return c->block / 2 * band / BANDS;
}

/* Places of a block, and samples from one to the next. */
static int64_t places_of(const correlation *c) {
  return c->block / 2 / BANDS * RANGE * PLACES;
}

static int64_t spacing_of(const correlation *c) {
  return c->block / places_of(c);
}

static bool reserve(const correlation *c, bench *b) {
  const size_t samples = (size_t)c->block * sizeof(float),
               lines = (size_t)lines_of(c) * sizeof(fftwf_complex),
               places = (size_t)places_of(c) * sizeof(fftwf_complex);
  *b = (bench){.samples = dvt_allocate_aligned(samples),
               .places = dvt_allocate_aligned(places),
               .least = dvt_allocate_aligned(places / 2),
               .spectrum = dvt_allocate_aligned(lines),
               .product = dvt_allocate_aligned(lines),
               .energy = dvt_allocate_raw((size_t)(c->block + 1) * sizeof *b->energy)};
  return b->samples && b->places && b->least && b->spectrum && b->product && b->energy;
}

static void release_bench(bench *b) {
  free(b->samples);
  free(b->places);
  free(b->least);
  free(b->spectrum);
  free(b->product);
  free(b->energy);
}

/* FFTW_ESTIMATE: the same plans, and so the same bits, each time. */
static davit_status make_plans(correlation *c, const bench *b) {
  pthread_mutex_lock(&dvt_fftw_planner);
  const davit_status status = dvt_fftw_load(&c->fftw);
  if (status == DAVIT_SUCCESS) {
    const int n = (int)c->block;
    c->forward = c->fftw->plan_dft_r2c_1d(n, b->samples, b->spectrum, FFTW_ESTIMATE);
    c->backward = c->fftw->plan_dft_c2r_1d(n, b->product, b->samples, FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
    c->range = c->fftw->plan_dft_1d((int)places_of(c), b->places, b->places, FFTW_BACKWARD, FFTW_ESTIMATE);
  }
  pthread_mutex_unlock(&dvt_fftw_planner);
  if (status == DAVIT_SUCCESS && (!c->forward || !c->backward || !c->range))
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no host memory for a transform of %lld samples",
                      (long long)c->block);
  return status;
}

static void release(correlation *c) {
  pthread_mutex_lock(&dvt_fftw_planner);
  if (c->forward)
    c->fftw->destroy_plan(c->forward);
  if (c->backward)
    c->fftw->destroy_plan(c->backward);
  if (c->range)
    c->fftw->destroy_plan(c->range);
  pthread_mutex_unlock(&dvt_fftw_planner);
  for (int k = 0; c->clips && k < c->clip_count; k++) {
    free(c->clips[k].lines);
    free(c->clips[k].sums);
  }
  free(c->clips);
}

/* ---- spectra ---- */

static double power_of(const fftwf_complex line) {
  const double re = line[0], im = line[1];
  return re * re + im * im;
}

static void sum_bands(const correlation *c, fftwf_complex *lines, double *sums) {
  for (int band = 0; band < BANDS; band++) {
    double sum = 0;
    for (int64_t i = first_line(c, band); i < first_line(c, band + 1); i++)
      sum += power_of(lines[i]);
    sums[band] = sum;
  }
}

/* The spectrum of samples, with silence behind them. */
static void transform(const correlation *c, const float *samples, int64_t count, float *room,
                      fftwf_complex *lines) {
  memcpy(room, samples, (size_t)count * sizeof *room);
  memset(room + count, 0, (size_t)(c->block - count) * sizeof *room);
  c->fftw->execute_dft_r2c(c->forward, room, lines);
}

static bool transform_clip(const correlation *c, const davit_detect_clip *clip, bench *b,
                           clip_spectrum *made) {
  made->count = clip->count;
  if (clip->count == 0)
    return true;
  made->lines = dvt_allocate_aligned((size_t)lines_of(c) * sizeof *made->lines);
  made->sums = dvt_allocate_raw((size_t)lines_of(c) * sizeof *made->sums);
  if (!made->lines || !made->sums)
    return false;
  transform(c, clip->samples, clip->count, b->samples, made->lines);
  made->sums[0] = 0;
  for (int64_t i = 1; i < lines_of(c); i++)
    made->sums[i] = made->sums[i - 1] + power_of(made->lines[i - 1]);
  return true;
}

/* The block's spectrum X, and in b->weight 1 / P; false if the block is silent. */
static bool transform_block(const correlation *c, const float *samples, int64_t count, bench *b) {
  double all = 0;
  transform(c, samples, count, b->samples, b->spectrum);
  sum_bands(c, b->spectrum, b->weight);
  for (int band = 0; band < BANDS; band++)
    all += b->weight[band];
  for (int band = 0; band < BANDS && all > 0; band++)
    b->weight[band] = 1 / (b->weight[band] + least_power * all / (double)BANDS);
  return all > 0;
}

/* Energies of the white stream, from its beginning on. */
static void sum_energies(const correlation *c, bench *b) {
  for (int band = 0; band < BANDS; band++) {
    const float root = (float)sqrt(b->weight[band]);
    for (int64_t i = first_line(c, band); i < first_line(c, band + 1); i++) {
      b->product[i][0] = b->spectrum[i][0] * root;
      b->product[i][1] = b->spectrum[i][1] * root;
    }
  }
  b->product[lines_of(c) - 1][0] = b->product[lines_of(c) - 1][1] = 0;
  c->fftw->execute_dft_c2r(c->backward, b->product, b->samples);
  b->energy[0] = 0;
  for (int64_t i = 0; i < c->block; i++)
    b->energy[i + 1] = b->energy[i] + (double)b->samples[i] * (double)b->samples[i];
}

/* ---- places ---- */

/* Lines [begin, end), at most range_lines(), and the clip's energy in them. */
typedef struct range {
  int64_t begin, end;
  double energy;
} range;

/* A clip in a block: sums[k] is the clip's white energy in the bands before number k. */
typedef struct white_clip {
  const correlation *c;
  const clip_spectrum *clip;
  const double *weight;
  double sums[BANDS + 1];
} white_clip;

static int64_t range_lines(const correlation *c) {
  return c->block / 2 / BANDS * RANGE;
}

/* Energy of the lines before number `line`. */
static double energy_before(const white_clip *w, int64_t line) {
  const int64_t each = w->c->block / 2 / BANDS, band = dvt_at_most(line / each, BANDS - 1);
  return w->sums[band] + w->weight[band] * (w->clip->sums[line] - w->clip->sums[band * each]);
}

/* The first line with an energy of at least `energy` before it. */
static int64_t line_of(const white_clip *w, double energy) {
  int64_t low = 0, high = w->c->block / 2;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (energy_before(w, middle) < energy)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Of the ranges in the lines [begin, end), one that begins with them or with a band and has the most energy. */
static range best_range(const white_clip *w, int64_t begin, int64_t end) {
  const int64_t each = w->c->block / 2 / BANDS, most = range_lines(w->c);
  range best = {begin, dvt_at_most(begin + most, end), 0};
  best.energy = energy_before(w, best.end) - energy_before(w, begin);
  for (int64_t at = (begin / each + 1) * each; at + most <= end; at += each) {
    const double energy = energy_before(w, at + most) - energy_before(w, at);
    if (energy > best.energy)
      best = (range){at, at + most, energy};
  }
  return best;
}

/* Ranges of lines that have equal parts of the clip's energy; returns the energy of all, 0 if a range has none. */
static double choose_ranges(const correlation *c, const clip_spectrum *clip, const double *weight,
                            range *ranges) {
  const int64_t each = c->block / 2 / BANDS;
  white_clip w = {.c = c, .clip = clip, .weight = weight};
  for (int k = 0; k < BANDS; k++)
    w.sums[k + 1] = w.sums[k] + weight[k] * (clip->sums[(k + 1) * each] - clip->sums[k * each]);
  double all = w.sums[BANDS];
  int64_t begin = 0;
  for (int j = 0; j < RANGES; j++) {
    const int64_t end = j + 1 < RANGES ? line_of(&w, w.sums[BANDS] * (j + 1) / (double)RANGES) : c->block / 2;
    ranges[j] = best_range(&w, begin, end);
    all = ranges[j].energy > 0 ? all : 0;
    begin = end;
  }
  return all;
}

/* The transform of X conj(C) / P in a range. */
static void correlate_range(const correlation *c, const clip_spectrum *clip, const bench *b, range of) {
  const int64_t each = c->block / 2 / BANDS, count = of.end - of.begin;
  for (int64_t at = of.begin, next; at < of.end; at = next) {
    const float weight = (float)b->weight[at / each];
    next = dvt_at_most((at / each + 1) * each, of.end);
    for (int64_t i = at; i < next; i++) {
      const float *x = b->spectrum[i], *y = clip->lines[i];
      b->places[i - of.begin][0] = (x[0] * y[0] + x[1] * y[1]) * weight;
      b->places[i - of.begin][1] = (x[1] * y[0] - x[0] * y[1]) * weight;
    }
  }
  memset(b->places + count, 0, (size_t)(places_of(c) - count) * sizeof *b->places);
  c->fftw->execute_dft(c->range, b->places, b->places);
}

static void take_least(int64_t count, const fftwf_complex *places, float scale, bool first, float *least) {
  for (int64_t i = 0; i < count; i++) {
    const float square = (places[i][0] * places[i][0] + places[i][1] * places[i][1]) * scale;
    least[i] = first || square < least[i] ? square : least[i];
  }
}

/* The part of a clip that lies in the stream, of which `left` samples are left: little of a clip may be alike by
 * chance. */
static float part_of(int64_t count, int64_t left) {
  return left < count ? (float)left / (float)count : 1;
}

/* The peaks of the frames of a block, where `left` samples of the stream are left. The transform gives the sum over
 * the lines of a range, which is half of the energy of the real sound there, and the energy of white samples is in
 * units of block^2. */
static void find_peaks(const correlation *c, const clip_spectrum *clip, bench *b, int64_t frames,
                       int64_t left, float *peaks) {
  range ranges[RANGES];
  const double all = clip->lines ? choose_ranges(c, clip, b->weight, ranges) : 0,
               scale = 2 * (double)c->block * all,
               least = least_energy * b->energy[c->block] / (double)c->block * (double)clip->count;
  const int64_t spacing = spacing_of(c), count = dvt_divide_up(frames * c->frame, spacing);
  memset(peaks, 0, (size_t)frames * sizeof *peaks);
  if (!(all > 0))
    return;
  for (int j = 0; j < RANGES; j++) {
    correlate_range(c, clip, b, ranges[j]);
    take_least(count, (const fftwf_complex *)b->places,
               (float)(scale / (ranges[j].energy * ranges[j].energy)), j == 0, b->least);
  }
  for (int64_t i = 0; i < count; i++)
    b->least[i] /= (float)(b->energy[i * spacing + clip->count] - b->energy[i * spacing] + least);
  for (int64_t i = 0; i < count; i++) {
    float *peak = &peaks[i * spacing / c->frame];
    *peak = b->least[i] > *peak ? b->least[i] : *peak;
  }
  for (int64_t f = 0; f < frames; f++)
    peaks[f] = fminf(sqrtf(peaks[f] * part_of(clip->count, left - f * c->frame)), 1);
}

static void correlate_block(const correlation *c, int64_t number, bench *b) {
  const int64_t first = number * c->step, all = c->count / c->frame, first_frame = first / c->frame,
                frames = dvt_at_most(c->step / c->frame, all - first_frame);
  const bool sounds = transform_block(c, c->stream + first, dvt_at_most(c->block, c->count - first), b);
  if (sounds)
    sum_energies(c, b);
  for (int k = 0; k < c->clip_count; k++) {
    float *peaks = c->peaks + k * all + first_frame;
    if (sounds)
      find_peaks(c, &c->clips[k], b, frames, c->count - first, peaks);
    else
      memset(peaks, 0, (size_t)frames * sizeof *peaks);
  }
}

/* ---- the call ---- */

static davit_status check_samples(const char *name, int clip, int64_t count, const float *samples) {
  for (int64_t i = 0; i < count; i++)
    if (!(fabsf(samples[i]) <= loudest))
      return clip < 0 ? davit_fail(DAVIT_INVALID_ARGUMENT, "%s[%lld] is %g", name, (long long)i,
                                   (double)samples[i])
                      : davit_fail(DAVIT_INVALID_ARGUMENT, "%s[%d].samples[%lld] is %g", name, clip,
                                   (long long)i, (double)samples[i]);
  return DAVIT_SUCCESS;
}

static davit_status check(int64_t frame, int64_t count, const float *stream, int clip_count,
                          const davit_detect_clip *clips, const float *peaks, int64_t *longest) {
  *longest = 1;
  if (frame < 1 || frame > DAVIT_DETECT_CLIP_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "frame is %lld, not 1 to %d", (long long)frame,
                      DAVIT_DETECT_CLIP_MAXIMUM);
  DVT_TRY(dvt_check_length("count", count));
  DVT_TRY(dvt_check_length("clip_count", clip_count));
  if (count == 0 || clip_count == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("stream", stream));
  DVT_TRY(dvt_check_pointer("clips", clips));
  DVT_TRY(dvt_check_pointer("peaks", peaks));
  DVT_TRY(check_samples("stream", -1, count, stream));
  for (int k = 0; k < clip_count; k++) {
    if (clips[k].count < 0 || clips[k].count > DAVIT_DETECT_CLIP_MAXIMUM)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "clips[%d].count is %lld, not 0 to %d", k,
                        (long long)clips[k].count, DAVIT_DETECT_CLIP_MAXIMUM);
    if (clips[k].count > 0 && !clips[k].samples)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "clips[%d].samples is NULL", k);
    DVT_TRY(check_samples("clips", k, clips[k].count, clips[k].samples));
    *longest = dvt_at_least(*longest, clips[k].count);
  }
  return DAVIT_SUCCESS;
}

/* A block that holds the whole of a short stream is shorter. */
static void choose_block(correlation *c, int64_t longest) {
  const int64_t needed = c->frame + longest, wanted = dvt_at_least(CLIPS * longest, needed);
  c->block = 2 * BANDS;
  while (c->block < needed || (c->block < c->count + longest && (c->block < BLOCK || c->block < wanted)))
    c->block *= 2;
  c->step = (c->block - longest + 1) / c->frame * c->frame;
}

static davit_status prepare(correlation *c, const davit_detect_clip *clips, bench *b) {
  c->clips = dvt_allocate((size_t)c->clip_count, sizeof *c->clips);
  bool reserved = c->clips != NULL;
  for (int t = 0; t < c->threads; t++)
    reserved = reserve(c, &b[t]) && reserved;
  if (!reserved)
    return DAVIT_OUT_OF_HOST_MEMORY;
  DVT_TRY(make_plans(c, b));
  for (int k = 0; k < c->clip_count; k++)
    if (!transform_clip(c, &clips[k], b, &c->clips[k]))
      return DAVIT_OUT_OF_HOST_MEMORY;
  return DAVIT_SUCCESS;
}

static davit_status run(correlation *c, const davit_detect_clip *clips, int64_t blocks) {
  bench *benches = dvt_allocate((size_t)c->threads, sizeof *benches);
  if (!benches)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const davit_status status = prepare(c, clips, benches);
  if (status == DAVIT_SUCCESS) {
#pragma omp parallel for num_threads(c->threads) schedule(dynamic)
    for (int64_t i = 0; i < blocks; i++)
      correlate_block(c, i, &benches[omp_get_thread_num()]);
  }
  for (int t = 0; t < c->threads; t++)
    release_bench(&benches[t]);
  free(benches);
  release(c);
  return status;
}

davit_status davit_detect_correlate(int64_t frame, int64_t count, const float *stream, int clip_count,
                                    const davit_detect_clip *clips, float *peaks) {
  int64_t longest;
  DVT_TRY(check(frame, count, stream, clip_count, clips, peaks, &longest));
  if (count < frame || clip_count == 0)
    return DAVIT_SUCCESS;
  correlation c = {
      .frame = frame, .count = count, .stream = stream, .clip_count = clip_count, .peaks = peaks};
  choose_block(&c, longest);
  const int64_t blocks = dvt_divide_up(count / frame * frame, c.step);
  const dvt_team team = dvt_team_begin((int)dvt_at_most(blocks, dvt_threads()));
  c.threads = team.threads;
  const davit_status status = run(&c, clips, blocks);
  dvt_team_end(&team);
  return status;
}
