/* SPDX-License-Identifier: Apache-2.0 */
/* Features of sound on the host's threads, against FFTW alone: the same transforms of the same frames, which
 * is what the definition cannot do without; the rest is the window, the bands and their changes. Clocks and
 * the options of all programs: bench/measure.h.
 *
 * --seconds of sound at 22050 Hz (noise), in frames of each of --frames samples. Both take turns. Bytes: each
 * sample read and each feature written once. `us_a_frame` is by the clock, of all threads together,
 * `processor_us_a_frame` of one; `real_time` is how many seconds of sound a second of the clock analyses. */
#include <fftw3.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/cells.h"

typedef struct problem {
  int64_t samples, frame, frames;
  float *sound, *features;
  davit_features_options options;
  fftwf_plan plan;
  float *buffers; /* of the peer's threads: a frame and its spectrum each */
  int64_t line;   /* floats from the frame to its spectrum, which has two more */
} problem;

static davit_status features_call(void *argument) {
  const problem *p = argument;
  return davit_features(p->samples, p->sound, p->features, &p->options);
}

/* Each begins with a line of the processor's cache. */
static float *buffer_of(const problem *p, int thread) {
  return p->buffers + thread * 2 * (p->line + 16);
}

static davit_status transforms_call(void *argument) {
  const problem *p = argument;
#pragma omp parallel for schedule(static)
  for (int64_t f = 0; f < p->frames; f++) {
    float *in = buffer_of(p, omp_get_thread_num());
    for (int64_t i = 0; i < p->frame; i++)
      in[i] = p->sound[f * p->frame + i];
    fftwf_execute_dft_r2c(p->plan, in, (fftwf_complex *)(void *)(in + p->line));
  }
  return DAVIT_SUCCESS;
}

static bool open_problem(problem *p) {
  p->frames = p->samples / p->frame;
  p->line = (p->frame + 15) / 16 * 16;
  p->options = (davit_features_options){.rate = DAVIT_FEATURES_RATE, .frame = p->frame};
  p->buffers = fftwf_malloc(sizeof(float) * (size_t)(omp_get_max_threads() * 2 * (p->line + 16)));
  if (p->buffers)
    p->plan = fftwf_plan_dft_r2c_1d((int)p->frame, p->buffers,
                                    (fftwf_complex *)(void *)(p->buffers + p->line), FFTW_ESTIMATE);
  p->features = malloc((size_t)(p->frames * DAVIT_FEATURES_WIDTH) * sizeof *p->features + 1);
  if (p->buffers && p->plan && p->features)
    return true;
  bench_failure("features", "no memory for the transforms");
  return false;
}

static void close_problem(problem *p) {
  if (p->plan)
    fftwf_destroy_plan(p->plan);
  fftwf_free(p->buffers);
  free(p->features);
  p->plan = NULL;
  p->buffers = NULL;
  p->features = NULL;
}

static void measure(const bench_site *site, problem *p) {
  const bench_work works[] = {features_call, transforms_call};
  bench_time times[2] = {{0}};
  char variant[40];
  snprintf(variant, sizeof variant, "frames of %lld", (long long)p->frame);
  const bench_case what = {.operation = "features",
                           .type = "f32",
                           .variant = variant,
                           .form = "host",
                           .rows = p->frames,
                           .cols = p->frame,
                           .bytes = 4.0 * ((double)p->samples + (double)(p->frames * DAVIT_FEATURES_WIDTH)),
                           .flops = 2.5 * (double)(p->frames * p->frame) * log2((double)p->frame)};
  bench_wall_turns(site, site->peers ? 2 : 1, works, p, times);
  bench_report(site, &what, &times[0], site->peers ? "FFTW alone" : NULL, site->peers ? &times[1] : NULL);
  if (times[0].median > 0) {
    bench_number("us_a_frame", 1e6 * times[0].median / (double)p->frames);
    bench_number("processor_us_a_frame", 1e6 * times[0].processor / (double)p->frames);
    if (site->peers)
      bench_number("peer_processor_us_a_frame", 1e6 * times[1].processor / (double)p->frames);
    bench_number("real_time", (double)p->samples / p->options.rate / times[0].median);
  }
}

static const char usage[] = "bench_features [--seconds 600] [--frames 512,1024,4096]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  bench_site site;
  bench_open(usage, argc, argv);
  bench_begin("features");
  if (bench_site_open(DAVIT_HOST, &site)) {
    const bench_values frames = bench_sizes("frames", "512,1024,4096");
    problem p = {.samples = 22050 * bench_whole("seconds", 600)};
    p.sound = malloc((size_t)p.samples * sizeof *p.sound + 1);
    uint64_t random = 1;
    for (int64_t i = 0; p.sound && i < p.samples; i++)
      p.sound[i] = (float)(bench_random(&random) >> 40) * 0x1p-23f - 1;
    for (int i = 0; i < frames.count && p.sound; i++) {
      p.frame = frames.at[i];
      if (p.frame < 2 || p.frame > 1 << 24)
        bench_failure("features", "a frame has 2 to 2^24 samples");
      else if (open_problem(&p))
        measure(&site, &p);
      close_problem(&p);
    }
    if (!p.sound)
      bench_failure("features", "no memory for the sound");
    free(p.sound);
    bench_site_close(&site);
  }
  return bench_finish();
}
