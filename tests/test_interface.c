/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that every public function keeps (docs/interface.md): extreme arguments are refused or harmless,
 * with a status and a sentence; options are NULL or {0} for the defaults; their reserved words are 0; queue
 * forms take no devices; where memory, a thread or a device fails, the call says so, and the next one works.
 *
 * A row is one call with valid arguments, each given by a letter. The n-th argument of a call that is tried
 * takes an extreme value in place of its own. */
#include "tests/elements.h"
#include "tests/prototypes.h"

#include <ctype.h>
#include <inttypes.h>
#include <unistd.h>

/* ---- what the calls work on ---- */

static struct arena {
  double x[32], y[32], z[32];
  float f[64], g[64], h[64], features[2 * DAVIT_FEATURES_WIDTH];
  uint8_t flags[64], symbols[64];
  uint16_t order[64];
  int32_t scores[8];
  int64_t starts[8], count;
  int counted, device;
  size_t bytes[2];
  char text[64];
  davit_reduce_part reduce[2];
  davit_scan_part scan[2];
  union {
    davit_align_hit hits[4];
    davit_align_result alignment;
    davit_detect_hit detections[4];
    davit_device_info info;
    davit_occupancy_card cards[32];
    davit_occupancy_result occupancy;
    davit_closest_pair_result pair, pairs[4];
    davit_tuning_entry entries[64];
    davit_tuning_parameter parameters[128];
    davit_tuning_shape shape;
    davit_level3_figure figures[32];
    davit_align_matrix matrices[16];
    davit_detect_options defaults;
    int devices[MAX_PLACES];
  } out;
} a, before;

static davit_queue *queue;
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
  for (int i = 0; i < 2; i++) {
    a.reduce[i] = (davit_reduce_part){.n = 4, .x = a.f + 4 * i};
    a.scan[i] = (davit_scan_part){.n = 4, .x = a.f + 4 * i, .y = a.g + 4 * i};
  }
}

/* ---- arguments ---- */

/* The argument that takes its `extreme`-th extreme value (-1: none); how many arguments the call had so far,
 * how many extremes that argument has, and from which on they must be refused. */
static int mutated, extreme, position, extremes, refused_from;

/* Each of these is the valid value, or an extreme one where it is this argument's turn: `harmless` values,
 * which may be valid as well, and then such as must be refused. `value` becomes the extreme one as a sentence
 * has it, or stays empty where the sentence need not have it. */
static char value[64];
#define ARGUMENT(name, T, harmless, format, ...)                                                             \
  static T name(T valid) {                                                                                   \
    static T const values[] = {__VA_ARGS__};                                                                 \
    if (position++ != mutated)                                                                               \
      return valid;                                                                                          \
    extremes = COUNT(values);                                                                                \
    refused_from = harmless;                                                                                 \
    snprintf(value, sizeof value, format, values[extreme]);                                                  \
    return values[extreme];                                                                                  \
  }
