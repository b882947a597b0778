/* SPDX-License-Identifier: Apache-2.0 */
/* Every public function where a thread or the process ends (docs/threads.md): no call is a cancellation point, and the
 * thread that ends the process may make every call in an exit handler that comes after davit's, in the queue and on the
 * objects that it has. */
#include "tests/interface.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

enum { ALARM_S = 60 };

static void say(const row *r, const char *what) {
  fprintf(stderr, "%s: %s: \"%s\"\n", r->name, what, davit_last_error());
  _exit(1);
}

/* ---- threads that are cancelled ---- */

/* They are refused when the process ends. */
static bool has_regions(const row *r) {
  return strcmp(r->name, "davit_queue_region_nowait") == 0;
}

static bool takes_long(const row *r) {
  return strcmp(r->name, "davit_level3_measure") == 0;
}

static const row *called;
static atomic_bool has_returned;

static davit_status call(const row *r) {
  called = r;
  begin_call(-1, 0);
  return r->call();
}

static void *call_when_cancelled(void *unused) {
  pthread_cancel(pthread_self());
  (void)call(called);
  has_returned = true;
  pthread_testcancel();
  return unused;
}

static void call_all_when_cancelled(void) {
  EACH_ROW(r) {
    if (takes_long(r) && scaled(10) < 10)
      continue;
    called = r; /* before the thread is made */
    has_returned = false;
    fill_memory();
    const pthread_t thread = start_thread(call_when_cancelled, NULL);
    const void *result = join_thread(thread);
    if (!has_returned)
      say(r, "the call did not return to a thread that is cancelled");
    if (result != PTHREAD_CANCELED)
      say(r, "the thread was not cancelled after the call");
    davit_queue_synchronize(calls_queue);
  }
}

static void *start_when_cancelled(void *unused) {
  double x[3] = {1, 2, 3}, sum = 0;
  pthread_cancel(pthread_self());
  has_returned = davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, 3, x, &sum, NULL) == DAVIT_SUCCESS && sum == 6;
  pthread_testcancel();
  return unused;
}

PROBE(no_call_is_a_cancellation_point) {
  alarm(ALARM_S);
  assert_ptr_equal(join_thread(start_thread(start_when_cancelled, NULL)), PTHREAD_CANCELED);
  assert_true(has_returned);
  open_calls(NULL);
  call_all_when_cancelled();
  close_calls(NULL);
}

/* ---- exit handlers ---- */

static davit_status statuses[COUNT(rows)];

/* Which call it was, and where, as there is no debugger on most machines with GPUs. */
static void say_where(int number) {
  enum { FRAMES = 60 };
  void *frames[FRAMES];
  static const char text[] = " is the call that has crashed\n";
  signal(number, SIG_DFL);
  (void)!write(STDERR_FILENO, called->name, strlen(called->name));
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
}

static void call_all_again(void) {
  EACH_ROW(r) {
    if (takes_long(r))
      continue;
    fill_memory();
    const davit_status status = call(r);
    if (status != (has_regions(r) ? DAVIT_UNSUPPORTED : statuses[r - rows]))
      say(r, "another status in an exit handler");
    if (davit_queue_synchronize(calls_queue) != DAVIT_SUCCESS)
      say(r, "the queue fails in an exit handler");
  }
}

PROBE(every_call_may_come_in_an_exit_handler) {
  alarm(ALARM_S);
  signal(SIGSEGV, say_where);
  signal(SIGABRT, say_where);
  atexit(call_all_again);
  open_calls(NULL);
  EACH_ROW(r) {
    if (takes_long(r))
      continue;
    fill_memory();
    statuses[r - rows] = call(r);
    CHECK(davit_queue_synchronize(calls_queue));
  }
  exit(0);
}

CASE(threads_are_cancelled_between_calls) {
  try_probe("no_call_is_a_cancellation_point", "", "");
}

CASE(the_ending_thread_computes) {
  try_probe("every_call_may_come_in_an_exit_handler", "", "");
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, finalize);
}
