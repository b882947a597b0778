/* SPDX-License-Identifier: Apache-2.0 */
/* The course report's three tables, measured again (bench/study/docs/dense-study.md): convolution, atax and
 * covariance of square data by size: the handout's serial program, the best loops on one core and on all, the
 * report's kernels corrected, and the library's own operation; and the kernels by the size of their teams.
 * Where the device is the CPU, sizes are small.
 *
 * Times are medians of the repeats after one that is not counted, by the host's clock. Kernels: all launches
 * of a run, each waited for; with copies: those to the device and back as well, no allocation. The library's
 * operation finds its data on the device. The handout's covariance goes down columns, n³ / 2 steps: beyond
 * --covariance-most its time is that of --covariance-most times the cube of the ratio, and handout_measured
 * is 0; from 1025 on it is measured once. Rates are those of 17 flops and 16 bytes an element, 4 flops and 16
 * bytes (A twice), 2 n³ flops and 24 n² bytes, whatever a program really does: the loops and the library
 * multiply one triangle of the covariance, and the library reads atax's A once. If --memory-mb (2^20 bytes;
 * 0: what is free) has no room for a size, the program ends before anything is allocated. Every result is
 * compared with that of the best loops. of_copy: the rate in bytes by that of a copy on the device (read and
 * written); of_peak: that in flops by
 * --peak (TFLOP/s; known for Hopper). */
#include <davit/davit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "bench/study/dense/dense.h"
#include "bench/study/program.h"

static const double divisor = 3214212.01; /* of the means, PolyBench's */

typedef struct study {
  const study_options *o;
  int threads;
  int64_t covariance_most;
  size_t memory_bytes;
  uint64_t seed;
  double copy_gbs, peak_gflops; /* NAN: not known */
} study;

/* Square data of one size. */
typedef struct problem {
  const study *s;
  const struct exercise *e;
  int64_t n, counts[STUDY_ARRAYS];
  int threads;            /* of the loops */
  int block;              /* of the kernels */
  double *input;          /* what host.a is before a run */
  study_dense_data host;  /* of all programs but the library's */
  study_dense_data there; /* the library's, with its queue */
  davit_queue *queue;
  double *right;
} problem;

/* Milliseconds: the whole, the kernels together, each of them. */
enum { WHOLE, KERNELS, FIRST, PARTS = FIRST + 3 };
typedef struct sample {
  double ms[PARTS];
} sample;

typedef struct exercise {
  const char *name, *gpu_sizes, *cpu_sizes, *block_option, *blocks;
  int block;                 /* the report's */
  const char *kernels_ms[3]; /* what the kernels are called in rows */
  double accuracy;           /* maximum difference by the maximum magnitude */
  double flops, bytes;       /* flops n^power (of the inside of the convolution), bytes n^2 */
  int power;
} exercise;

#define CONVOLUTION_SIZES "4096,5000,6000,7000,8000,9000", "1024,2048,4096"
#define ATAX_SIZES "4096,8000,10000,12000", "1024,2048,4096"
#define COVARIANCE_SIZES "1024,1500,2000,2300,3000", "256,512,1024"
#define SIDES "sides", "8,16,32", 16
#define THREADS "blocks", "16,32,64,128,256,512", 256

static const exercise exercises[STUDY_EXERCISES] = {
    [STUDY_CONVOLUTION] = {"convolution", CONVOLUTION_SIZES, SIDES, {"kernel_ms"}, 1e-12, 17, 16, 2},
    [STUDY_ATAX] = {"atax", ATAX_SIZES, THREADS, {"rows_ms", "columns_ms"}, 1e-10, 4, 16, 2},
    [STUDY_COVARIANCE] = {
        "covariance", COVARIANCE_SIZES, SIDES, {"means_ms", "centre_ms", "product_ms"}, 1e-10, 2, 24, 3}};

static study_exercise number_of(const problem *p) {
  return (study_exercise)(p->e - exercises);
}

static double flops_of(const problem *p) {
  const exercise *e = p->e;
  return e->flops * pow((double)(number_of(p) == STUDY_CONVOLUTION ? p->n - 2 : p->n), e->power);
}

static double bytes_of(const problem *p) {
  return p->e->bytes * (double)p->n * (double)p->n;
}

/* ---- the programs ---- */

