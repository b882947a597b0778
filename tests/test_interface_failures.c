/* SPDX-License-Identifier: Apache-2.0 */
/* Where memory, a thread or a device fails, every public function says so, with a status and a sentence, and the next
 * call works. */
#include "tests/interface.h"

static void judge(const row *r, int kind, int n, davit_status status, davit_status usual) {
  if (status != usual && (!*davit_last_error() || !may_fail_so((dvt_injection)kind, status)))
    fail_msg("%s: injection %d, passage %d: %s: \"%s\"", r->name, kind, n, davit_status_string(status),
             davit_last_error());
}

/* The n-th passage fails in a call of a library that has just been started, so its pools are empty. The call,
 * or its queue, says so, or the call does without; the next call does what it would have done. */
static bool fail_row(const row *r, int kind, int n, davit_status usual) {
  bool armed = false;
  close_calls(NULL);
  open_calls(NULL);
  begin_call(-1, 0);
  dvt_inject((dvt_injection)kind, n);
  const davit_status status = r->call();
  judge(r, kind, n, status, usual);
  dvt_error_clear();
  const davit_status later = davit_queue_synchronize(calls_queue);
  judge(r, kind, n, later, DAVIT_SUCCESS);
  if (status == DAVIT_SUCCESS && later == DAVIT_SUCCESS && seen.words > 0 && !results_are_as_remembered())
    fail_msg("%s: injection %d, passage %d: success with other results", r->name, kind, n);
  for (int i = 0; i < n && !armed; i++)
    armed = dvt_injected((dvt_injection)kind);
  dvt_inject((dvt_injection)kind, 0);
  const davit_status again = perform(r, -1, 0);
  if (again != usual)
    fail_msg("%s: injection %d, passage %d: afterwards \"%s\"", r->name, kind, n, davit_last_error());
  return !armed;
}

/* Every passage of every function fails: a status and a sentence, and nothing leaks. */
CASE(test_failures) {
  int failures[DVT_INJECTIONS] = {0};
  options_mode = OPTIONS_NULL;
  EACH_ROW(r) {
    if (!strcmp(r->name, "davit_level3_measure")) /* measures for seconds at each passage */
      continue;
    const davit_status usual = perform(r, -1, 0);
    remember_results();
    for (int kind = 0; kind < DVT_INJECTIONS; kind++)
      for (int n = 1; kind != DVT_INJECT_UNPACK && fail_row(r, kind, n, usual); n++)
        failures[kind]++;
  }
  for (int kind = 0; kind < DVT_INJECTIONS; kind++) {
    print_message("injection %d: %d failures\n", kind, failures[kind]);
    assert_true(failures[kind] > 0 ||
                kind == DVT_INJECT_UNPACK); /* which happens once in the life of a process */
  }
}

int main(void) {
  return run_cases(open_calls, close_calls);
}
