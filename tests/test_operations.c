/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on every path against their references (tests/operations.h): the queue of a device, plain forms over
 * devices where their operands lie, and plain forms that are split though they need not be; with and without the
 * vendor's BLAS, with tuned and with short chunks, with any set of the CPU's instructions, operands at any place. What
 * surrounds the operands and what is only read must stay as it was, to the last byte.
 *
 * A case is drawn by the seed (DAVIT_TEST_SEED, 1 where it is not set), the row and its number; each takes every kind
 * of path once. One that fails prints a line that says how to repeat it alone. */
#include "tests/operations.h"

#define ADDRESS(name) &name##_operation,
static const operation *const rows[] = {EACH_OPERATION(ADDRESS)};

/* ---- paths ---- */

typedef enum kind { QUEUE, PLAIN, SPLIT, PARTS, KINDS } kind;

typedef struct path {
  kind kind;
  int queue; /* a device */
  int places[OPERANDS], devices[MAX_PLACES], count;
  int64_t begin[MAX_PARTS + 1];
  bool target, shortest;
  int cpu;
} path;

static void draw_places(path *p, const operation *row, uint64_t *seed) {
  int all[MAX_PLACES];
  const int count = all_places(all), one = all[random_below(seed, count)];
  const bool together = p->kind == PARTS || random_below(seed, 3) == 0;
  for (int i = 0; i < row->operands; i++) {
    const bool result = row->results >> i & 1;
    p->places[i] = p->kind == QUEUE ? place_for(p->queue) : together ? one : all[random_below(seed, count)];
    if (result && (p->kind == PARTS || (p->kind == QUEUE && random_below(seed, 2))))
      p->places[i] = all[random_below(seed, 2)];
    if (row->near >> i & 1)
      p->places[i] = all[random_below(seed, 2)];
  }
}

/* The default devices, some of them, the host with all devices, or one. */
static void draw_devices(path *p, uint64_t *seed) {
  switch (random_below(seed, 4)) {
  case 0:
    break;
  case 1:
    p->count = 1 + random_below(seed, spread_devices(p->devices));
    break;
  case 2:
    p->count = plain_devices(p->devices);
    break;
  default:
    p->devices[0] = random_below(seed, device_count() + 1) + DAVIT_HOST;
    p->count = 1;
  }
}

/* Some parts are empty. */
static void draw_parts(path *p, const trial *t, uint64_t *seed) {
  p->count = 1 + random_below(seed, MAX_PARTS);
  for (int i = 1; i < p->count; i++)
    p->begin[i] =
        p->begin[i - 1] + random_below(seed, 2) * random_below(seed, (int)(t->size[0] - p->begin[i - 1]) + 1);
  p->begin[p->count] = t->size[0];
}

static path draw_path(const trial *t, kind which, uint64_t *seed) {
  path p = {.kind = which, .queue = NO_DEVICE, .cpu = DVT_CPU_COUNT - 1};
  if (which == QUEUE)
    p.queue = random_below(seed, device_count() + 1) + DAVIT_HOST;
  else if (which == PARTS)
    draw_parts(&p, t, seed);
  else
    draw_devices(&p, seed);
  draw_places(&p, t->row, seed);
  p.target = random_below(seed, 3) == 0;
  p.shortest = which == SPLIT && t->row->tunable && random_below(seed, 2);
  if (random_below(seed, 4) == 0)
    p.cpu = random_below(seed, DVT_CPU_COUNT);
  return p;
}

/* What the path wants of the whole process; without one as it was. */
static void set_path(const trial *t, const path *p) {
  dvt_split_always(p && p->kind == SPLIT);
  dvt_cpu_allow(p ? (dvt_cpu)p->cpu : DVT_CPU_COUNT - 1);
  if (p && p->target)
    assert_int_equal(setenv("DAVIT_BLAS", "target", 1), 0);
  else
    unsetenv("DAVIT_BLAS");
  davit_tuning_clear();
  for (int device = DAVIT_HOST; p && p->shortest && device < device_count(); device++)
    CHECK(davit_tuning_set(device, t->row->name, t->row->tunable, t->row->shortest, 0));
}

/* ---- one case ---- */

static struct {
  bool now; /* a case runs: this one */
  trial t;
  path p;
  davit_queue *queue[MAX_PLACES]; /* of all devices */
} running;

static void begin_case(const trial *t, const path *p) {
  running.now = true;
  running.t = *t;
  running.p = *p;
}

static uint64_t first_seed(void) {
  const char *text = getenv("DAVIT_TEST_SEED");
  return text ? strtoull(text, NULL, 10) : 1;
}

