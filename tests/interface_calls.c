/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each function, with valid arguments; and the extreme values of each kind of argument. */
#include "tests/interface.h"
#include "tests/prototypes.h"

#include <inttypes.h>
#include <unistd.h>

/* ---- what the calls work on ---- */

static struct arena {
  double x[32], y[32], z[32];
  float f[64], g[64], h[64], features[2 * DAVIT_FEATURES_WIDTH];
  uint8_t flags[64], symbols[64];
  uint16_t order[64];
  int32_t scores[8];
  int64_t starts[8], rows[9], count;
  int counted, device, pivots[2];
  size_t bytes[2];
  char text[64];
  davit_reduce_part reduce[2];
  davit_scan_part scan[2];
  union {
    davit_align_hit hits[4];
    davit_align_result alignment, alignments[2];
    davit_detect_hit detections[4];
    davit_device_info info;
    davit_occupancy_card cards[32];
    davit_occupancy_result occupancy;
    davit_closest_pair_result pair, pairs[4];
    int64_t rows[32];
    davit_tuning_entry entries[64];
    davit_tuning_parameter parameters[128];
    davit_tuning_shape shape;
    davit_level3_figure figures[32];
    davit_align_matrix matrices[16];
    davit_detect_options defaults;
    int devices[MAX_PLACES];
  } out;
} a, before;

davit_queue *calls_queue;
static davit_event *event;
static davit_timer *timer;
static davit_align_database *database;
static davit_detector *detector;
static const davit_monoid *sum;
static davit_occupancy_card card;
static davit_occupancy_block block = {.threads = 128}, sizeless;
static const int8_t matrix[4] = {1, -1, -1, 1};
static davit_align_scoring scoring = {.symbols = 2, .matrix = matrix, .gap_open = 2, .gap_extend = 1};
static float sound[300 * 4 + 2048];
static davit_detect_effect effects[1] = {{.frames = 20, .features = sound}};
static davit_detect_clip clip = {.count = 100, .samples = sound};
static davit_detect_peaks peaks = {.frames = 20, .samples = 100, .peaks = sound};
static const int64_t offsets[3] = {0, 3, 8};
static davit_align_sequences targets = {.count = 2, .offsets = offsets, .symbols = a.symbols};

static void fill_arena(void) {
  memset(&a, 0, sizeof a);
  for (int i = 0; i < 32; i++)
    a.x[i] = a.y[i] = a.f[i] = a.g[i] = (float)(i % 7 + 1);
  for (int i = 0; i < 64; i++)
    a.symbols[i] = i % 3 == 0;
  a.flags[0] = a.flags[3] = 1;
  a.starts[1] = 3;
  a.pivots[0] = a.pivots[1] = 2;
  for (int i = 0; i < 2; i++) {
    a.reduce[i] = (davit_reduce_part){.n = 4, .x = a.f + 4 * i};
    a.scan[i] = (davit_scan_part){.n = 4, .x = a.f + 4 * i, .y = a.g + 4 * i};
  }
}

/* ---- arguments ---- */

/* Each of these is the valid value, or an extreme one where it is this argument's turn: `harmless` values,
 * which may be valid as well, and then such as must be refused. */
#define ARGUMENT(name, T, harmless, format, ...)                                                             \
  static T name(T valid) {                                                                                   \
    static T const values[] = {__VA_ARGS__};                                                                 \
    if (now.position++ != now.argument)                                                                      \
      return valid;                                                                                          \
    now.extremes = COUNT(values);                                                                            \
    now.refused_from = harmless;                                                                             \
    snprintf(now.value, sizeof now.value, format, values[now.extreme]);                                      \
    return values[now.extreme];                                                                              \
  }
#define POINTER(name, T, harmless)                                                                           \
  static T name(T valid) {                                                                                   \
    if (now.position++ != now.argument)                                                                      \
      return valid;                                                                                          \
    now.extremes = 1;                                                                                        \
    now.refused_from = harmless;                                                                             \
    strcpy(now.value, "NULL");                                                                               \
    return NULL;                                                                                             \
  }
