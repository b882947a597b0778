/* SPDX-License-Identifier: Apache-2.0 */
/* The experiments of the thesis on queues and events (bench/study/docs/queue-study.md): dgemm, dgemv and daxpy
 * by tiles over the queues of the devices, operands in pinned host memory, by size and number of sub-queues, on
 * four back ends side by side: OpenMP tasks, host threads, native CUDA (where there is a GPU), and
 * `target nowait depend` alone.
 *
 * A back end is chosen when the library starts, so each has a process of its own, started as `--backend NAME`
 * with DAVIT_BACKEND=NAME. The processes keep their operands; one at a time measures a cell (routine, size,
 * sub-queues) that this one names on its standard input, and answers with a line:
 *
 *   done WARMUPS CALLS MINIMUM MEAN MAXIMUM ERROR        milliseconds; the largest difference by the largest
 *   failed SENTENCE                                      magnitude
 *
 * For each cell they take turns. The first back end has a second process, the last of the turn: what the two
 * differ by is noise. A process that dies, or does not answer within --limit seconds, is ended and costs its
 * cell only.
 *
 * A cell: --warmups calls that are not counted, the first of which is compared with BLIS, then --repeats calls,
 * by the host's clock, from the first command to the end of the last. Where the whole would take longer than
 * --cell-seconds (0: no limit; a list has a limit for each of --backends), there are fewer: at least two and
 * two; the row says how many. A back end that took longer than --patience seconds (0: no limit) for a call
 * leaves out larger sizes with so many sub-queues. dgemm is compared with BLIS by its product with a random
 * vector, the others element by element. */
#include <davit/davit.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/study/program.h"
#include "bench/study/queue/tiled.h"
#include "ref/blas.h"
#include "src/base/team.h"

/* Of a GPU, then of the CPU. */
#define DGEMM_SIZES "2048,4096,6144,8192,10240,12288,14336,16384", "256,512"
#define DGEMV_SIZES "4096,8192,12288,16384,20480,24576,28672,32768", "512,1024"
#define DAXPY_SIZES "65536,131072,196608,262144,327680,393216,458752,524288", "65536,131072"

typedef struct experiment {
  const char *gpu_sizes, *cpu_sizes;
  double flops; /* by n^power */
  int power;
  double alpha, beta; /* so that repeated calls keep c bounded */
} experiment;

static const experiment experiments[STUDY_ROUTINES] = {[STUDY_DGEMM] = {DGEMM_SIZES, 2, 3, 0.75, 0.5},
                                                       [STUDY_DGEMV] = {DGEMV_SIZES, 2, 2, 0.75, 0.5},
                                                       [STUDY_DAXPY] = {DAXPY_SIZES, 2, 1, 0.75, 1}};

static const double accuracy = 1e-9; /* the thesis asks for nine digits */

typedef struct settings {
  bool gpu;
  int devices[BENCH_MOST], device_count;
  int64_t tile;
  int warmups, repeats, limit;
  double cell_seconds, patience_ms;
  bench_values sizes[STUDY_ROUTINES], subqueues;
} settings;

static const char *backend_names(bool gpu) {
  return bench_option("backends", gpu ? "openmp,threads,cuda" : "openmp,threads");
}

/* --cell-seconds has one number, or one for each of --backends; the last one serves those that follow. */
static double cell_seconds_of(const char *backend, bool gpu) {
  char list[128], numbers[128];
  snprintf(list, sizeof list, "%s", backend_names(gpu));
  snprintf(numbers, sizeof numbers, "%s", bench_option("cell-seconds", "0"));
  char *names = list, *rest = numbers, *name = NULL;
  double seconds = 0;
  do {
    const char *number = strsep(&rest, ",");
    seconds = number ? atof(number) : seconds;
    name = strsep(&names, ",");
  } while (name && strcmp(name, backend) != 0);
  return seconds;
}