/* The library's. A row-major matrix is the transpose of a column-major one. */
static davit_status product_of(const problem *p) {
  const study_dense_data *d = &p->there;
  const int64_t n = p->n;
  double turned[9];
  for (int i = 0; i < 9; i++)
    turned[i] = davit_stencil_coefficients[i % 3 * 3 + i / 3];
  const davit_stencil_options zero = {.border = DAVIT_STENCIL_BORDER_ZERO};
  const davit_covariance_options divisors = {.mean_divisor = divisor, .divisor = 1};
  switch (number_of(p)) {
  case STUDY_CONVOLUTION:
    return davit_queue_stencil(p->queue, DAVIT_DOUBLE, n, n, d->a, n, turned, d->out, n, &zero);
  case STUDY_ATAX:
    return davit_queue_atax(p->queue, DAVIT_DOUBLE, 'T', n, n, d->a, n, d->x, d->tmp, d->out, NULL);
  default:
    return davit_queue_covariance(p->queue, DAVIT_DOUBLE, 'T', n, n, d->a, n, d->tmp, NULL, n, d->out, n,
                                  &divisors);
  }
}

/* ---- data ---- */

static double *doubles(int place, int64_t n) {
  void *memory;
  bench_check(davit_malloc((size_t)n * sizeof(double), place, &memory), "memory");
  return memory;
}

static void open_arrays(const problem *p, int place, study_dense_data *data) {
  *data = (study_dense_data){.rows = p->n, .cols = p->n, .divisor = divisor};
  for (int i = 0; i < STUDY_ARRAYS; i++)
    data->array[i] = doubles(place, p->counts[i]);
}

static void close_arrays(study_dense_data *data) {
  for (int i = 0; i < STUDY_ARRAYS; i++)
    bench_check(davit_free(data->array[i]), "memory");
}

static size_t bytes_of_array(const problem *p, int array) {
  return (size_t)p->counts[array] * sizeof(double);
}

static problem open_problem(const study *s, const exercise *e, int64_t n) {
  problem p = {.s = s, .e = e, .n = n, .threads = 1, .block = e->block};
  const study_dense d = {.memory_bytes = s->memory_bytes};
  const double bytes = study_dense_bytes(number_of(&p), n, n);
  bench_check(study_dense_room(&d, s->o->site.device, bytes), e->name);
  study_dense_counts(number_of(&p), n, n, p.counts);
  open_arrays(&p, DAVIT_PAGEABLE, &p.host);
  p.input = doubles(DAVIT_PAGEABLE, n * n);
  p.right = doubles(DAVIT_PAGEABLE, p.counts[STUDY_OUT]);
  bench_check(davit_random(DAVIT_DOUBLE, n * n, s->seed, p.input), "data");
  bench_check(davit_random(DAVIT_DOUBLE, p.counts[STUDY_X], s->seed + 1, p.host.x), "data");
  memcpy(p.host.a, p.input, bytes_of_array(&p, STUDY_A));
  memset(p.host.out, 0, bytes_of_array(&p, STUDY_OUT));
  bench_check(study_dense_cpu(number_of(&p), 1, &p.host), "loops");
  memcpy(p.right, p.host.out, bytes_of_array(&p, STUDY_OUT));
  return p;
}

static void close_problem(problem *p) {
  close_arrays(&p->host);
  bench_check(davit_free(p->input), "memory");
  bench_check(davit_free(p->right), "memory");
  bench_check(davit_memory_trim(DAVIT_PAGEABLE), "memory");
}

static void send(problem *p) {
  open_arrays(p, p->s->o->site.place, &p->there);
  bench_check(davit_copy(bytes_of_array(p, STUDY_A), p->input, p->there.a), "copy");
  bench_check(davit_copy(bytes_of_array(p, STUDY_X), p->host.x, p->there.x), "copy");
  bench_check(davit_queue_create(p->s->o->site.device, &p->queue, NULL), "queue");
}

/* Takes the result along. */
static void fetch(problem *p) {
  bench_check(davit_copy(bytes_of_array(p, STUDY_OUT), p->there.out, p->host.out), "copy");
  close_arrays(&p->there);
  bench_check(davit_queue_destroy(p->queue), "queue");
}

static void check(const problem *p, const char *program) {
  double largest = 0, off = 0;
  for (int64_t i = 0; i < p->counts[STUDY_OUT]; i++) {
    const double apart = fabs(p->host.out[i] - p->right[i]);
    largest = fmax(largest, fabs(p->right[i]));
    off = apart <= off ? off : apart; /* NaN stays */
  }
  if (off <= p->e->accuracy * largest)
    return;
  study_give_up("%s, n %lld: %s is off by %g of %g", p->e->name, (long long)p->n, program, off, largest);
}

/* ---- what is measured ---- */

/* A run. */
typedef sample (*run)(problem *p);

static sample since(double start) {
  return (sample){{1e3 * (bench_now() - start)}};
}

static sample run_handout(problem *p) {
  const double start = bench_now();
  study_dense_handout(number_of(p), &p->host);
  return since(start);
}

static sample run_loops(problem *p) {
  const double start = bench_now();
  bench_check(study_dense_cpu(number_of(p), p->threads, &p->host), "loops");
  return since(start);
}

