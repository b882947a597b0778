/* SPDX-License-Identifier: Apache-2.0 */
/* The course report's three tables, measured anew (bench/study/docs/dense-study.md): convolution, atax and covariance
 * of square data by size: the handout's serial program, the best loops on one core and on all, the report's kernels
 * corrected, and the library's own operation; and the kernels by the size of their teams. Where the device is the CPU,
 * sizes are small.
 *
 * Times are medians of the repeats after one that is not counted, by the host's clock. Kernels: all launches of a run,
 * each waited for; with copies: those to the device and back as well, no allocation. The library's operation finds its
 * data on the device. The handout's covariance goes down columns, n³ / 2 steps: beyond --covariance-most its time is
 * that of --covariance-most times the cube of the ratio, and handout_measured is 0. Rates are those of 17 flops and 16
 * bytes an element, 4 flops and 16 bytes (A twice), 2 n³ flops and 24 n² bytes, whatever a program really does: the
 * loops and the library multiply one triangle of the covariance, and the library reads atax's A once. If --memory-mb
 * (2^20 bytes; 0: what is free) has no room for a size, the program ends before anything is allocated. Every result is
 * compared with that of the best loops. */
#include <davit/davit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/dense/dense.h"
#include "bench/study/program.h"

static const double divisor = 3214212.01; /* of the means, PolyBench's */

typedef struct study {
  const study_options *o;
  int threads;
  int64_t covariance_most;
  size_t memory_bytes;
  uint64_t seed;
} study;

/* Square data of one size. Which arrays there are, and their meaning, is the exercise's. */
typedef struct problem {
  const study *s;
  const struct exercise *e;
  int64_t n;
  int threads;       /* of the loops */
  int block;         /* of the kernels */
  double *a, *x;     /* input */
  double *data;      /* a copy of a, which the covariance centres */
  double *tmp, *out; /* tmp or the means, result */
  double *right;
  davit_queue *queue; /* with the arrays below on the device */
  double *on_a, *on_x, *on_tmp, *on_out;
} problem;

/* Milliseconds: the whole, the kernels together, each of them. */
enum { WHOLE, KERNELS, FIRST, PARTS = FIRST + 3 };
typedef struct sample {
  double ms[PARTS];
} sample;

typedef struct exercise {
  const char *name, *gpu_sizes, *cpu_sizes, *block_option, *blocks;
  int block;                 /* the report's */
  bool cubic;                /* n³ steps, not n² */
  bool halves;               /* two kernels that both read A; the result is a vector */
  const char *kernels_ms[3]; /* what the kernels are called in rows */
  double accuracy;           /* largest difference by the largest magnitude */
  double (*flops)(double n), (*bytes)(double n);
  double (*memory)(int64_t rows, int64_t cols); /* of the arrays on the device */
  void (*handout)(problem *p);
  davit_status (*loops)(problem *p);
  davit_status (*kernels)(problem *p, const study_dense *d, study_dense_times *times);
  davit_status (*product)(problem *p);
} exercise;

/* ---- convolution ---- */

static double convolution_flops(double n) {
  return 17 * (n - 2) * (n - 2);
}

static double two_matrices(double n) {
  return 16 * n * n;
}

static void convolution_handout(problem *p) {
  study_convolution_handout(p->n, p->n, p->a, p->out);
}

static davit_status convolution_loops(problem *p) {
  study_convolution_cpu(p->threads, p->n, p->n, p->a, p->out);
  return DAVIT_SUCCESS;
}

static davit_status convolution_kernels(problem *p, const study_dense *d, study_dense_times *times) {
  return study_convolution_run(d, p->s->o->site.device, p->n, p->n, p->a, p->out, times);
}

static davit_status convolution_product(problem *p) {
  double turned[9]; /* a row-major matrix is the transpose of a column-major one */
  for (int i = 0; i < 9; i++)
    turned[i] = davit_stencil_coefficients[i % 3 * 3 + i / 3];
  return davit_queue_stencil(p->queue, DAVIT_DOUBLE, p->n, p->n, p->on_a, p->n, turned, p->on_out, p->n,
                             &(davit_stencil_options){.border = DAVIT_STENCIL_BORDER_ZERO});
}

/* ---- atax ---- */

static double atax_flops(double n) {
  return 4 * n * n;
}

static void atax_handout(problem *p) {
  study_atax_handout(p->n, p->n, p->a, p->x, p->tmp, p->out);
}