static settings configure(const study_options *o) {
  settings s = {.gpu = o->site.gpu, .tile = bench_whole("tile", 0)};
  int found = 0;
  bench_check(davit_device_defaults(BENCH_MOST, s.devices, &found), "devices");
  const int64_t wanted = bench_whole("devices", 0);
  s.device_count = wanted < 1 || wanted > found ? found : (int)wanted;
  s.device_count = s.device_count > STUDY_TILED_DEVICES ? STUDY_TILED_DEVICES : s.device_count;
  s.warmups = (int)bench_whole("warmups", 10);
  s.repeats = (int)bench_whole("repeats", 100);
  s.warmups = s.warmups < 1 ? 1 : s.warmups;
  s.repeats = s.repeats < 1 ? 1 : s.repeats;
  s.limit = bench_count("limit", 60);
  s.cell_seconds = cell_seconds_of(bench_option("backend", ""), s.gpu);
  s.patience_ms = 1e3 * atof(bench_option("patience", "0"));
  s.subqueues = bench_sizes("subqueues", s.gpu ? "1,2,4,8" : "1,2");
  for (int r = 0; r < STUDY_ROUTINES; r++)
    s.sizes[r] =
        bench_sizes(study_routine_names[r], s.gpu ? experiments[r].gpu_sizes : experiments[r].cpu_sizes);
  return s;
}

/* ---- a back end's process ---- */

typedef struct served {
  const settings *s;
  study_routine held; /* whose operands there are; STUDY_ROUTINES: none */
  double *operand[3];
} served;

static void drop_operands(served *p) {
  for (int x = 0; x < 3; x++) {
    (void)davit_free(p->operand[x]);
    p->operand[x] = NULL;
  }
  (void)davit_memory_trim(DAVIT_PINNED);
  p->held = STUDY_ROUTINES;
}

/* For the largest size: memory takes a while to pin. Smaller problems use its beginning. */
static davit_status hold_operands(served *p, study_routine routine) {
  int64_t counts[3];
  if (p->held == routine)
    return DAVIT_SUCCESS;
  drop_operands(p);
  study_tiled_counts(routine, bench_largest(&p->s->sizes[routine]), counts);
  for (int x = 0; x < 3; x++) {
    if (counts[x] == 0)
      continue;
    DVT_TRY(davit_malloc((size_t)counts[x] * sizeof(double), DAVIT_PINNED, (void **)&p->operand[x]));
    DVT_TRY(davit_random(DAVIT_DOUBLE, counts[x], (uint64_t)x + 1, p->operand[x]));
  }
  p->held = routine;
  return DAVIT_SUCCESS;
}

/* y = alpha A x + beta y by BLIS. */
static davit_status by_blis(int64_t n, double alpha, const double *a, const double *x, double beta,
                            double *y) {
  const dvt_gemv gemv = {DAVIT_DOUBLE, 'N', n, n, alpha, a, n, x, 1, beta, y, 1};
  return dvt_gemv_host(&(dvt_site){.device = DAVIT_HOST, .threads = dvt_threads()}, &gemv);
}

/* What c, or for dgemm c times the vector r, has to be after a call that finds it as it is now; `product` is
 * memory for B r. */
static davit_status expect(const served *p, int64_t n, const double *r, double *product, double *wanted) {
  const experiment *e = &experiments[p->held];
  const double *a = p->operand[0], *b = p->operand[1], *c = p->operand[2];
  if (p->held == STUDY_DAXPY) {
    const dvt_axpy axpy = {DAVIT_DOUBLE, n, e->alpha, a, 1, wanted, 1};
    memcpy(wanted, c, (size_t)n * sizeof *wanted);
    return dvt_axpy_host(&(dvt_site){.device = DAVIT_HOST, .threads = 1}, &axpy);
  }
  if (p->held == STUDY_DGEMV) {
    memcpy(wanted, c, (size_t)n * sizeof *wanted);
    return by_blis(n, e->alpha, a, b, e->beta, wanted);
  }
  DVT_TRY(by_blis(n, 1, c, r, 0, wanted));
  DVT_TRY(by_blis(n, 1, b, r, 0, product));
  return by_blis(n, e->alpha, a, product, e->beta, wanted);
}

static davit_status call(const served *p, study_tiled *tiled, double *ms) {
  const experiment *e = &experiments[p->held];
  const study_operands operands = {e->alpha, e->beta, p->operand[0], p->operand[1], p->operand[2]};
  const double start = bench_now();
  const davit_status status = study_tiled_run(tiled, &operands);
  *ms = 1e3 * (bench_now() - start);
  return status;
}

