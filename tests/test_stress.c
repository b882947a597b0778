/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, many commands, random programs against a sequential model, storms of short lives, crowds,
 * events that are recorded while others wait for them, long chains, many queues. DAVIT_TEST_SCALE makes it
 * shorter. */
#include "tests/support.h"

/* ---- producers ---- */

enum { THREADS = 16, TICKETS = 100000, BATCH = 1000, SHARED = 4 };

/* A command that checks its predecessor of the same thread in the same sub-queue. The counter is no atomic:
 * the queue alone keeps its commands apart. */
typedef struct ticket {
  int *last, number;
  atomic_int *wrong;
} ticket;

typedef struct producer {
  davit_queue *own, *shared;
  int subqueue, count;
  int own_last, shared_last;
  atomic_int wrong;
} producer;

static davit_status take_ticket(void *argument) {
  ticket *t = argument;
  if (*t->last != t->number - 1)
    atomic_fetch_add(t->wrong, 1);
  *t->last = t->number;
  return DAVIT_SUCCESS;
}

static davit_status produce_batch(producer *p, ticket *tickets, int first, int count) {
  for (int i = 0; i < count; i++) {
    bool own = i % 2 == 0;
    tickets[i] = (ticket){own ? &p->own_last : &p->shared_last, (first + i) / 2 + 1, &p->wrong};
    DVT_TRY(davit_queue_host_function(own ? p->own : p->shared, take_ticket, &tickets[i]));
  }
  DVT_TRY(davit_queue_synchronize(p->own));
  return davit_queue_synchronize(p->shared);
}

static void *produce(void *argument) {
  producer *p = argument;
  ticket *tickets = kept(BATCH * sizeof *tickets);
  davit_status status = davit_queue_set_subqueue(p->shared, p->subqueue);
  for (int first = 0; first < p->count && status == DAVIT_SUCCESS; first += BATCH)
    status = produce_batch(p, tickets, first, p->count - first < BATCH ? p->count - first : BATCH);
  if (status != DAVIT_SUCCESS)
    atomic_fetch_add(&p->wrong, 1);
  return NULL;
}

CASE(test_many_producers) {
  int devices[MAX_PLACES], count = all_devices(devices);
  davit_queue *shared[SHARED];
  static producer producers[THREADS];
  for (int i = 0; i < SHARED; i++)
    shared[i] = new_queue(devices[i % count], 2);
  for (int i = 0; i < THREADS; i++)
    producers[i] = (producer){.own = new_queue(devices[(i + 1) % count], 1),
                              .shared = shared[i % SHARED],
                              .subqueue = i / SHARED % 2,
                              .count = scaled(TICKETS) / 2 * 2};
  in_threads(THREADS, produce, producers, sizeof *producers);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(producers[i].wrong, 0);
    assert_int_equal(producers[i].own_last, producers[i].count / 2);
    assert_int_equal(producers[i].shared_last, producers[i].count / 2);
    CHECK(davit_queue_destroy(producers[i].own));
  }
  for (int i = 0; i < SHARED; i++)
    CHECK(davit_queue_destroy(shared[i]));
}

/* ---- random programs ---- */

/* A program is a sequence of commands on cells; each command goes to a random sub-queue of eight queues, and
 * waits for exactly those earlier commands of other sub-queues that it must not overtake: the writers of what
 * it reads, the readers and writers of what it writes. The model runs the same sequence in order. */
enum { PROGRAMS = 1000, COMMANDS = 60, QUEUES = 8, MAX_SUBQUEUES = 3, MAX_CELLS = 12, WORDS = 5 };
enum { LANES = QUEUES * MAX_SUBQUEUES };

typedef struct cell {
  uint64_t *memory, model[WORDS];
  int place, writer; /* the command that wrote last, -1 if none */
  uint64_t readers;  /* those that read since, one bit for each command */
} cell;

typedef enum operation { ON_HOST, SLOWLY_ON_HOST, COPY, FILL, ON_DEVICE } operation;

