/* SPDX-License-Identifier: Apache-2.0 */
/* The source's simpleInterDevice: A B C D E on one device over four queues, times M on another.
 *
 *   device 0, queue i      upload a factor; [wait for product i-1]; product i; record
 *   device 1, its queue    upload M; [wait for product 3]; copy ABCDE between the devices; times M; download
 *
 * In brackets the four edges. Entries are whole numbers from -5 to 4, so every order of summation gives the
 * same bits and the answer is compared exactly with plain loops. Any edge can be dropped; then its source is
 * held by a gate until the reader has read, so that the answer is wrong by construction and not by luck. A
 * complete graph gets the same gate, and must not end before it is open.
 *
 * Without arguments all this runs; `test_inter_device N synched|desynched` is a program of its own: exit
 * status 0 when the answer is right, 1 when it is wrong. */
#include "tests/support.h"

enum { FACTORS = 5, PRODUCTS = FACTORS - 1, EDGES = PRODUCTS, NO_EDGE = -1 };

typedef struct graph {
  int n, devices[2];
  size_t bytes;
  double *host[FACTORS + 1];                   /* A to E, and M */
  double *factor[FACTORS], *product[PRODUCTS]; /* on device 0 */
  double *passed_on, *m, *last;                /* on device 1 */
  double *answer;                              /* pinned */
  davit_queue *queue[PRODUCTS], *reader;
  davit_event *event[PRODUCTS];
} graph;

static void fill_with_whole_numbers(double *matrix, int count, uint64_t *random) {
  for (int i = 0; i < count; i++)
    matrix[i] = random_below(random, 10) - 5;
}

/* C = A B, all n × n. */
static void multiply(int n, const double *a, const double *b, double *c) {
  memset(c, 0, (size_t)n * (size_t)n * sizeof *c);
  for (int j = 0; j < n; j++)
    for (int k = 0; k < n; k++)
      for (int i = 0; i < n; i++)
        c[i + j * n] += a[i + k * n] * b[k + j * n];
}

static double *blank(const graph *g, int place) {
  double *matrix = kept_at(g->bytes, place);
  CHECK(davit_fill(g->bytes, 0, matrix));
  return matrix;
}

static void build(graph *g, int n, const int devices[2]) {
  uint64_t random = (uint64_t)n;
  *g = (graph){.n = n, .devices = {devices[0], devices[1]}, .bytes = (size_t)n * (size_t)n * sizeof(double)};
  for (int i = 0; i <= FACTORS; i++) {
    g->host[i] = kept_at(g->bytes, DAVIT_PINNED);
    fill_with_whole_numbers(g->host[i], n * n, &random);
  }
  for (int i = 0; i < FACTORS; i++)
    g->factor[i] = blank(g, place_for(devices[0]));
  for (int i = 0; i < PRODUCTS; i++) {
    g->product[i] = blank(g, place_for(devices[0]));
    g->queue[i] = new_queue(devices[0], 1);
    g->event[i] = new_event();
  }
  g->passed_on = blank(g, place_for(devices[1]));
  g->m = blank(g, place_for(devices[1]));
  g->last = blank(g, place_for(devices[1]));
  g->answer = blank(g, DAVIT_PINNED);
  g->reader = new_queue(devices[1], 1);
}

static void take_down(graph *g) {
  for (int i = 0; i < PRODUCTS; i++)
    CHECK(davit_queue_destroy(g->queue[i]));
  CHECK(davit_queue_destroy(g->reader));
}

static void product_on(davit_queue *queue, int n, const double *a, const double *b, double *c) {
  CHECK(davit_queue_dgemm(queue, 'N', 'N', n, n, n, 1, a, n, b, n, 0, c, n, NULL));
}

