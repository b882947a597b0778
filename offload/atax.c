/* y = opᵀ(A) (op(A) x) on a device: 4 m n flops over m n elements of A.
 *
 * GPU, 'T' (tmp_j = a_j · x, y = sum of tmp_j a_j): one pass over A where a column fits on a multiprocessor, m <= 12288
 * doubles or 24576 floats. Persistent teams take every teams-th group of COLS columns. The group is in registers while
 * it is multiplied by x and, once the team has agreed on tmp, added to the team's y, which is in registers too;
 * meanwhile the next group streams into team memory (cp.async). A thread reads back only what it has copied itself, so
 * that the sums' barrier is the only one. A thread holds SLOTS pieces of 16 bytes of each column; COLS * SLOTS is always
 * HELD, so short columns come several at a time, and the team is as small as the column allows: whatever m is, the
 * bytes on their way to a multiprocessor are about the same. The teams' sums of y meet in scratch memory; a second
 * kernel adds them up in a fixed order. Columns of odd alignment are copied element by element.
 * Longer columns: two products by cuBLAS, which read A twice.
 *
 * GPU, 'N': tmp needs whole rows, which lie across all columns: two products by cuBLAS.
 *
 * CPU: 'T': ABREAST columns are multiplied by x and, still in the L2 cache, added to y: one pass over A. 'N': the same for
 * panels of rows. They fit into the L2 cache where A is narrow enough for runs of SHORT_RUN bytes down its columns;
 * panels of wider matrices have long runs and come from the L3 cache or, past that, from memory once more. Each thread
 * has a y of its own; they are added in the order of the threads.
 *
 * The file includes itself: for each type (REAL), and for each type's shapes of the kernel (SLOTS). */
#ifndef REAL

#include <omp.h>
#include <string.h>

#include "offload/atax.h"
#include "offload/blas.h"
#include "offload/kernel/gpu.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  HELD = 12, /* pieces of 16 bytes that a thread has in registers, and as many on their way */
  MOST_THREADS = 512,
  SUM_THREADS = 1024, /* of a team of the second kernel: 32 elements of y by 32 shares of the teams */
  SUM_SHARES = SUM_THREADS / 32,
  /* CPU */
  ABREAST = 4,
  LINE = 64,
  CACHE_BYTES = 1 << 20,
  SHORT_RUN = 4 << 10, /* bytes of a column that are read at a time: shorter ones are slow, */
  LONG_RUN = 64 << 10, /* longer ones no faster */
  UNIT_BYTES = 512     /* of a column: no thread's share of the rows is smaller */
};

static size_t element_bytes(const dvt_atax *g) {
  return g->type == DAVIT_DOUBLE ? sizeof(double) : sizeof(float);
}

/* Lengths of tmp, and of x and y. */
static int64_t inner(const dvt_atax *g) {
  return g->trans == 'N' ? g->m : g->n;
}

static int64_t outer(const dvt_atax *g) {
  return g->trans == 'N' ? g->n : g->m;
}

size_t dvt_target_atax_scratch(const dvt_atax *g) {
  return g->tmp ? 0 : dvt_aligned_up((size_t)inner(g) * element_bytes(g));
}

/* Shares of the work that have a y of their own: of rows that make whole runs, or of columns. */
static int share_count(const dvt_atax *g, int threads) {
  int64_t least = g->trans == 'N' ? UNIT_BYTES / (int64_t)element_bytes(g) : ABREAST;
  return (int)dvt_at_most(dvt_divide_up(inner(g), least), threads);
}

/* The kernels are for NVIDIA devices alone: nobody else launches them. */
#ifdef __NVPTX__
#define KERNELS
extern __attribute__((address_space(3))) char dvt_team_memory[] __attribute__((aligned(16)));
#define SHARED __attribute__((address_space(3)))

