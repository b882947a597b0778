/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support.h"

#include <time.h>

/* ---- cases and assertions ---- */

enum { MAX_CASES = 64 };
static struct CMUnitTest cases[MAX_CASES];
static int case_count;

/* The newest block first. */
typedef struct kept_block {
  struct kept_block *next;
  void *object;
  void (*drop)(void *object);
} kept_block;
static kept_block *kept_blocks;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

void *keep(void *object, void (*drop)(void *object)) {
  kept_block *block = malloc(sizeof *block);
  assert_true(block && object);
  pthread_mutex_lock(&kept_lock);
  *block = (kept_block){kept_blocks, object, drop};
  kept_blocks = block;
  pthread_mutex_unlock(&kept_lock);
  return object;
}

void *kept(size_t bytes) {
  return memset(keep(malloc(bytes + 1), free), 0xff, bytes + 1);
}

void *kept_zeros(size_t bytes) {
  return memset(kept(bytes), 0, bytes);
}

static void drop_memory(void *memory) {
  CHECK(davit_free(memory));
}

void *kept_at(size_t bytes, int place) {
  return bytes > 0 ? keep(new_memory(bytes, place), drop_memory) : NULL;
}

const void *scope_begin(void) {
  return kept_blocks;
}

void scope_end(const void **begin) {
  while (kept_blocks && kept_blocks != *begin) {
    kept_block *block = kept_blocks;
    kept_blocks = block->next;
    block->drop(block->object);
    free(block);
  }
}

/* Shares of the cases left out since one was kept; < 0: none was yet in this test. */
static double since_kept = -1;

static int drop_kept(void **state) {
  (void)state;
  since_kept = -1;
  scope_end(&(const void *){NULL});
  return 0;
}

void add_case(const char *name, CMUnitTestFunction function) {
  if (case_count == MAX_CASES)
    abort();
  cases[case_count++] = (struct CMUnitTest){.name = name, .test_func = function, .teardown_func = drop_kept};
}

int run_cases(CMFixtureFunction set_up, CMFixtureFunction tear_down) {
  return _cmocka_run_group_tests("tests", cases, (size_t)case_count, set_up, tear_down);
}

typedef struct probe {
  const char *name;
  void (*run)(void);
} probe;
static probe probes[MAX_CASES];
static const probe *chosen;
static int probe_count;
static const char *program;
const char *probe_argument;

void add_probe(const char *name, void (*run)(void)) {
  if (probe_count == MAX_CASES)
    abort();
  probes[probe_count++] = (probe){name, run};
}

static void run_probe(void **state) {
  (void)state;
  chosen->run();
}

void try_probe(const char *name, const char *argument, const char *variables) {
  char command[1024];
  snprintf(command, sizeof command,
           "exec env -u OMP_NUM_THREADS -u DAVIT_THREADS %s timeout %d '%s' %s '%s' >&2", variables,
           PATIENCE_S, program, name, argument);
  if (system(command) != 0)
    fail_msg("%s %s fails with %s", name, argument, variables);
}

int run_case_or_probe(int argc, char **argv, CMFixtureFunction set_up, CMFixtureFunction tear_down) {
  const struct CMUnitTest one[] = {cmocka_unit_test_teardown(run_probe, drop_kept)};
  program = argv[0];
  probe_argument = argc > 2 ? argv[2] : "";
  for (int i = 0; argc > 1 && i < probe_count; i++)
    if (strcmp(argv[1], probes[i].name) == 0)
      chosen = &probes[i];
  return chosen ? cmocka_run_group_tests(one, NULL, NULL) : run_cases(set_up, tear_down);
}

int finalize(void **state) {
  (void)state;
  return davit_finalize() == DAVIT_SUCCESS ? 0 : -1;
}

void support_check(davit_status status, const char *call, const char *file, int line) {
  if (status != DAVIT_SUCCESS) {
    print_error("%s\n  gives \"%s\": %s\n", call, davit_status_string(status), davit_last_error());
    _fail(file, line);
  }
}

void support_check_fails(davit_status status, davit_status expected, const char *words, const char *call,
                         const char *file, int line) {
  const char *sentence = davit_last_error();
  if (status == expected && *sentence && strstr(sentence, words))
    return;
  print_error("%s\n  gives \"%s\": \"%s\",\n  not \"%s\" with \"%s\"\n", call, davit_status_string(status),
              sentence, davit_status_string(expected), words);
  _fail(file, line);
}