typedef struct command {
  operation operation;
  cell *to, *from;
  uint64_t constant;
  int lane;
} command;

typedef struct machine {
  int devices[QUEUES], subqueues[QUEUES];
  davit_queue *queues[QUEUES];
  davit_event *lane_event[LANES], *command_event[COMMANDS];
  bool event_for_each_command; /* else one for each lane, recorded again and again */
  cell cells[MAX_CELLS];
  int cell_count;
  command commands[COMMANDS];
  uint64_t random;
} machine;

static davit_status mix_on_host(void *argument) {
  command *c = argument;
  if (c->operation == SLOWLY_ON_HOST)
    sleep_ms((int)(c->constant % 2));
  for (int i = 0; i < WORDS; i++)
    c->to->memory[i] = c->to->memory[i] * 3 + c->from->memory[i] + c->constant;
  return DAVIT_SUCCESS;
}

static davit_status mix_on_device(int device, void *argument) {
  command *c = argument;
  uint64_t *memory = c->to->memory, constant = c->constant;
#pragma omp target device(device) is_device_ptr(memory) firstprivate(constant)
  for (int i = 0; i < WORDS; i++)
    memory[i] = memory[i] * 5 + constant;
  return DAVIT_SUCCESS;
}

static void step_model(const command *c) {
  uint64_t *to = c->to->model;
  for (int i = 0; i < WORDS; i++)
    switch (c->operation) {
    case ON_HOST:
    case SLOWLY_ON_HOST:
      to[i] = to[i] * 3 + c->from->model[i] + c->constant;
      break;
    case COPY:
      to[i] = c->from->model[i];
      break;
    case FILL:
      memset(&to[i], (int)(c->constant & 0xff), sizeof *to);
      break;
    case ON_DEVICE:
      to[i] = to[i] * 5 + c->constant;
    }
}

static cell *random_cell(machine *m, bool host) {
  for (;;) {
    cell *found = &m->cells[random_below(&m->random, m->cell_count)];
    if (!host || found->place < 0)
      return found;
  }
}

static int random_lane(machine *m) {
  int queue = random_below(&m->random, QUEUES);
  return queue * MAX_SUBQUEUES + random_below(&m->random, m->subqueues[queue]);
}

static command random_command(machine *m) {
  static const operation mixture[] = {ON_HOST, ON_HOST, SLOWLY_ON_HOST, COPY,     COPY,
                                      COPY,    FILL,    ON_DEVICE,      ON_DEVICE};
  command c = {.operation = mixture[random_below(&m->random, COUNT(mixture))], .lane = random_lane(m)};
  bool host = c.operation == ON_HOST || c.operation == SLOWLY_ON_HOST;
  c.constant = next_random(&m->random);
  c.to = random_cell(m, host);
  do
    c.from = random_cell(m, host);
  while (c.from == c.to);
  if (c.operation == ON_DEVICE) /* on a cell that the lane's device reaches */
    for (int place = place_for(m->devices[c.lane / MAX_SUBQUEUES]); c.to->place != place;)
      c.to = random_cell(m, false);
  return c;
}

static void enqueue_operation(davit_queue *queue, command *c) {
  switch (c->operation) {
  case ON_HOST:
  case SLOWLY_ON_HOST:
    CHECK(davit_queue_host_function(queue, mix_on_host, c));
    break;
  case COPY:
    CHECK(davit_queue_copy(queue, sizeof c->to->model, c->from->memory, c->to->memory));
    break;
  case FILL:
    CHECK(davit_queue_fill(queue, sizeof c->to->model, (int)(c->constant & 0xff), c->to->memory));
    break;
  case ON_DEVICE:
    CHECK(davit_queue_region(queue, mix_on_device, c));
  }
}

static bool reads(const command *c) {
  return c->operation != FILL && c->operation != ON_DEVICE;
}