static void print_list(const char *name, const int *list, int count) {
  printf(", %s", name);
  for (int i = 0; i < count; i++)
    printf(" %d", list[i]);
}

static void print_trial(const trial *t) {
  const int64_t *n = t->size, *step = t->step;
  printf("case: DAVIT_TEST_SEED=%llu DAVIT_TEST_CASE=%d of %s: %s, which %d, flags \"%.6s\"%s",
         (unsigned long long)first_seed(), t->number, t->row->name, davit_type_string(t->type), t->which,
         t->flag, t->lower_case ? " in lower case" : "");
  printf(", sizes %lld %lld %lld, steps %lld %lld %lld %lld", (long long)n[0], (long long)n[1],
         (long long)n[2], (long long)step[0], (long long)step[1], (long long)step[2], (long long)step[3]);
  print_list("shifts", t->shift, OPERANDS);
  printf(", alpha %g%+gi, beta %g%+gi, tile %lld, slots %d, %s, written %x; ", creal(t->alpha),
         cimag(t->alpha), creal(t->beta), cimag(t->beta), (long long)t->tile, t->slots,
         t->in_place ? "in place" : "out of place", t->written);
}

static void print_path(const path *p, int operands) {
  static const char *const names[KINDS] = {"queue of device", "plain form", "split", "parts"};
  printf("%s %d", names[p->kind], p->kind == QUEUE ? p->queue : p->count);
  print_list("devices", p->devices, p->kind == PARTS ? 0 : p->count);
  print_list("places", p->places, operands);
  printf("%s%s, CPU %d\n", p->target ? ", DAVIT_BLAS=target" : "", p->shortest ? ", short chunks" : "",
         p->cpu);
}

/* Says which case has not come to its end. */
static void end_watch(void *unused) {
  (void)unused;
  for (int i = 0; i < MAX_PLACES; i++)
    davit_queue_destroy(running.queue[i]);
  if (!running.now)
    return;
  set_path(&running.t, NULL);
  print_trial(&running.t);
  print_path(&running.p, running.t.row->operands);
}

static void call(const trial *t, const path *p, const dense *o, davit_queue *queue) {
  CHECK(p->kind == PARTS ? t->row->parts(t, o, p->count, p->begin)
                         : t->row->call(t, o, queue, p->count ? p->devices : NULL, p->count));
  if (queue)
    CHECK(davit_queue_synchronize(queue));
}

static void run(const trial *t, const path *p) {
  SCOPE;
  dense o[OPERANDS];
  begin_case(t, p);
  t->row->make(t, p->places, o);
  set_path(t, p);
  call(t, p, o, p->kind == QUEUE ? running.queue[p->queue - DAVIT_HOST] : NULL);
  take_all(t, o);
  t->row->expect(t, o);
  set_path(t, NULL);
  running.now = false;
}

/* The reference itself. */
static void run_reference(const trial *t, const path *p) {
  SCOPE;
  dense o[OPERANDS];
  begin_case(t, p);
  t->row->make(t, pageable, o);
  if (t->row->refer(t, o)) {
    take_all(t, o);
    t->row->expect(t, o);
  }
  running.now = false;
}

static trial draw_trial(const operation *row, int number, uint64_t *seed) {
  trial t = {.row = row, .number = number};
  *seed = first_seed();
  for (const char *c = row->name; *c; c++)
    *seed = next_random(seed) + (uint64_t)*c;
  *seed = next_random(seed) + (uint64_t)number;
  t.data = next_random(seed) | 64;
  row->draw(&t, seed);
  return t;
}

/* What fails from now on is reported. */
static void watch(void) {
  static int nothing;
  memset(&running, 0, sizeof running);
  keep(&nothing, end_watch);
}

static void sweep(const operation *row) {
  const char *only = getenv("DAVIT_TEST_CASE");
  const int count = scaled(row->cases) > row->least ? scaled(row->cases) : row->least;
  const int first = only ? atoi(only) : 0, end = only ? first + 1 : count;
  watch();
  EACH_DEVICE(device)
    running.queue[device - DAVIT_HOST] = new_queue(device, 1);
  for (int number = first; number < end; number++) {
    uint64_t seed;
    const trial t = draw_trial(row, number, &seed);
    for (kind which = QUEUE; which < (row->parts ? KINDS : PARTS); which++) {
      const path p = draw_path(&t, which, &seed);
      run(&t, &p);
      if (which == QUEUE && row->refer && number % 4 == 0)
        run_reference(&t, &p);
    }
  }
}