#define I64 "%" PRId64
ARGUMENT(N, int64_t, 1, I64, 0, -1, INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX / 4 + 1) /* sizes */
ARGUMENT(J, int64_t, 1, I64, -1, 0, INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX / 4 + 1) /* increments */
ARGUMENT(K, int64_t, 1, I64, 0, -1, INT64_MIN) /* lengths of arrays that are read */
ARGUMENT(C, int, 1, "%d", 0, -1, INT_MIN)
ARGUMENT(B, size_t, 1, "%zu", 0, SIZE_MAX, SIZE_MAX / 2 + 1)
ARGUMENT(U, uint64_t, 3, "%" PRIu64, 0, UINT64_MAX, UINT64_MAX / 2 + 1)
ARGUMENT(I, int, 5, "%d", 0, -1, INT_MIN, INT_MAX, 77) /* devices, places, capacities, constants */
ARGUMENT(T, int, 2, "%d", 0, 1, 1025, -1, INT_MIN)     /* threads */
ARGUMENT(R, double, 7, "%g", 0, -1, (double)NAN, (double)INFINITY, -(double)INFINITY, 1e308, 1e-320)
ARGUMENT(L, char, 0, "'%c'", 0, 'Q', -1)
ARGUMENT(S, const char *, 0, "%.0s", NULL, "", "\377\n%s%n")
ARGUMENT(V, const char *, 3, "%.0s", NULL, "", "\377\n%s%n") /* texts that are only shown */
ARGUMENT(W, const char *, 0, "%.0s", NULL, "", "/dev/null")  /* paths that are written */
POINTER(P, void *, 1)
POINTER(F, davit_host_function, 0)
POINTER(G, davit_region, 0)
POINTER(E, davit_nowait_region, 0)
#define Q P(calls_queue)
#define TYPE ((davit_type)I(DAVIT_FLOAT))
#define OP ((davit_operator)I(DAVIT_SUM))
#define KIND ((davit_scan_kind)I(DAVIT_SCAN_INCLUSIVE))

#define WORDS(T) COUNT(((T *)NULL)->reserved)
#define O(T)                                                                                                 \
  options_of((layout){offsetof(T, reserved), offsetof(T, devices), offsetof(T, device_count), WORDS(T)})
#define O_ALONE(T) options_of((layout){offsetof(T, reserved), 0, 0, WORDS(T)})

/* ---- the table ---- */

/* Defines a row; a row of one call; of a call and its queue form; of a function that returns a text. */
#define ROW(name)                                                                                            \
  static davit_status call_##name(void);                                                                     \
  __attribute__((constructor)) static void add_row_##name(void) {                                            \
    add_row(#name, call_##name);                                                                             \
  }                                                                                                          \
  static davit_status call_##name(void)
#define CALL(name, ...)                                                                                      \
  ROW(name) {                                                                                                \
    return name(__VA_ARGS__);                                                                                \
  }
#define BOTH(stem, ...) CALL(davit_##stem, __VA_ARGS__) CALL(davit_queue_##stem, Q, __VA_ARGS__)
#define TEXT(name, ...)                                                                                      \
  ROW(name) {                                                                                                \
    return name(__VA_ARGS__) ? DAVIT_SUCCESS : DAVIT_INTERNAL_ERROR;                                         \
  }

/* What is created is destroyed again. */
#define MADE(T, create, destroy, ...)                                                                        \
  ROW(create) {                                                                                              \
    T *made = NULL;                                                                                          \
    const davit_status status = create(__VA_ARGS__);                                                         \
    assert_true((status == DAVIT_SUCCESS) == (made != NULL));                                                \
    CHECK(destroy(made));                                                                                    \
    return status;                                                                                           \
  }                                                                                                          \
  CALL(destroy, NULL)

static davit_status nothing(void *argument) {
  (void)argument;
  return DAVIT_SUCCESS;
}

static davit_status no_region(int device, void *argument) {
  (void)device, (void)argument;
  return DAVIT_SUCCESS;
}

static davit_status no_nowait_region(const davit_region_site *site, void *argument) {
  (void)site, (void)argument;
  return DAVIT_SUCCESS;
}

