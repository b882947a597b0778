/* SPDX-License-Identifier: Apache-2.0 */
/* What queues cost: microseconds per command, event and synchronisation, and the rate of tile copies, of
 * the back end named by DAVIT_BACKEND, beside raw OpenMP and raw CUDA in the same run.
 *
 * By default the first device that work is spread over and the host are measured; copies run on the first
 * alone. Every figure is the median over the repeats, after one run that is not counted. The raw peers run
 * in child processes, started before this one uses OpenMP or CUDA: an empty `target nowait` chain may crash
 * or hang the host plugin, and then costs its rows only. Rows:
 *
 *   us            microseconds per command (or per call), `queues` queues or sub-queues in use
 *   cpu           processor seconds per second, all threads of the process
 *   gbs           10^9 bytes per second, column-major f64 tiles of a matrix with leading dimension ld to
 *                 or from contiguous device memory */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"
#include "offload/runtime/device.h"
#include "src/runtime/lane.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

enum { QUEUES = 8, CHILD_SECONDS = 120 };

typedef struct settings {
  int device, repeats, length;
  bool gpu;
  int64_t ld;
  bench_values tiles;
} settings;

static void row(const char *backend, int device, const char *test, int queues, const char *unit,
                double value) {
  bench_row();
  bench_text("backend", backend);
  bench_number("device", device);
  bench_text("test", test);
  bench_number("queues", queues);
  bench_number(unit, value);
  fprintf(stderr, "%-8s device %2d  %-34s %2d  %12.3f %s\n", backend, device, test, queues, value, unit);
}

static void davit_row(const settings *s, const char *test, int queues, const char *unit, double value) {
  row(davit_backend_string(), s->device, test, queues, unit, value);
}

/* ---- commands ---- */

typedef enum operation { HOST_FUNCTION, REGION, FILL, NOWAIT_REGION } operation;
static const char *const operation_names[] = {"host function", "empty region", "fill", "empty nowait region"};

static davit_status nothing(void *argument) {
  (void)argument;
  return DAVIT_SUCCESS;
}

static davit_status empty_region(int device, void *argument) {
  (void)argument;
#pragma omp target device(device)
  {
  }
  return DAVIT_SUCCESS;
}

static davit_status empty_nowait_region(const davit_region_site *site, void *argument) {
  char *order = site->order;
  (void)argument;
#pragma omp target nowait depend(inout : *order) device(site -> device)
  {
  }
  return DAVIT_SUCCESS;
}

static void enqueue(davit_queue *queue, operation what, void *memory) {
  switch (what) {
  case REGION:
    bench_check(davit_queue_region(queue, empty_region, NULL), "region");
    break;
  case NOWAIT_REGION:
    bench_check(davit_queue_region_nowait(queue, empty_nowait_region, NULL), "nowait region");
    break;
  case FILL:
    bench_check(davit_queue_fill(queue, 64, 0, memory), "fill");
    break;
  default:
    bench_check(davit_queue_host_function(queue, nothing, NULL), "host function");
    break;
  }
}

typedef struct lines {
  davit_queue *queue[QUEUES];
  davit_event *event[QUEUES];
  void *memory[QUEUES];
} lines;

static void open_lines(const settings *s, lines *l) {
  for (int i = 0; i < QUEUES; i++) {
    bench_check(davit_queue_create(s->device, &l->queue[i], NULL), "queue");
    bench_check(davit_event_create(&l->event[i]), "event");
    bench_check(davit_malloc(256, s->device, &l->memory[i]), "memory"); /* the host: pinned */
  }
}

static void close_lines(lines *l) {
  for (int i = 0; i < QUEUES; i++) {
    bench_check(davit_queue_destroy(l->queue[i]), "queue");
    bench_check(davit_event_destroy(l->event[i]), "event");
    bench_check(davit_free(l->memory[i]), "memory");
  }
}

static void synchronize(const lines *l) {
  for (int i = 0; i < QUEUES; i++)
    bench_check(davit_queue_synchronize(l->queue[i]), "synchronize");
}