/* ---- time and numbers ---- */

double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

double patience_ends_ms(void) {
  return now_ms() + 1e3 * (double)PATIENCE_S;
}

void sleep_ms(int milliseconds) {
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  while (nanosleep(&left, &left) != 0) {
  }
}

static double test_scale(void) {
  const char *text = getenv("DAVIT_TEST_SCALE");
  return text ? atof(text) : 1;
}

int scaled(int count) {
  int result = (int)(test_scale() * count);
  return result > 1 ? result : 1;
}

bool left_out(void) {
  static uint64_t seed = 1;
  const double least = 0.1, share = test_scale() > least ? test_scale() : least;
  const bool kept_now =
      since_kept < 0 || since_kept >= 2 || (double)random_below(&seed, 1 << 20) < share * (1 << 20);
  since_kept = kept_now ? 0 : since_kept + share;
  return !kept_now;
}

uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

int random_below(uint64_t *state, int below) {
  return (int)(next_random(state) % (uint64_t)below);
}

double random_unit(uint64_t *state) {
  return (double)(next_random(state) >> 11) * 0x1p-52 - 1;
}

/* ---- devices and places ---- */

int device_count(void) {
  int count = 0;
  CHECK(davit_device_count(&count));
  return count;
}

int all_devices(int devices[MAX_PLACES]) {
  const int count = device_count();
  for (int i = 0; i <= count; i++)
    devices[i] = i - 1; /* DAVIT_HOST is -1 */
  return count + 1;
}

int plain_devices(int devices[MAX_PLACES]) {
  enum { MOST = 16 };
  const int count = all_devices(devices);
  return count < MOST ? count : MOST;
}

int spread_devices(int devices[MAX_PLACES]) {
  int count;
  CHECK(davit_device_defaults(MAX_PLACES, devices, &count));
  return count;
}

int all_places(int places[MAX_PLACES]) {
  const int count = device_count();
  places[0] = DAVIT_PAGEABLE;
  places[1] = DAVIT_PINNED;
  for (int i = 0; i < count; i++)
    places[i + 2] = i;
  return count + 2;
}

bool two_devices(int pair[2]) {
  pair[0] = 0;
  pair[1] = 1;
  return device_count() >= 2;
}

int roomy_gpu(size_t bytes) {
  enum { UNKNOWN_BYTES = 1 << 30 };
  for (int device = 0; device < device_count(); device++) {
    size_t available = UNKNOWN_BYTES, total;
    if (place_is_host(device))
      continue;
    const davit_status status = davit_device_memory(device, &available, &total);
    if (status != DAVIT_UNSUPPORTED)
      CHECK(status);
    if (available > bytes)
      return device;
  }
  return -1;
}

int some_gpu(size_t bytes) {
  const int device = roomy_gpu(bytes);
  if (device < 0) {
    print_message("no GPU with %zu bytes\n", bytes);
    skip();
  }
  return device;
}

int place_for(int device) {
  return device == DAVIT_HOST ? DAVIT_PAGEABLE : device;
}

bool place_is_host(int place) {
  davit_device_info info;
  if (place < 0)
    return true;
  CHECK(davit_device_describe(place, &info));
  return info.kind == DAVIT_DEVICE_HOST_OFFLOAD;
}

bool simulates_amd(void) {
  const char *simulated = getenv("DAVIT_SIMULATE");
  return simulated && !strcmp(simulated, "amd");
}

bool is_gpu(int device) {
  return !place_is_host(device) && !simulates_amd();
}

davit_queue *new_queue(int device, int subqueues) {
  davit_queue *queue = NULL;
  CHECK(davit_queue_create(device, &queue, &(davit_queue_options){.subqueues = subqueues}));
  assert_non_null(queue);
  return queue;
}

void finish(davit_queue *queue) {
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_destroy(queue));
}

void destroy_queues(davit_queue **queues) {
  while (*queues)
    CHECK(davit_queue_destroy(*queues++));
}

static void drop_event(void *event) {
  CHECK(davit_event_destroy(event));
}

davit_event *new_event(void) {
  davit_event *event = NULL;
  CHECK(davit_event_create(&event));
  return keep(event, drop_event);
}

static void drop_queue(void *queue) {
  CHECK(davit_queue_destroy(queue));
}

