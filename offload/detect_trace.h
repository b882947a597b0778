/* Where the best alignments lie, on the CPU, a window in each lane: included by detect.c after detect_lanes.h for float.
 *
 * A row of similarities is made, gone through and forgotten; of each cell a byte is kept that says what made it, from which the
 * way back is found lane by lane. */

typedef int32_t int_lanes __attribute__((vector_size(64)));
typedef uint8_t byte_lanes __attribute__((vector_size(FLOATS)));

/* The best cells so far. */
typedef struct trace_best {
  lanes_float score;
  int_lanes row, column;
} trace_best;

/* Row i in the window's own order. */
static inline __attribute__((always_inline)) void trace_row(int64_t effect, const lanes_float *s,
                                                            float gap_open, float gap_extend, int64_t i,
                                                            borders_float *border, byte_lanes *choices,
                                                            trace_best *best) {
  const lanes_float zero = {0}, open = zero + gap_open, extend = zero + gap_extend;
  lanes_float diagonal = zero, left = zero, e = zero;
  for (int64_t j = 0; j < effect; j++) {
    const lanes_float up = border[j].h, e_on = e - extend, f_on = border[j].f - extend;
    const lanes_float e_new = left - open, f_new = up - open, matched = diagonal + s[j];
    e = __builtin_elementwise_max(e_on, e_new);
    border[j].f = __builtin_elementwise_max(f_on, f_new);
    left = __builtin_elementwise_max(__builtin_elementwise_max(__builtin_elementwise_max(matched, zero), e),
                                     border[j].f);
    /* Comparisons are -1 or 0. */
    const int_lanes by_match = left <= matched, across = left <= e;
    const int_lanes way = (left > zero) & ((by_match & DVT_DIAGONAL) | (~by_match & (DVT_DOWN + across)));
    const int_lanes choice = way | ((e_on > e_new) & DVT_ACROSS_ON) | ((f_on > f_new) & DVT_DOWN_ON);
    choices[j] = __builtin_convertvector(choice, byte_lanes);
    diagonal = up;
    border[j].h = left;
    const int_lanes better = left > best->score;
    best->score = __builtin_elementwise_max(best->score, left);
    best->row = (better & (int32_t)i) | (~better & best->row);
    best->column = (better & (int32_t)j) | (~better & best->column);
  }
}

/* What dvt_detect_trace_bytes() makes room for. */
typedef struct trace_memory {
  lanes_float *s;
  borders_float *border;
  float *x;
  byte_lanes *choices;
} trace_memory;

static inline __attribute__((always_inline)) void trace_windows(const dvt_detect_task *t, int e,
                                                                int64_t first, int64_t count,
                                                                const trace_memory *m, trace_best *best) {
  const dvt_detect_effect *effect = &t->effects[e];
  *best = (trace_best){.row = (int_lanes){0} - 1};
  clear_float(effect->frames, m->border);
  for (int64_t i = 0; i < t->window; i++) {
    frames_float(t, first, count, i, m->x);
    similarities_float(t->width, (const float_lanes *)m->x, effect->frames, effect->features, t->threshold,
                       t->round, m->s);
    trace_row(effect->frames, m->s, t->gap_open, t->gap_extend, i, m->border, m->choices + i * effect->frames,
              best);
  }
}

typedef void (*trace_function)(const dvt_detect_task *t, int e, int64_t first, int64_t count,
                               const trace_memory *m, trace_best *best);
#define VARIANT(number, attributes)                                                                          \
  attributes static void trace_##number(const dvt_detect_task *t, int e, int64_t first, int64_t count,       \
                                        const trace_memory *m, trace_best *best) {                           \
    trace_windows(t, e, first, count, m, best);                                                              \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

static const trace_function traces[] = {
#define VARIANT(number, attributes) trace_##number,
    DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
};