TEXT(davit_status_string, (davit_status)I(0))
TEXT(davit_device_kind_string, (davit_device_kind)I(0))
TEXT(davit_event_state_string, (davit_event_state)I(0))
TEXT(davit_operator_string, OP)
TEXT(davit_type_string, TYPE)
TEXT(davit_occupancy_limit_string, (davit_occupancy_limit)I(1))
TEXT(davit_last_error)
TEXT(davit_version)
ROW(davit_type_bytes) {
  return davit_type_bytes(TYPE) <= 8 ? DAVIT_SUCCESS : DAVIT_INTERNAL_ERROR;
}

ROW(davit_fail) {
  davit_fail((davit_status)I(0), "%s", "text");
  return DAVIT_SUCCESS;
}

CALL(davit_device_count, P(&a.counted))
CALL(davit_device_describe, I(DAVIT_HOST), P(&a.out))
CALL(davit_device_memory, I(DAVIT_HOST), P(&a.bytes[0]), P(&a.bytes[1]))
CALL(davit_device_link, I(DAVIT_HOST), I(DAVIT_HOST), P(&a.out))
CALL(davit_device_select, I(DAVIT_CURRENT))
CALL(davit_device_current, P(&a.counted))
CALL(davit_device_synchronize, I(DAVIT_HOST))
CALL(davit_device_check, I(DAVIT_HOST))
CALL(davit_device_defaults, I(1), P(a.out.devices), P(&a.counted))
CALL(davit_set_threads, T(2))
TEXT(davit_backend_string)

ROW(davit_malloc) {
  void *made = NULL;
  const davit_status status = davit_malloc(B(8), I(DAVIT_PAGEABLE), P(&made));
  assert_true(status == DAVIT_SUCCESS || !made);
  CHECK(davit_free(made));
  return status;
}

ROW(davit_free) {
  void *made = NULL;
  DVT_TRY(davit_malloc(8, DAVIT_PAGEABLE, &made));
  const davit_status status = davit_free(P(made));
  CHECK(now.argument == 0 ? davit_free(made) : status);
  return status;
}

/* Only memory of an NVIDIA device has handles, and only other processes may import it (tests/test_processes.c). */
static davit_status or_unsupported(davit_status status) {
  return status == DAVIT_UNSUPPORTED ? DAVIT_SUCCESS : status;
}

ROW(davit_memory_export) {
  davit_memory_handle handle;
  void *made = NULL;
  DVT_TRY(davit_malloc(64, DAVIT_PINNED, &made));
  const davit_status status = davit_memory_export(P(made), P(&handle));
  CHECK(davit_free(made));
  return or_unsupported(status);
}

ROW(davit_memory_import) {
  davit_memory_handle handle = {.bytes = "davit 1\0\1"};
  void *made = NULL;
  const davit_status status = davit_memory_import(P(&handle), I(0), P(&made));
  assert_null(made);
  return or_unsupported(status);
}

CALL(davit_memory_trim, I(DAVIT_PAGEABLE))
CALL(davit_pointer_place, P(a.x), P(&a.counted))
ROW(davit_pin) {
  const davit_status status = davit_pin(P(a.x), B(64));
  if (status == DAVIT_SUCCESS)
    CHECK(davit_unpin(a.x));
  return status;
}

ROW(davit_unpin) {
  DVT_TRY(davit_pin(a.x, 64));
  const davit_status status = davit_unpin(P(a.x));
  if (status != DAVIT_SUCCESS)
    CHECK(davit_unpin(a.x));
  return status;
}

BOTH(copy, B(64), P(a.x), P(a.y))
BOTH(copy_2d, N(4), N(4), B(8), P(a.x), N(4), P(a.y), N(4))
BOTH(fill, B(64), I(1), P(a.y))
BOTH(random, TYPE, N(8), U(1), P(a.y))

MADE(davit_queue, davit_queue_create, davit_queue_destroy, I(DAVIT_HOST), P(&made),
     O_ALONE(davit_queue_options))
CALL(davit_queue_device, Q, P(&a.counted))
CALL(davit_queue_synchronize, Q)
CALL(davit_queue_request_subqueue, Q, P(&a.counted))
CALL(davit_queue_set_subqueue, Q, I(0))
CALL(davit_queue_subqueue, Q, P(&a.counted), P(&a.device))
/* A queue of the host has none. */
static davit_status none(davit_status status) {
  if (status == DAVIT_UNSUPPORTED)
    dvt_error_clear();
  return status == DAVIT_UNSUPPORTED ? DAVIT_SUCCESS : status;
}