davit_queue *kept_queue(void) {
  return keep(new_queue(DAVIT_HOST, 1), drop_queue);
}

void *new_memory(size_t bytes, int place) {
  void *memory = NULL;
  CHECK(davit_malloc(bytes, place, &memory));
  assert_non_null(memory);
  return memory;
}

davit_event_state state_of(davit_event *event) {
  davit_event_state state = DAVIT_EVENT_UNRECORDED;
  CHECK(davit_event_query(event, &state));
  return state;
}

bool becomes(davit_event *event, davit_event_state state) {
  for (double end = patience_ends_ms(); now_ms() < end; sleep_ms(1))
    if (state_of(event) == state)
      return true;
  return false;
}

/* ---- threads and work ---- */

pthread_t start_thread(void *(*body)(void *argument), void *argument) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

void *join_thread(pthread_t thread) {
  void *result = NULL;
  assert_int_equal(pthread_join(thread, &result), 0);
  return result;
}

void in_threads(int count, void *(*body)(void *argument), void *arguments, size_t bytes) {
  pthread_t threads[MAX_THREADS];
  assert_true(count <= MAX_THREADS);
  for (int i = 0; i < count; i++)
    threads[i] = start_thread(body, (char *)arguments + (size_t)i * bytes);
  for (int i = 0; i < count; i++)
    join_thread(threads[i]);
}

struct gate {
  gate *next;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int arrived, expected, later_ms;
  bool open;
};

static gate *gates;

gate *meeting_new(int expected) {
  gate *g = calloc(1, sizeof *g);
  assert_non_null(g);
  g->next = gates;
  gates = g;
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->changed, NULL);
  g->expected = expected;
  return g;
}

gate *gate_new(void) {
  return meeting_new(INT32_MAX);
}

/* With the lock held: sleeps until the gate is open or, for `count` > 0, that many have arrived. */
static bool wait_at(gate *g, int count) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += PATIENCE_S;
  int timed_out = 0;
  while (timed_out == 0 && !(count > 0 ? g->arrived >= count : g->open))
    timed_out = pthread_cond_timedwait(&g->changed, &g->lock, &end);
  return timed_out == 0;
}

davit_status gate_pass(void *argument) {
  gate *g = argument;
  pthread_mutex_lock(&g->lock);
  if (++g->arrived == g->expected)
    g->open = true;
  pthread_cond_broadcast(&g->changed);
  bool passed = wait_at(g, 0);
  int arrived = g->arrived;
  pthread_mutex_unlock(&g->lock);
  return passed ? DAVIT_SUCCESS : davit_fail(DAVIT_WORK_FAILED, "nobody opened: %d arrived", arrived);
}

void gate_open(gate *g) {
  pthread_mutex_lock(&g->lock);
  g->open = true;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->lock);
}

static void *open_later(void *argument) {
  gate *g = argument;
  sleep_ms(g->later_ms);
  gate_open(g);
  return NULL;
}

pthread_t gate_open_later(gate *g, int ms) {
  g->later_ms = ms;
  return start_thread(open_later, g);
}

bool gate_reached(gate *g, int count) {
  pthread_mutex_lock(&g->lock);
  bool reached = wait_at(g, count);
  pthread_mutex_unlock(&g->lock);
  return reached;
}

gate *gate_at_head(davit_queue *queue) {
  gate *g = gate_new();
  CHECK(davit_queue_host_function(queue, gate_pass, g));
  assert_true(gate_reached(g, 1));
  return g;
}

davit_status set_flag(void *flag) {
  atomic_store((atomic_int *)flag, 1);
  return DAVIT_SUCCESS;
}

davit_status add_one(void *counter) {
  atomic_fetch_add((atomic_int *)counter, 1);
  return DAVIT_SUCCESS;
}

davit_status take_a_nap(void *milliseconds) {
  sleep_ms((int)(intptr_t)milliseconds);
  return DAVIT_SUCCESS;
}

davit_status always_fail(void *unused) {
  (void)unused;
  return davit_fail(DAVIT_WORK_FAILED, "%s", FAILURE_WORDS);
}

bool flag_rises(atomic_int *flag) {
  for (double end = patience_ends_ms(); now_ms() < end; sleep_ms(1))
    if (atomic_load(flag))
      return true;
  return false;
}
