/* SPDX-License-Identifier: Apache-2.0 */
/* Task-dependent target regions, literally: a tiled product over all devices, a reduction and an alignment by standard
 * directives alone, without libdavit.
 *
 *   literal [--json] [N [TILE]]   C = A B of order N by tiles of order TILE, a sum of N^2 numbers, N^2 / 64 alignments
 *
 * A tile on a device is an address. What makes the tile is depend(out), what reads it depend(in), what changes it
 * depend(inout):
 *
 *   load A(i,k)    target enter data nowait         depend(out: A(i,k))
 *   multiply       task (cuBLAS) or target nowait   depend(in: A(i,k), B(k,j)) depend(inout: C(i,j))
 *   store C(i,j)   target exit data nowait          depend(inout: C(i,j))
 *
 * One thread generates all of it, a team executes it, and no order is written down but that. The team needs more than
 * one thread for each device, since each of these constructs keeps a thread until its work is done. LLVM's helper
 * threads are switched off: the regions are tasks of the team, as safe as other tasks. docs/literal.md says what each
 * construct costs, and why the library does more. Exit status 0 if all results agree with BLIS and with plain loops.
 *
 * Times are those of a second run, by the host's clock, from the first construct to the end of the last task. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <blis.h>
#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 16, TEAMS = 264, QUERY = 64, TARGET = 128 };

/* LLVM's own. */
void kmp_set_defaults(const char *setting);
void *llvm_omp_target_alloc_host(size_t bytes, int device);
void llvm_omp_target_free_host(void *memory, int device);

static int devices, teams; /* teams: of a sum on one device */
static bool as_json;

static void *allocate(int64_t count, size_t bytes) {
  void *memory = calloc((size_t)count, bytes);
  if (memory)
    return memory;
  fprintf(stderr, "literal: not enough memory\n");
  exit(2);
}

/* Pinned, for the copies, where there are GPUs. */
static double *allocate_for_copies(int64_t count) {
  double *memory = llvm_omp_target_alloc_host((size_t)count * sizeof(double), 0);
  if (memory)
    return memory;
  fprintf(stderr, "literal: not enough pinned memory\n");
  exit(2);
}

/* The same numbers in each run, from -0.5 to 0.5. */
static double number(int64_t i) {
  const uint64_t mixed = (uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15);
  return (double)(mixed >> 11) * 0x1p-53 - 0.5;
}

static void report(const char *work, const char *unit, double rate, double seconds, bool right) {
  if (as_json)
    printf("%s{\"work\": \"%s\", \"seconds\": %.6g, \"%s\": %.5g, \"right\": %s}",
           *work == 'p' ? "" : ",\n  ", work, seconds, unit, rate, right ? "true" : "false");
  else
    printf("%-10s %10.3f ms %10.2f %s%s\n", work, 1e3 * seconds, rate, unit, right ? "" : "  WRONG");
}

static bool is_gpu(int device) {
  int gpu = 0;
#pragma omp target device(device) map(from : gpu)
  {
#if defined(__NVPTX__) || defined(__AMDGCN__)
    gpu = 1;
#else
    gpu = 0;
#endif
  }
  return gpu;
}

/* All GPUs, which have the first numbers; without one all host devices. */
static void count_devices(void) {
  const int all = omp_get_num_devices() < DEVICES ? omp_get_num_devices() : DEVICES;
  while (devices < all && is_gpu(devices))
    devices++;
  teams = devices > 0 ? TEAMS : 1;
  devices = devices > 0 ? devices : all;
}

/* ---- cuBLAS by interop ----
 *
 * Loaded at run time, with the functions of CUDA's driver interface that it takes: the program runs without them. */

static struct vendor {
  char name[64]; /* of the first GPU */
  bool here[DEVICES];
  void *handle[DEVICES], *stream[DEVICES], *context[DEVICES];
  int (*set_current)(void *context), (*wait)(void *stream);
  int (*dgemm)(void *, int, int, int, int, int, const double *, const double *, int, const double *, int,
               const double *, double *, int);
} vendor;