/* `length` commands in all, dealt to `queues` queues; linked: each waits for the one before it. */
static void chain(const settings *s, const lines *l, operation what, int queues, bool linked) {
  double whole[BENCH_MOST], calls[BENCH_MOST];
  char test[64];
  for (int r = -1; r < s->repeats; r++) {
    double start = bench_now();
    for (int i = 0; i < s->length; i++) {
      davit_queue *queue = l->queue[i % queues];
      if (linked && i > 0)
        bench_check(davit_queue_wait(queue, l->event[(i - 1) % queues]), "wait");
      enqueue(queue, what, l->memory[i % queues]);
      if (linked)
        bench_check(davit_event_record(l->event[i % queues], queue), "record");
    }
    double enqueued = bench_now();
    synchronize(l);
    double end = bench_now();
    whole[r < 0 ? 0 : r] = 1e6 * (end - start) / s->length;
    calls[r < 0 ? 0 : r] = 1e6 * (enqueued - start) / s->length;
  }
  snprintf(test, sizeof test, "%s%s", operation_names[what], linked ? ", event, wait" : "");
  davit_row(s, test, queues, "us", bench_median(whole, s->repeats));
  snprintf(test, sizeof test, "%s%s: the call", operation_names[what], linked ? ", event, wait" : "");
  davit_row(s, test, queues, "us", bench_median(calls, s->repeats));
}

/* ---- synchronisation ---- */

/* Enqueues on the first `busy` sub-queues, then synchronises; the time of both. */
static double sync_time(davit_queue *queue, int busy, operation what, void *memory, int count) {
  double start = bench_now();
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < busy; j++) {
      bench_check(davit_queue_set_subqueue(queue, j), "sub-queue");
      enqueue(queue, what, memory);
    }
    bench_check(davit_queue_synchronize(queue), "synchronize");
  }
  return 1e6 * (bench_now() - start) / count;
}

static void sync_row(const settings *s, davit_queue *queue, int subqueues, int busy, operation what,
                     void *memory, const char *test) {
  double times[BENCH_MOST];
  for (int r = -1; r < s->repeats; r++)
    times[r < 0 ? 0 : r] = sync_time(queue, busy, what, memory, s->length / 10 + 1);
  davit_row(s, test, subqueues, "us", bench_median(times, s->repeats));
}

static void synchronisation(const settings *s) {
  void *memory;
  bench_check(davit_malloc(256, s->device, &memory), "memory");
  for (int subqueues = 1; subqueues <= QUEUES; subqueues *= 2) {
    davit_queue *queue;
    bench_check(davit_queue_create(s->device, &queue, &(davit_queue_options){.subqueues = subqueues}),
                "queue");
    sync_row(s, queue, subqueues, 0, FILL, memory, "sync, idle");
    sync_row(s, queue, subqueues, 1, HOST_FUNCTION, memory, "sync, one host function");
    sync_row(s, queue, subqueues, 1, FILL, memory, "sync, one fill");
    sync_row(s, queue, subqueues, subqueues, HOST_FUNCTION, memory, "sync, a host function each");
    sync_row(s, queue, subqueues, subqueues, FILL, memory, "sync, a fill each");
    bench_check(davit_queue_destroy(queue), "queue");
  }
  bench_check(davit_free(memory), "memory");
}

static void event_round_trip(const settings *s, const lines *l) {
  double times[BENCH_MOST];
  int count = s->length / 10 + 1;
  for (int r = -1; r < s->repeats; r++) {
    double start = bench_now();
    for (int i = 0; i < count; i++) {
      bench_check(davit_event_record(l->event[0], l->queue[0]), "record");
      bench_check(davit_event_synchronize(l->event[0]), "synchronize");
    }
    times[r < 0 ? 0 : r] = 1e6 * (bench_now() - start) / count;
  }
  davit_row(s, "event round trip", 1, "us", bench_median(times, s->repeats));
}

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void pause_for(double seconds) {
  struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  nanosleep(&time, NULL);
}

/* The queues have been used and are idle. */
static void idle_cpu(const settings *s) {
  pause_for(0.2);
  double start = bench_now(), used = cpu_seconds();
  pause_for(1);
  davit_row(s, "idle queues", QUEUES, "cpu", (cpu_seconds() - used) / (bench_now() - start));
}

static void chains(const settings *s, const lines *l, operation what) {
  chain(s, l, what, 1, false);
  chain(s, l, what, QUEUES, false);
  chain(s, l, what, QUEUES, true);
}