ROW(davit_queue_interop) {
  return none(davit_queue_interop(Q, P(&a.out)));
}

ROW(davit_queue_stream) {
  return none(davit_queue_stream(Q, P(&a.out)));
}

CALL(davit_queue_host_function, Q, F(nothing), P(&a))
CALL(davit_queue_region, Q, G(no_region), P(&a))
CALL(davit_queue_region_nowait, Q, E(no_nowait_region), P(&a))
CALL(davit_queue_wait, Q, P(event))
MADE(davit_event, davit_event_create, davit_event_destroy, P(&made))
CALL(davit_event_record, P(event), Q)
CALL(davit_event_query, P(event), P(&a.out))
CALL(davit_event_synchronize, P(event))
ROW(davit_event_check) {
  DVT_TRY(davit_event_record(event, calls_queue));
  DVT_TRY(davit_queue_synchronize(calls_queue));
  return davit_event_check(P(event));
}

CALL(davit_event_reset, P(event))
CALL(davit_event_soft_reset, P(event))
MADE(davit_timer, davit_timer_create, davit_timer_destroy, P(&made))
CALL(davit_timer_start, P(timer), Q)
CALL(davit_timer_stop, P(timer), Q)
ROW(davit_timer_elapsed) {
  DVT_TRY(davit_timer_start(timer, calls_queue));
  DVT_TRY(davit_timer_stop(timer, calls_queue));
  return davit_timer_elapsed(P(timer), P(a.y));
}

static davit_status trace(const char *path, const char *given) {
  DVT_TRY(davit_trace_start(given));
  davit_queue_host_function(calls_queue, nothing, NULL);
  const davit_status status = davit_trace_stop();
  unlink(path);
  return status;
}

static const char *trace_path(void) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/davit-interface-%ld.json", (long)getpid());
  return path;
}

ROW(davit_trace_start) {
  return trace(trace_path(), W(trace_path()));
}

ROW(davit_trace_stop) {
  return trace(trace_path(), trace_path());
}

CALL(davit_queue_label, Q, V("name"))
CALL(davit_statistics_read, P(&a.out))

/* Routines of the types p, of real ones, of complex ones; R is the type of a real part. */
#define BLAS(p, T, R_, x, y, z)                                                                              \
  BOTH(p##gemm, L('N'), L('T'), N(4), N(4), N(4), (T)R(1), P(x), N(4), P(y), N(4), (T)R(1), P(z), N(4),      \
       O(davit_level3_options))                                                                              \
  BOTH(p##symm, L('L'), L('U'), N(4), N(4), (T)R(1), P(x), N(4), P(y), N(4), (T)R(1), P(z), N(4),            \
       O(davit_level3_options))                                                                              \
  BOTH(p##syrk, L('L'), L('N'), N(4), N(4), (T)R(1), P(x), N(4), (T)R(1), P(z), N(4),                        \
       O(davit_level3_options))                                                                              \
  BOTH(p##syr2k, L('U'), L('N'), N(4), N(4), (T)R(1), P(x), N(4), P(y), N(4), (T)R(1), P(z), N(4),           \
       O(davit_level3_options))                                                                              \
  BOTH(p##trmm, L('L'), L('U'), L('T'), L('N'), N(4), N(4), (T)R(1), P(x), N(4), P(z), N(4),                 \
       O(davit_level3_options))                                                                              \
  BOTH(p##trsm, L('R'), L('L'), L('N'), L('U'), N(4), N(4), (T)R(1), P(x), N(4), P(z), N(4),                 \
       O(davit_level3_options))
BLAS(d, double, double, a.x, a.y, a.z)
BLAS(s, float, float, a.f, a.g, a.h)
BLAS(z, davit_complex_double, double, a.x, a.y, a.z)
BLAS(c, davit_complex_float, float, a.f, a.g, a.h)