/* The value as one that the compiler knows nothing of. */
static inline int opaque(int value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

#if __CUDA_ARCH__ >= 800
/* `bytes` of 16 are copied, the rest is 0. */
static inline void copy_piece(SHARED void *to, const void *from, int bytes) {
  __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)(uintptr_t)to), "l"(from),
                   "r"(bytes)
                   : "memory");
}

static inline void copy_element(SHARED void *to, const void *from, int bytes, bool wide) {
  if (wide)
    __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"((uint32_t)(uintptr_t)to), "l"(from),
                     "r"(bytes)
                     : "memory");
  else
    __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint32_t)(uintptr_t)to), "l"(from),
                     "r"(bytes)
                     : "memory");
}

static inline void copies_done(void) {
  __asm__ volatile("cp.async.wait_all;" ::: "memory");
}
#else
/* Older devices wait for each copy. */
static inline void copy_piece(SHARED void *to, const void *from, int bytes) {
  for (int i = 0; i < 4; i++)
    ((SHARED uint32_t *)to)[i] = 4 * i < bytes ? ((const uint32_t *)from)[i] : 0;
}

static inline void copy_element(SHARED void *to, const void *from, int bytes, bool wide) {
  for (int i = 0; i < 1 + wide; i++)
    ((SHARED uint32_t *)to)[i] = 4 * i < bytes ? ((const uint32_t *)from)[i] : 0;
}

static inline void copies_done(void) {
}
#endif
#else
/* Stands for the kernels' bodies, so that the regions have the same arguments. */
static inline void no_body(const void *first, ...) {
  (void)first;
}
#endif

#define WIDE (16 / (int)sizeof(REAL))
#define X_CELLS (COLUMNS == 1 ? SLOTS : 0)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* How columns may be held. */
typedef struct shape {
  int columns, slots;
} shape;
enum { SHAPES = 3 };
static const shape shapes[SHAPES] = {{1, 12}, {4, 3}, {12, 1}};

#define REAL double
#define NAME(operation) d##operation
#include "offload/atax.c"
#undef REAL
#undef NAME
#define REAL float
#define NAME(operation) s##operation
#include "offload/atax.c"

davit_status dvt_stream_atax_plan(dvt_stream *stream, const dvt_atax *g, dvt_atax_plan *plan) {
  *plan = (dvt_atax_plan){.shape = -1, .scratch_bytes = dvt_target_atax_scratch(g)};
  if (g->trans == 'T')
    g->type == DAVIT_DOUBLE ? datax_plan(stream, g, plan) : satax_plan(stream, g, plan);
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_atax(dvt_stream *stream, const dvt_atax *g, const dvt_atax_plan *plan,
                             void *scratch) {
  return g->type == DAVIT_DOUBLE ? datax_stream(stream, g, plan, scratch)
                                 : satax_stream(stream, g, plan, scratch);
}

davit_status dvt_target_atax(int device, const dvt_atax *g, void *scratch) {
  return g->type == DAVIT_DOUBLE ? datax_target(device, g, scratch) : satax_target(device, g, scratch);
}

size_t dvt_cpu_atax_scratch(const dvt_atax *g, int threads) {
  return dvt_target_atax_scratch(g) +
         (size_t)share_count(g, threads) * dvt_aligned_up((size_t)outer(g) * element_bytes(g));
}

void dvt_cpu_atax(const dvt_atax *g, int threads, void *scratch) {
  if (g->type == DAVIT_DOUBLE)
    datax_cpu(g, threads, scratch);
  else
    satax_cpu(g, threads, scratch);
}

#elif !defined(SLOTS) /* one type */

#ifdef KERNELS
typedef REAL NAME(piece) __attribute__((vector_size(16)));

DVT_DEFINE_SHUFFLE(REAL, NAME(shuffle))

/* y_i = the teams' sums, each SUM_SHARES-th by one thread, added up in ascending order of the threads. */
static inline void NAME(add_up)(const REAL *sums, REAL *y, int64_t length, int64_t pitch, int64_t teams,
                                int64_t add) {
  DVT_SHARED REAL shares[SUM_SHARES][33];
  int lane = dvt_lane_number(), share = dvt_thread() / 32;
  int64_t i = (int64_t)dvt_team() * 32 + lane;
  REAL sum = 0;
  if (i < length) {
#pragma unroll 4
    for (int64_t team = share; team < teams; team += SUM_SHARES)
      sum += sums[team * pitch + i];
  }
  shares[share][lane] = sum;
  dvt_barrier();
  if (share == 0 && i < length) {
    sum = add ? y[i] : 0;
    for (int k = 0; k < SUM_SHARES; k++)
      sum += shares[k][lane];
    y[i] = sum;
  }
}
#define ADD_UP NAME(add_up)
#else
#define ADD_UP no_body
#endif

__attribute__((used)) static void NAME(atax_sums)(int device, int teams, const REAL *sums, REAL *y,
                                                  int64_t length, int64_t pitch, int64_t count, int64_t add) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(SUM_THREADS) device(device)                 \
    is_device_ptr(sums, y)
  {
    ADD_UP(sums, y, length, pitch, count, add);
  }
}
#undef ADD_UP