/* The earlier commands that this one must not overtake, one bit each. */
static uint64_t predecessors(const command *c) {
  uint64_t found = c->to->readers;
  if (c->to->writer >= 0)
    found |= UINT64_C(1) << c->to->writer;
  if (reads(c) && c->from->writer >= 0)
    found |= UINT64_C(1) << c->from->writer;
  return found;
}

static void note_accesses(command *c, int number) {
  c->to->writer = number;
  c->to->readers = 0;
  if (reads(c))
    c->from->readers |= UINT64_C(1) << number;
}

static void enqueue(machine *m, int number) {
  command *c = &m->commands[number];
  *c = random_command(m);
  davit_queue *queue = m->queues[c->lane / MAX_SUBQUEUES];
  CHECK(davit_queue_set_subqueue(queue, c->lane % MAX_SUBQUEUES));
  uint64_t before = predecessors(c);
  for (int i = 0; i < number; i++)
    if (before >> i & 1 && m->commands[i].lane != c->lane)
      CHECK(davit_queue_wait(queue, m->event_for_each_command ? m->command_event[i]
                                                              : m->lane_event[m->commands[i].lane]));
  enqueue_operation(queue, c);
  step_model(c);
  note_accesses(c, number);
  CHECK(davit_event_record(m->event_for_each_command ? m->command_event[number] : m->lane_event[c->lane],
                           queue));
}

static void run_program(machine *m, int program) {
  m->random = (uint64_t)program;
  m->event_for_each_command = program % 2 == 0;
  for (int i = 0; i < m->cell_count; i++) {
    cell *x = &m->cells[i];
    x->writer = -1;
    x->readers = 0;
    for (int w = 0; w < WORDS; w++)
      x->model[w] = next_random(&m->random);
    CHECK(davit_copy(sizeof x->model, x->model, x->memory));
  }
  for (int i = 0; i < COMMANDS; i++)
    enqueue(m, i);
  for (int i = 0; i < QUEUES; i++)
    CHECK(davit_queue_synchronize(m->queues[i]));
  for (int i = 0; i < m->cell_count; i++) {
    uint64_t found[WORDS];
    CHECK(davit_copy(sizeof found, m->cells[i].memory, found));
    if (memcmp(found, m->cells[i].model, sizeof found) != 0) {
      print_error("program %d: cell %d at place %d is wrong\n", program, i, m->cells[i].place);
      fail();
    }
  }
  for (int i = 0; i < COMMANDS; i++)
    CHECK(davit_event_soft_reset(m->command_event[i])); /* the next program takes it to another device */
}

static void set_up(machine *m) {
  int devices[MAX_PLACES], count = all_devices(devices), places[MAX_PLACES], place_count = all_places(places);
  memset(m, 0, sizeof *m);
  for (int i = 0; i < QUEUES; i++) {
    m->devices[i] = devices[i % count];
    m->subqueues[i] = 1 + i % MAX_SUBQUEUES;
    m->queues[i] = new_queue(m->devices[i], m->subqueues[i]);
  }
  for (int i = 0; i < LANES; i++)
    m->lane_event[i] = new_event();
  for (int i = 0; i < COMMANDS; i++)
    m->command_event[i] = new_event();
  m->cell_count = 2 * place_count < MAX_CELLS ? 2 * place_count : MAX_CELLS;
  for (int i = 0; i < m->cell_count; i++) {
    m->cells[i].place = places[i % place_count];
    m->cells[i].memory = kept_at(sizeof m->cells[i].model, m->cells[i].place);
  }
}

static void tear_down(machine *m) {
  for (int i = 0; i < QUEUES; i++)
    CHECK(davit_queue_destroy(m->queues[i]));
}

CASE(test_random_programs) {
  static machine m;
  int programs = scaled(PROGRAMS);
  set_up(&m);
  for (int i = 0; i < programs; i++)
    run_program(&m, i);
  tear_down(&m);
}

/* ---- storms ---- */

enum { STORM_THREADS = 4, LIVES = 400 };