#define COMPLEX_BLAS(p, T, R_, x, y, z)                                                                      \
  BOTH(p##hemm, L('L'), L('U'), N(4), N(4), (T)R(1), P(x), N(4), P(y), N(4), (T)R(1), P(z), N(4),            \
       O(davit_level3_options))                                                                              \
  BOTH(p##herk, L('L'), L('N'), N(4), N(4), (R_)R(1), P(x), N(4), (R_)R(1), P(z), N(4),                      \
       O(davit_level3_options))                                                                              \
  BOTH(p##her2k, L('U'), L('C'), N(4), N(4), (T)R(1), P(x), N(4), P(y), N(4), (R_)R(1), P(z), N(4),          \
       O(davit_level3_options))
COMPLEX_BLAS(z, davit_complex_double, double, a.x, a.y, a.z)
COMPLEX_BLAS(c, davit_complex_float, float, a.f, a.g, a.h)

/* Levels 1 and 2; dot and the norms have letters of their own. */
#define LOW_BLAS(p, T, x, y, z)                                                                              \
  BOTH(p##gemv, L('T'), N(4), N(4), (T)R(1), P(x), N(4), P(y), J(1), (T)R(1), P(z), J(-2),                   \
       O(davit_gemv_options))                                                                                \
  BOTH(p##axpy, N(8), (T)R(2), P(x), J(1), P(z), J(-2), O(davit_axpy_options))                               \
  BOTH(p##scal, N(8), (T)R(2), P(z), J(-2), O(davit_scal_options))
LOW_BLAS(d, double, a.x, a.y, a.z)
LOW_BLAS(s, float, a.f, a.g, a.h)
LOW_BLAS(z, davit_complex_double, a.x, a.y, a.z)
LOW_BLAS(c, davit_complex_float, a.f, a.g, a.h)
BOTH(ddot, N(8), P(a.x), J(1), P(a.y), J(-2), P(a.z), O(davit_dot_options))
BOTH(sdot, N(8), P(a.f), J(1), P(a.g), J(-2), P(a.h), O(davit_dot_options))
BOTH(zdotu, N(8), P(a.x), J(1), P(a.y), J(-2), P(a.z), O(davit_dot_options))
BOTH(cdotu, N(8), P(a.f), J(1), P(a.g), J(-2), P(a.h), O(davit_dot_options))
BOTH(zdotc, N(8), P(a.x), J(1), P(a.y), J(-2), P(a.z), O(davit_dot_options))
BOTH(cdotc, N(8), P(a.f), J(1), P(a.g), J(-2), P(a.h), O(davit_dot_options))
BOTH(dnrm2, N(8), P(a.x), J(1), P(a.z), O(davit_norm_options))
BOTH(snrm2, N(8), P(a.f), J(1), P(a.h), O(davit_norm_options))
BOTH(dznrm2, N(8), P(a.x), J(1), P(a.z), O(davit_norm_options))
BOTH(scnrm2, N(8), P(a.f), J(1), P(a.h), O(davit_norm_options))
BOTH(dasum, N(8), P(a.x), J(1), P(a.z), O(davit_norm_options))
BOTH(sasum, N(8), P(a.f), J(1), P(a.h), O(davit_norm_options))
BOTH(dzasum, N(8), P(a.x), J(1), P(a.z), O(davit_norm_options))
BOTH(scasum, N(8), P(a.f), J(1), P(a.h), O(davit_norm_options))

/* The lower halves are 1 2 6; 7 + i, 2 + 3 i, 3 + 4 i. */
#define SOLVE(p, x, y)                                                                                       \
  CALL(davit_##p##potrf, L('L'), N(2), P(x), N(4), O(davit_solve_options))                                   \
  CALL(davit_queue_##p##potrf, Q, L('L'), N(2), P(x), N(4), P(&a.counted), O(davit_solve_options))           \
  BOTH(p##potrs, L('U'), N(2), N(2), P(x), N(4), P(y), N(4), O(davit_solve_options))                         \
  CALL(davit_##p##posv, L('L'), N(2), N(2), P(x), N(4), P(y), N(4), O(davit_solve_options))                  \
  CALL(davit_queue_##p##posv, Q, L('L'), N(2), N(2), P(x), N(4), P(y), N(4), P(&a.counted),                  \
       O(davit_solve_options))                                                                               \
  CALL(davit_##p##getrf, N(3), N(2), P(x), N(4), P(a.pivots), O(davit_solve_options))                        \
  CALL(davit_queue_##p##getrf, Q, N(3), N(2), P(x), N(4), P(a.pivots), P(&a.counted),                        \
       O(davit_solve_options))                                                                               \
  BOTH(p##getrs, L('T'), N(2), N(2), P(x), N(4), P(a.pivots), P(y), N(4), O(davit_solve_options))            \
  CALL(davit_##p##gesv, N(2), N(2), P(x), N(4), P(a.pivots), P(y), N(4), O(davit_solve_options))             \
  CALL(davit_queue_##p##gesv, Q, N(2), N(2), P(x), N(4), P(a.pivots), P(y), N(4), P(&a.counted),             \
       O(davit_solve_options))                                                                               \
  BOTH(p##geqrf, N(3), N(2), P(x), N(4), P(y), O(davit_solve_options))                                       \
  CALL(davit_##p##gels, L('N'), N(3), N(2), N(1), P(x), N(4), P(y), N(4), O(davit_solve_options))            \
  CALL(davit_queue_##p##gels, Q, L('N'), N(3), N(2), N(1), P(x), N(4), P(y), N(4), P(&a.counted),            \
       O(davit_solve_options))
SOLVE(d, a.x, a.y)
SOLVE(s, a.f, a.g)
SOLVE(z, a.x + 6, a.y)
SOLVE(c, a.f + 6, a.g)
#define REAL_Q(p, x, y)                                                                                      \
  BOTH(p##ormqr, L('L'), L('T'), N(3), N(2), N(2), P(x), N(4), P(x + 16), P(y), N(4),                        \
       O(davit_solve_options))                                                                               \
  BOTH(p##orgqr, N(4), N(3), N(2), P(x), N(4), P(y), O(davit_solve_options))
REAL_Q(d, a.x, a.y)
REAL_Q(s, a.f, a.g)
#define COMPLEX_Q(p, x, y)                                                                                   \
  BOTH(p##unmqr, L('R'), L('C'), N(2), N(3), N(2), P(x), N(4), P(x + 16), P(y), N(4),                        \
       O(davit_solve_options))                                                                               \
  BOTH(p##ungqr, N(4), N(3), N(2), P(x), N(4), P(y), O(davit_solve_options))
COMPLEX_Q(z, a.x, a.y)
COMPLEX_Q(c, a.f, a.g)

#define INVERSE(p, x)                                                                                        \
  CALL(davit_##p##trtri, L('L'), L('N'), N(2), P(x), N(4), O(davit_solve_options))                           \
  CALL(davit_queue_##p##trtri, Q, L('L'), L('U'), N(2), P(x), N(4), P(&a.counted), O(davit_solve_options))   \
  CALL(davit_##p##potri, L('U'), N(2), P(x), N(4), O(davit_solve_options))                                   \
  CALL(davit_queue_##p##potri, Q, L('L'), N(2), P(x), N(4), P(&a.counted), O(davit_solve_options))           \
  CALL(davit_##p##getri, N(2), P(x), N(4), P(a.pivots), O(davit_solve_options))                              \
  CALL(davit_queue_##p##getri, Q, N(2), P(x), N(4), P(a.pivots), P(&a.counted), O(davit_solve_options))
INVERSE(d, a.x)
INVERSE(s, a.f)
INVERSE(z, a.x)
INVERSE(c, a.f)

BOTH(reduce, OP, TYPE, N(8), P(a.f), P(a.h), O(davit_reduce_options))
CALL(davit_reduce_parts, OP, TYPE, C(2), P(a.reduce), P(a.h))
BOTH(scan, OP, TYPE, KIND, N(8), P(a.f), P(a.h), O(davit_scan_options))
BOTH(segmented_scan, OP, TYPE, KIND, N(8), P(a.f), P(a.flags), P(a.h), O(davit_scan_options))
CALL(davit_scan_parts, OP, TYPE, KIND, C(2), P(a.scan))
ROW(davit_segmented_scan_parts) {
  for (int i = 0; i < 2; i++)
    a.scan[i].flags = before.scan[i].flags = a.flags + 4 * i;
  return davit_segmented_scan_parts(OP, TYPE, KIND, C(2), P(a.scan));
}

CALL(davit_scan_flags, K(2), P(a.starts), N(8), P(a.flags))
CALL(davit_scan_starts, K(8), P(a.flags), N(2), P(a.starts), P(&a.count))
CALL(davit_monoid_builtin, OP, TYPE, P(&a.out))
BOTH(monoid_reduce, P((void *)(uintptr_t)sum), N(8), P(a.f), P(a.h), O(davit_reduce_options))
CALL(davit_monoid_reduce_chunks, P((void *)(uintptr_t)sum), N(8), P(a.f), P(a.h))
CALL(davit_monoid_reduce_parts, P((void *)(uintptr_t)sum), C(2), P(a.reduce), P(a.h))
BOTH(monoid_scan, P((void *)(uintptr_t)sum), KIND, N(8), P(a.f), P(a.flags), P(a.h), O(davit_scan_options))
CALL(davit_monoid_scan_parts, P((void *)(uintptr_t)sum), KIND, C(2), P(a.scan))
CALL(davit_monoid_scan_groups, P((void *)(uintptr_t)sum), N(8), P(a.f), P(a.flags), P(a.h))
CALL(davit_monoid_scan_onward, P((void *)(uintptr_t)sum), KIND, P(a.x), C(2), P(a.scan))

BOTH(stencil, TYPE, N(4), N(4), P(a.f), N(4), P(a.x), P(a.h), N(4), O(davit_stencil_options))
BOTH(atax, TYPE, L('N'), N(4), N(4), P(a.f), N(4), P(a.g), P(a.h), P(a.h + 8), O(davit_atax_options))
BOTH(covariance, TYPE, L('N'), N(4), N(4), P(a.f), N(4), P(a.h), P(a.g), N(4), P(a.h + 8), N(4),
     O(davit_covariance_options))
CALL(davit_covariance_pack, TYPE, N(4), P(a.f), N(4), P(a.h), P(a.g))
CALL(davit_covariance_unpack, TYPE, N(4), P(a.f), P(a.g), P(a.h), N(4))
ROW(davit_covariance_packed_index) {
  return davit_covariance_packed_index(4, 2, 3) == 5 ? DAVIT_SUCCESS : DAVIT_INTERNAL_ERROR;
}

BOTH(closest_pair, TYPE, I(2), N(8), P(a.f), P(&a.out), O(davit_closest_pair_options))
BOTH(closest_pairs, TYPE, I(2), N(8), P(a.f), K(4), R(1e30), P(a.out.pairs), P(&a.count),
     O(davit_closest_pair_options))
BOTH(neighbors, TYPE, I(2), N(8), P(a.f), N(8), P(a.g), K(2), P(a.out.rows), P(a.x),
     O(davit_neighbors_options))
BOTH(radius_count, TYPE, I(2), N(8), P(a.f), N(8), P(a.g), R(0), P(a.out.rows), O(davit_neighbors_options))
/* No point is one of the queries, nor of the other points. */
BOTH(radius, TYPE, I(2), N(7), P(a.f), N(7), P(a.z), R(0), P(a.rows), P(a.out.rows), P(a.x),
     O(davit_neighbors_options))
CALL(davit_emst, TYPE, I(2), N(5), P(a.f), P(a.out.pairs), O(davit_cluster_options))
CALL(davit_dbscan, TYPE, I(2), N(8), P(a.f), R(1), K(2), P(a.out.rows), P(&a.count), O(davit_cluster_options))
BOTH(closest_pairs_count, TYPE, I(2), N(8), P(a.f), R(1e30), P(&a.count), O(davit_closest_pair_options))
CALL(davit_closest_pair_plan, TYPE, I(2), N(8), P(a.f), P(&a.out), O(davit_closest_pair_options))

MADE(davit_align_database, davit_align_database_create, davit_align_database_destroy, P(&targets), I(2),
     P(&made), O(davit_align_database_options))
CALL(davit_align_scores, P(database), P(&scoring), N(4), P(a.symbols), P(a.scores))
CALL(davit_align_search, P(database), P(&scoring), N(4), P(a.symbols), N(2), P(a.out.hits), P(&a.count))
ROW(davit_align_trace) {
  char *cigar = NULL;
  const davit_status status = davit_align_trace(P(&scoring), N(4), P(a.symbols), N(8), P(a.symbols + 4),
                                                P(&a.out), P(&cigar), O(davit_align_trace_options));
  CHECK(davit_free(cigar));
  return status;
}

ROW(davit_align_pairs) {
  char *cigars = NULL;
  const davit_status status =
      davit_align_pairs(P(&scoring), P(&targets), P(&targets), P(a.scores), P(&a.out.alignments), P(&cigars),
                        O(davit_align_pairs_options));
  CHECK(davit_free(cigars));
  return status;
}

CALL(davit_align_matrix_find, S("BLOSUM62"), P(&a.out))
CALL(davit_align_matrix_list, I(1), P(a.out.matrices), P(&a.counted))

CALL(davit_features, N(2048), P(sound), P(a.features), O_ALONE(davit_features_options))
MADE(davit_detector, davit_detector_create, davit_detector_destroy, C(4), C(1), P(effects), P(&made),
     O(davit_detect_options))
CALL(davit_detect, P(detector), N(300), P(sound), P(a.out.detections))
CALL(davit_detect_correlate, N(10), N(1000), P(sound), C(1), P(&clip), P(a.features))
CALL(davit_detect_copies, C(4), N(300), P(sound), C(1), P(&peaks), P(a.out.detections),
     O(davit_detect_options))
CALL(davit_detect_windows, N(300), P(&a.count), O(davit_detect_options))
CALL(davit_detect_defaults, P(&a.out))
CALL(davit_detect_permutation, U(1), N(1), N(16), N(3), P(a.order))

CALL(davit_occupancy_card_list, I(1), P(a.out.cards), P(&a.counted))
CALL(davit_occupancy_card_find, S("A100"), P(&a.out))
CALL(davit_occupancy_card_describe, I(DAVIT_HOST), P(&a.out))
CALL(davit_occupancy, P(&card), P(&block), P(&a.out), O_ALONE(davit_occupancy_options))
CALL(davit_occupancy_advise, P(&card), P(&sizeless), P(&a.counted), P(&a.out),
     O_ALONE(davit_occupancy_options))
CALL(davit_level3_figures, I(DAVIT_HOST), I(1), P(a.out.figures), P(&a.counted))
CALL(davit_level3_measure, O(davit_level3_measure_options))
CALL(davit_tuning_parameters, I(1), P(a.out.parameters), P(&a.counted))
CALL(davit_tuning_load, S("/nowhere"))
CALL(davit_tuning_save, W("/nowhere/at/all"))
CALL(davit_tuning_clear)
CALL(davit_tuning_set, I(DAVIT_HOST), S("axpy"), S("chunk"), N(4096), R(1))
CALL(davit_tuning_list, I(1), P(a.out.entries), P(&a.counted))
CALL(davit_tuning_kernel, I(DAVIT_HOST), S("stencil"), P(&a.out.shape))
CALL(davit_tuning_path, I(8), P(a.text))
CALL(davit_tuning_warning, I(8), P(a.text))
CALL(davit_finalize)

/* ---- what the calls work on ---- */

int open_calls(void **state) {
  (void)state;
  read_prototypes(DAVIT_HEADERS);
  fill_arena();
  calls_queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_event_create(&event));
  CHECK(davit_timer_create(&timer));
  CHECK(davit_monoid_builtin(DAVIT_SUM, DAVIT_FLOAT, &sum));
  CHECK(davit_align_database_create(&targets, 2, &database, NULL));
  for (int i = 0; i < COUNT(sound); i++)
    sound[i] = (float)(i % 13) - 6;
  CHECK(davit_detector_create(4, 1, effects, &detector, NULL));
  CHECK(davit_occupancy_card_find("A100", &card));
  return 0;
}

int close_calls(void **state) {
  CHECK(davit_align_database_destroy(database));
  CHECK(davit_detector_destroy(detector));
  CHECK(davit_queue_destroy(calls_queue));
  CHECK(davit_event_destroy(event));
  CHECK(davit_timer_destroy(timer));
  return finalize(state);
}

void fill_memory(void) {
  fill_arena();
  before = a;
}

bool memory_is_filled(void) {
  return memcmp(&a, &before, sizeof a) == 0;
}

static struct arena remembered;

void remember_results(void) {
  remembered = a;
}

bool results_are_as_remembered(void) {
  return memcmp(&a, &remembered, sizeof a) == 0;
}
