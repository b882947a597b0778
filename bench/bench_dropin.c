/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that know nothing of davit on BLIS, on NVBLAS (CUDA's drop-in) and on davit's drop-in, by the
 * same calls on memory of malloc(): what a small call costs more, and the time of products and other
 * routines of level 3. Each runs in a process of its own: bench/dropin/program.c, and NumPy where Python
 * has one that takes the system's BLAS.
 *
 *   --sizes LIST      orders (500,1000,2000,4096,8192,16384; without a GPU 500,1000,2000; 0: none)
 *   --routines LIST   of gemm, symm, syrk, trsm and potrf with the letter of a type, separated by commas (dgemm);
 *                     dpotrf_of_lapack: the reference LAPACK's own, on the level 3 of each
 *   --devices LIST    how many GPUs (1,2,4, those that are there)
 *   --repeats N       calls that count, after the first (5)
 *   --threads N       of BLIS, in all three (the processors); 0: BLIS_NUM_THREADS is not set
 *   --nvblas PATH     CUDA's libnvblas.so, where it is not found; it gets a tile of 2048 and AUTOPIN; none: without
 *   --from N          DAVIT_BLAS_FROM; 0: davit's own prediction
 *   --blis-most N     BLIS leaves out larger orders, where there are GPUs (8192)
 *
 * `first_ms` is the first call of that size in the process; where it is the first of the process at all,
 * devices are started in it. `added_ns` is what a call costs more than BLIS. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"

enum { LINE = 4096, NAME = 512 };

typedef struct peer {
  const char *name, *preload;
  char environment[LINE];
} peer;

static char folder[NAME];  /* of this program, where the others are */
static const char *python; /* NULL: without NumPy */
static char nvblas[NAME], configuration[] = "/tmp/davit-nvblas-XXXXXX";
static int threads, repeats;

/* ---- what is there ---- */

static void find_folder(void) {
  const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  if (length <= 0)
    exit(1);
  folder[length] = 0;
  *strrchr(folder, '/') = 0;
}

static bool runs(const char *command) {
  char line[LINE];
  snprintf(line, sizeof line, "%s >/dev/null 2>&1", command);
  return system(line) == 0;
}

/* With a NumPy that takes the system's BLAS: wheels bring one along, under other names. */
static void find_python(void) {
  static const char *const candidates[] = {"/usr/bin/python3", "python3"};
  static const char program[] = "import numpy, os, sys\n"
                                "folder = os.path.dirname(numpy.__file__) + \".libs\"\n"
                                "sys.exit(os.path.isdir(folder) and \"openblas\" in str(os.listdir(folder)))";
  char command[NAME];
  for (int i = 0; i < 2 && !python; i++) {
    snprintf(command, sizeof command, "%s -c '%s'", candidates[i], program);
    if (runs(command))
      python = candidates[i];
  }
}

static void find_nvblas(void) {
  static const char *const names[] = {"libnvblas.so.13", "libnvblas.so.12", "libnvblas.so",
                                      "/usr/local/cuda/lib64/libnvblas.so"};
  const char *given = bench_option("nvblas", "");
  char command[LINE];
  if (strcmp(given, "none") == 0)
    return;
  for (int i = *given ? -1 : 0; i < 4 && !*nvblas; i++) {
    const char *name = i < 0 ? given : names[i];
    /* In another process, as it would take GPUs in this one. */
    snprintf(command, sizeof command, "NVBLAS_CONFIG_FILE=/dev/null LD_PRELOAD=%s /bin/true 2>&1 | grep -q .",
             name);
    if (!runs(command))
      snprintf(nvblas, sizeof nvblas, "%s", name);
  }
}

/* ---- a program on a peer ---- */

static FILE *start(const peer *p, int blis_threads, const char *program) {
  char line[LINE], number[32] = "-u BLIS_NUM_THREADS";
  if (blis_threads > 0)
    snprintf(number, sizeof number, "BLIS_NUM_THREADS=%d", blis_threads);
  snprintf(line, sizeof line, "env %s LD_PRELOAD=%s %s %s", number, p->preload, p->environment, program);
  fflush(stdout);
  return popen(line, "r");
}

/* BLIS wakes its threads even for products of order 4, so it gets one. */
static void small_calls(const peer *blis, const peer *davit) {
  enum { CALLS = 16, TURNS = 5 };
  char name[CALLS][64], command[NAME + 32];
  double ns[2][CALLS];
  const peer *peers[2] = {blis, davit};
  int count[2] = {0, 0}; /* a peer that cannot be loaded prints none */
  snprintf(command, sizeof command, "%s/dropin_calls calls", folder);
  for (int turn = 0; turn < 2 * TURNS;
       turn++) { /* the best of each: what else the machine does only adds to it */
    FILE *output = start(peers[turn % 2], 1, command);
    double time;
    for (int i = 0; output && i < CALLS && fscanf(output, "%63s %lf", name[i], &time) == 2; i++) {
      double *best = &ns[turn % 2][i];
      *best = turn < 2 || time < *best ? time : *best;
      count[turn % 2] = i + 1;
    }
    if (output)
      pclose(output);
  }
  for (int i = 0; i < count[0] && i < count[1]; i++) {
    bench_row();
    bench_text("call", name[i]);
    bench_number("blis_ns", ns[0][i]);
    bench_number("davit_ns", ns[1][i]);
    bench_number("added_ns", ns[1][i] - ns[0][i]);
  }
}

static double flops(const char *routine, double n) {
  if (strncmp(routine + 1, "potrf", 5) == 0)
    return n * n * n / 3;
  const double product = n * n * n * (routine[0] == 'z' || routine[0] == 'c' ? 4 : 1);
  return strcmp(routine + 1, "syrk") == 0 || strcmp(routine + 1, "trsm") == 0 ? product : 2 * product;
}

static void rows_of(FILE *output, const peer *p, const char *program, const char *routine, int devices) {
  char line[LINE];
  while (output && fgets(line, sizeof line, output)) {
    char *next = line;
    const double n = strtod(next, &next);
    const double first = strtod(next, &next);
    double times[BENCH_MOST], best = 0;
    int count = 0;
    for (char *end; count < BENCH_MOST; next = end) {
      times[count] = strtod(next, &end);
      if (end == next)
        break;
      best = count == 0 || times[count] < best ? times[count] : best;
      count++;
    }
    if (!count)
      continue;
    const double median = bench_median(times, count);
    bench_row();
    bench_text("who", p->name);
    bench_text("program", program);
    bench_text("routine", routine);
    bench_number("n", n);
    bench_number("devices", devices);
    bench_number("threads", threads);
    bench_number("first_ms", 1e3 * first);
    bench_number("median_ms", 1e3 * median);
    bench_number("best_ms", 1e3 * best);
    bench_number("tflops", 1e-12 * flops(routine, n) / median);
    fflush(stdout);
  }
}

static void large_calls(const peer *p, const char *routine, int devices, const bench_values *sizes) {
  char list[NAME] = "", command[LINE];
  for (int i = 0; i < sizes->count; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), " %lld", (long long)sizes->at[i]);
  snprintf(command, sizeof command, "%s/dropin_calls %s %d%s", folder, routine, repeats, list);
  FILE *output = start(p, threads, command);
  rows_of(output, p, "C", routine, devices);
  if (output)
    pclose(output);
  if (!python || strcmp(routine + 1, "gemm") != 0)
    return;
  snprintf(command, sizeof command, "%s " DAVIT_BENCH_DROPIN_FOLDER "/numpy_products.py %s %d%s", python,
           routine, repeats, list);
  output = start(p, threads, command);
  rows_of(output, p, "NumPy", routine, devices);
  if (output)
    pclose(output);
}

