/* SPDX-License-Identifier: Apache-2.0 */
/* Detection in its audio form: windows of 200 frames of 62 features, effects of 108 frames; on one device and
 * on several, and the way from samples to detections. Clocks and the options of all programs:
 * bench/measure.h; floors: bench/cells.h.
 *
 * 775 windows are two hours; on the CPU the default is 64, with 100 and 1000 permutations. Features are
 * random, each effect is in one of the windows. --end-to-end: seconds of synthetic sound, 0 for none (120 on
 * the CPU).
 *
 * Rows: "detect" is a detector and a call of davit_detect: unit vectors, orders, similarities, scores of the
 * window as it is and of its permutations, and judging. gcups counts the cells of all runs. "rounded" scores
 * are words of 16 bits, "real" ones floats. The peer of the rounded ones on the CPU is parasail, striped, 16
 * bits, in turns with davit on as many threads: a profile for each window and effect, used by all runs; it is
 * given similarities and orders, and judges nothing. Its scores are compared with davit's. "end to end" is
 * davit_features and davit_detect with six effects (and 10^4 permutations, 10^3 on the CPU), each by itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cells.h"
#include "bench/peers/parasail.h"
#include "ref/similarity.h"

enum { WINDOW = 200, EFFECT = 108, WIDTH = 62, EFFECTS = 6 };

typedef struct problem {
  bench_cells *cells;
  int64_t windows;
  int effect_count;
  bench_spread spread;
  float *stream, *effect_features;
  davit_detect_effect effects[BENCH_MOST];
  davit_detect_options options;
  davit_detect_hit *detections;
  peer_parasail_detection peer;
  int32_t *peer_scores; /* NULL: no peer */
} problem;

/* ---- data ---- */

static float *memory_of(int64_t count) {
  return bench_memory(DAVIT_PAGEABLE, (size_t)count * sizeof(float));
}

static void fill(uint64_t seed, int64_t count, float *features) {
  for (int64_t i = 0; i < count; i++)
    features[i] = (float)(bench_random(&seed) >> 40) * 0x1p-24f - 0.3f;
}

/* A sound with `effect_count` effects, effect e in window e. */
static bool make_sound(problem *p) {
  const int64_t count = p->windows * WINDOW * WIDTH, each = EFFECT * WIDTH;
  p->stream = memory_of(count);
  p->effect_features = memory_of(p->effect_count * each);
  p->detections =
      bench_memory(DAVIT_PAGEABLE, (size_t)(p->windows * p->effect_count) * sizeof *p->detections);
  if (!p->stream || !p->effect_features || !p->detections)
    return false;
  fill(1, count, p->stream);
  fill(2, p->effect_count * each, p->effect_features);
  for (int e = 0; e < p->effect_count; e++) {
    p->effects[e] = (davit_detect_effect){EFFECT, p->effect_features + e * each};
    if (e < p->windows)
      memcpy(p->stream + (e * WINDOW + 50) * WIDTH, p->effects[e].features, (size_t)each * sizeof(float));
  }
  return true;
}

static void free_sound(problem *p) {
  davit_free(p->stream);
  davit_free(p->effect_features);
  davit_free(p->detections);
}

/* ---- the peer ---- */

/* Those that davit computes, as parasail wants them. */
static void similarities_of(const problem *p, const float *window, const float *effect, int *to) {
  float x[WINDOW * WIDTH], y[EFFECT * WIDTH];
  for (int i = 0; i < WINDOW; i++)
    dvt_unit_vector(WIDTH, window + i * WIDTH, x + i * WIDTH);
  for (int j = 0; j < EFFECT; j++)
    dvt_unit_vector(WIDTH, effect + j * WIDTH, y + j * WIDTH);
  for (int j = 0; j < EFFECT; j++)
    for (int i = 0; i < WINDOW; i++)
      to[j * WINDOW + i] =
          (int)dvt_similarity(WIDTH, x + i * WIDTH, y + j * WIDTH, (float)p->options.threshold, true);
}

static bool open_peer(problem *p, int64_t runs) {
  const int64_t pairs = p->windows * p->effect_count;
  int *similarities = bench_memory(DAVIT_PAGEABLE, (size_t)pairs * WINDOW * EFFECT * sizeof(int));
  uint16_t *orders = bench_memory(DAVIT_PAGEABLE, (size_t)runs * WINDOW * sizeof *orders);
  p->peer = (peer_parasail_detection){pairs, WINDOW, EFFECT, runs, similarities, orders, 0, 0};
  p->peer.gap_open = 100 + (int)p->options.gap_penalty;
  p->peer.gap_extend = (int)p->options.gap_penalty;
  p->peer_scores = bench_memory(DAVIT_PAGEABLE, (size_t)(pairs * runs) * sizeof *p->peer_scores);
  if (!similarities || !orders || !p->peer_scores)
    return false;
  for (int64_t k = 0; k < pairs; k++)
    similarities_of(p, p->stream + k / p->effect_count * WINDOW * WIDTH,
                    p->effects[k % p->effect_count].features, similarities + k * WINDOW * EFFECT);
  for (int64_t r = 0; r < runs; r++)
    bench_check(davit_detect_permutation(p->options.seed, r, WINDOW, p->options.block, orders + r * WINDOW),
                "order");
  return true;
}