static void latencies(const settings *s) {
  lines l;
  open_lines(s, &l);
  for (operation what = 0; what < NOWAIT_REGION; what++)
    chains(s, &l, what);
  event_round_trip(s, &l);
  idle_cpu(s);
  synchronisation(s);
  chains(s, &l, NOWAIT_REGION);
  close_lines(&l);
}

/* ---- tile copies ---- */

typedef struct transfer {
  davit_queue *queue;
  double *to;
  const double *from;
  int64_t to_ld, from_ld;
} transfer;

static int batch_of(int64_t n) {
  int64_t count = ((int64_t)1 << 30) / (n * n * 8);
  return count < 4 ? 4 : count > 256 ? 256 : (int)count;
}

static void copy_row(const char *backend, int device, const char *test, int64_t n, int64_t ld, double gbs) {
  bench_row();
  bench_text("backend", backend);
  bench_number("device", device);
  bench_text("test", test);
  bench_number("tile", (double)n);
  bench_number("ld", (double)ld);
  bench_number("gbs", gbs);
  fprintf(stderr, "%-8s device %2d  %-26s tile %5lld  %12.3f GB/s\n", backend, device, test, (long long)n,
          gbs);
}

static void copy(const settings *s, const char *test, int64_t n, const transfer *transfers, int count) {
  double rates[BENCH_MOST];
  int batch = batch_of(n);
  for (int r = -1; r < s->repeats; r++) {
    double start = bench_now();
    for (int i = 0; i < batch; i++)
      for (int j = 0; j < count; j++) {
        const transfer *t = &transfers[j];
        bench_check(davit_queue_copy_2d(t->queue, n, n, sizeof(double), t->from, t->from_ld, t->to, t->to_ld),
                    "copy");
      }
    for (int j = 0; j < count; j++)
      bench_check(davit_queue_synchronize(transfers[j].queue), "synchronize");
    rates[r < 0 ? 0 : r] = 1e-9 * 8 * (double)n * (double)n * batch * count / (bench_now() - start);
  }
  copy_row(davit_backend_string(), s->device, test, n, s->ld, bench_median(rates, s->repeats));
}

static double *matrix(size_t elements, int place) {
  void *pointer;
  bench_check(davit_malloc(elements * sizeof(double), place, &pointer), "memory");
  bench_check(davit_fill(elements * sizeof(double), 1, pointer), "fill");
  return pointer;
}

/* One matrix: tiles to the device lie in its upper half, tiles from the device in its lower half. */
static void host_copies(const settings *s, int place, davit_queue *const queues[2], double *const tiles[2]) {
  const char *memory = place == DAVIT_PINNED ? "pinned" : "pageable";
  char test[64];
  double *upper = matrix((size_t)s->ld * (size_t)bench_largest(&s->tiles), place), *lower = upper + s->ld / 2;
  for (int i = 0; i < s->tiles.count; i++) {
    int64_t n = s->tiles.at[i];
    transfer both[2] = {{queues[0], tiles[0], upper, n, s->ld}, {queues[1], lower, tiles[1], s->ld, n}};
    snprintf(test, sizeof test, "copy to device, %s", memory);
    copy(s, test, n, &both[0], 1);
    snprintf(test, sizeof test, "copy from device, %s", memory);
    copy(s, test, n, &both[1], 1);
    snprintf(test, sizeof test, "copy both ways, %s", memory);
    copy(s, test, n, both, 2);
  }
  bench_check(davit_free(upper), "memory");
}

/* The next device that work is spread over, if it is a GPU too. */
static int second_device(const settings *s) {
  int devices[BENCH_MOST], count;
  bench_check(davit_device_defaults(BENCH_MOST, devices, &count), "devices");
  for (int i = 0; i < count && i < BENCH_MOST && s->gpu; i++)
    if (devices[i] != s->device)
      return devices[i];
  return DAVIT_HOST;
}

static void peer_copies(const settings *s, davit_queue *queue, double *const tiles[2]) {
  int other = second_device(s);
  if (other == DAVIT_HOST)
    return;
  int64_t most = bench_largest(&s->tiles);
  davit_queue *back;
  double *remote[2];
  bench_check(davit_queue_create(other, &back, NULL), "queue");
  for (int i = 0; i < 2; i++)
    remote[i] = matrix((size_t)(most * most), other);
  for (int i = 0; i < s->tiles.count; i++) {
    int64_t n = s->tiles.at[i];
    transfer both[2] = {{queue, remote[0], tiles[0], n, n}, {back, tiles[1], remote[1], n, n}};
    copy(s, "copy to another device", n, &both[0], 1);
    copy(s, "copy both ways, two devices", n, both, 2);
  }
  for (int i = 0; i < 2; i++)
    bench_check(davit_free(remote[i]), "memory");
  bench_check(davit_queue_destroy(back), "queue");
}