#define COLUMNS 1
#define SLOTS 12
#define KERNEL(operation) NAME(operation##_1)
#include "offload/atax.c"
#undef COLUMNS
#undef SLOTS
#undef KERNEL
#define COLUMNS 4
#define SLOTS 3
#define KERNEL(operation) NAME(operation##_4)
#include "offload/atax.c"
#undef COLUMNS
#undef SLOTS
#undef KERNEL
#define COLUMNS 12
#define SLOTS 1
#define KERNEL(operation) NAME(operation##_12)
#include "offload/atax.c"
#undef COLUMNS
#undef SLOTS
#undef KERNEL

static dvt_kernel NAME(kernels)[SHAPES] = {{.function = TEXT(NAME(atax_pass_1))},
                                           {.function = TEXT(NAME(atax_pass_4))},
                                           {.function = TEXT(NAME(atax_pass_12))}};

/* Team memory: the group that comes; x, if registers do not hold it; two sets of the warps' sums. */
static size_t NAME(shared_bytes)(shape s, int threads) {
  return (size_t)(HELD + (s.columns == 1 ? s.slots : 0)) * 16 * (size_t)threads +
         2 * (size_t)s.columns * (size_t)(threads / 32) * sizeof(REAL);
}

/* The shape that keeps most of A on its way: useful bytes of a team over its threads. */
static void NAME(choose)(int64_t m, dvt_atax_plan *plan) {
  int64_t best = 0;
  for (int k = 0; k < SHAPES; k++)
    for (int threads = 32; threads <= MOST_THREADS; threads *= 2) {
      int64_t fits = (int64_t)threads * shapes[k].slots * 16 / (int64_t)sizeof(REAL);
      int64_t worth = shapes[k].columns * m * MOST_THREADS / threads;
      if (m <= fits && worth > best) {
        best = worth;
        plan->shape = k;
        plan->threads = threads;
      }
    }
}

/* Elements of a team's sums: the column and what of the threads' pieces lies beyond it. */
static int64_t NAME(pitch)(const dvt_atax_plan *plan) {
  return (int64_t)plan->threads * shapes[plan->shape].slots * WIDE;
}

static void NAME(atax_plan)(dvt_stream *stream, const dvt_atax *g, dvt_atax_plan *plan) {
  NAME(choose)(g->m, plan);
  if (plan->shape < 0)
    return;
  shape s = shapes[plan->shape];
  plan->shared_bytes = NAME(shared_bytes)(s, plan->threads);
  int residents;
  if (dvt_launch_residents(&NAME(kernels)[plan->shape], stream, plan->threads, plan->shared_bytes,
                           &residents) != DAVIT_SUCCESS) {
    plan->shape = -1; /* this device has less team memory */
    return;
  }
  plan->teams = (int)dvt_at_most(residents, dvt_divide_up(g->n, s.columns));
  plan->scratch_bytes = (size_t)plan->teams * (size_t)NAME(pitch)(plan) * sizeof(REAL);
}