static void enqueue(graph *g, int dropped) {
  int n = g->n;
  for (int i = 0; i < PRODUCTS; i++) {
    davit_queue *q = g->queue[i];
    if (i == 0)
      CHECK(davit_queue_copy_2d(q, n, n, sizeof(double), g->host[0], n, g->factor[0], n));
    CHECK(davit_queue_copy_2d(q, n, n, sizeof(double), g->host[i + 1], n, g->factor[i + 1], n));
    if (i > 0 && dropped != i - 1)
      CHECK(davit_queue_wait(q, g->event[i - 1]));
    product_on(q, n, i == 0 ? g->factor[0] : g->product[i - 1], g->factor[i + 1], g->product[i]);
    CHECK(davit_event_record(g->event[i], q));
  }
  CHECK(davit_queue_copy_2d(g->reader, n, n, sizeof(double), g->host[FACTORS], n, g->m, n));
  if (dropped != EDGES - 1)
    CHECK(davit_queue_wait(g->reader, g->event[PRODUCTS - 1]));
  CHECK(davit_queue_copy_2d(g->reader, n, n, sizeof(double), g->product[PRODUCTS - 1], n, g->passed_on, n));
  product_on(g->reader, n, g->passed_on, g->m, g->last);
  CHECK(davit_queue_copy_2d(g->reader, n, n, sizeof(double), g->last, n, g->answer, n));
}

static bool is_right(const graph *g) {
  double *now = kept(g->bytes), *next = kept(g->bytes);
  memcpy(now, g->host[0], g->bytes);
  for (int i = 1; i <= FACTORS; i++) {
    multiply(g->n, now, g->host[i], next);
    double *swap = now;
    now = next;
    next = swap;
  }
  bool right = memcmp(now, g->answer, g->bytes) == 0;
  for (int i = 0; !right && i < g->n * g->n; i++) /* -0 and 0 are the same number */
    if (now[i] != g->answer[i])
      break;
    else
      right = i == g->n * g->n - 1;
  return right;
}

/* Runs the graph with queue `stalled` of device 0 held at its head, and without the edge `dropped`. With all
 * edges the end must not come before the gate is open; without one it does, and the gate is opened after. */
static bool run(graph *g, int stalled, int dropped) {
  gate *held = gate_at_head(g->queue[stalled]);
  davit_event *end = new_event();
  CHECK(davit_fill(g->bytes, 0, g->answer));
  enqueue(g, dropped);
  CHECK(davit_event_record(end, g->reader));
  if (dropped == NO_EDGE) {
    sleep_ms(5);
    assert_int_equal(state_of(end), DAVIT_EVENT_RECORDED);
    gate_open(held);
  }
  CHECK(davit_event_synchronize(end));
  gate_open(held);
  for (int i = 0; i < PRODUCTS; i++)
    CHECK(davit_queue_synchronize(g->queue[i]));
  return is_right(g);
}

/* Old products would be right ones. */
static void forget_products(graph *g) {
  for (int i = 0; i < PRODUCTS; i++)
    CHECK(davit_fill(g->bytes, 0, g->product[i]));
}

CASE(test_complete_graph_is_right) {
  static const int sizes[] = {1, 37, 130};
  for (int from = DAVIT_HOST; from < device_count(); from++)
    for (int to = DAVIT_HOST; to < device_count(); to++)
      for (int s = 0; s < COUNT(sizes); s++) {
        graph g;
        build(&g, sizes[s], (const int[]){from, to});
        for (int stalled = 0; stalled < (s == 1 ? PRODUCTS : 1); stalled++) {
          forget_products(&g);
          assert_true(run(&g, stalled, NO_EDGE));
        }
        take_down(&g);
      }
}

CASE(test_each_edge_is_needed) {
  int devices[MAX_PLACES], count = all_devices(devices);
  for (int i = 0; i < count; i++) {
    graph g;
    build(&g, 65, (const int[]){devices[i], devices[(i + 1) % count]});
    for (int edge = 0; edge < EDGES; edge++) {
      forget_products(&g);
      assert_false(run(&g, edge, edge));
      forget_products(&g);
      assert_true(run(&g, edge, NO_EDGE)); /* it was the edge, not the stall */
    }
    take_down(&g);
  }
}

/* ---- the CPU and all devices ---- */

enum { N = 61, MOST = 17 };

/* A matrix goes round: each of the CPU and the devices multiplies it by a factor of its own, kept small by
 * taking the factor from {-1, 0, 1} permutations, and passes it on; the CPU adds up all stations as they come
 * in. */