static void copies(const settings *s) {
  davit_queue *queues[2];
  double *tiles[2];
  int64_t most = bench_largest(&s->tiles);
  for (int i = 0; i < 2; i++) {
    bench_check(davit_queue_create(s->device, &queues[i], NULL), "queue");
    tiles[i] = matrix((size_t)(most * most), s->device);
  }
  host_copies(s, DAVIT_PINNED, queues, tiles);
  host_copies(s, DAVIT_PAGEABLE, queues, tiles);
  peer_copies(s, queues[0], tiles);
  for (int i = 0; i < 2; i++) {
    bench_check(davit_queue_destroy(queues[i]), "queue");
    bench_check(davit_free(tiles[i]), "memory");
  }
}

/* ---- raw peers, in a child ---- */

/* A child prints lines `queues tile unit value test`; the parent makes them rows. */
static void say(int queues, int64_t tile, const char *unit, double value, const char *test) {
  printf("%d %lld %s %.9g %s\n", queues, (long long)tile, unit, value, test);
  fflush(stdout);
}

static void raw_target(const settings *s) {
  double times[BENCH_MOST];
  for (int r = -1; r < s->repeats; r++) {
    double start = bench_now();
    for (int i = 0; i < s->length; i++)
      empty_region(s->device, NULL);
    times[r < 0 ? 0 : r] = 1e6 * (bench_now() - start) / s->length;
  }
  say(1, 0, "us", bench_median(times, s->repeats), "empty target");
}

static double nowait_chain(int device, int length, int chains) {
  char token[QUEUES];
  double start = bench_now();
  for (int i = 0; i < length; i++) {
    char *mine = &token[i % chains];
#pragma omp target nowait depend(inout : *mine) device(device)
    {
    }
  }
#pragma omp taskwait
  return 1e6 * (bench_now() - start) / length;
}

static void raw_nowait(const settings *s) {
  for (int chains = 1; chains <= QUEUES; chains *= QUEUES) {
    double times[BENCH_MOST];
#pragma omp parallel
#pragma omp single
    for (int r = -1; r < s->repeats; r++)
      times[r < 0 ? 0 : r] = nowait_chain(s->device, s->length, chains);
    say(chains, 0, "us", bench_median(times, s->repeats), "empty target nowait depend");
  }
}

#ifdef DAVIT_WITH_CUDA
static void must(cudaError_t result) {
  if (result == cudaSuccess)
    return;
  fprintf(stderr, "raw cuda: %s\n", cudaGetErrorString(result));
  exit(4);
}

typedef struct cuda_lines {
  cudaStream_t stream[QUEUES];
  cudaEvent_t event[QUEUES];
  void *memory[QUEUES];
} cuda_lines;

static void CUDART_CB cuda_nothing(void *argument) {
  (void)argument;
}

/* As chain() above; `call` is the time until all calls have returned. */
static double cuda_chain(const settings *s, const cuda_lines *l, bool host_function, int queues, bool linked,
                         double *call) {
  double start = bench_now();
  for (int i = 0; i < s->length; i++) {
    int q = i % queues;
    if (linked && i > 0)
      must(cudaStreamWaitEvent(l->stream[q], l->event[(i - 1) % queues], 0));
    must(host_function ? cudaLaunchHostFunc(l->stream[q], cuda_nothing, NULL)
                       : cudaMemsetAsync(l->memory[q], 0, 64, l->stream[q]));
    if (linked)
      must(cudaEventRecord(l->event[q], l->stream[q]));
  }
  *call = 1e6 * (bench_now() - start) / s->length;
  for (int q = 0; q < queues; q++)
    must(cudaStreamSynchronize(l->stream[q]));
  return 1e6 * (bench_now() - start) / s->length;
}