typedef struct storm {
  uint64_t random;
  int lives, wrong;
  atomic_int ran, expected;
  atomic_int *stop;
} storm;

static davit_status destroy_from_inside(void *queue) {
  return davit_queue_destroy(queue);
}

static davit_status one_life(storm *s, const int *devices, int count) {
  davit_queue *a = NULL, *b = NULL;
  davit_event *event = NULL;
  DVT_TRY(davit_queue_create(devices[random_below(&s->random, count)], &a,
                             &(davit_queue_options){.subqueues = 1 + random_below(&s->random, 3)}));
  DVT_TRY(davit_queue_create(devices[random_below(&s->random, count)], &b, NULL));
  DVT_TRY(davit_event_create(&event));
  int commands = random_below(&s->random, 8), subqueue = 0;
  for (int i = 0; i < commands; i++) {
    DVT_TRY(davit_queue_request_subqueue(a, &subqueue));
    DVT_TRY(davit_queue_host_function(a, add_one, &s->ran));
  }
  DVT_TRY(davit_event_record(event, a));
  DVT_TRY(davit_queue_wait(b, event));
  DVT_TRY(davit_queue_host_function(b, add_one, &s->ran));
  DVT_TRY(davit_event_destroy(event));
  if (random_below(&s->random, 2))
    DVT_TRY(davit_queue_host_function(a, destroy_from_inside, b));
  else
    DVT_TRY(davit_queue_destroy(b));
  DVT_TRY(davit_queue_destroy(a));
  atomic_fetch_add(&s->expected, commands + 1);
  return DAVIT_SUCCESS;
}

static void *live_and_die(void *argument) {
  storm *s = argument;
  int devices[MAX_PLACES], count = 0;
  s->wrong += davit_device_count(&count) != DAVIT_SUCCESS;
  for (int i = 0; i <= count; i++)
    devices[i] = i - 1;
  for (int i = 0; i < s->lives; i++)
    s->wrong += one_life(s, devices, count + 1) != DAVIT_SUCCESS;
  return NULL;
}

static void *look_around(void *argument) {
  storm *s = argument;
  int count = 0;
  s->wrong += davit_device_count(&count) != DAVIT_SUCCESS;
  while (!atomic_load(s->stop))
    for (int d = DAVIT_HOST; d < count; d++)
      s->wrong += davit_device_synchronize(d) != DAVIT_SUCCESS || davit_device_check(d) != DAVIT_SUCCESS;
  return NULL;
}

/* Queues and events are made and destroyed, some queues by the work of others, while another thread
 * synchronises all devices all the time. */
CASE(test_storm) {
  storm storms[STORM_THREADS + 1];
  pthread_t threads[STORM_THREADS + 1];
  atomic_int stop = 0;
  for (int i = 0; i <= STORM_THREADS; i++) {
    storms[i] = (storm){.random = (uint64_t)i, .lives = scaled(LIVES), .stop = &stop};
    threads[i] = start_thread(i < STORM_THREADS ? live_and_die : look_around, &storms[i]);
  }
  for (int i = 0; i <= STORM_THREADS; i++) {
    if (i == STORM_THREADS)
      atomic_store(&stop, 1);
    join_thread(threads[i]);
    assert_int_equal(storms[i].wrong, 0);
    assert_int_equal(storms[i].ran, storms[i].expected);
  }
}

/* ---- crowds ---- */

/* The task graph's generator takes whatever has arrived as one batch. A backlog keeps it busy while the
 * crowd's commands arrive, so that they are one batch, with more segments than libomp keeps ready (256):
 * further ones run where they are generated, and queues behind them end while their batch is still in the
 * making. */
enum { CROWDS = 5, CROWD_SUBQUEUES = 64, BACKLOG = 20000, CLOSERS = 8 };

static void enqueue_backlog(davit_queue *held, davit_event *event) {
  for (int i = 0; i < BACKLOG; i++)
    CHECK(davit_event_record(event, held));
}