static sample run_kernels(problem *p) {
  const study_dense d = {p->block, p->s->memory_bytes};
  study_dense_times times;
  sample one = {{0}};
  bench_check(study_dense_run(number_of(p), &d, p->s->o->site.device, &p->host, &times), p->e->name);
  for (int i = 0; i < PARTS - FIRST; i++) {
    one.ms[FIRST + i] = times.phase_ms[i];
    one.ms[KERNELS] += times.phase_ms[i];
  }
  one.ms[WHOLE] = one.ms[KERNELS] + times.transfer_ms;
  return one;
}

static sample run_product(problem *p) {
  const double start = bench_now();
  bench_check(product_of(p), "library");
  bench_check(davit_queue_synchronize(p->queue), "library");
  return since(start);
}

/* The median of each part, apart. With one repeat there is no run before it. */
static sample measure_times(problem *p, run once, int repeats) {
  double each[PARTS][BENCH_MOST];
  sample median;
  memset(p->host.out, 0, bytes_of_array(p, STUDY_OUT));
  for (int i = repeats > 1 ? -1 : 0; i < repeats; i++) {
    memcpy(p->host.a, p->input, bytes_of_array(p, STUDY_A));
    bench_rest();
    const sample one = once(p);
    for (int part = 0; part < PARTS; part++)
      each[part][i < 0 ? 0 : i] = one.ms[part];
  }
  for (int part = 0; part < PARTS; part++)
    median.ms[part] = bench_median(each[part], repeats);
  return median;
}

static sample measure(problem *p, run once) {
  return measure_times(p, once, p->s->o->repeats);
}

/* The handout's program, or what it would take. */
static double handout(problem *p, bool *measured) {
  static double known_ms, known_n;
  const double most = (double)p->s->covariance_most;
  *measured = number_of(p) != STUDY_COVARIANCE || p->n <= p->s->covariance_most;
  if (*measured) {
    const bool long_run = number_of(p) == STUDY_COVARIANCE && p->n > 1024;
    const double ms = measure_times(p, run_handout, long_run ? 1 : p->s->o->repeats).ms[WHOLE];
    check(p, "handout");
    return ms;
  }
  if (known_n != most) {
    problem smaller = open_problem(p->s, p->e, p->s->covariance_most);
    known_ms = handout(&smaller, measured);
    known_n = most;
    close_problem(&smaller);
    *measured = false;
  }
  return known_ms * pow((double)p->n / known_n, 3);
}

/* ---- rows ---- */

static void row(const problem *p, const char *program, double ms) {
  study_row();
  bench_text("exercise", p->e->name);
  study_text("program", program);
  study_number("n", 0, (double)p->n);
  bench_number("device", p->s->o->site.device);
  bench_number("repeats", p->s->o->repeats);
  study_number("ms", 3, ms);
  study_number("gflops", 1, 1e-6 * flops_of(p) / ms);
  study_number("gbs", 1, 1e-6 * bytes_of(p) / ms);
  study_number("of_copy", 3, 1e-6 * bytes_of(p) / ms / p->s->copy_gbs);
  study_number("of_peak", 3, 1e-6 * flops_of(p) / ms / p->s->peak_gflops);
}

/* The kernels apart. Each half of atax reads A once. */
static void kernels_apart(const problem *p, const sample *kernels) {
  for (int i = 0; i < PARTS - FIRST && p->e->kernels_ms[i]; i++)
    study_number(p->e->kernels_ms[i], 3, kernels->ms[FIRST + i]);
  if (number_of(p) == STUDY_ATAX) {
    study_number("rows_gbs", 1, 0.5e-6 * bytes_of(p) / kernels->ms[FIRST]);
    study_number("columns_gbs", 1, 0.5e-6 * bytes_of(p) / kernels->ms[FIRST + 1]);
  }
}

/* ---- tables ---- */

typedef struct reference {
  double handout; /* ms */
  bool measured;
} reference;

static void program(const problem *p, const reference *r, const char *name, double ms) {
  row(p, name, ms);
  study_number("speedup", 2, r->handout / ms);
  study_number("handout_measured", 0, r->measured);
}

static double loops(problem *p, int threads, const char *name) {
  p->threads = threads;
  const double ms = measure(p, run_loops).ms[WHOLE];
  check(p, name);
  return ms;
}