typedef struct station {
  davit_queue *queue;
  davit_event *event;
  double *factor, *result;
  int place;
} station;

static void signed_permutation(double *matrix, uint64_t *random) {
  int at[N];
  memset(matrix, 0, N * N * sizeof *matrix);
  for (int i = 0; i < N; i++) {
    int j = random_below(random, i + 1);
    at[i] = at[j];
    at[j] = i;
  }
  for (int i = 0; i < N; i++)
    matrix[i + at[i] * N] = random_below(random, 2) ? 1 : -1;
}

CASE(test_cpu_and_all_devices) {
  static double start[N * N], factors[MOST][N * N], expected[MOST][N * N], sum[N * N], expected_sum[N * N];
  int devices[MAX_PLACES], count = all_devices(devices);
  count = count < MOST ? count : MOST;
  station stations[MOST];
  uint64_t random = 3;
  fill_with_whole_numbers(start, N * N, &random);
  memset(sum, 0, sizeof sum);
  memset(expected_sum, 0, sizeof expected_sum);
  davit_queue *adder = new_queue(DAVIT_HOST, 1);
  double *arrived = kept_at(sizeof sum, DAVIT_PINNED);
  gate *g = NULL;
  for (int i = 0; i < count; i++) {
    station *s = &stations[i];
    signed_permutation(factors[i], &random);
    multiply(N, i ? expected[i - 1] : start, factors[i], expected[i]);
    s->place = place_for(devices[i]);
    s->queue = new_queue(devices[i], 1);
    s->event = new_event();
    s->factor = kept_at(sizeof sum, s->place);
    s->result = kept_at(2 * sizeof sum, s->place);
    if (i == 0)
      g = gate_at_head(s->queue);
    CHECK(davit_queue_copy(s->queue, sizeof sum, factors[i], s->factor));
    if (i > 0)
      CHECK(davit_queue_wait(s->queue, stations[i - 1].event));
    double *input = s->result + N * N;
    CHECK(davit_queue_copy(s->queue, sizeof sum, i ? stations[i - 1].result : start, input));
    product_on(s->queue, N, input, s->factor, s->result);
    CHECK(davit_event_record(s->event, s->queue));
    CHECK(davit_queue_wait(adder, s->event));
    CHECK(davit_queue_copy(adder, sizeof sum, s->result, arrived));
    CHECK(davit_queue_daxpy(adder, N * N, 1, arrived, 1, sum, 1, NULL));
    for (int k = 0; k < N * N; k++)
      expected_sum[k] += expected[i][k];
  }
  gate_open(g);
  CHECK(davit_queue_destroy(adder));
  for (int k = 0; k < N * N; k++)
    assert_true(sum[k] == expected_sum[k]);
  for (int i = 0; i < count; i++)
    CHECK(davit_queue_destroy(stations[i].queue));
}

/* ---- the program ---- */

static int program_size;
static bool program_synched, program_right;

static void test_program(void **state) {
  (void)state;
  int pair[2];
  if (!two_devices(pair))
    pair[0] = 0, pair[1] = DAVIT_HOST;
  graph g;
  build(&g, program_size, pair);
  program_right = run(&g, 0, program_synched ? NO_EDGE : EDGES - 1);
  take_down(&g);
}

int main(int argc, char **argv) {
  const struct CMUnitTest program[] = {cmocka_unit_test(test_program)};
  if (argc == 1)
    return run_cases(NULL, NULL);
  program_synched = argc == 3 && strcmp(argv[2], "synched") == 0;
  program_size = argc == 3 ? atoi(argv[1]) : 0;
  if (program_size < 1 || (!program_synched && strcmp(argv[2], "desynched") != 0)) {
    fprintf(stderr, "usage: %s [N synched|desynched]\n", argv[0]);
    return 0; /* so that a wrong call does not pass for the failure that ctest expects of desynched */
  }
  int failed = cmocka_run_group_tests(program, NULL, NULL);
  if (failed) /* neither right nor wrong: what expects a failure must not be content with this one */
    return program_synched ? 2 : 0;
  return program_right ? 0 : 1;
}