static double difference(int64_t n, const double *got, const double *wanted) {
  double largest = 0, off = 0;
  for (int64_t i = 0; i < n; i++) {
    const double apart = fabs(got[i] - wanted[i]);
    largest = fmax(largest, fabs(wanted[i]));
    off = apart <= off ? off : apart; /* NaN stays */
  }
  return largest > 0 ? off / largest : off;
}

/* The first call of a cell, and its result beside BLIS's. */
static davit_status first_call(const served *p, study_tiled *tiled, int64_t n, double *ms, double *error) {
  double *vectors = study_host_memory(4 * n, sizeof *vectors);
  double *r = vectors, *product = r + n, *wanted = product + n, *got = wanted + n;
  davit_status status = davit_random(DAVIT_DOUBLE, n, 7, r);
  if (status == DAVIT_SUCCESS)
    status = expect(p, n, r, product, wanted);
  if (status == DAVIT_SUCCESS)
    status = call(p, tiled, ms);
  if (status == DAVIT_SUCCESS && p->held == STUDY_DGEMM)
    status = by_blis(n, 1, p->operand[2], r, 0, got);
  else if (status == DAVIT_SUCCESS)
    memcpy(got, p->operand[2], (size_t)n * sizeof *got);
  *error = status == DAVIT_SUCCESS ? difference(n, got, wanted) : NAN;
  free(vectors);
  return status;
}

typedef struct outcome {
  int warmups, calls;
  double least, mean, most, error;
} outcome;

static int within(double seconds, double once_ms, int wanted, int floor) {
  const double calls = seconds > 0 ? 1e3 * seconds / once_ms : wanted;
  return calls >= wanted ? wanted : calls < floor ? floor : (int)calls;
}

/* A tenth of the time is for the calls that are not counted. */
static davit_status time_calls(const served *p, study_tiled *tiled, int64_t n, outcome *o) {
  const settings *s = p->s;
  double ms, sum = 0;
  DVT_TRY(first_call(p, tiled, n, &ms, &o->error));
  o->warmups = within(0.1 * s->cell_seconds, ms, s->warmups, s->warmups < 2 ? 1 : 2);
  for (int i = 1; i < o->warmups; i++)
    DVT_TRY(call(p, tiled, &ms));
  o->calls = within(0.9 * s->cell_seconds, ms, s->repeats, s->repeats < 2 ? s->repeats : 2);
  o->least = INFINITY;
  for (int i = 0; i < o->calls; i++) {
    DVT_TRY(call(p, tiled, &ms));
    sum += ms;
    o->least = fmin(o->least, ms);
    o->most = fmax(o->most, ms);
  }
  o->mean = sum / o->calls;
  return DAVIT_SUCCESS;
}

static davit_status measure_cell(served *p, study_routine routine, int64_t n, int subqueues, outcome *o) {
  const study_tiled_options options = {p->s->devices, p->s->device_count, subqueues, p->s->tile};
  study_tiled *tiled;
  DVT_TRY(hold_operands(p, routine));
  DVT_TRY(study_tiled_open(routine, n, &options, &tiled));
  const davit_status status = time_calls(p, tiled, n, o);
  const davit_status end = study_tiled_close(tiled);
  return status == DAVIT_SUCCESS ? end : status;
}

static int serve(const settings *s) {
  served p = {.s = s, .held = STUDY_ROUTINES};
  char line[128];
  while (fgets(line, sizeof line, stdin)) {
    int routine, subqueues;
    long long n;
    outcome o = {0};
    if (sscanf(line, "%d %lld %d", &routine, &n, &subqueues) != 3)
      return 2;
    const davit_status status = measure_cell(&p, (study_routine)routine, n, subqueues, &o);
    if (status != DAVIT_SUCCESS)
      printf("failed %s\n", davit_last_error());
    else
      printf("done %d %d %.9g %.9g %.9g %.9g\n", o.warmups, o.calls, o.least, o.mean, o.most, o.error);
    fflush(stdout);
  }
  drop_operands(&p);
  return davit_finalize() == DAVIT_SUCCESS ? 0 : 4;
}