static void close_peer(problem *p) {
  davit_free((void *)(uintptr_t)p->peer.similarities);
  davit_free((void *)(uintptr_t)p->peer.orders);
  davit_free(p->peer_scores);
  p->peer_scores = NULL;
}

static bool same_scores(const problem *p) {
  for (int64_t k = 0; k < p->peer.pairs; k++) {
    const int32_t *scores = p->peer_scores + k * p->peer.runs;
    double sum = 0;
    for (int64_t r = 1; r < p->peer.runs; r++)
      sum += scores[r];
    if (p->detections[k].score != (double)scores[0] ||
        fabs(p->detections[k].null_mean - sum / (double)(p->peer.runs - 1)) > 1e-9 * sum)
      return false;
  }
  return true;
}

/* ---- detection ---- */

static davit_status detect_call(void *argument) {
  const problem *p = argument;
  davit_detect_options options = p->options;
  davit_detector *detector = NULL;
  options.devices = p->spread.devices;
  options.device_count = p->spread.count;
  davit_status status = davit_detector_create(WIDTH, p->effect_count, p->effects, &detector, &options);
  if (status == DAVIT_SUCCESS)
    status = davit_detect(detector, p->windows * WINDOW, p->stream, p->detections);
  davit_status end = davit_detector_destroy(detector);
  return status == DAVIT_SUCCESS ? end : status;
}

static davit_status peer_call(void *argument) {
  const problem *p = argument;
  return peer_parasail_detect(&p->peer, p->cells->threads, p->peer_scores);
}

static double cells_of(const problem *p) {
  return (double)(p->windows * p->effect_count * WINDOW * EFFECT) * (double)(p->options.permutations + 1);
}

static bench_time detect(problem *p) {
  static const bench_work works[] = {detect_call, peer_call};
  static const char *const peers[] = {"parasail_16", NULL};
  const bool peer = p->peer_scores != NULL;
  char variant[40];
  bench_time times[2];
  bench_wall_turns(p->cells->site, peer ? 2 : 1, works, p, times);
  snprintf(variant, sizeof variant, "%s %lld", p->options.round ? "rounded" : "real",
           (long long)p->options.permutations);
  bench_case what = {.operation = "detect",
                     .variant = variant,
                     .form = "detect",
                     .rows = p->windows,
                     .cols = p->effect_count,
                     .devices = p->spread.count};
  bench_report(p->cells->site, &what, &times[0], peer ? "parasail 16" : NULL, peer ? &times[1] : NULL);
  bench_number("permutations", (double)p->options.permutations);
  bench_cells_report(p->cells, cells_of(p), p->options.round ? BENCH_SHORTS : BENCH_FLOATS, p->spread.count,
                     times, peer ? peers : NULL);
  if (peer && !times[0].error[0] && !times[1].error[0] && !same_scores(p))
    bench_failure("detect", "parasail has other scores");
  return times[0];
}

static void one_device(problem *p) {
  const bench_values permutations =
      bench_sizes("permutations", p->cells->site->gpu ? "100,10000" : "100,1000");
  p->spread.devices[0] = p->cells->site->device;
  p->spread.count = 1;
  for (int i = 0; i < permutations.count; i++)
    for (int rounded = 1; rounded >= 0; rounded--) {
      p->options.permutations = permutations.at[i];
      p->options.round = rounded;
      const bool wanted = rounded && p->cells->threads > 0 && p->cells->site->peers && PEER_PARASAIL;
      if (!wanted || open_peer(p, permutations.at[i] + 1))
        detect(p);
      close_peer(p);
    }
}

/* The same by more and more devices. */
static void spread(problem *p) {
  double first = 0;
  p->spread = bench_spread_read();
  p->options.permutations = 10000;
  p->options.round = true;
  for (int i = 0; i < p->spread.counts.count; i++) {
    p->spread.count = (int)p->spread.counts.at[i];
    const bench_time time = detect(p);
    first = i == 0 ? time.median : first;
    if (time.median > 0)
      bench_number("speedup", first / time.median);
  }
}

