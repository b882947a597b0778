/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/text.h"

static int rows, fields, argument_count;
static char **arguments;

void bench_let_threads_sleep(char **argv) {
  if (!getenv("KMP_BLOCKTIME") && setenv("KMP_BLOCKTIME", "1", 0) == 0)
    execv("/proc/self/exe", argv);
}

void bench_rest(void) {
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

double bench_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_now(void) {
  return bench_clock(CLOCK_MONOTONIC);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

void bench_check(davit_status status, const char *what) {
  if (status == DAVIT_SUCCESS)
    return;
  fprintf(stderr, "%s: %s\n", what, davit_last_error());
  exit(4);
}

/* JSON is UTF-8: other bytes become '?', and so do control characters. */
static void quoted(const char *text) {
  putchar('"');
  while (*text) {
    const size_t bytes = dvt_printable(text);
    if (*text == '"' || *text == '\\')
      putchar('\\');
    if (bytes)
      fwrite(text, 1, bytes, stdout);
    else
      putchar('?');
    text += bytes ? bytes : 1;
  }
  putchar('"');
}

static void machine(void) {
  int count = 0;
  bench_check(davit_device_count(&count), "devices");
  printf("  \"machine\": {\"devices\": [");
  for (int i = DAVIT_HOST; i < count; i++) {
    davit_device_info info;
    bench_check(davit_device_describe(i, &info), "device");
    printf("%s\n    {\"device\": %d, \"kind\": \"%s\", \"name\": ", i > DAVIT_HOST ? "," : "", i,
           davit_device_kind_string(info.kind));
    quoted(info.name);
    printf(", \"compute_units\": %d, \"memory_bytes\": %zu}", info.compute_units, info.memory_bytes);
  }
  printf("]},\n");
}

void bench_begin(const char *name) {
  char date[32];
  time_t now = time(NULL);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  printf("{\n  \"benchmark\": \"%s\",\n  \"version\": \"%s\",\n  \"date\": \"%s\",\n  \"command\": \"", name,
         davit_version(), date);
  for (int i = 0; i < argument_count; i++) {
    const char *slash = i == 0 ? strrchr(arguments[0], '/') : NULL;
    printf("%s%s", i ? " " : "", slash ? slash + 1 : arguments[i]);
  }
  printf("\",\n");
  machine();
  printf("  \"rows\": [");
}

void bench_row(void) {
  fflush(stdout); /* what was measured survives a time limit */
  printf("%s\n    {", rows++ ? "}," : "");
  fields = 0;
}

static void key_of(const char *key) {
  printf("%s\"%s\": ", fields++ ? ", " : "", key);
}

void bench_text(const char *key, const char *value) {
  key_of(key);
  quoted(value);
}

void bench_number(const char *key, double value) {
  key_of(key);
  if (value == rint(value) && fabs(value) < 0x1p53)
    printf("%.0f", value); /* counts are exact */
  else if (isfinite(value))
    printf("%.8g", value);
  else
    printf("null");
}

int bench_finish(void) {
  printf("%s\n  ]\n}\n", rows ? "}" : "");
  fflush(stdout);
  bench_check(davit_finalize(), "finalize");
  return 0;
}

/* ---- options ---- */

/* Whether the usage has "[NAME" of an option, or every program takes it. */
static bool is_option(const char *usage, const char *name) {
  const size_t length = strlen(name);
  if (!strcmp(name, "--json") || !strcmp(name, "--peers"))
    return true;
  for (const char *at = usage; (at = strstr(at, name)); at += length)
    if (at > usage && at[-1] == '[' && (at[length] == ' ' || at[length] == ']'))
      return true;
  return false;
}

void bench_options(const char *usage, int argc, char **argv) {
  argument_count = argc;
  arguments = argv;
  bool option = false; /* the one before, whose value this may be */
  for (int i = 1; i < argc; i++) {
    const bool help = !strcmp(argv[i], "--help"), named = !strncmp(argv[i], "--", 2);
    if (help || !(named ? is_option(usage, argv[i]) : option)) {
      if (!help)
        fprintf(stderr, "%s is no option\n", argv[i]);
      fprintf(help ? stdout : stderr, "%s", usage);
      exit(help ? 0 : 2);
    }
    option = named;
  }
}

const char *bench_option(const char *name, const char *fallback) {
  for (int i = 1; i + 1 < argument_count; i++)
    if (strncmp(arguments[i], "--", 2) == 0 && strcmp(arguments[i] + 2, name) == 0)
      return arguments[i + 1];
  return fallback;
}

int64_t bench_whole(const char *name, int64_t fallback) {
  const char *text = bench_option(name, NULL);
  return text ? atoll(text) : fallback;
}

int bench_count(const char *name, int fallback) {
  const int64_t count = bench_whole(name, fallback);
  return (int)(count < 1 ? 1 : count > BENCH_MOST ? BENCH_MOST : count);
}

bench_values bench_list(const char *name, const char *fallback) {
  const char *text = bench_option(name, fallback);
  bench_values values = {.count = 0};
  while (*text && values.count < BENCH_MOST) {
    char *end;
    values.at[values.count++] = strtoll(text, &end, 10);
    if (end == text) {
      fprintf(stderr, "not a list of numbers: %s\n", text);
      exit(2);
    }
    text = *end == ',' ? end + 1 : end;
  }
  return values;
}

bench_values bench_sizes(const char *name, const char *fallback) {
  const bench_values all = bench_list(name, fallback);
  bench_values sizes = {.count = 0};
  for (int i = 0; i < all.count; i++)
    if (all.at[i] > 0)
      sizes.at[sizes.count++] = all.at[i];
  return sizes;
}

int64_t bench_largest(const bench_values *values) {
  int64_t largest = 1;
  for (int i = 0; i < values->count; i++)
    largest = values->at[i] > largest ? values->at[i] : largest;
  return largest;
}

/* ---- devices ---- */

bool bench_is_gpu(int device) {
  davit_device_info info;
  return davit_device_describe(device, &info) == DAVIT_SUCCESS && info.kind != DAVIT_DEVICE_CPU &&
         info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
}

int bench_device(void) {
  int first = DAVIT_HOST, count = 0;
  bench_check(davit_device_defaults(1, &first, &count), "devices");
  return (int)bench_whole("device", first);
}