#define SWEEP(name)                                                                                          \
  CASE(name) {                                                                                               \
    sweep(&name##_operation);                                                                                \
  }
EACH_OPERATION(SWEEP)

/* ---- the same call again ---- */

/* The next case, from `number` on, that is neither short nor longer than `most`. */
static trial middling(const operation *row, int *number, int64_t most, uint64_t *seed) {
  trial t;
  do
    t = draw_trial(row, (*number)++, seed);
  while (t.size[0] < 30 || t.size[0] > most);
  return t;
}

/* What was written becomes what it was before the call. */
static void reset_all(const trial *t, const dense *o) {
  for (int i = 0; i < t->row->operands; i++)
    if (is_written(t, i))
      CHECK(davit_copy(o[i].bytes, o[i].before ? o[i].before : o[i].image, o[i].there));
}

static void call_again(const trial *t, const path *p, davit_queue *queue) {
  SCOPE;
  dense o[OPERANDS];
  begin_case(t, p);
  t->row->make(t, p->places, o);
  call(t, p, o, queue);
  take_all(t, o);
  for (int repeat = scaled(100); repeat > 0; repeat--) {
    reset_all(t, o);
    call(t, p, o, queue);
    for (int i = 0; i < t->row->operands; i++)
      assert_true(dense_as_image(&o[i]));
  }
  running.now = false;
}

CASE(repeated_calls) {
  watch();
  for (int r = 0; r < COUNT(rows); r++)
    EACH_DEVICE(device) {
      int number = device + 1;
      uint64_t seed;
      davit_queue *queue = new_queue(device, 1);
      for (int turn = 0; turn < 2; turn++) {
        const trial t = middling(rows[r], &number, 5000, &seed);
        path p = {.kind = QUEUE, .queue = device};
        draw_places(&p, rows[r], &seed);
        call_again(&t, &p, queue);
      }
      finish(queue);
    }
}

/* ---- several callers ---- */

enum { CALLERS = 4 };

/* A caller has operands of its own for each row. */
typedef struct caller {
  int number;
  trial t[COUNT(rows)];
  dense o[COUNT(rows)][OPERANDS];
  davit_status status;
} caller;

/* Every row, beginning with another one in each thread. */
static void *call_all(void *argument) {
  caller *me = argument;
  for (int turn = 0; turn < COUNT(rows); turn++) {
    const int r = (turn + me->number) % COUNT(rows);
    const davit_status status = rows[r]->call(&me->t[r], me->o[r], NULL, NULL, 0);
    me->status = status == DAVIT_SUCCESS ? me->status : status;
  }
  return NULL;
}

/* Threads that call at the same time get the bits that a single one gets. */
CASE(several_callers) {
  for (int turn = 0; turn < scaled(20); turn++) {
    SCOPE;
    caller *callers = kept_zeros((CALLERS + 1) * sizeof *callers);
    for (int c = 0; c <= CALLERS; c++) {
      callers[c].number = c;
      for (int r = 0; r < COUNT(rows); r++) {
        int number = 7 * turn;
        uint64_t seed;
        callers[c].t[r] = middling(rows[r], &number, 300000, &seed);
        rows[r]->make(&callers[c].t[r], pageable, callers[c].o[r]);
      }
    }
    call_all(&callers[CALLERS]);
    in_threads(CALLERS, call_all, callers, sizeof *callers);
    for (int c = 0; c < CALLERS; c++) {
      CHECK(callers[c].status);
      for (int r = 0; r < COUNT(rows); r++)
        for (int i = 0; i < rows[r]->operands; i++)
          assert_memory_equal(callers[c].o[r][i].there, callers[CALLERS].o[r][i].there,
                              callers[c].o[r][i].bytes);
    }
  }
}

/* ---- failures ---- */

typedef struct attempt {
  trial t;
  path p;
  dense o[OPERANDS];
} attempt;

static davit_status call_split(void *argument) {
  attempt *a = argument;
  reset_all(&a->t, a->o);
  dvt_split_always(true);
  const davit_status status = a->t.row->call(&a->t, a->o, NULL, a->p.devices, a->p.count);
  dvt_split_always(false);
  return status;
}

/* Every failure on the host and all devices; then the result is right. */
CASE(failures) {
  watch();
  for (int r = 0; r < COUNT(rows); r++) {
    SCOPE;
    int number = 0;
    uint64_t seed;
    attempt a = {.t = middling(rows[r], &number, 5000, &seed), .p.kind = SPLIT};
    a.p.count = plain_devices(a.p.devices);
    rows[r]->make(&a.t, pageable, a.o);
    begin_case(&a.t, &a.p);
    fail_everywhere(call_split, &a);
    take_all(&a.t, a.o);
    rows[r]->expect(&a.t, a.o);
    running.now = false;
  }
}