static davit_status NAME(one_pass)(dvt_stream *stream, const dvt_atax *g, const dvt_atax_plan *plan,
                                   void *sums) {
  static dvt_kernel adding = {.function = TEXT(NAME(atax_sums))};
  int64_t pitch = NAME(pitch)(plan);
  bool aligned = ((uintptr_t)g->a | (uintptr_t)g->lda * sizeof(REAL)) % 16 == 0;
  davit_status status =
      dvt_launch(&NAME(kernels)[plan->shape], stream, plan->teams, plan->threads, plan->shared_bytes,
                 DVT_ARGUMENTS(g->a, g->lda, g->x, g->tmp, sums, pitch, g->m, g->n, plan->threads, aligned));
  if (status != DAVIT_SUCCESS)
    return status;
  return dvt_launch(&adding, stream, dvt_divide_up(g->m, 32), SUM_THREADS, 0,
                    DVT_ARGUMENTS(sums, g->y, g->m, pitch, plan->teams, g->add));
}

/* tmp = op(A) x and y = opᵀ(A) tmp, or y += …, in the form that fits the site. */
static davit_status NAME(two_products)(const dvt_site *site, const dvt_atax *g, REAL *tmp) {
  const dvt_form multiply = site->stream ? dvt_gemv_stream : dvt_gemv_region;
  const dvt_gemv first = {g->type, g->trans, g->m, g->n, 1, g->a, g->lda, g->x, 1, 0, tmp, 1};
  dvt_gemv second = first;
  second.trans = g->trans == 'N' ? 'T' : 'N';
  second.x = tmp;
  second.beta = g->add;
  second.y = g->y;
  DVT_TRY(multiply(site, &first));
  return multiply(site, &second);
}

static davit_status NAME(atax_stream)(dvt_stream *stream, const dvt_atax *g, const dvt_atax_plan *plan,
                                      void *scratch) {
  return plan->shape >= 0 ? NAME(one_pass)(stream, g, plan, scratch)
                          : NAME(two_products)(&(dvt_site){.stream = stream}, g, g->tmp ? g->tmp : scratch);
}

static davit_status NAME(atax_target)(int device, const dvt_atax *g, void *scratch) {
  return NAME(two_products)(&(dvt_site){.device = device}, g, g->tmp ? g->tmp : scratch);
}

/* ---- CPU ---- */

typedef REAL NAME(line) __attribute__((vector_size(LINE), aligned(sizeof(REAL))));

/* sums[k] = column k · x, k < count. */
static inline __attribute__((always_inline)) void
NAME(multiply)(const REAL *a, int64_t lda, const REAL *x, int64_t length, REAL *sums, const int count) {
  enum { PER_LINE = LINE / sizeof(REAL) };
  NAME(line) even[ABREAST] = {0}, odd[ABREAST] = {0};
  int64_t i = 0;
  for (; i + 2 * PER_LINE <= length; i += 2 * PER_LINE) {
    NAME(line) x0 = *(const NAME(line) *)(x + i), x1 = *(const NAME(line) *)(x + i + PER_LINE);
#pragma unroll
    for (int k = 0; k < count; k++) {
      even[k] += *(const NAME(line) *)(a + k * lda + i) * x0;
      odd[k] += *(const NAME(line) *)(a + k * lda + i + PER_LINE) * x1;
    }
  }
#pragma unroll
  for (int k = 0; k < count; k++) {
    NAME(line) both = even[k] + odd[k];
    sums[k] = 0;
    for (int e = 0; e < PER_LINE; e++)
      sums[k] += both[e];
    for (int64_t rest = i; rest < length; rest++)
      sums[k] += a[k * lda + rest] * x[rest];
  }
}