static void rows_of(problem *p) {
  reference r;
  r.handout = handout(p, &r.measured);
  program(p, &r, "handout", r.handout);
  program(p, &r, "one core", loops(p, 1, "one core"));
  program(p, &r, "all cores", loops(p, p->s->threads, "all cores"));
  const sample kernels = measure(p, run_kernels);
  check(p, "kernels");
  program(p, &r, "kernels", kernels.ms[KERNELS]);
  kernels_apart(p, &kernels);
  program(p, &r, "kernels with copies", kernels.ms[WHOLE]);
  if (number_of(p) == STUDY_COVARIANCE) {
    p->host.symmetric = true;
    const sample half = measure(p, run_kernels);
    p->host.symmetric = false;
    check(p, "symmetric kernels");
    program(p, &r, "symmetric kernels", half.ms[KERNELS]);
    kernels_apart(p, &half);
  }
  send(p);
  const double library = measure(p, run_product).ms[WHOLE];
  fetch(p);
  check(p, "library");
  program(p, &r, "library", library);
}

static void each_size(const study *s, const exercise *e, int64_t n) {
  problem p = open_problem(s, e, n);
  rows_of(&p);
  close_problem(&p);
}

static void each_convolution(void *context, int64_t n) {
  each_size(context, &exercises[STUDY_CONVOLUTION], n);
}

static void each_atax(void *context, int64_t n) {
  each_size(context, &exercises[STUDY_ATAX], n);
}

static void each_covariance(void *context, int64_t n) {
  each_size(context, &exercises[STUDY_COVARIANCE], n);
}

/* The largest size of each exercise, by the teams. */
static void table_blocks(void *context) {
  const study *s = context;
  for (const exercise *e = exercises; e < exercises + STUDY_EXERCISES; e++) {
    const bench_values sizes = bench_sizes(e->name, s->o->site.gpu ? e->gpu_sizes : e->cpu_sizes),
                       blocks = bench_sizes(e->block_option, e->blocks);
    if (sizes.count == 0)
      continue;
    study_begin_table("blocks", "the kernels of %s by teams", e->name);
    problem p = open_problem(s, e, bench_largest(&sizes));
    for (int i = 0; i < blocks.count; i++) {
      p.block = (int)blocks.at[i];
      const sample kernels = measure(&p, run_kernels);
      check(&p, "kernels");
      row(&p, "kernels", kernels.ms[KERNELS]);
      study_number("block", 0, p.block);
      study_number("threads", 0, number_of(&p) == STUDY_ATAX ? p.block : p.block * p.block);
      kernels_apart(&p, &kernels);
    }
    close_problem(&p);
  }
}

/* The best of a few copies of 256 MiB on the device. */
static double copy_rate(const study *s) {
  const size_t bytes = (size_t)256 << 20;
  void *from, *to;
  double best = INFINITY;
  const study_block blocks[] = {{&from, bytes, s->o->site.place}, {&to, bytes, s->o->site.place}};
  bench_check(study_allocate(blocks, 2), "memory");
  bench_check(davit_fill(bytes, 1, from), "fill");
  for (int i = 0; i < 6; i++) {
    const double start = bench_now();
    bench_check(davit_copy(bytes, from, to), "copy");
    best = fmin(best, bench_now() - start);
  }
  study_free(blocks, 2);
  return 2e-9 * (double)bytes / best;
}

#define BY_SIZE "every program by size; speed-ups over the handout's program"
static const study_table tables[] = {
    {"convolution", NULL, BY_SIZE, "convolution", CONVOLUTION_SIZES, each_convolution},
    {"atax", NULL, BY_SIZE, "atax", ATAX_SIZES, each_atax},
    {"covariance", NULL, BY_SIZE, "covariance", COVARIANCE_SIZES, each_covariance},
    {"blocks", .measure = table_blocks}};

static const char usage[] =
    "bench_dense_study [--device 0] [--tables convolution,atax,covariance,blocks] [--convolution 4096,...]\n"
    "                  [--atax 4096,...] [--covariance 1024,...] [--sides 8,16,32] [--blocks "
    "16,32,64,128,256,512]\n"
    "                  [--covariance-most 1024] [--memory-mb 0] [--threads 0] [--peak TFLOPS] [--repeats 5]\n"
    "                  [--seed 1]\n";

int main(int argc, char **argv) {
  const study_options o = study_options_read(usage, argc, argv, 5, 5);
  const int64_t most = bench_whole("covariance-most", 1024);
  study s = {.o = &o,
             .threads = (int)bench_whole("threads", 0),
             .covariance_most = most < 1 ? 1 : most,
             .memory_bytes = (size_t)bench_whole("memory-mb", 0) << 20,
             .seed = (uint64_t)bench_whole("seed", 1)};
  const double peak = bench_peak(o.site.device);
  s.peak_gflops = peak > 0 ? 1e-9 * peak : NAN;
  s.copy_gbs = copy_rate(&s);
  return study_measure_tables(&o, "dense_study", sizeof tables / sizeof *tables, tables, &s);
}