static davit_status atax_loops(problem *p) {
  return study_atax_cpu(p->threads, p->n, p->n, p->a, p->x, p->tmp, p->out);
}

static davit_status atax_kernels(problem *p, const study_dense *d, study_dense_times *times) {
  return study_atax_run(d, p->s->o->site.device, p->n, p->n, p->a, p->x, p->tmp, p->out, times);
}

static davit_status atax_product(problem *p) {
  return davit_queue_atax(p->queue, DAVIT_DOUBLE, 'T', p->n, p->n, p->on_a, p->n, p->on_x, p->on_tmp,
                          p->on_out, NULL);
}

/* ---- covariance ---- */

static double covariance_flops(double n) {
  return 2 * n * n * n;
}

static double three_matrices(double n) {
  return 24 * n * n;
}

static void covariance_handout(problem *p) {
  study_covariance_handout(p->n, p->n, divisor, p->data, p->tmp, p->out);
}

static davit_status covariance_loops(problem *p) {
  study_covariance_cpu(p->threads, p->n, p->n, divisor, p->data, p->tmp, p->out);
  return DAVIT_SUCCESS;
}

static davit_status covariance_kernels(problem *p, const study_dense *d, study_dense_times *times) {
  return study_covariance_run(d, p->s->o->site.device, p->n, p->n, divisor, p->data, p->tmp, p->out, times);
}

static davit_status covariance_product(problem *p) {
  return davit_queue_covariance(p->queue, DAVIT_DOUBLE, 'T', p->n, p->n, p->on_a, p->n, p->on_tmp, NULL, p->n,
                                p->on_out, p->n,
                                &(davit_covariance_options){.mean_divisor = divisor, .divisor = 1});
}

static const exercise exercises[] = {
    {
        .name = "convolution",
        .gpu_sizes = "4096,5000,6000,7000,8000,9000",
        .cpu_sizes = "1024,2048,4096",
        .block_option = "sides",
        .blocks = "8,16,32",
        .block = 16,
        .kernels_ms = {"kernel_ms"},
        .accuracy = 1e-12,
        .flops = convolution_flops,
        .bytes = two_matrices,
        .memory = study_convolution_bytes,
        .handout = convolution_handout,
        .loops = convolution_loops,
        .kernels = convolution_kernels,
        .product = convolution_product,
    },
    {
        .name = "atax",
        .gpu_sizes = "4096,8000,10000,12000",
        .cpu_sizes = "1024,2048,4096",
        .block_option = "blocks",
        .blocks = "16,32,64,128,256,512",
        .block = 256,
        .halves = true,
        .kernels_ms = {"rows_ms", "columns_ms"},
        .accuracy = 1e-10,
        .flops = atax_flops,
        .bytes = two_matrices,
        .memory = study_atax_bytes,
        .handout = atax_handout,
        .loops = atax_loops,
        .kernels = atax_kernels,
        .product = atax_product,
    },
    {
        .name = "covariance",
        .gpu_sizes = "1024,1500,2000,2300,3000",
        .cpu_sizes = "256,512,1024",
        .block_option = "sides",
        .blocks = "8,16,32",
        .block = 16,
        .cubic = true,
        .kernels_ms = {"means_ms", "centre_ms", "product_ms"},
        .accuracy = 1e-10,
        .flops = covariance_flops,
        .bytes = three_matrices,
        .memory = study_covariance_bytes,
        .handout = covariance_handout,
        .loops = covariance_loops,
        .kernels = covariance_kernels,
        .product = covariance_product,
    },
};

enum { EXERCISES = sizeof exercises / sizeof *exercises };

/* ---- data ---- */

static double *doubles(int place, int64_t n) {
  void *memory;
  bench_check(davit_malloc((size_t)n * sizeof(double), place, &memory), "memory");
  return memory;
}

static int64_t out_count(const problem *p) {
  return p->e->halves ? p->n : p->n * p->n;
}