static bool find(void *library, const char *name, void *function) {
  *(void **)function = library ? dlsym(library, name) : NULL;
  return *(void **)function != NULL;
}

static void open_vendor(void) {
  int (*retain)(void **, int), (*create)(void **), (*set_stream)(void *, void *), (*name)(char *, int, int),
      error = 0;
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *blas = dlopen("libcublas.so.13", RTLD_NOW);
  blas = blas ? blas : dlopen("libcublas.so.12", RTLD_NOW);
  if (!find(cuda, "cuDevicePrimaryCtxRetain", &retain) ||
      !find(cuda, "cuCtxSetCurrent", &vendor.set_current) ||
      !find(cuda, "cuStreamSynchronize", &vendor.wait) || !find(cuda, "cuDeviceGetName", &name) ||
      !find(blas, "cublasCreate_v2", &create) || !find(blas, "cublasSetStream_v2", &set_stream) ||
      !find(blas, "cublasDgemm_v2", &vendor.dgemm))
    return;
  for (int d = 0; d < devices && is_gpu(d); d++) {
    if (d == 0)
      name(vendor.name, sizeof vendor.name, d);
    if (retain(&vendor.context[d], d) != 0 || vendor.set_current(vendor.context[d]) != 0)
      break;
    omp_interop_t interop = omp_interop_none;
#pragma omp interop init(targetsync : interop) device(d)
    vendor.stream[d] = omp_get_interop_ptr(interop, omp_ipr_targetsync, &error);
    vendor.here[d] = vendor.stream[d] && create(&vendor.handle[d]) == 0 &&
                     set_stream(vendor.handle[d], vendor.stream[d]) == 0;
  }
}

static void multiply_by_vendor(int d, int n, double *a, double *b, double *c) {
  const double one = 1;
  vendor.set_current(vendor.context[d]);
#pragma omp critical(handle) /* which is for one thread at a time; to enqueue takes microseconds */
  vendor.dgemm(vendor.handle[d], 0, 0, n, n, n, &one, omp_get_mapped_ptr(a, d), n, omp_get_mapped_ptr(b, d),
               n, &one, omp_get_mapped_ptr(c, d), n);
  vendor.wait(vendor.stream[d]);
}

/* ---- the product ----
 *
 * Matrices lie tile by tile, column-major in and of tiles. Each device has a token for each tile of A and B that it has
 * loaded, because a tile may be on several. */

typedef struct matrix {
  double *elements;
  char *on[DEVICES]; /* tokens */
} matrix;

typedef struct product {
  int tiles, order; /* in a row of tiles; of a tile */
  matrix a, b, c;
} product;

static double *tile(const product *p, const matrix *m, int i, int j) {
  return m->elements + ((int64_t)j * p->tiles + i) * p->order * p->order;
}

static void load(const product *p, matrix *m, int i, int j, int d, bool known[]) {
  const int64_t at = (int64_t)j * p->tiles + i, bytes = (int64_t)p->order * p->order;
  double *t = tile(p, m, i, j);
  char *token = &m->on[d][at];
  if (*known)
    return;
  *known = true;
#pragma omp target enter data map(to : t[0 : bytes]) device(d) nowait depend(out : *token)
}

static void multiply(int d, int n, double *a, double *b, double *c, char *a_on, char *b_on, char *c_on) {
  const int64_t size = (int64_t)n * n;
  if (vendor.here[d]) {
#pragma omp task depend(in : *a_on, *b_on) depend(inout : *c_on)
    multiply_by_vendor(d, n, a, b, c);
    return;
  }
#pragma omp target teams distribute parallel for nowait device(d) depend(in : *a_on, *b_on)                  \
    depend(inout : *c_on) map(alloc : a[0 : size], b[0 : size], c[0 : size])
  for (int j = 0; j < n; j++)
    for (int k = 0; k < n; k++)
      for (int i = 0; i < n; i++)
        c[i + (int64_t)j * n] += a[i + (int64_t)k * n] * b[k + (int64_t)j * n];
}