static void cuda_chains(const settings *s, const cuda_lines *l, bool host_function, int queues, bool linked) {
  double whole[BENCH_MOST], calls[BENCH_MOST];
  char test[64];
  for (int r = -1; r < s->repeats; r++)
    whole[r < 0 ? 0 : r] = cuda_chain(s, l, host_function, queues, linked, &calls[r < 0 ? 0 : r]);
  snprintf(test, sizeof test, "%s%s", operation_names[host_function ? HOST_FUNCTION : FILL],
           linked ? ", event, wait" : "");
  say(queues, 0, "us", bench_median(whole, s->repeats), test);
  strcat(test, ": the call");
  say(queues, 0, "us", bench_median(calls, s->repeats), test);
}

/* kind 0: an idle stream's synchronisation; 1: after a fill; 2: an event's round trip; 3: all streams after a
 * fill each. */
static void cuda_round_trips(const settings *s, const cuda_lines *l, int kind) {
  static const char *const tests[] = {"sync, idle", "sync, one fill", "event round trip",
                                      "sync, a fill each"};
  const int streams = kind == 3 ? QUEUES : 1;
  double times[BENCH_MOST];
  int count = s->length / 10 + 1;
  for (int r = -1; r < s->repeats; r++) {
    double start = bench_now();
    for (int i = 0; i < count; i++) {
      for (int q = 0; q < streams && (kind == 1 || kind == 3); q++)
        must(cudaMemsetAsync(l->memory[q], 0, 64, l->stream[q]));
      if (kind == 2) {
        must(cudaEventRecord(l->event[0], l->stream[0]));
        must(cudaEventSynchronize(l->event[0]));
      } else {
        for (int q = 0; q < streams; q++)
          must(cudaStreamSynchronize(l->stream[q]));
      }
    }
    times[r < 0 ? 0 : r] = 1e6 * (bench_now() - start) / count;
  }
  say(streams, 0, "us", bench_median(times, s->repeats), tests[kind]);
}

static void cuda_copies(const settings *s, cudaStream_t stream) {
  void *host, *device;
  size_t most = (size_t)bench_largest(&s->tiles), pitch = (size_t)s->ld * 8;
  must(cudaHostAlloc(&host, pitch * most, cudaHostAllocPortable));
  must(cudaMalloc(&device, most * most * 8));
  memset(host, 1, pitch * most);
  for (int i = 0; i < 2 * s->tiles.count; i++) {
    double rates[BENCH_MOST];
    size_t bytes = (size_t)s->tiles.at[i / 2] * 8, cols = bytes / 8;
    int batch = batch_of(s->tiles.at[i / 2]);
    for (int r = -1; r < s->repeats; r++) {
      double start = bench_now();
      for (int j = 0; j < batch; j++)
        must(
            i % 2
                ? cudaMemcpy2DAsync(host, pitch, device, bytes, bytes, cols, cudaMemcpyDeviceToHost, stream)
                : cudaMemcpy2DAsync(device, bytes, host, pitch, bytes, cols, cudaMemcpyHostToDevice, stream));
      must(cudaStreamSynchronize(stream));
      rates[r < 0 ? 0 : r] = 1e-9 * (double)(bytes * cols) * batch / (bench_now() - start);
    }
    say(1, s->tiles.at[i / 2], "gbs", bench_median(rates, s->repeats),
        i % 2 ? "copy from device, pinned" : "copy to device, pinned");
  }
  must(cudaFree(device));
  must(cudaFreeHost(host));
}

static void raw_cuda(const settings *s) {
  int ordinal = dvt_device_find(s->device)->ordinal;
  if (ordinal < 0)
    return;
  cuda_lines l;
  must(cudaSetDevice(ordinal));
  for (int i = 0; i < QUEUES; i++) {
    must(cudaStreamCreateWithFlags(&l.stream[i], cudaStreamNonBlocking));
    must(cudaEventCreateWithFlags(&l.event[i], cudaEventDisableTiming));
    must(cudaMalloc(&l.memory[i], 256));
  }
  for (int host_function = 0; host_function < 2; host_function++) {
    cuda_chains(s, &l, host_function, 1, false);
    cuda_chains(s, &l, host_function, QUEUES, false);
    cuda_chains(s, &l, host_function, QUEUES, true);
  }
  for (int kind = 0; kind < 4; kind++)
    cuda_round_trips(s, &l, kind);
  cuda_copies(s, l.stream[0]);
}
#else
static void raw_cuda(const settings *s) {
  (void)s;
}
#endif