/* y += sum of factors[k] column k, k < count. */
static inline __attribute__((always_inline)) void NAME(add)(const REAL *a, int64_t lda, const REAL *factors,
                                                            REAL *y, int64_t length, const int count) {
  enum { PER_LINE = LINE / sizeof(REAL) };
  int64_t i = 0;
  for (; i + PER_LINE <= length; i += PER_LINE) {
    NAME(line) sum = *(const NAME(line) *)(y + i);
#pragma unroll
    for (int k = 0; k < count; k++)
      sum += factors[k] * *(const NAME(line) *)(a + k * lda + i);
    *(NAME(line) *)(y + i) = sum;
  }
  for (; i < length; i++)
    for (int k = 0; k < count; k++)
      y[i] += factors[k] * a[k * lda + i];
}

/* 'T' of an m × n block: tmp has n elements, y += has m. */
static inline __attribute__((always_inline)) void
NAME(columns)(int64_t m, int64_t n, const REAL *a, int64_t lda, const REAL *x, REAL *tmp, REAL *y) {
  int64_t j = 0, abreast = m <= CACHE_BYTES / (ABREAST * (int64_t)sizeof(REAL)) ? ABREAST : 1;
  for (; abreast > 1 && j + ABREAST <= n; j += ABREAST) {
    NAME(multiply)(a + j * lda, lda, x, m, tmp + j, ABREAST);
    NAME(add)(a + j * lda, lda, tmp + j, y, m, ABREAST);
  }
  for (; j < n; j++) {
    NAME(multiply)(a + j * lda, lda, x, m, tmp + j, 1);
    NAME(add)(a + j * lda, lda, tmp + j, y, m, 1);
  }
}

/* 'N' of an m × n panel: tmp has m elements, y += has n. */
static inline __attribute__((always_inline)) void
NAME(panel)(int64_t m, int64_t n, const REAL *a, int64_t lda, const REAL *x, REAL *tmp, REAL *y) {
  memset(tmp, 0, (size_t)m * sizeof *tmp);
  int64_t j = 0;
  for (; j + ABREAST <= n; j += ABREAST)
    NAME(add)(a + j * lda, lda, x + j, tmp, m, ABREAST);
  for (; j < n; j++)
    NAME(add)(a + j * lda, lda, x + j, tmp, m, 1);
  REAL sums[ABREAST];
  for (j = 0; j + ABREAST <= n; j += ABREAST) {
    NAME(multiply)(a + j * lda, lda, tmp, m, sums, ABREAST);
    for (int k = 0; k < ABREAST; k++)
      y[j + k] += sums[k];
  }
  for (; j < n; j++) {
    NAME(multiply)(a + j * lda, lda, tmp, m, sums, 1);
    y[j] += sums[0];
  }
}

static inline __attribute__((always_inline)) void
NAME(share)(char trans, int64_t m, int64_t n, const REAL *a, int64_t lda, const REAL *x, REAL *tmp, REAL *y) {
  if (trans == 'T') {
    NAME(columns)(m, n, a, lda, x, tmp, y);
    return;
  }
  int64_t fitting = CACHE_BYTES / n / LINE * LINE,
          rows = (fitting < SHORT_RUN ? LONG_RUN : fitting) / (int64_t)sizeof(REAL);
  for (int64_t i = 0; i < m; i += rows)
    NAME(panel)(dvt_at_most(rows, m - i), n, a + i, lda, x, tmp + i, y);
}

typedef void (*NAME(share_function))(char trans, int64_t m, int64_t n, const REAL *a, int64_t lda,
                                     const REAL *x, REAL *tmp, REAL *y);