static void detections(bench_cells *cells, bool several) {
  const bench_values effects = bench_sizes("effects", "1,6");
  for (int i = 0; i < effects.count; i++) {
    problem p = {.cells = cells};
    bench_check(davit_detect_defaults(&p.options), "defaults");
    p.windows = bench_whole("windows", cells->site->gpu ? 775 : 64);
    p.effect_count = (int)(effects.at[i] < BENCH_MOST ? effects.at[i] : BENCH_MOST);
    if (p.windows < 1)
      return;
    if (make_sound(&p)) {
      one_device(&p);
      if (several && i == effects.count - 1)
        spread(&p);
    }
    free_sound(&p);
  }
}

/* ---- from samples ---- */

typedef struct sound {
  problem p;
  int64_t count;
  float *samples;
} sound;

/* Noise under tones that come and go. */
static void make_samples(int64_t count, double rate, float *samples) {
#pragma omp parallel for schedule(static)
  for (int64_t second = 0; second <= count / (int64_t)rate; second++) {
    uint64_t state = 99 + (uint64_t)second;
    const int64_t begin = second * (int64_t)rate,
                  end = begin + (int64_t)rate < count ? begin + (int64_t)rate : count;
    const double pitch = 100 + 4000 * ((double)(bench_random(&state) >> 11) * 0x1p-53);
    for (int64_t i = begin; i < end; i++) {
      const float noise = (float)(bench_random(&state) >> 40) * 0x1p-24f - 0.5f;
      samples[i] = 0.2f * noise + 0.3f * (float)sin(6.283185307179586 * pitch * (double)i / rate);
    }
  }
}

static davit_status features_call(void *argument) {
  const sound *s = argument;
  return davit_features(s->count, s->samples, s->p.stream, NULL);
}

static davit_status sound_detect_call(void *argument) {
  sound *s = argument;
  return detect_call(&s->p);
}

/* Effects are stretches of the sound. */
static void report_sound(sound *s, int64_t seconds, bench_time *times) {
  problem *p = &s->p;
  int64_t found = 0;
  bench_case what = {.operation = "detect",
                     .variant = p->options.round ? "rounded" : "real",
                     .form = "end to end",
                     .rows = p->windows,
                     .cols = p->effect_count,
                     .devices = p->spread.count};
  bench_time both = times[0];
  both.median += times[1].median;
  both.best += times[1].best;
  for (int64_t k = 0; k < p->windows * p->effect_count; k++)
    found += p->detections[k].detected;
  bench_report(p->cells->site, &what, &both, NULL, NULL);
  bench_number("permutations", (double)p->options.permutations);
  bench_number("sound_s", (double)seconds);
  bench_number("features_s", times[0].median);
  bench_number("detect_s", times[1].median);
  bench_number("detections", (double)found);
  bench_cells_report(p->cells, cells_of(p), p->options.round ? BENCH_SHORTS : BENCH_FLOATS, p->spread.count,
                     &times[1], NULL);
  fprintf(stderr, "   features %.3f s, detect %.3f s\n", times[0].median, times[1].median);
}

/* What is left over of the last window is dropped, so that all cells are counted. */
static void end_to_end(bench_cells *cells) {
  static const bench_work works[] = {features_call, sound_detect_call};
  const davit_features_options o = {.rate = DAVIT_FEATURES_RATE, .frame = DAVIT_FEATURES_FRAME};
  const int64_t seconds = bench_whole("end-to-end", cells->site->gpu ? 7200 : 120);
  sound s = {.p = {.cells = cells, .effect_count = EFFECTS, .spread = {.count = 1}}};
  problem *p = &s.p;
  bench_time times[2];
  bench_check(davit_detect_defaults(&p->options), "defaults");
  p->options.permutations = cells->site->gpu ? 10000 : 1000;
  p->spread.devices[0] = cells->site->device;
  p->windows = (int64_t)(o.rate * (double)seconds) / (o.frame * WINDOW);
  s.count = p->windows * WINDOW * o.frame;
  if (p->windows < EFFECTS)
    return;
  s.samples = memory_of(s.count);
  if (make_sound(p) && s.samples) {
    make_samples(s.count, o.rate, s.samples);
    bench_check(features_call(&s), "features");
    for (int e = 0; e < EFFECTS; e++)
      memcpy(p->effect_features + e * EFFECT * WIDTH, p->stream + (e * WINDOW + 40) * WIDTH,
             EFFECT * WIDTH * sizeof(float));
    for (int rounded = 1; rounded >= 0; rounded--) {
      p->options.round = rounded;
      bench_wall_turns(cells->site, 2, works, &s, times);
      report_sound(&s, seconds, times);
    }
  }
  free_sound(p);
  davit_free(s.samples);
}

static void measure_site(bench_cells *cells, bool several) {
  detections(cells, several);
  end_to_end(cells);
}

static const char usage[] = "bench_detect [--windows 775] [--effects 1,6] [--permutations 100,10000] "
                            "[--end-to-end 7200] [--avx2 0] [--clock 1.98]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_cells_run("detect", usage, argc, argv, PEER_PARASAIL, measure_site);
}