static void *destroy_from_thread(void *queue) {
  return (void *)(intptr_t)davit_queue_destroy(queue);
}

CASE(test_queues_end_within_a_batch) {
  davit_queue *held = new_queue(DAVIT_HOST, 1), *crowd[CROWDS], *closed[CLOSERS];
  davit_event *event = new_event();
  pthread_t closers[CLOSERS];
  atomic_int done = 0;
  for (int i = 0; i < CROWDS; i++)
    crowd[i] = new_queue(DAVIT_HOST, CROWD_SUBQUEUES);
  for (int i = 0; i < CLOSERS; i++)
    closed[i] = new_queue(DAVIT_HOST, 1);
  gate *g = gate_at_head(held);
  enqueue_backlog(held, event);
  for (int i = 0; i < CROWDS * CROWD_SUBQUEUES; i++) {
    CHECK(davit_queue_set_subqueue(crowd[i / CROWD_SUBQUEUES], i % CROWD_SUBQUEUES));
    CHECK(davit_event_record(event, crowd[i / CROWD_SUBQUEUES]));
  }
  for (int i = 0; i < CLOSERS; i++) {
    CHECK(davit_queue_host_function(closed[i], add_one, &done));
    closers[i] = start_thread(destroy_from_thread, closed[i]);
  }
  enqueue_backlog(held, event);
  for (int i = 0; i < CLOSERS; i++) {
    assert_int_equal((intptr_t)join_thread(closers[i]), DAVIT_SUCCESS);
  }
  assert_int_equal(done, CLOSERS);
  gate_open(g);
  CHECK(davit_queue_destroy(held));
  for (int i = 0; i < CROWDS; i++)
    CHECK(davit_queue_destroy(crowd[i]));
}

/* ---- an event that is recorded again while others wait for it ---- */

enum { RECORDINGS = 20000, WAITERS = 3 };

typedef struct churn {
  davit_event *event;
  atomic_int ran, recorded, wrong;
  atomic_bool over;
} churn;

typedef struct check_later {
  churn *c;
  int least;
} check_later;

/* What had been recorded when the wait was enqueued has run before. */
static davit_status check_ran(void *argument) {
  check_later *later = argument;
  if (atomic_load(&later->c->ran) < later->least)
    atomic_fetch_add(&later->c->wrong, 1);
  free(later);
  return DAVIT_SUCCESS;
}

static davit_status wait_once(churn *c, davit_queue *queue, uint64_t *random) {
  const int least = atomic_load(&c->recorded);
  davit_event_state state;
  switch (random_below(random, 3)) {
  case 0:
    DVT_TRY(davit_event_synchronize(c->event));
    return atomic_load(&c->ran) >= least ? DAVIT_SUCCESS : davit_fail(DAVIT_WORK_FAILED, "too early");
  case 1: {
    check_later *later = malloc(sizeof *later);
    *later = (check_later){c, least};
    DVT_TRY(davit_queue_wait(queue, c->event));
    return davit_queue_host_function(queue, check_ran, later);
  }
  default:
    return davit_event_query(c->event, &state);
  }
}

static void *wait_all_the_time(void *argument) {
  churn *c = *(churn **)argument;
  uint64_t random = 3;
  davit_queue *queue = NULL;
  davit_status status = davit_queue_create(DAVIT_HOST, &queue, &(davit_queue_options){.subqueues = 2});
  while (status == DAVIT_SUCCESS && !atomic_load(&c->over))
    status = wait_once(c, queue, &random);
  const davit_status end = davit_queue_destroy(queue);
  atomic_fetch_add(&c->wrong, status != DAVIT_SUCCESS || end != DAVIT_SUCCESS);
  return NULL;
}