#define VARIANT(number, attributes)                                                                          \
  attributes static void NAME(share_##number)(char trans, int64_t m, int64_t n, const REAL *a, int64_t lda,  \
                                              const REAL *x, REAL *tmp, REAL *y) {                           \
    NAME(share)(trans, m, n, a, lda, x, tmp, y);                                                             \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

/* Share k of `shares`: rows in whole runs ('N') or columns, with a y of its own. */
static void NAME(do_share)(const dvt_atax *g, int k, int shares, REAL *tmp, REAL *y) {
  static const NAME(share_function) variants[] = {
#define VARIANT(number, attributes) NAME(share_##number),
      DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
  };
  int64_t unit = g->trans == 'N' ? UNIT_BYTES / (int64_t)sizeof(REAL) : ABREAST;
  int64_t each = dvt_divide_up(dvt_divide_up(inner(g), unit), shares) * unit,
          begin = dvt_at_most(k * each, inner(g));
  int64_t count = dvt_at_most(each, inner(g) - begin);
  memset(y, 0, (size_t)outer(g) * sizeof *y);
  const REAL *a = (const REAL *)g->a + (g->trans == 'N' ? begin : begin * g->lda);
  variants[dvt_cpu_best()](g->trans, g->trans == 'N' ? count : g->m, g->trans == 'N' ? g->n : count, a,
                           g->lda, g->x, tmp + begin, y);
}

static void NAME(atax_cpu)(const dvt_atax *g, int threads, void *scratch) {
  int shares = share_count(g, threads);
  REAL *tmp = g->tmp ? g->tmp : scratch, *y = g->y;
  REAL *own = (REAL *)(void *)((char *)scratch + dvt_target_atax_scratch(g));
  int64_t length = outer(g), pitch = (int64_t)(dvt_aligned_up((size_t)length * sizeof(REAL)) / sizeof(REAL));
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static, 1)
    for (int k = 0; k < shares; k++)
      NAME(do_share)(g, k, shares, tmp, own + k * pitch);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < length; i++) {
      REAL sum = g->add ? y[i] : 0;
      for (int k = 0; k < shares; k++)
        sum += own[k * pitch + i];
      y[i] = sum;
    }
  }
}

#else /* the one-pass kernel of one type with groups of COLUMNS columns */

#ifdef KERNELS
/* A thread's way through its cells of team memory and its pieces of a column: from one to the next by adding the
 * team's width. (Offsets that the compiler worked out once for all would fill the registers.) */
typedef struct KERNEL(way) {
  SHARED char *cell;
  const REAL *from;
  int left; /* elements from `from` to the end of the column */
} KERNEL(way);

/* Where the next piece goes, and on. */
static inline void KERNEL(copy)(KERNEL(way) * way, bool aligned, int step) {
  int rows = way->left < 0 ? 0 : way->left < WIDE ? way->left : WIDE;
  if (aligned) {
    copy_piece(way->cell, way->from, rows * (int)sizeof(REAL));
  } else {
#pragma unroll
    for (int k = 0; k < WIDE; k++)
      copy_element((SHARED REAL *)(SHARED void *)way->cell + k, way->from + k,
                   k < rows ? (int)sizeof(REAL) : 0, sizeof(REAL) == 8);
  }
  way->from += step;
  way->left -= step;
}

/* A thread's piece of x, which need not be aligned. */
static inline NAME(piece) KERNEL(x_piece)(const REAL *x, int first, int length) {
  NAME(piece) piece;
#pragma unroll
  for (int k = 0; k < WIDE; k++)
    piece[k] = first + k < length ? x[first + k] : 0;
  return piece;
}

/* The sum over the team's threads of each dot[c], in the same order for all. */
static inline void KERNEL(agree)(REAL *dot, SHARED REAL *shares, int warps) {
  int lane = dvt_lane_number();
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2)
      dot[c] += NAME(shuffle)(dot[c], lane ^ half);
    if (lane == 0)
      shares[c * warps + dvt_thread() / 32] = dot[c];
  }
  dvt_barrier();
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    dot[c] = 0;
#pragma unroll 4
    for (int w = 0; w < warps; w++)
      dot[c] += shares[c * warps + w];
  }
}