static void generate_product(product *p, bool *known[2][DEVICES]) {
  const int64_t size = (int64_t)p->order * p->order;
  for (int j = 0; j < p->tiles; j++)
    for (int i = 0; i < p->tiles; i++) {
      const int d = (i + j * p->tiles) % devices;
      char *c_on = &p->c.on[d][j * p->tiles + i];
      double *c = tile(p, &p->c, i, j);
#pragma omp target enter data map(to : c[0 : size]) device(d) nowait depend(out : *c_on)
      for (int k = 0; k < p->tiles; k++) {
        load(p, &p->a, i, k, d, &known[0][d][k * p->tiles + i]);
        load(p, &p->b, k, j, d, &known[1][d][j * p->tiles + k]);
        multiply(d, p->order, tile(p, &p->a, i, k), tile(p, &p->b, k, j), c, &p->a.on[d][k * p->tiles + i],
                 &p->b.on[d][j * p->tiles + k], c_on);
      }
#pragma omp target exit data map(from : c[0 : size]) device(d) nowait depend(inout : *c_on)
    }
}

static void release(product *p, matrix *m, int d, const bool *known) {
  const int64_t size = (int64_t)p->order * p->order;
  for (int j = 0; j < p->tiles; j++)
    for (int i = 0; i < p->tiles; i++) {
      double *t = tile(p, m, i, j);
      char *token = &m->on[d][j * p->tiles + i];
      if (known[j * p->tiles + i]) {
#pragma omp target exit data map(delete : t[0 : size]) device(d) nowait depend(inout : *token)
      }
    }
}

/* By a random vector: |C v - A (B v)|, by BLIS. */
static bool product_is_right(const product *p) {
  const int64_t order = (int64_t)p->tiles * p->order;
  double *v = allocate(4 * order, sizeof *v), one = 1, worst = 0;
  for (int64_t i = 0; i < order; i++)
    v[i] = number(i);
  const matrix *const factor[3] = {&p->b, &p->a, &p->c};
  const int from[3] = {0, 1, 0}, to[3] = {1, 2, 3};
  for (int f = 0; f < 3; f++)
    for (int j = 0; j < p->tiles; j++)
      for (int i = 0; i < p->tiles; i++)
        bli_dgemv(BLIS_NO_TRANSPOSE, BLIS_NO_CONJUGATE, p->order, p->order, &one, tile(p, factor[f], i, j), 1,
                  p->order, v + from[f] * order + j * p->order, 1, &one, v + to[f] * order + i * p->order, 1);
  for (int64_t i = 0; i < order; i++)
    worst = fmax(worst, fabs(v[2 * order + i] - v[3 * order + i]));
  free(v);
  return worst <= 1e-15 * (double)order * (double)order;
}

static double run_product(product *p) {
  bool *known[2][DEVICES];
  for (int d = 0; d < devices; d++)
    for (int m = 0; m < 2; m++)
      known[m][d] = allocate((int64_t)p->tiles * p->tiles, sizeof(bool));
  const double begin = omp_get_wtime();
#pragma omp parallel num_threads(4 * devices)
#pragma omp single
  {
    generate_product(p, known);
    for (int d = 0; d < devices; d++) {
      release(p, &p->a, d, known[0][d]);
      release(p, &p->b, d, known[1][d]);
    }
  }
  const double seconds = omp_get_wtime() - begin;
  for (int d = 0; d < devices; d++)
    free(known[0][d]), free(known[1][d]);
  return seconds;
}