/* ---- all of them ---- */

static void configure_nvblas(const char *blis, const char *numbers) {
  char line[NAME];
  FILE *file = fopen(configuration, "w");
  if (!file)
    return;
  snprintf(line, sizeof line, "%s", numbers);
  for (char *comma = line; (comma = strchr(comma, ','));)
    *comma = ' ';
  fprintf(file,
          "NVBLAS_LOGFILE /dev/null\nNVBLAS_CPU_BLAS_LIB %s\nNVBLAS_GPU_LIST %s\nNVBLAS_TILE_DIM 2048\n"
          "NVBLAS_AUTOPIN_MEM_ENABLED\n",
          blis, line);
  fclose(file);
}

static int gpus(void) {
  int count = 0;
  bench_check(davit_device_count(&count), "devices");
  int found = 0;
  while (found < count && bench_is_gpu(found))
    found++;
  return found;
}

static void each_routine(const peer *p, int devices, const bench_values *sizes) {
  char names[NAME];
  snprintf(names, sizeof names, "%s", bench_option("routines", "dgemm"));
  for (char *rest = names, *name; (name = strsep(&rest, ","));)
    large_calls(p, name, devices, sizes);
}

static void each_count(const char *blis_path, peer *davit, int available, const bench_values *sizes) {
  const bench_values counts = bench_sizes("devices", "1,2,4");
  for (int i = 0; i < counts.count; i++) {
    char numbers[NAME] = "";
    const int devices = (int)counts.at[i];
    if (devices > available)
      continue;
    for (int d = 0; d < devices; d++)
      snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), d ? ",%d" : "%d", d);
    if (*nvblas) {
      char preload[2 * NAME];
      snprintf(preload, sizeof preload, "%s:%s", nvblas, blis_path);
      peer p = {.name = "NVBLAS", .preload = preload};
      snprintf(p.environment, sizeof p.environment, "NVBLAS_CONFIG_FILE=%s", configuration);
      configure_nvblas(blis_path, numbers);
      each_routine(&p, devices, sizes);
    }
    snprintf(davit->environment, sizeof davit->environment, "DAVIT_BLAS_DEVICES=%s", numbers);
    const int from = (int)bench_whole("from", 0);
    if (from > 0)
      snprintf(davit->environment + strlen(davit->environment), 64, " DAVIT_BLAS_FROM=%d", from);
    each_routine(davit, devices, sizes);
  }
}