/* ---- the processes, from outside ---- */

typedef struct backend {
  const char *name, *label;
  pid_t process; /* 0: there is none */
  int to, from;
} backend;

enum { BACKENDS = 5 };

typedef struct study {
  const settings *s;
  char **arguments;
  backend backends[BACKENDS];
  int count;
  bool slow[BACKENDS][BENCH_MOST]; /* by sub-queues, in this routine */
} study;

static void start(const study *s, backend *b) {
  int in[2], out[2], words = 0;
  while (s->arguments[words])
    words++;
  char **arguments = calloc((size_t)words + 3, sizeof *arguments);
  if (!arguments || pipe(in) != 0 || pipe(out) != 0)
    study_give_up("no process for the back end %s: %s", b->name, strerror(errno));
  memcpy(arguments, s->arguments, (size_t)words * sizeof *arguments);
  arguments[words] = (char[]){"--backend"};
  arguments[words + 1] = (char *)(uintptr_t)b->name;
  b->process = fork();
  if (b->process == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (int other = STDERR_FILENO + 1; other < 1024; other++) /* others' ends, too */
      close(other);
    setenv("DAVIT_BACKEND", b->name, 1);
    execv("/proc/self/exe", arguments);
    _exit(127);
  }
  free(arguments);
  close(in[0]);
  close(out[1]);
  b->to = in[1];
  b->from = out[0];
  if (b->process < 0)
    study_give_up("no process for the back end %s: %s", b->name, strerror(errno));
}

/* Says in `how` how it ended. */
static void stop(backend *b, bool kill_it, char *how, size_t size) {
  int status = 0;
  close(b->to);
  close(b->from);
  if (kill_it)
    kill(b->process, SIGKILL);
  waitpid(b->process, &status, 0);
  if (kill_it)
    snprintf(how, size, "no answer in time");
  else if (WIFSIGNALED(status))
    snprintf(how, size, "%s", strsignal(WTERMSIG(status)));
  else
    snprintf(how, size, "exit code %d", WEXITSTATUS(status));
  b->process = 0;
}

/* A line within --limit seconds; without its end. */
static bool read_answer(const backend *b, int limit, bool *late, char *line, size_t size) {
  const double end = bench_now() + limit;
  size_t length = 0;
  *late = false;
  while (length + 1 < size) {
    struct pollfd ready = {.fd = b->from, .events = POLLIN};
    const double left = end - bench_now();
    const int found = poll(&ready, 1, left > 0 ? (int)(1e3 * left) : 0);
    *late = found == 0;
    if (found < 0 && errno == EINTR)
      continue;
    if (found <= 0 || read(b->from, line + length, 1) != 1)
      return false;
    if (line[length] == '\n')
      break;
    length++;
  }
  line[length] = 0;
  return true;
}

static void ask(const study *s, backend *b, study_routine routine, int64_t n, int subqueues, char *answer,
                size_t size) {
  char question[64], how[64];
  bool late = false;
  if (!b->process)
    start(s, b);
  const int length = snprintf(question, sizeof question, "%d %lld %d\n", routine, (long long)n, subqueues);
  if (write(b->to, question, (size_t)length) == length && read_answer(b, s->s->limit, &late, answer, size))
    return;
  stop(b, late, how, sizeof how);
  snprintf(answer, size, "failed %s", how);
}

/* Those that --backends names, by default all that there are, and the first once more. */
static void choose_backends(study *s, char *names, size_t size) {
  snprintf(names, size, "%s", backend_names(s->s->gpu));
  for (char *rest = names, *name; (name = strsep(&rest, ",")) && s->count < BACKENDS - 1;)
    s->backends[s->count++] = (backend){.name = name, .label = name};
  static char again[64];
  snprintf(again, sizeof again, "%s again", s->backends[0].name);
  s->backends[s->count++] = (backend){.name = s->backends[0].name, .label = again};
}

static void end_backends(study *s) {
  char how[64];
  for (int i = 0; i < s->count; i++)
    if (s->backends[i].process)
      stop(&s->backends[i], false, how, sizeof how);
}

