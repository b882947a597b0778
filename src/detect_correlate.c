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
 * range's width needs. detect_spectrum.h has the transforms.
 *
 * Several tones are not enough either: from the correlations of copies on, the highest place of a frame is checked. The
 * sums of all ranges must have the sign of a copy, or of an inverted one, at one and the same sample near it, and its
 * value is then that of the smallest real part.
 *
 * Blocks are computed by as many threads, each with memory of its own: about 10 bytes for each sample of a block,
 * 14 if a clip's length is no multiple of 16. Each clip's spectrum takes 8. */
#include <davit/detect.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/base/cpu.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/detect_copies.h"
#include "src/detect_spectrum.h"

#pragma STDC FP_CONTRACT OFF

enum {
  BANDS = 512,
  RANGES = 4,
  RANGE = 32, /* bands */
  SPACING = DVT_SPECTRUM_SPACING,
  BLOCK = 1 << 18,
  CLIPS = 4, /* lengths of the longest clip in a block, at least */
  LANES = 16,
  TILE = 8 /* columns */
};
static const double least_power = 1e-3;
static const double least_energy = 1e-7; /* of the block's mean: below it there is only rounding */
static const float loudest = 0x1p31F;    /* sample */
static const double checked = 0.95;      /* of the least correlation of a copy: what is higher is checked */

typedef struct clip_spectrum {
  int64_t count;
  fftwf_complex *lines; /* NULL: it has no samples */
  double *sums;         /* of |C|^2 over the lines before each */
} clip_spectrum;

typedef struct correlation {
  dvt_spectra spectra;
  int64_t frame, count, block, step; /* step: places of a block, whole frames */
  const float *stream;
  int clip_count;
  clip_spectrum *clips;
  char *
      memory; /* of all their spectra: dvt_map()'s, since most of what a spectrum takes is the first touch of a page */
  bool fine; /* a clip's length is no multiple of SPACING */
  float *peaks;
  int threads;
} correlation;

typedef struct peak {
  int64_t place;
  float value;
} peak;

/* Memory of a thread. */
typedef struct bench {
  dvt_spectrum_memory memory;
  fftwf_complex *spectrum;
  float *power;   /* of the columns */
  float *least;   /* of all ranges, at each place */
  peak *tops;     /* of frames */
  float *white;   /* samples, if c->fine */
  double *energy; /* of the white samples before each place */
  double weight[BANDS];
  float *weights, *roots; /* of the columns, and of one more */
} bench;

/* ---- memory ---- */

static int64_t places_of(const correlation *c) {
  return c->block / SPACING;
}

/* Lines of a band. */
static int64_t each_of(const correlation *c) {
  return c->block / 2 / BANDS;
}

/* Of a clip's lines, and their sums. */
static size_t lines_bytes(const correlation *c) {
  return dvt_aligned_up(dvt_spectrum_bytes(&c->spectra));
}

static size_t clip_bytes(const correlation *c) {
  return lines_bytes(c) + dvt_aligned_up((size_t)(c->spectra.lines + 1) * sizeof(double));
}

static bool reserve(const correlation *c, bench *b) {
  const size_t columns = (size_t)(c->spectra.columns + 1) * sizeof(float);
  *b = (bench){.spectrum = dvt_allocate_aligned(dvt_spectrum_bytes(&c->spectra)),
               .power = dvt_allocate_aligned(columns),
               .least = dvt_allocate_aligned((size_t)places_of(c) * sizeof(float)),
               .tops = dvt_allocate_raw((size_t)places_of(c) * sizeof *b->tops),
               .white = c->fine ? dvt_allocate_aligned((size_t)c->block * sizeof(float)) : NULL,
               .energy = dvt_allocate_raw((size_t)(places_of(c) + 1) * sizeof(double)),
               .weights = dvt_allocate_aligned(columns),
               .roots = dvt_allocate_aligned(columns)};
  return dvt_spectrum_reserve(&c->spectra, &b->memory) && b->spectrum && b->power && b->least && b->tops &&
         (b->white || !c->fine) && b->energy && b->weights && b->roots;
}

static void release_bench(bench *b) {
  dvt_spectrum_release(&b->memory);
  free(b->spectrum);
  free(b->power);
  free(b->least);
  free(b->tops);
  free(b->white);
  free(b->energy);
  free(b->weights);
  free(b->roots);
}

static void release(correlation *c) {
  dvt_unmap(c->memory, (size_t)c->clip_count * clip_bytes(c));
  dvt_spectra_release(&c->spectra);
  free(c->clips);
}

/* ---- spectra ---- */

/* Sums of |C|^2 over the lines before each, TILE neighbouring columns of a row at a time. */
static void sum_lines(const dvt_spectra *s, const fftwf_complex *lines, double *sums) {
  for (int64_t column = 0; column < s->columns; column += TILE)
    for (int64_t r = 0; r < s->rows; r++)
      for (int64_t k = column; k < column + TILE; k++) {
        const float *line = lines[r * s->pitch + k];
        sums[k * s->rows + r] = (double)(line[0] * line[0] + line[1] * line[1]);
      }
  double sum = 0;
  for (int64_t i = 0; i < s->lines; i++) {
    const double next = sum + sums[i];
    sums[i] = sum;
    sum = next;
  }
  sums[s->lines] = sum;
}