static problem open_problem(const study *s, const exercise *e, int64_t n) {
  problem p = {.s = s, .e = e, .n = n, .threads = 1, .block = e->block};
  const study_dense d = {.memory_bytes = s->memory_bytes};
  bench_check(study_dense_room(&d, s->o->site.device, e->memory(n, n)), e->name);
  p.a = doubles(DAVIT_PAGEABLE, n * n);
  p.data = doubles(DAVIT_PAGEABLE, n * n);
  p.x = doubles(DAVIT_PAGEABLE, n);
  p.tmp = doubles(DAVIT_PAGEABLE, n);
  p.out = doubles(DAVIT_PAGEABLE, out_count(&p));
  p.right = doubles(DAVIT_PAGEABLE, out_count(&p));
  bench_check(davit_random(DAVIT_DOUBLE, n * n, s->seed, p.a), "data");
  bench_check(davit_random(DAVIT_DOUBLE, n, s->seed + 1, p.x), "data");
  memcpy(p.data, p.a, (size_t)(n * n) * sizeof *p.data);
  memset(p.out, 0, (size_t)out_count(&p) * sizeof *p.out);
  bench_check(e->loops(&p), "loops");
  memcpy(p.right, p.out, (size_t)out_count(&p) * sizeof *p.out);
  return p;
}

static void close_problem(problem *p) {
  double *all[] = {p->a, p->data, p->x, p->tmp, p->out, p->right};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    bench_check(davit_free(all[i]), "memory");
  bench_check(davit_memory_trim(DAVIT_PAGEABLE), "memory");
}

static void send(problem *p) {
  const int place = p->s->o->site.place;
  p->on_a = doubles(place, p->n * p->n);
  p->on_x = doubles(place, p->n);
  p->on_tmp = doubles(place, p->n);
  p->on_out = doubles(place, out_count(p));
  bench_check(davit_copy((size_t)(p->n * p->n) * sizeof *p->a, p->a, p->on_a), "copy");
  bench_check(davit_copy((size_t)p->n * sizeof *p->x, p->x, p->on_x), "copy");
  bench_check(davit_queue_create(p->s->o->site.device, &p->queue, NULL), "queue");
}

/* Takes the result along. */
static void fetch(problem *p) {
  double *all[] = {p->on_a, p->on_x, p->on_tmp, p->on_out};
  bench_check(davit_copy((size_t)out_count(p) * sizeof *p->out, p->on_out, p->out), "copy");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    bench_check(davit_free(all[i]), "memory");
  bench_check(davit_queue_destroy(p->queue), "queue");
}