static bool try_product(int tiles, int order) {
  product p = {.tiles = tiles, .order = order};
  matrix *const all[3] = {&p.a, &p.b, &p.c};
  const int64_t count = (int64_t)tiles * tiles, size = count * order * order;
  for (int m = 0; m < 3; m++) {
    all[m]->elements = allocate_for_copies(size);
    for (int64_t i = 0; i < size; i++)
      all[m]->elements[i] = m < 2 ? number(i + m) : 0;
    for (int d = 0; d < devices; d++)
      all[m]->on[d] = allocate(count, 1);
  }
  run_product(&p);
  memset(p.c.elements, 0, (size_t)size * sizeof(double));
  const double seconds = run_product(&p), n = (double)tiles * order;
  const bool right = product_is_right(&p);
  report("product", "gflops", 2e-9 * n * n * n / seconds, seconds, right);
  for (int m = 0; m < 3; m++) {
    llvm_omp_target_free_host(all[m]->elements, 0);
    for (int d = 0; d < devices; d++)
      free(all[m]->on[d]);
  }
  return right;
}

/* ---- the reduction: a part a device, a sum a team, added on the host in that order ---- */

static void generate_sum(const double *x, int64_t n, double *sums) {
  for (int d = 0; d < devices; d++) {
    const int64_t begin = n * d / devices, count = n * (d + 1) / devices - begin;
    const double *part = x + begin;
    double *own = sums + d * TEAMS;
#pragma omp target teams num_teams(teams) nowait device(d) map(to : part[0 : count])                         \
    map(tofrom : own[0 : TEAMS]) depend(in : *part) depend(out : *own)
    {
      const int team = omp_get_team_num(), all = omp_get_num_teams();
      const int64_t first = count * team / all, last = count * (team + 1) / all;
      double sum = 0;
#pragma omp parallel for reduction(+ : sum)
      for (int64_t i = first; i < last; i++)
        sum += part[i];
      own[team] = sum;
    }
  }
}

static bool try_sum(int64_t n) {
  double *x = allocate_for_copies(n), *sums = allocate(DEVICES * TEAMS, sizeof *sums);
  double sum = 0, wanted = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    x[i] = number(i);
    wanted += x[i];
    size += fabs(x[i]);
  }
  double begin = 0;
  for (int run = 0; run < 2; run++) {
    begin = omp_get_wtime();
#pragma omp parallel num_threads(2 * devices)
#pragma omp single
    generate_sum(x, n, sums);
  }
  for (int i = 0; i < devices * TEAMS; i++)
    sum += sums[i];
  const double seconds = omp_get_wtime() - begin;
  const bool right = fabs(sum - wanted) <= 0x1p-52 * sqrt((double)n) * size;
  report("sum", "gbytes_per_s", 8e-9 * (double)n / seconds, seconds, right);
  llvm_omp_target_free_host(x, 0);
  free(sums);
  return right;
}

/* ---- alignment: the best local score (Smith and Waterman, Gotoh's gaps) of a query with each of many targets ---- */

#pragma omp begin declare target
static int score(const unsigned char *query, const unsigned char *target) {
  enum { MATCH = 5, MISMATCH = -4, OPEN = 10, EXTEND = 1 };
  int best = 0, row[QUERY + 1] = {0}, down[QUERY + 1] = {0};
  for (int j = 0; j < TARGET; j++) {
    int diagonal = 0, across = 0;
    for (int i = 1; i <= QUERY; i++) {
      int h = diagonal + (query[i - 1] == target[j] ? MATCH : MISMATCH);
      diagonal = row[i];
      down[i] = row[i] - OPEN > down[i] - EXTEND ? row[i] - OPEN : down[i] - EXTEND;
      across = row[i - 1] - OPEN > across - EXTEND ? row[i - 1] - OPEN : across - EXTEND;
      h = h > down[i] ? h : down[i];
      h = h > across ? h : across;
      row[i] = h > 0 ? h : 0;
      best = row[i] > best ? row[i] : best;
    }
  }
  return best;
}
#pragma omp end declare target

static void generate_scores(const unsigned char *query, const unsigned char *targets, int64_t count,
                            int *scores) {
  for (int d = 0; d < devices; d++) {
    const int64_t begin = count * d / devices, own = count * (d + 1) / devices - begin;
    const unsigned char *part = targets + begin * TARGET;
    int *out = scores + begin;
#pragma omp target teams distribute parallel for nowait device(d)                                            \
    map(to : query[0 : QUERY], part[0 : own * TARGET]) map(from : out[0 : own]) depend(in : *query, *part)   \
    depend(out : *out)
    for (int64_t i = 0; i < own; i++)
      out[i] = score(query, part + i * TARGET);
  }
}