static void transform_clip(const correlation *c, int k, const davit_detect_clip *clip, bench *b) {
  clip_spectrum *made = &c->clips[k];
  char *memory = c->memory + (size_t)k * clip_bytes(c);
  made->count = clip->count;
  if (clip->count == 0)
    return;
  made->lines = (fftwf_complex *)memory;
  made->sums = (double *)(memory + lines_bytes(c));
  dvt_spectrum_transform(&c->spectra, clip->samples, clip->count, &b->memory, made->lines, b->power);
  sum_lines(&c->spectra, made->lines, made->sums);
}

/* The block's spectrum X, and in b->weight and for each column 1 / P; false if the block is silent. */
static bool transform_block(const correlation *c, const float *samples, int64_t count, bench *b) {
  const int64_t each = c->spectra.columns / BANDS;
  double all = 0;
  dvt_spectrum_transform(&c->spectra, samples, count, &b->memory, b->spectrum, b->power);
  for (int band = 0; band < BANDS; band++) {
    b->weight[band] = 0;
    for (int64_t k = band * each; k < (band + 1) * each; k++)
      b->weight[band] += (double)b->power[k];
    all += b->weight[band];
  }
  for (int band = 0; band < BANDS && all > 0; band++) {
    b->weight[band] = 1 / (b->weight[band] + least_power * all / (double)BANDS);
    for (int64_t k = band * each; k < (band + 1) * each; k++) {
      b->weights[k] = (float)b->weight[band];
      b->roots[k] = (float)sqrt(b->weight[band]);
    }
  }
  b->roots[c->spectra.columns] = 0;
  return all > 0;
}

/* ---- places ---- */

typedef dvt_spectrum_range range;

/* A clip in a block: sums[k] is the clip's white energy in the bands before number k. */
typedef struct white_clip {
  const correlation *c;
  const clip_spectrum *clip;
  const double *weight;
  double sums[BANDS + 1];
} white_clip;

/* Energy of the lines before number `line`. */
static double energy_before(const white_clip *w, int64_t line) {
  const int64_t each = each_of(w->c), band = dvt_at_most(line / each, BANDS - 1);
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
  const int64_t each = each_of(w->c), most = w->c->spectra.range;
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
  const int64_t each = each_of(c);
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

/* Divides by the energies of the clip's length of white samples, and `more`. */
DVT_CPU_INLINE int divide_inline(int64_t count, const double *restrict energy, const double *restrict end,
                                 double more, float *restrict least) {
  for (int64_t i = 0; i < count; i++)
    least[i] /= (float)(end[i] - energy[i] + more);
  return 0;
}

DVT_CPU_DISPATCH(int, divide, divide_inline,
                 (int64_t count, const double *energy, const double *end, double more, float *least),
                 (count, energy, end, more, least))

/* The energy of `length` white samples from place i on. */
static double energy_of(const bench *b, int64_t length, int64_t i) {
  const int64_t end = i + length / SPACING, rest = length % SPACING;
  double energy = b->energy[end] - b->energy[i];
  for (int64_t k = 0; k < rest; k++)
    energy += (double)b->white[end * SPACING + k] * (double)b->white[end * SPACING + k];
  return energy;
}

/* The highest first. */
static int by_value(const void *one, const void *other) {
  const peak *a = one, *b = other;
  return a->value < b->value ? 1 : a->value > b->value ? -1 : (a->place > b->place) - (a->place < b->place);
}

/* Lists the highest place of each frame that is higher than its neighbours and `limit`, and lowers what is higher to
 * it. */
static int64_t list_peaks(const correlation *c, bench *b, int64_t count, float limit) {
  int64_t found = 0;
  float before = 0;
  for (int64_t i = 0; i < count; i++) {
    const float here = b->least[i], after = i + 1 < count ? b->least[i + 1] : 0;
    if (here > limit) {
      b->least[i] = limit;
      if (here >= before && here > after) {
        peak *last = found > 0 ? &b->tops[found - 1] : NULL;
        const bool same = last && last->place * SPACING / c->frame == i * SPACING / c->frame;
        if (!same)
          b->tops[found++] = (peak){i, here};
        else if (here > last->value)
          *last = (peak){i, here};
      }
    }
    before = here;
  }
  return found;
}

static bool is_shadowed(const bench *b, int64_t sure, int64_t reach, const peak *p) {
  for (int64_t k = 0; k < sure; k++)
    if (llabs(b->tops[k].place - p->place) < reach && b->tops[k].value >= p->value)
      return true;
  return false;
}

/* Where the ranges' absolute values are those of a copy, they must agree in sign at one sample, too: tones that are
 * alike have any phases. A peak beside a copy that is higher is not checked: it is the copy's, and no copy of its
 * own. */
static void check_peaks(const correlation *c, const clip_spectrum *clip, bench *b, const range *ranges,
                        double scale, double more, int64_t count) {
  const float bound = (float)(checked * dvt_detect_least_correlation(clip->count)), limit = bound * bound;
  const int64_t found = list_peaks(c, b, count, limit), reach = clip->count / SPACING;
  int64_t sure = 0; /* the first ones of b->tops are copies now */
  qsort(b->tops, (size_t)found, sizeof *b->tops, by_value);
  for (int64_t k = 0; k < found; k++) {
    const peak p = b->tops[k];
    if (is_shadowed(b, sure, reach, &p))
      continue;
    const double sum = (double)dvt_spectrum_agreement(&c->spectra, b->spectrum, clip->lines, b->weights,
                                                      RANGES, ranges, p.place, &b->memory);
    const float value = (float)(sum * sum * scale / (energy_of(b, clip->count, p.place) + more));
    b->least[p.place] = value;
    if (value > limit)
      b->tops[sure++] = (peak){p.place, value};
  }
}

DVT_CPU_INLINE float highest_inline(int64_t count, const float *values) {
  float lanes[LANES] = {0}, most = 0;
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int j = 0; j < LANES; j++)
      lanes[j] = values[i + j] > lanes[j] ? values[i + j] : lanes[j];
  for (; i < count; i++)
    most = values[i] > most ? values[i] : most;
  for (int j = 0; j < LANES; j++)
    most = lanes[j] > most ? lanes[j] : most;
  return most;
}