/* ---- rows ---- */

/* Milliseconds of a call. */
static double report(const study *s, const backend *b, study_routine routine, int64_t n, int subqueues,
                     const char *answer) {
  const experiment *e = &experiments[routine];
  outcome o;
  study_row();
  study_text("backend", b->label);
  study_number("subqueues", 0, subqueues);
  study_number("n", 0, (double)n);
  bench_number("tile", (double)(s->s->tile > 0 ? s->s->tile : study_tiled_tile(routine, n)));
  bench_number("devices", s->s->device_count);
  bench_text("place", "pinned");
  if (sscanf(answer, "done %d %d %lg %lg %lg %lg", &o.warmups, &o.calls, &o.least, &o.mean, &o.most,
             &o.error) != 6) {
    study_text("outcome", strncmp(answer, "failed ", 7) == 0 ? answer + 7 : answer);
    return 0;
  }
  study_number("warmups", 0, o.warmups);
  study_number("calls", 0, o.calls);
  study_number("min_ms", 3, o.least);
  study_number("mean_ms", 3, o.mean);
  study_number("max_ms", 3, o.most);
  study_number("gflops", 3, 1e-6 * e->flops * pow((double)n, e->power) / o.mean);
  bench_number("error", o.error);
  if (!(o.error <= accuracy))
    study_give_up("%s, n %lld, %s: off by %g of the largest element", study_routine_names[routine],
                  (long long)n, b->label, o.error);
  return o.mean;
}

static void each_cell(study *s, study_routine routine, int64_t n) {
  if (n == s->s->sizes[routine].at[0])
    memset(s->slow, 0, sizeof s->slow);
  for (int i = 0; i < s->s->subqueues.count; i++)
    for (int b = 0; b < s->count; b++) {
      char answer[512] = "failed left out, as a smaller size took too long";
      const int subqueues = (int)s->s->subqueues.at[i];
      bool *slow = &s->slow[b][i];
      if (!*slow)
        ask(s, &s->backends[b], routine, n, subqueues, answer, sizeof answer);
      const double ms = report(s, &s->backends[b], routine, n, subqueues, answer);
      *slow = *slow || (s->s->patience_ms > 0 && ms > s->s->patience_ms);
    }
}

static void each_dgemm(void *context, int64_t n) {
  each_cell(context, STUDY_DGEMM, n);
}

static void each_dgemv(void *context, int64_t n) {
  each_cell(context, STUDY_DGEMV, n);
}

static void each_daxpy(void *context, int64_t n) {
  each_cell(context, STUDY_DAXPY, n);
}

#define BY_SIZE "every back end by size and sub-queues, transfers included"
static const study_table tables[] = {{"dgemm", NULL, BY_SIZE, "dgemm", DGEMM_SIZES, each_dgemm},
                                     {"dgemv", NULL, BY_SIZE, "dgemv", DGEMV_SIZES, each_dgemv},
                                     {"daxpy", NULL, BY_SIZE, "daxpy", DAXPY_SIZES, each_daxpy}};

static const char usage[] =
    "bench_queue_study [--devices 0] [--tables dgemm,dgemv,daxpy] [--dgemm 2048,...] [--dgemv 4096,...]\n"
    "                  [--daxpy 65536,...] [--subqueues 1,2,4,8] [--tile 0] [--warmups 10] [--repeats 100]\n"
    "                  [--cell-seconds 0] [--patience 0] [--limit 60]\n"
    "                  [--backends openmp,threads,cuda] [--backend NAME]\n"
    "--devices is how many of the devices that work is spread over (0: all). --backend is for processes\n"
    "that the program starts itself.\n";

int main(int argc, char **argv) {
  const study_options o = study_options_read(usage, argc, argv, 1, 1, 0);
  const settings s = configure(&o);
  if (bench_option("backend", NULL))
    return serve(&s);
  study all = {.s = &s, .arguments = argv};
  char names[128];
  choose_backends(&all, names, sizeof names);
  signal(SIGPIPE, SIG_IGN);
  const int status = study_measure_tables(&o, "queue_study", sizeof tables / sizeof *tables, tables, &all);
  end_backends(&all);
  return status;
}