static const struct raw {
  const char *name, *backend;
  void (*run)(const settings *);
} raws[] = {
    {"target", "raw-omp", raw_target}, {"nowait", "raw-omp", raw_nowait}, {"cuda", "raw-cuda", raw_cuda}};
enum { RAWS = sizeof raws / sizeof *raws };

/* The output of a child, and how it ended. */
typedef struct child_output {
  char text[16384];
  int status;
} child_output;

static void run_child(const char *name, char **argv, int argc, child_output *h) {
  int ends[2];
  char **words = calloc((size_t)argc + 3, sizeof *words);
  h->status = -1;
  if (!words || pipe(ends) != 0)
    return;
  memcpy(words, argv, (size_t)argc * sizeof *words);
  words[argc] = (char[]){"--raw"};
  words[argc + 1] = (char *)(uintptr_t)name;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv("/proc/self/exe", words);
    _exit(127);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while (length + 1 < sizeof h->text &&
         (got = read(ends[0], h->text + length, sizeof h->text - 1 - length)) > 0)
    length += (size_t)got;
  close(ends[0]);
  if (child > 0)
    waitpid(child, &h->status, 0);
  free(words);
}

static void raw_rows(const settings *s, const struct raw *raw, child_output *h) {
  char *rest = h->text, *line;
  while ((line = strsep(&rest, "\n")) && *line) {
    char unit[8], test[64];
    int queues;
    long long tile;
    double value;
    if (sscanf(line, "%d %lld %7s %lg %63[^\n]", &queues, &tile, unit, &value, test) != 5)
      continue;
    if (tile)
      copy_row(raw->backend, s->device, test, tile, s->ld, value);
    else
      row(raw->backend, s->device, test, queues, unit, value);
  }
  if (h->status == 0)
    return;
  char end[64];
  if (WIFSIGNALED(h->status))
    snprintf(end, sizeof end, "%s",
             WTERMSIG(h->status) == SIGALRM ? "did not end" : strsignal(WTERMSIG(h->status)));
  else
    snprintf(end, sizeof end, "exit code %d", WEXITSTATUS(h->status));
  bench_row();
  bench_text("backend", raw->backend);
  bench_number("device", s->device);
  bench_text("test", raw->name);
  bench_text("outcome", end);
  fprintf(stderr, "%-8s %s: %s\n", raw->backend, raw->name, end);
}

static int child(const char *name, const settings *s) {
  alarm(CHILD_SECONDS);
  for (int i = 0; i < RAWS; i++)
    if (strcmp(raws[i].name, name) == 0)
      raws[i].run(s);
  return 0;
}

/* ---- main ---- */

static settings configure(void) {
  settings s = {.device = bench_device(), .repeats = bench_count("repeats", 5)};
  s.length = (int)bench_whole("length", 1000);
  s.length = s.length < 1 ? 1 : s.length;
  s.gpu = bench_is_gpu(s.device);
  s.ld = bench_whole("ld", s.gpu ? 16384 : 2048);
  s.tiles = bench_list("tiles", s.gpu ? "512,1024,2048,4096,8192" : "256,512,1024");
  if (2 * bench_largest(&s.tiles) > s.ld) {
    fprintf(stderr, "ld must be at least twice the largest tile\n");
    exit(2);
  }
  return s;
}

static const char usage[] = "bench_queue [--device 0,-1] [--repeats 5] [--length 1000] [--tiles "
                            "512,1024,2048,4096,8192] [--ld 16384] [--raw NAME]\n";

int main(int argc, char **argv) {
  bench_options(usage, argc, argv);
  static child_output outputs[RAWS];
  const char *raw = bench_option("raw", NULL);
  for (int i = 0; i < RAWS && !raw; i++)
    run_child(raws[i].name, argv, argc, &outputs[i]);
  settings s = configure();
  if (raw)
    return child(raw, &s);
  char fallback[32];
  const int first = s.device;
  snprintf(fallback, sizeof fallback, first == DAVIT_HOST ? "%d" : "%d,-1", first);
  const bench_values devices = bench_list("device", fallback);
  bench_begin("queue");
  copies(&s);
  for (int i = 0; i < devices.count; i++) {
    s.device = (int)devices.at[i];
    latencies(&s);
  }
  s.device = first;
  for (int i = 0; i < RAWS; i++)
    raw_rows(&s, &raws[i], &outputs[i]);
  return bench_finish();
}