static inline void KERNEL(pass)(const REAL *a, int64_t lda, const REAL *x, REAL *tmp, REAL *sums,
                                int64_t pitch, int64_t m, int64_t n, int64_t threads, int64_t aligned) {
  const int thread = dvt_thread(), warps = (int)threads / 32, step = (int)threads * WIDE,
            row = step * 16 / WIDE;
  const int first = thread * WIDE, length = (int)m;
  SHARED char *cells =
      dvt_team_memory + thread * 16; /* of the coming group; where COLUMNS is 1, each before one of x */
  SHARED REAL *shares = (SHARED REAL *)(SHARED void *)(dvt_team_memory + (HELD + X_CELLS) * row);
  NAME(piece) own_x[SLOTS], own_y[SLOTS], held[COLUMNS][SLOTS];
#pragma unroll
  for (int s = 0; s < SLOTS; s++) {
    own_y[s] = (NAME(piece)){0};
    own_x[s] = X_CELLS ? own_y[s] : KERNEL(x_piece)(x, first + s * step, length);
  }
#pragma unroll 1
  for (int s = 0; s < X_CELLS; s++)
    *(SHARED NAME(piece) *)(SHARED void *)(cells + (2 * s + 1) * row) =
        KERNEL(x_piece)(x, first + s * step, length);
  int64_t group = dvt_team(), groups = (n + COLUMNS - 1) / COLUMNS;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    int64_t column = group * COLUMNS + c;
    KERNEL(way)
    way = {cells + c * SLOTS * row, a + (column < n ? column * lda : 0) + first,
           column < n ? length - first : 0};
#pragma unroll
    for (int s = 0; s < SLOTS; s++, way.cell += row * (X_CELLS ? 2 : 1))
      KERNEL(copy)(&way, aligned, step);
  }
  for (int parity = 0; group < groups; group += dvt_teams(), parity ^= 1) {
    REAL dot[COLUMNS];
    bool more = group + dvt_teams() < groups;
    int stride = opaque(step), cell_stride = opaque(row);
    SHARED char *cell = cells + opaque(0);
    copies_done();
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      NAME(piece) sum = {0};
      int64_t column = (group + dvt_teams()) * COLUMNS + c;
      KERNEL(way) way = {cell, a + (column < n ? column * lda : 0) + first, column < n ? length - first : 0};
#pragma unroll
      for (int s = 0; s < SLOTS; s++, way.cell += cell_stride) {
        held[c][s] = *(SHARED NAME(piece) *)(SHARED void *)way.cell;
        if (more)
          KERNEL(copy)(&way, aligned, stride);
        if (X_CELLS)
          own_x[s] = *(SHARED NAME(piece) *)(SHARED void *)(way.cell += cell_stride);
        sum += held[c][s] * own_x[s];
      }
      cell = way.cell;
      dot[c] = sum[0];
#pragma unroll
      for (int k = 1; k < WIDE; k++)
        dot[c] += sum[k];
    }
    KERNEL(agree)(dot, shares + parity * COLUMNS * warps, warps);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      if (thread == 0 && tmp && group * COLUMNS + c < n)
        tmp[group * COLUMNS + c] = dot[c];
#pragma unroll
      for (int s = 0; s < SLOTS; s++)
        own_y[s] += dot[c] * held[c][s];
    }
  }
  sums += dvt_team() * pitch + first;
#pragma unroll
  for (int s = 0; s < SLOTS; s++, sums += step)
    *(NAME(piece) *)sums = own_y[s];
}
#define PASS KERNEL(pass)
#else
#define PASS no_body
#endif

/* Launched by dvt_launch() alone: the OpenMP runtime gives a team less memory than it needs. */
__attribute__((used)) static void KERNEL(atax_pass)(int device, int teams, const REAL *a, int64_t lda,
                                                    const REAL *x, REAL *tmp, REAL *sums, int64_t pitch,
                                                    int64_t m, int64_t n, int64_t threads, int64_t aligned) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(MOST_THREADS) device(device)                \
    is_device_ptr(a, x, tmp, sums)
  {
    PASS(a, lda, x, tmp, sums, pitch, m, n, threads, aligned);
  }
}
#undef PASS

#endif
