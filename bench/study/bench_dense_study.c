/* SPDX-License-Identifier: Apache-2.0 */
/* The course report's three tables, measured again (bench/study/docs/dense-study.md): convolution, atax and
 * covariance of square data by size: the handout's serial program, the best loops on one core and on all, the
 * report's kernels corrected, and the library's own operation; and the kernels by the size of their teams.
 * Where the device is the CPU, sizes are small.
 *
 * Times are medians of the repeats after one that is not counted (program.h), by the host's clock; the parts of
 * the kernels are those of the run with their median. Kernels: all launches of a run, each waited for (table
 * region: what each of them costs); with copies: those to the device and back as well, no allocation. The
 * library's operation finds its data on the device. The handout's covariance goes down columns, n³ / 2 steps:
 * beyond --covariance-most its time is that of --covariance-most times the cube of the ratio, and
 * handout_measured is 0. Every result is compared with that of the best loops. If --memory-mb (2^20 bytes; 0:
 * what is free) has no room for a size, the program ends before anything is allocated.
 *
 * Rates are those of these flops and bytes, whatever a program really does: the loops and the library multiply
 * one triangle of the covariance, and the library reads atax's A once.
 *   convolution  17 flops and 16 bytes an element
 *   atax         4 flops and 16 bytes (A twice) an element
 *   covariance   2 n³ flops and 24 n² bytes
 * of_copy is the rate in bytes divided by that of a copy on the device (read and written); of_peak is the rate
 * in flops divided by --peak (TFLOP/s; known for Hopper). */
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

/* WHOLE of all runs, the one that is not counted among them. */
typedef struct wholes {
  int count;
  double ms[BENCH_MOST + 1];
} wholes;

typedef struct repeated {
  problem *p;
  run once;
  int part;    /* whose median counts */
  sample last; /* in the end that of the median run */
  wholes *wholes;
} repeated;

static double run_repeated(void *argument) {
  repeated *r = argument;
  memcpy(r->p->host.a, r->p->input, bytes_of_array(r->p, STUDY_A));
  bench_rest();
  r->last = r->once(r->p);
  r->wholes->ms[r->wholes->count++] = r->last.ms[WHOLE];
  return r->last.ms[r->part];
}

typedef struct measured {
  sample ms;
  int repeats;
} measured;

/* WHOLE is a median of its own. */
static measured measure_part(problem *p, run once, int part) {
  wholes all = {.count = 0};
  repeated r = {.p = p, .once = once, .part = part, .wholes = &all};
  memset(p->host.out, 0, bytes_of_array(p, STUDY_OUT));
  const int repeats = study_measure(p->s->o, run_repeated, &r, sizeof r).repeats;
  r.last.ms[WHOLE] = bench_median(all.ms + all.count - repeats, repeats);
  return (measured){r.last, repeats};
}

static measured measure(problem *p, run once) {
  return measure_part(p, once, WHOLE);
}

/* The handout's program, or what it would take: then repeats are 0. */
static measured handout(problem *p) {
  static double known_ms, known_n;
  const double most = (double)p->s->covariance_most;
  if (number_of(p) != STUDY_COVARIANCE || p->n <= p->s->covariance_most) {
    const measured is = measure(p, run_handout);
    check(p, "handout");
    return is;
  }
  if (known_n != most) {
    problem smaller = open_problem(p->s, p->e, p->s->covariance_most);
    known_ms = handout(&smaller).ms.ms[WHOLE];
    known_n = most;
    close_problem(&smaller);
  }
  return (measured){{{known_ms * pow((double)p->n / known_n, 3)}}, 0};
}

/* ---- rows ---- */

static void row(const problem *p, const char *program, double ms, int repeats) {
  study_row();
  bench_text("exercise", p->e->name);
  study_text("program", program);
  study_number("n", 0, (double)p->n);
  bench_number("device", p->s->o->site.device);
  study_number("repeats", 0, repeats);
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

/* A row beside the handout's time. */
static void program(const problem *p, const measured *reference, const char *name, double ms, int repeats) {
  row(p, name, ms, repeats);
  study_number("speedup", 2, reference->ms.ms[WHOLE] / ms);
  study_number("handout_measured", 0, reference->repeats > 0);
}

static void whole_program(const problem *p, const measured *reference, const char *name, const measured *is) {
  program(p, reference, name, is->ms.ms[WHOLE], is->repeats);
}

static void loops(problem *p, const measured *reference, int threads, const char *name) {
  p->threads = threads;
  const measured is = measure(p, run_loops);
  check(p, name);
  whole_program(p, reference, name, &is);
}

/* The kernels, which are measured and checked, and their row. */
static measured kernels(problem *p, const measured *reference, const char *name) {
  const measured is = measure_part(p, run_kernels, KERNELS);
  check(p, name);
  program(p, reference, name, is.ms.ms[KERNELS], is.repeats);
  kernels_apart(p, &is.ms);
  return is;
}

static void rows_of(problem *p) {
  const measured reference = handout(p);
  whole_program(p, &reference, "handout", &reference);
  loops(p, &reference, 1, "one core");
  loops(p, &reference, p->s->threads, "all cores");
  const measured full = kernels(p, &reference, "kernels");
  whole_program(p, &reference, "kernels with copies", &full);
  if (number_of(p) == STUDY_COVARIANCE) {
    p->host.symmetric = true;
    kernels(p, &reference, "symmetric kernels");
    p->host.symmetric = false;
  }
  send(p);
  const measured library = measure(p, run_product);
  fetch(p);
  check(p, "library");
  whole_program(p, &reference, "library", &library);
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
      const measured is = measure_part(&p, run_kernels, KERNELS);
      check(&p, "kernels");
      row(&p, "kernels", is.ms.ms[KERNELS], is.repeats);
      study_number("block", 0, p.block);
      study_number("threads", 0, number_of(&p) == STUDY_ATAX ? p.block : p.block * p.block);
      kernels_apart(&p, &is.ms);
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
    {"blocks", .measure = table_blocks},
    STUDY_REGION};

static const char usage[] =
    "bench_dense_study [--device 0] [--tables convolution,atax,covariance,blocks,region]\n"
    "                  [--convolution 4096,...] [--atax 4096,...] [--covariance 1024,...] [--sides 8,16,32]\n"
    "                  [--blocks 16,32,64,128,256,512] [--covariance-most 3000] [--memory-mb 0] [--threads "
    "0]\n"
    "                  [--peak TFLOPS] [--repeats 5] [--cell-seconds 30] [--seed 1]\n";

int main(int argc, char **argv) {
  const study_options o = study_options_read(usage, argc, argv, 5, 5, 30);
  const int64_t most = bench_whole("covariance-most", o.site.gpu ? 3000 : 1024);
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