static bench_values at_most(const bench_values *sizes, int64_t most) {
  bench_values some = {.count = 0};
  for (int i = 0; i < sizes->count; i++)
    if (sizes->at[i] <= most)
      some.at[some.count++] = sizes->at[i];
  return some;
}

int main(int argc, char **argv) {
  bench_options("bench_dropin [--sizes LIST] [--routines LIST] [--devices LIST] [--repeats N] [--threads N]\n"
                "  [--nvblas PATH] [--from N] [--blis-most N]\n",
                argc, argv);
  find_folder();
  find_python();
  const int available = gpus();
  const bench_values sizes =
      bench_sizes("sizes", available ? "500,1000,2000,4096,8192,16384" : "500,1000,2000");
  threads = (int)bench_whole("threads", sysconf(_SC_NPROCESSORS_ONLN));
  repeats = bench_count("repeats", 5);
  if (available)
    find_nvblas();
  const int file = mkstemp(configuration);
  if (file >= 0)
    close(file);
  char drop_in[2 * NAME];
  snprintf(drop_in, sizeof drop_in, "%s/../lib/libdavit_blas.so", folder);
  peer blis = {.name = "BLIS", .preload = DAVIT_BENCH_BLIS}, davit = {.name = "davit", .preload = drop_in};
  bench_begin("dropin");
  small_calls(&blis, &davit);
  const bench_values some = at_most(&sizes, available ? bench_whole("blis-most", 8192) : INT64_MAX);
  if (some.count)
    each_routine(&blis, 0, &some);
  if (sizes.count) {
    if (available)
      each_count(DAVIT_BENCH_BLIS, &davit, available, &sizes);
    else
      each_routine(&davit, 0, &sizes);
  }
  unlink(configuration);
  return bench_finish();
}