#define POINTER(name, T, harmless)                                                                           \
  static T name(T valid) {                                                                                   \
    if (position++ != mutated)                                                                               \
      return valid;                                                                                          \
    extremes = 1;                                                                                            \
    refused_from = harmless;                                                                                 \
    strcpy(value, "NULL");                                                                                   \
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
#define Q P(queue)
#define TYPE ((davit_type)I(DAVIT_FLOAT))
#define OP ((davit_operator)I(DAVIT_SUM))
#define KIND ((davit_scan_kind)I(DAVIT_SCAN_INCLUSIVE))

/* ---- options ---- */

typedef enum options_choice { OPTIONS_NULL, OPTIONS_ZERO, OPTIONS_RESERVED, OPTIONS_DEVICES } options_choice;
static options_choice options_mode;
static int reserved_word;

/* Where an options struct has its members; device_count 0: it has no devices. */
typedef struct layout {
  size_t reserved, devices, device_count;
  int words;
} layout;
static layout seen; /* that of the last call; words 0: it has no options */

static const void *options_of(layout of) {
  static _Alignas(16) char memory[512];
  static const int host = DAVIT_HOST;
  seen = of;
  memset(memory, 0, sizeof memory);
  if (options_mode == OPTIONS_RESERVED)
    ((uint64_t *)(void *)(memory + of.reserved))[reserved_word] = 7;
  if (options_mode == OPTIONS_DEVICES && of.device_count > 0) {
    *(const int **)(void *)(memory + of.devices) = &host;
    *(int *)(void *)(memory + of.device_count) = 1;
  }
  return options_mode == OPTIONS_NULL ? NULL : memory;
}

#define WORDS(T) COUNT(((T *)NULL)->reserved)
#define O(T)                                                                                                 \
  options_of((layout){offsetof(T, reserved), offsetof(T, devices), offsetof(T, device_count), WORDS(T)})
#define O_ALONE(T) options_of((layout){offsetof(T, reserved), 0, 0, WORDS(T)})

/* ---- the table ---- */

typedef struct row {
  const char *name;
  davit_status (*call)(void);
} row;
static row rows[320];
static int row_count;

static void add_row(const char *name, davit_status (*call)(void)) {
  rows[row_count++] = (row){name, call};
}

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
  CHECK(mutated == 0 ? davit_free(made) : status);
  return status;
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
CALL(davit_queue_host_function, Q, F(nothing), P(&a))
CALL(davit_queue_region, Q, G(no_region), P(&a))
CALL(davit_queue_region_nowait, Q, E(no_nowait_region), P(&a))
CALL(davit_queue_wait, Q, P(event))
MADE(davit_event, davit_event_create, davit_event_destroy, P(&made))
CALL(davit_event_record, P(event), Q)
CALL(davit_event_query, P(event), P(&a.out))
CALL(davit_event_synchronize, P(event))
ROW(davit_event_check) {
  DVT_TRY(davit_event_record(event, queue));
  DVT_TRY(davit_queue_synchronize(queue));
  return davit_event_check(P(event));
}

CALL(davit_event_reset, P(event))
CALL(davit_event_soft_reset, P(event))
MADE(davit_timer, davit_timer_create, davit_timer_destroy, P(&made))
CALL(davit_timer_start, P(timer), Q)
CALL(davit_timer_stop, P(timer), Q)
ROW(davit_timer_elapsed) {
  DVT_TRY(davit_timer_start(timer, queue));
  DVT_TRY(davit_timer_stop(timer, queue));
  return davit_timer_elapsed(P(timer), P(a.y));
}

static davit_status trace(const char *path, const char *given) {
  DVT_TRY(davit_trace_start(given));
  davit_queue_host_function(queue, nothing, NULL);
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

CALL(davit_align_matrix_find, S("BLOSUM62"), P(&a.out))
CALL(davit_align_matrix_list, I(1), P(a.out.matrices), P(&a.counted))

CALL(davit_features, N(2048), P(sound), P(a.features), O_ALONE(davit_features_options))
MADE(davit_detector, davit_detector_create, davit_detector_destroy, C(4), C(1), P(effects), P(&made),
     O(davit_detect_options))
CALL(davit_detect, P(detector), N(300), P(sound), P(a.out.detections))
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

/* ---- names of arguments ---- */

/* A sentence names the refused argument with its value, as in "m is -1", or says "device 77" of one that this
 * machine has not. That of davit_scan_flags() may be about an element. */
static void expect_named(const row *r, int argument, davit_status status) {
  char words[160], device[80];
  for (char *c = value; *c; c++) /* a sentence has '?' for what cannot be printed */
    if (!isprint((unsigned char)*c))
      *c = 0;
  snprintf(words, sizeof words, "%s is %s", argument_name(r->name, argument), value);
  snprintf(device, sizeof device, "device %s", value);
  const bool refused = *value && (status == DAVIT_INVALID_ARGUMENT || status == DAVIT_UNKNOWN_DEVICE);
  const bool unknown = status == DAVIT_UNKNOWN_DEVICE && strstr(davit_last_error(), device);
  if (refused && !unknown && !strstr(r->name, "scan_flags") && !strstr(davit_last_error(), words))
    fail_msg("%s: \"%s\" does not say \"%s\"", r->name, davit_last_error(), words);
}

/* ---- the rules ---- */

static int open_all(void **state) {
  (void)state;
  read_prototypes(DAVIT_HEADERS);
  fill_arena();
  queue = new_queue(DAVIT_HOST, 1);
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

static int close_all(void **state) {
  CHECK(davit_align_database_destroy(database));
  CHECK(davit_detector_destroy(detector));
  CHECK(davit_queue_destroy(queue));
  CHECK(davit_event_destroy(event));
  CHECK(davit_timer_destroy(timer));
  return finalize(state);
}

/* Makes the call with fresh memory, in which a call that fails writes nothing. */
static davit_status perform(const row *r, int argument, int which) {
  fill_arena();
  before = a;
  mutated = argument;
  extreme = which;
  position = extremes = 0;
  refused_from = INT_MAX;
  seen.words = 0;
  dvt_error_clear();
  const davit_status status = r->call();
  if (status != DAVIT_SUCCESS) {
    if (!*davit_last_error() || memcmp(&a, &before, sizeof a) != 0)
      fail_msg("%s, argument %d, extreme %d: \"%s\", memory %s", r->name, argument, which, davit_last_error(),
               memcmp(&a, &before, sizeof a) ? "written" : "as it was");
  }
  davit_queue_synchronize(queue); /* work may fail */
  CHECK(davit_device_select(device_count() > 0 ? 0 : DAVIT_HOST));
  return status;
}

static bool is_queue_form(const row *r) {
  return strncmp(r->name, "davit_queue_", 12) == 0;
}

/* ---- failures ---- */

static void judge(const row *r, int kind, int n, davit_status status, davit_status usual) {
  if (status != usual && (!*davit_last_error() || !may_fail_so((dvt_injection)kind, status)))
    fail_msg("%s: injection %d, passage %d: %s: \"%s\"", r->name, kind, n, davit_status_string(status),
             davit_last_error());
}

/* The n-th passage fails in a call of a library that has just been started, so its pools are empty. The call,
 * or its queue, says so, or the call does without; the next call does what it would have done. */
static bool fail_row(const row *r, int kind, int n, davit_status usual, const struct arena *right) {
  bool armed = false;
  close_all(NULL);
  open_all(NULL);
  mutated = -1;
  seen.words = 0;
  dvt_error_clear();
  dvt_inject((dvt_injection)kind, n);
  const davit_status status = r->call();
  judge(r, kind, n, status, usual);
  dvt_error_clear();
  const davit_status later = davit_queue_synchronize(queue);
  judge(r, kind, n, later, DAVIT_SUCCESS);
  if (status == DAVIT_SUCCESS && later == DAVIT_SUCCESS && seen.words > 0 && memcmp(&a, right, sizeof a) != 0)
    fail_msg("%s: injection %d, passage %d: success with other results", r->name, kind, n);
  for (int i = 0; i < n && !armed; i++)
    armed = dvt_injected((dvt_injection)kind);
  dvt_inject((dvt_injection)kind, 0);
  const davit_status again = perform(r, -1, 0);
  if (again != usual)
    fail_msg("%s: injection %d, passage %d: afterwards \"%s\"", r->name, kind, n, davit_last_error());
  return !armed;
}

/* Every passage of every function fails: a status and a sentence, and nothing leaks. The first case, because
 * a nowait region keeps the threads that there are for ever. */
CASE(test_failures) {
  int failures[DVT_INJECTIONS] = {0};
  options_mode = OPTIONS_NULL;
  for (const row *r = rows; r < rows + row_count; r++) {
    static struct arena right;
    if (!strcmp(r->name, "davit_level3_measure")) /* measures for seconds at each passage */
      continue;
    const davit_status usual = perform(r, -1, 0);
    right = a;
    for (int kind = 0; kind < DVT_INJECTIONS; kind++)
      for (int n = 1; kind != DVT_INJECT_UNPACK && fail_row(r, kind, n, usual, &right); n++)
        failures[kind]++;
  }
  for (int kind = 0; kind < DVT_INJECTIONS; kind++) {
    print_message("injection %d: %d failures\n", kind, failures[kind]);
    assert_true(failures[kind] > 0 || kind == DVT_INJECT_UNPACK); /* once in the life of a process */
  }
}

/* Each argument of each function at its extremes: nothing crashes, and what fails says why. */
CASE(test_extreme_arguments) {
  for (int mode = OPTIONS_NULL; mode <= OPTIONS_ZERO; mode++)
    for (const row *r = rows; r < rows + row_count; r++) {
      options_mode = (options_choice)mode;
      if (perform(r, -1, 0) != DAVIT_SUCCESS && !strstr(r->name, "tuning") &&
          !strstr(r->name, "card_describe") && !strstr(r->name, "finalize"))
        fail_msg("%s: %s", r->name, davit_last_error());
      const int arguments = position;
      for (int argument = 0; argument < arguments; argument++) {
        int count = 1;
        for (int which = 0; which < count; which++) {
          if (which && left_out())
            continue;
          const davit_status status = perform(r, argument, which);
          if (status == DAVIT_SUCCESS && which >= refused_from)
            fail_msg("%s: argument %d takes extreme %d", r->name, argument, which);
          if (status != DAVIT_SUCCESS)
            expect_named(r, argument, status);
          count = extremes;
        }
      }
    }
}

/* Reserved words are 0. */
CASE(test_reserved_words) {
  int words = 0;
  options_mode = OPTIONS_RESERVED;
  for (const row *r = rows; r < rows + row_count; r++) {
    reserved_word = 0;
    do {
      char sentence[64];
      const davit_status status = perform(r, -1, 0);
      if (seen.words == 0)
        break;
      snprintf(sentence, sizeof sentence, "options->reserved[%d] is 7", reserved_word);
      if (status != DAVIT_INVALID_ARGUMENT || !strstr(davit_last_error(), sentence))
        fail_msg("%s: \"%s\"", r->name, davit_last_error());
      words++;
    } while (++reserved_word < seen.words);
  }
  assert_true(words > 100);
}

/* The same for structs that are arguments. */
CASE(test_reserved_words_of_arguments) {
  for (int k = 0; k < 4; k++) {
    char words[64];
    int32_t scores[2];
    snprintf(words, sizeof words, "scoring->reserved[%d] is 1", k);
    scoring.reserved[k] = 1;
    REFUSED(davit_align_scores(database, &scoring, 4, a.symbols, scores), words);
    scoring.reserved[k] = 0;
    snprintf(words, sizeof words, "card->reserved[%d] is 1", k);
    card.reserved[k] = 1;
    REFUSED(davit_occupancy(&card, &block, &(davit_occupancy_result){0}, NULL), words);
    card.reserved[k] = 0;
  }
}

/* A queue has its device. */
CASE(test_queue_forms_take_no_devices) {
  int forms = 0;
  options_mode = OPTIONS_DEVICES;
  for (const row *r = rows; r < rows + row_count; r++) {
    const davit_status status = perform(r, -1, 0);
    if (seen.words == 0 || seen.device_count == 0)
      continue;
    if (is_queue_form(r) &&
        (status != DAVIT_INVALID_ARGUMENT || !strstr(davit_last_error(), "options->devices")))
      fail_msg("%s: \"%s\"", r->name, davit_last_error());
    if (!is_queue_form(r) && status != DAVIT_SUCCESS)
      fail_msg("%s on the host: \"%s\"", r->name, davit_last_error());
    forms += is_queue_form(r);
  }
  assert_int_equal(forms, 67);
}

/* Offsets that are no sequences, with and without symbols. */
CASE(test_offsets_of_sequences) {
  static const int64_t wrong[][3] = {
      {0, 2, 0}, {2, 0, 0}, {-1, 0, 0}, {0, INT64_MAX, 0}, {INT64_MIN, INT64_MAX, 0}, {0, 0, INT64_MAX}};
  for (int i = 0; i < COUNT(wrong); i++)
    for (int symbols = 0; symbols < 2; symbols++) {
      const davit_align_sequences bad = {2, wrong[i], symbols ? a.symbols : NULL};
      davit_align_database *made = NULL;
      REFUSED(davit_align_database_create(&bad, 2, &made, NULL), "targets->");
      assert_null(made);
    }
}

/* {0} is the default. */
CASE(test_default_options) {
  for (const row *r = rows; r < rows + row_count; r++) {
    static struct arena by_null;
    options_mode = OPTIONS_NULL;
    const davit_status status = perform(r, -1, 0);
    by_null = a;
    options_mode = OPTIONS_ZERO;
    if (perform(r, -1, 0) != status || (seen.words > 0 && memcmp(&a, &by_null, sizeof a) != 0))
      fail_msg("%s: {0} and NULL differ", r->name);
  }
}

int main(void) {
  return run_cases(open_all, close_all);
}