CASE(test_events_are_recorded_while_waited_for) {
  churn c = {.event = new_event()};
  churn *same[WAITERS] = {&c, &c, &c};
  pthread_t waiters[WAITERS];
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  for (int i = 0; i < WAITERS; i++)
    waiters[i] = start_thread(wait_all_the_time, &same[i]);
  for (int i = 0; i < scaled(RECORDINGS); i++) {
    CHECK(davit_queue_host_function(queue, add_one, &c.ran));
    CHECK(davit_event_record(c.event, queue));
    atomic_store(&c.recorded, i + 1);
    if (i % 1000 == 999)
      CHECK(davit_queue_synchronize(queue));
  }
  atomic_store(&c.over, true);
  for (int i = 0; i < WAITERS; i++)
    join_thread(waiters[i]);
  assert_int_equal(c.wrong, 0);
  CHECK(davit_queue_destroy(queue));
}

/* ---- long chains, many queues ---- */

enum { CHAIN = 1000000, CHAIN_QUEUES = 3, PENDING = 50000, QUEUES_AT_ONCE = 10000 };

typedef struct link_of_chain {
  int *last, number;
  atomic_int *wrong;
} link_of_chain;

static davit_status follow(void *argument) {
  link_of_chain *l = argument;
  if (*l->last != l->number - 1)
    atomic_fetch_add(l->wrong, 1);
  *l->last = l->number;
  return DAVIT_SUCCESS;
}

/* Each step waits for the one before, on another queue; the counter is no atomic. */
CASE(test_chain_of_a_million_steps) {
  const int steps = scaled(scaled(CHAIN)); /* shorter still where tests are to be short */
  link_of_chain *links = kept(PENDING * sizeof *links);
  davit_queue *queue[CHAIN_QUEUES];
  davit_event *event = new_event();
  atomic_int wrong = 0;
  int last = 0;
  for (int i = 0; i < CHAIN_QUEUES; i++)
    queue[i] = new_queue(DAVIT_HOST, 1);
  for (int i = 0; i < steps; i++) {
    davit_queue *here = queue[i % CHAIN_QUEUES];
    if (i % PENDING == 0) /* their links are free again */
      CHECK(davit_event_synchronize(event));
    links[i % PENDING] = (link_of_chain){&last, i + 1, &wrong};
    CHECK(davit_queue_wait(here, event));
    CHECK(davit_queue_host_function(here, follow, &links[i % PENDING]));
    CHECK(davit_event_record(event, here));
  }
  CHECK(davit_event_synchronize(event));
  assert_int_equal(wrong, 0);
  assert_int_equal(last, steps);
  for (int i = 0; i < CHAIN_QUEUES; i++)
    CHECK(davit_queue_destroy(queue[i]));
}

/* One chain through thousands of queues that are alive at once, behind a gate. With a thread for each, as in
 * the back end "threads", fewer have to do. */
CASE(test_ten_thousand_queues) {
  const bool threads = strcmp(davit_backend_string(), "threads") == 0;
  const int count = scaled(threads ? QUEUES_AT_ONCE / 20 : QUEUES_AT_ONCE);
  int devices[MAX_PLACES], device_total = all_devices(devices), last = 0;
  davit_queue **queue = kept((size_t)count * sizeof(davit_queue *));
  link_of_chain *links = kept((size_t)count * sizeof *links);
  davit_event *event = new_event();
  atomic_int wrong = 0;
  for (int i = 0; i < count; i++)
    queue[i] = new_queue(devices[i % device_total], 1);
  gate *g = gate_at_head(queue[0]);
  for (int i = 0; i < count; i++) {
    links[i] = (link_of_chain){&last, i + 1, &wrong};
    CHECK(davit_queue_wait(queue[i], event));
    CHECK(davit_queue_host_function(queue[i], follow, &links[i]));
    CHECK(davit_event_soft_reset(event)); /* it goes to another device */
    CHECK(davit_event_record(event, queue[i]));
  }
  gate_open(g);
  CHECK(davit_event_synchronize(event));
  assert_int_equal(wrong, 0);
  assert_int_equal(last, count);
  for (int i = count - 1; i >= 0; i--)
    CHECK(davit_queue_destroy(queue[i]));
}
