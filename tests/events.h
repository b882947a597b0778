/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file of a trace, which has one event in each line, for the test program that includes it. That
 * the file is JSON is for tests/cli/traces.py to say. */
#ifndef DAVIT_TESTS_EVENTS_H
#define DAVIT_TESTS_EVENTS_H

#include "tests/support.h"

typedef struct traced {
  char kind; /* 'X', 'M', 'i', 's', 'f' */
  char name[128], category[32], operation[48];
  int process, row, device, queue, subqueue;
  double ts, end, enqueued; /* µs of the monotonic clock; end is ts where there is no duration */
  long long command, waits_for, bytes, id, left_out;
  double accuracy;
  bool skipped;
} traced;

typedef struct trace {
  int count;
  traced *event;
} trace;

static const char *value_of(const char *line, const char *key) {
  char words[48];
  snprintf(words, sizeof words, "\"%s\":", key);
  const char *at = strstr(line, words);
  return at ? at + strlen(words) : NULL;
}

static double number_of(const char *line, const char *key) {
  const char *at = value_of(line, key);
  return at ? strtod(at, NULL) : 0;
}

static void text_of(const char *line, const char *key, size_t bytes, char *to) {
  const char *at = value_of(line, key);
  snprintf(to, bytes, "%.*s", at ? (int)strcspn(at + 1, "\"") : 0, at ? at + 1 : "");
}

static traced traced_of(const char *line) {
  traced e = {.kind = *(value_of(line, "ph") + 1)};
  text_of(line, "name", sizeof e.name, e.name);
  text_of(line, "cat", sizeof e.category, e.category);
  text_of(line, "operation", sizeof e.operation, e.operation);
  e.process = (int)number_of(line, "pid");
  e.row = (int)number_of(line, "tid");
  e.device = (int)number_of(line, "device");
  e.queue = (int)number_of(line, "queue");
  e.subqueue = (int)number_of(line, "subqueue");
  e.ts = number_of(line, "ts");
  e.end = e.ts + number_of(line, "dur");
  e.enqueued = number_of(line, "enqueued");
  e.command = (long long)number_of(line, "command");
  e.waits_for = (long long)number_of(line, "waits_for");
  e.bytes = (long long)number_of(line, "bytes");
  e.id = (long long)number_of(line, "id");
  e.left_out = (long long)number_of(line, "left_out");
  e.accuracy = number_of(line, "accuracy_us");
  e.skipped = value_of(line, "skipped") != NULL;
  return e;
}

/* The events of a complete file: "[", lines, "]". */
static trace read_trace(const char *path) {
  char line[4096];
  trace t = {0};
  int capacity = 0;
  bool ended = false;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  assert_string_equal(line, "[\n");
  while (fgets(line, sizeof line, file)) {
    assert_false(ended);
    ended = strcmp(line, "]\n") == 0;
    if (ended || *line == '\n')
      continue;
    assert_true(*line == '{' && value_of(line, "ph"));
    if (t.count == capacity) {
      capacity = capacity ? 2 * capacity : 1024;
      traced *grown = kept((size_t)capacity * sizeof *grown);
      if (t.count)
        memcpy(grown, t.event, (size_t)t.count * sizeof *grown);
      t.event = grown;
    }
    t.event[t.count++] = traced_of(line);
  }
  fclose(file);
  assert_true(ended);
  return t;
}

/* The n-th (from 0) event of that kind and name; NULL if there are fewer. */
static const traced *find_event(const trace *t, char kind, const char *name, int n) {
  for (int i = 0; i < t->count; i++)
    if (t->event[i].kind == kind && strcmp(t->event[i].name, name) == 0 && n-- == 0)
      return &t->event[i];
  return NULL;
}

static const traced *the_event(const trace *t, char kind, const char *name) {
  const traced *found = find_event(t, kind, name, 0);
  if (!found || find_event(t, kind, name, 1))
    fail_msg("%s '%c' events are called \"%s\"", found ? "several" : "no", kind, name);
  return found;
}

/* An arrow from the end of a record to within a wait that came after it. */
static void check_arrow(const trace *t, const traced *wait) {
  const traced *from = NULL, *to = NULL, *record = NULL;
  for (int i = 0; i < t->count; i++) {
    const traced *e = &t->event[i];
    if (e->kind == 's' && e->id == wait->command)
      from = e;
    if (e->kind == 'f' && e->id == wait->command)
      to = e;
    if (e->kind == 'X' && e->command == wait->waits_for)
      record = e;
  }
  assert_true(wait->waits_for > 0 && from && to && record);
  assert_string_equal(record->operation, "record");
  assert_true(from->process == record->process && from->row == record->row && from->ts == record->ts);
  assert_true(to->process == wait->process && to->row == wait->row);
  assert_true(to->ts >= wait->ts && to->ts < wait->end && from->ts <= to->ts);
}

/* Rules of every trace: events of a row follow one another, waits have their arrows, commands are enqueued
 * before they begin (the device's clock is not exact), numbers are not given twice. */
static void check_trace(const trace *t, double accuracy) {
  for (int i = 0; i < t->count; i++) {
    const traced *e = &t->event[i];
    if (e->kind != 'X' || e->command == 0)
      continue;
    assert_true(e->enqueued <= e->ts + accuracy);
    for (int j = 0; j < i; j++) {
      const traced *f = &t->event[j];
      if (f->kind != 'X' || f->command == 0)
        continue;
      assert_true(f->command != e->command);
      if (f->process == e->process && f->row == e->row)
        assert_true(f->end <= e->ts + 0.0015 || e->end <= f->ts + 0.0015);
    }
    if (strcmp(e->operation, "wait") == 0)
      check_arrow(t, e);
  }
}

#endif