DVT_CPU_DISPATCH(float, highest, highest_inline, (int64_t count, const float *values), (count, values))

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
               more = least_energy * b->energy[places_of(c)] / (double)c->block * (double)clip->count;
  const int64_t count = dvt_divide_up(frames * c->frame, SPACING);
  memset(peaks, 0, (size_t)frames * sizeof *peaks);
  if (!(all > 0))
    return;
  for (int64_t i = 0; i < count; i++)
    b->least[i] = FLT_MAX;
  for (int j = 0; j < RANGES; j++)
    dvt_spectrum_correlate(&c->spectra, b->spectrum, clip->lines, b->weights, &ranges[j],
                           (float)(scale / (ranges[j].energy * ranges[j].energy)), count, &b->memory,
                           b->least);
  if (clip->count % SPACING == 0)
    divide(count, b->energy, b->energy + clip->count / SPACING, more, b->least);
  else
    for (int64_t i = 0; i < count; i++)
      b->least[i] /= (float)(energy_of(b, clip->count, i) + more);
  check_peaks(c, clip, b, ranges, scale, more, count);
  for (int64_t f = 0; f < frames; f++) {
    const int64_t from = dvt_divide_up(f * c->frame, SPACING),
                  upto = dvt_divide_up((f + 1) * c->frame, SPACING);
    const float peak = highest(upto - from, b->least + from);
    peaks[f] = fminf(sqrtf(peak * part_of(clip->count, left - f * c->frame)), 1);
  }
}

static void correlate_block(const correlation *c, int64_t number, bench *b) {
  const int64_t first = number * c->step, all = c->count / c->frame, first_frame = first / c->frame,
                frames = dvt_at_most(c->step / c->frame, all - first_frame);
  const bool sounds = transform_block(c, c->stream + first, dvt_at_most(c->block, c->count - first), b);
  if (sounds)
    dvt_spectrum_energies(&c->spectra, b->spectrum, b->roots, &b->memory, b->energy, b->white);
  for (int k = 0; k < c->clip_count; k++) {
    float *peaks = c->peaks + k * all + first_frame;
    if (sounds)
      find_peaks(c, &c->clips[k], b, frames, c->count - first, peaks);
    else
      memset(peaks, 0, (size_t)frames * sizeof *peaks);
  }
}

/* ---- the call ---- */

static bool are_samples(int64_t count, const float *samples) {
  int bad = 0;
  for (int64_t i = 0; i < count; i++)
    bad |= !(fabsf(samples[i]) <= loudest);
  return !bad;
}

/* Names the first of them that is no sample. */
static davit_status check_samples(const char *name, int clip, int64_t count, const float *samples) {
  if (are_samples(count, samples))
    return DAVIT_SUCCESS;
  int64_t i = 0;
  while (fabsf(samples[i]) <= loudest)
    i++;
  return clip < 0
             ? davit_fail(DAVIT_INVALID_ARGUMENT, "%s[%lld] is %g", name, (long long)i, (double)samples[i])
             : davit_fail(DAVIT_INVALID_ARGUMENT, "%s[%d].samples[%lld] is %g", name, clip, (long long)i,
                          (double)samples[i]);
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
  for (int k = 0; k < c->clip_count; k++)
    c->fine = c->fine || clips[k].count % SPACING > 0;
  DVT_TRY(dvt_spectra_make(each_of(c), BANDS, RANGE, &c->spectra));
  c->clips = dvt_allocate((size_t)c->clip_count, sizeof *c->clips);
  c->memory = dvt_map((size_t)c->clip_count * clip_bytes(c));
  bool reserved = c->clips && c->memory;
  for (int t = 0; t < c->threads; t++)
    reserved = reserve(c, &b[t]) && reserved;
  if (!reserved)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int k = 0; k < c->clip_count; k++)
    transform_clip(c, k, &clips[k], b);
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