static void check(const problem *p, const char *program) {
  double largest = 0, off = 0;
  for (int64_t i = 0; i < out_count(p); i++) {
    const double apart = fabs(p->out[i] - p->right[i]);
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
  p->e->handout(p);
  return since(start);
}

static sample run_loops(problem *p) {
  const double start = bench_now();
  bench_check(p->e->loops(p), "loops");
  return since(start);
}

static sample run_kernels(problem *p) {
  const study_dense d = {p->block, p->s->memory_bytes};
  study_dense_times times;
  sample one = {{0}};
  bench_check(p->e->kernels(p, &d, &times), p->e->name);
  for (int i = 0; i < PARTS - FIRST; i++) {
    one.ms[FIRST + i] = times.phase_ms[i];
    one.ms[KERNELS] += times.phase_ms[i];
  }
  one.ms[WHOLE] = one.ms[KERNELS] + times.transfer_ms;
  return one;
}

static sample run_product(problem *p) {
  const double start = bench_now();
  bench_check(p->e->product(p), "library");
  bench_check(davit_queue_synchronize(p->queue), "library");
  return since(start);
}

/* The median of each part, apart. */
static sample measure(problem *p, run once) {
  double each[PARTS][STUDY_MOST];
  sample median;
  memset(p->out, 0, (size_t)out_count(p) * sizeof *p->out);
  for (int i = -1; i < p->s->o->repeats; i++) {
    memcpy(p->data, p->a, (size_t)(p->n * p->n) * sizeof *p->data);
    const sample one = once(p);
    for (int part = 0; part < PARTS; part++)
      each[part][i < 0 ? 0 : i] = one.ms[part];
  }
  for (int part = 0; part < PARTS; part++)
    median.ms[part] = bench_median(each[part], p->s->o->repeats);
  return median;
}

/* The handout's program, or what it would take. */
static double handout(problem *p, bool *measured) {
  static double known_ms, known_n;
  const double most = (double)p->s->covariance_most;
  *measured = !p->e->cubic || p->n <= p->s->covariance_most;
  if (*measured) {
    const double ms = measure(p, run_handout).ms[WHOLE];
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
  const double flops = p->e->flops((double)p->n), bytes = p->e->bytes((double)p->n);
  study_row();
  bench_text("exercise", p->e->name);
  study_text("program", program);
  study_number("n", 0, (double)p->n);
  bench_number("device", p->s->o->site.device);
  bench_number("repeats", p->s->o->repeats);
  study_number("ms", 3, ms);
  study_number("gflops", 1, 1e-6 * flops / ms);
  study_number("gbs", 1, 1e-6 * bytes / ms);
}

/* The kernels apart. Each half of atax reads A once. */
static void kernels_apart(const problem *p, const sample *kernels) {
  const double bytes = p->e->bytes((double)p->n);
  for (int i = 0; i < PARTS - FIRST && p->e->kernels_ms[i]; i++)
    study_number(p->e->kernels_ms[i], 3, kernels->ms[FIRST + i]);
  if (p->e->halves) {
    study_number("rows_gbs", 1, 0.5e-6 * bytes / kernels->ms[FIRST]);
    study_number("columns_gbs", 1, 0.5e-6 * bytes / kernels->ms[FIRST + 1]);
  }
}

/* ---- tables ---- */

static int sizes_of(const study *s, const exercise *e, int64_t *sizes) {
  return study_list(s->o, e->name, e->gpu_sizes, e->cpu_sizes, sizes);
}

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
  send(p);
  const double library = measure(p, run_product).ms[WHOLE];
  fetch(p);
  check(p, "library");
  program(p, &r, "library", library);
}

static void table_sizes(const study *s, const exercise *e) {
  int64_t sizes[STUDY_MOST];
  const int count = sizes_of(s, e, sizes);
  study_begin_table(e->name, "every program by size; speed-ups over the handout's program");
  for (int i = 0; i < count; i++) {
    if (sizes[i] < 1)
      continue;
    problem p = open_problem(s, e, sizes[i]);
    rows_of(&p);
    close_problem(&p);
  }
}

static void table_convolution(void *context) {
  table_sizes(context, &exercises[0]);
}

static void table_atax(void *context) {
  table_sizes(context, &exercises[1]);
}

static void table_covariance(void *context) {
  table_sizes(context, &exercises[2]);
}

/* The largest size of each exercise, by the teams. */
static void table_blocks(void *context) {
  const study *s = context;
  for (const exercise *e = exercises; e < exercises + EXERCISES; e++) {
    int64_t sizes[STUDY_MOST], blocks[STUDY_MOST], largest = 0;
    const int count = sizes_of(s, e, sizes);
    const int block_count = study_list(s->o, e->block_option, e->blocks, e->blocks, blocks);
    for (int i = 0; i < count; i++)
      largest = sizes[i] > largest ? sizes[i] : largest;
    if (largest < 1)
      continue;
    study_begin_table("blocks", "the kernels of %s by teams", e->name);
    problem p = open_problem(s, e, largest);
    for (int i = 0; i < block_count; i++) {
      p.block = (int)blocks[i];
      const sample kernels = measure(&p, run_kernels);
      check(&p, "kernels");
      row(&p, "kernels", kernels.ms[KERNELS]);
      study_number("block", 0, p.block);
      study_number("threads", 0, e->halves ? p.block : p.block * p.block);
      kernels_apart(&p, &kernels);
    }
    close_problem(&p);
  }
}

static const study_table tables[] = {{"convolution", table_convolution},
                                     {"atax", table_atax},
                                     {"covariance", table_covariance},
                                     {"blocks", table_blocks}};

static const char usage[] =
    "bench_dense_study [--device 0] [--tables convolution,atax,covariance,blocks] [--convolution 4096,...]\n"
    "                  [--atax 4096,...] [--covariance 1024,...] [--sides 8,16,32] [--blocks "
    "16,32,64,128,256,512]\n"
    "                  [--covariance-most 1024] [--memory-mb 0] [--threads 0] [--repeats 5] [--seed 1]\n";

int main(int argc, char **argv) {
  const study_options o = study_options_read(usage, argc, argv, "5", "5");
  study s = {.o = &o, .threads = (int)study_whole(&o, "threads", "0", "0")};
  const int64_t most = study_whole(&o, "covariance-most", "1024", "1024");
  s.covariance_most = most < 1 ? 1 : most;
  s.memory_bytes = (size_t)study_whole(&o, "memory-mb", "0", "0") << 20;
  s.seed = (uint64_t)study_whole(&o, "seed", "1", "1");
  study_measure_tables(&o, "dense_study", sizeof tables / sizeof *tables, tables, &s);
  bench_check(davit_finalize(), "finalize");
  return 0;
}