static bool try_alignment(int64_t count) {
  unsigned char query[QUERY], *targets = allocate(count, TARGET);
  int *scores = allocate(count, sizeof *scores);
  bool right = true;
  for (int i = 0; i < QUERY; i++)
    query[i] = (unsigned char)"ACGT"[(int)floor(4 * number(i) + 2)];
  for (int64_t i = 0; i < count * TARGET; i++)
    targets[i] = (unsigned char)"ACGT"[(int)floor(4 * number(3 * i) + 2)];
  double begin = 0;
  for (int run = 0; run < 2; run++) {
    begin = omp_get_wtime();
#pragma omp parallel num_threads(2 * devices)
#pragma omp single
    generate_scores(query, targets, count, scores);
  }
  const double seconds = omp_get_wtime() - begin;
  for (int64_t i = 0; i < count; i += 1 + count / 1000)
    right = right && scores[i] == score(query, targets + i * TARGET);
  report("alignment", "gcups", 1e-9 * (double)(count * QUERY * TARGET) / seconds, seconds, right);
  free(targets);
  free(scores);
  return right;
}

/* ---- what each construct costs: chains of nothing ---- */

static void time_constructs(int chains) {
  enum { COUNT = 2000 };
  char token[8] = {0};
  double seconds[3];
  for (int which = 0; which < 3; which++) {
    const double begin = omp_get_wtime();
#pragma omp parallel num_threads(chains + 1)
#pragma omp single
    for (int i = 0; i < COUNT; i++) {
      char *own = &token[i % chains];
      if (which == 0) {
#pragma omp task depend(inout : *own)
        (void)own;
      } else if (which == 1) {
#pragma omp target nowait depend(inout : *own) device(0)
        {
        }
      } else {
#pragma omp target enter data map(to : own[0 : 1]) device(0) nowait depend(inout : *own)
      }
    }
    seconds[which] = omp_get_wtime() - begin;
  }
  static const char *const names[] = {"task", "region", "enter data"};
  for (int which = 0; which < 3; which++) {
    char work[40];
    snprintf(work, sizeof work, "%s, %d", names[which], chains);
    report(work, "us", 1e6 * seconds[which] / (double)COUNT, seconds[which], true);
  }
}

static void begin_document(int n, int order) {
  char date[32];
  const time_t now = time(NULL);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  printf("{\"benchmark\": \"literal\", \"date\": \"%s\", \"command\": \"literal --json %d %d\",\n"
         " \"machine\": {\"devices\": %d, \"gpus\": %s, \"name\": \"%s\"}, \"rows\": [\n  ",
         date, n, order, devices, teams > 1 ? "true" : "false", vendor.name);
}

int main(int argc, char **argv) {
  as_json = argc > 1 && !strcmp(argv[1], "--json");
  argv += as_json, argc -= as_json;
  const int n = argc > 1 ? atoi(argv[1]) : 1024, order = argc > 2 ? atoi(argv[2]) : n / 4;
  kmp_set_defaults("LIBOMP_NUM_HIDDEN_HELPER_THREADS=0");
  count_devices();
  if (n < 1 || n > 65536 || order < 1 || n % order || devices < 1) {
    fprintf(
        stderr,
        "usage: literal [--json] [N [TILE]]: N from 1 to 65536, a multiple of TILE; there are %d devices\n",
        devices);
    return 2;
  }
  open_vendor();
  if (as_json)
    begin_document(n, order);
  const int64_t square = (int64_t)n * n;
  bool right = try_product(n / order, order);
  right = try_sum(square) && right;
  right = try_alignment(square / 64 + 1) && right;
  time_constructs(1);
  time_constructs(8);
  if (as_json)
    printf("\n]}\n");
  return !right;
}
