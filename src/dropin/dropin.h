/* SPDX-License-Identifier: Apache-2.0 */
/* libdavit_blas: the BLAS and CBLAS of any program, computed by BLIS or on devices.
 *
 *   entry.c       the exported names that only jump to BLIS; loads it at the first call
 *   fortran.c     the routines of level 3, which may go to devices
 *   cblas.c       the same for CBLAS: row-major calls become column-major ones
 *   extra.c       what BLIS adds to level 3
 *   lapack.c      routines of LAPACK, which may go to devices
 *   next.c        the host's routine of a name that BLIS does not have
 *   supplement.c  names that BLIS lacks, and xerbla_
 *   route.c       decides where a call is computed
 *   device.c      starts the devices when the first call goes there
 *   products.c    how products are computed there
 *   threads.c     how many threads BLIS computes on
 *   alone.c       small calls, on one of them
 *   library.c     loads libdavit and calls it
 *   call.inc      a call as one of a typed function, for these two
 *   care.c        calls that BLIS would answer wrongly
 *   barrier.c     what fork() waits for
 *   fork.c        children
 *   log.c         DAVIT_BLAS_LOG
 *
 * The library needs nothing but libc until BLAS is called, and starts no thread by itself. BLIS is loaded
 * into a scope of its own (RTLD_LOCAL), so that a name asked of it is BLIS's own. What BLIS calls by an
 * exported name is found in the program's scope first, so its errors reach the program's xerbla_; its
 * CBLAS calls the Fortran names, which then come by here again.
 *
 * Every call that is wrong, small or unknown is passed to BLIS as it came, so messages about wrong
 * arguments are BLIS's. What goes to devices has been checked. */
#ifndef DAVIT_SRC_DROPIN_DROPIN_H
#define DAVIT_SRC_DROPIN_DROPIN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "src/base/routine.h"

/* The same sources make libdavit_blas (LP64) and libdavit_blas64 (ILP64). fortran.c, cblas.c and lapack.c are compiled
 * again for the names of the OpenBLAS in wheels of NumPy and SciPy, with DVT_DROPIN_WHEEL, the suffix of the names. */
#ifdef DVT_DROPIN_ILP64
typedef int64_t dvt_int;
#define DVT_DROPIN_LIBRARY "libdavit_blas64"
#else
typedef int dvt_int;
#define DVT_DROPIN_LIBRARY "libdavit_blas"
#endif

/* By the letter of a type, one of the four names that begin so and end in it. */
#define DVT_BY_TYPE(type, name)                                                                              \
  ((type) == 's' ? name##s : (type) == 'd' ? name##d : (type) == 'c' ? name##c : name##z)

/* DO(t, name) for each routine of level 3 in each type. */
#define DVT_REAL_ROUTINES(DO, t) DO(t, gemm) DO(t, symm) DO(t, syrk) DO(t, syr2k) DO(t, trmm) DO(t, trsm)
#define DVT_COMPLEX_ROUTINES(DO, t) DVT_REAL_ROUTINES(DO, t) DO(t, hemm) DO(t, herk) DO(t, her2k)
#define DVT_ALL_ROUTINES(DO)                                                                                 \
  DVT_REAL_ROUTINES(DO, s) DVT_REAL_ROUTINES(DO, d) DVT_COMPLEX_ROUTINES(DO, c) DVT_COMPLEX_ROUTINES(DO, z)

/* DO(t, name) for each routine of LAPACK in a type. */
#define DVT_LAPACK_ROUTINES(DO, t)                                                                           \
  DO(t, potrf) DO(t, potrs) DO(t, posv) DO(t, getrf) DO(t, getrs) DO(t, gesv) DO(t, geqrf) DO(t, gels)
#define DVT_REAL_LAPACK(DO, t) DVT_LAPACK_ROUTINES(DO, t) DO(t, ormqr) DO(t, orgqr)
#define DVT_COMPLEX_LAPACK(DO, t) DVT_LAPACK_ROUTINES(DO, t) DO(t, unmqr) DO(t, ungqr)
#define DVT_ALL_LAPACK(DO)                                                                                   \
  DVT_REAL_LAPACK(DO, s) DVT_REAL_LAPACK(DO, d) DVT_COMPLEX_LAPACK(DO, c) DVT_COMPLEX_LAPACK(DO, z)

#define DVT_EXPORT __attribute__((visibility("default")))

/* ---- names and where they lead ---- */

typedef enum dvt_name {
#define ROUTED(name) DVT_NAME_##name,
#define FORWARD(name) DVT_NAME_##name,
#define CHECKED(name) DVT_NAME_##name,
#define HELPER(name) DVT_NAME_##name,
#include "src/dropin/names.inc"
#undef ROUTED
#undef FORWARD
#undef CHECKED
#undef HELPER
  DVT_NAMES
} dvt_name;

/* Where a name leads: at first to code that binds all of them, then to BLIS. With a log, the names that
 * are logged there keep leading to that code. */
extern void *dvt_dropin_slots[DVT_NAMES];

#define DVT_BLIS(name)                                                                                       \
  (*(__typeof__(&name))__atomic_load_n(&dvt_dropin_slots[DVT_NAME_##name], __ATOMIC_RELAXED))

/* Loads BLIS, reads the environment; any number of times, from any thread. Ends the process with a
 * sentence if there is no BLIS. */
void dvt_dropin_bind(void);

/* The next routine of a name behind this library, which is kept in *next. Without one the process ends with a sentence.
 * `caller`: an address in who calls; NULL: not known. */
void *dvt_next(void **next, const char *name, const void *caller);

/* Who is to be told of a wrong argument: the next xerbla_ behind this library, or that of a library which is no BLAS,
 * wherever in the process, as NumPy's modules have one that raises an exception. NULL: there is none. */
void *dvt_next_xerbla(void);

/* A name as it is exported, the host's routine of that name, and how a call of level 3 comes to devices or there. */
#define DVT_STRING(name) DVT_STRING_OF(name)
#define DVT_STRING_OF(name) #name
#ifdef DVT_DROPIN_WHEEL
#define DVT_NAMED(name) DVT_JOINED(scipy_, name, DVT_DROPIN_WHEEL)
#define DVT_JOINED(prefix, name, suffix) DVT_JOINED_OF(prefix, name, suffix)
#define DVT_JOINED_OF(prefix, name, suffix) prefix##name##suffix
#define DVT_HOST(name)                                                                                       \
  (*({                                                                                                       \
    static void *next;                                                                                       \
    (__typeof__(&DVT_NAMED(name)))(uintptr_t)dvt_next(&next, DVT_STRING(DVT_NAMED(name)), NULL);             \
  }))
#define DVT_ROUTE dvt_route_elsewhere
#define DVT_TO_ROUTE(m, n, k, care) dvt_is_large((double)(m) * (double)(n) * (double)(k))
#else
#define DVT_NAMED(name) name
#define DVT_HOST(name) DVT_BLIS(name)
#define DVT_ROUTE dvt_route
#define DVT_TO_ROUTE(m, n, k, care) (dvt_to_route(m, n, k) || (care))
#endif

/* ---- the barrier: what fork() waits for ---- */

/* Around calls that take locks of BLIS: its level 3, and what sets its threads. They nest, and cannot fail; true: to
 * be given to dvt_barrier_leave(). A call that may report a wrong argument stays outside, as an xerbla_ need not
 * return. */
bool dvt_barrier_enter(void);
void dvt_barrier_leave(bool entered);

/* Around calls on devices. */
void dvt_barrier_enter_devices(void);
void dvt_barrier_leave_devices(void);

/* Whether other threads are between the first two, where they are counted. */
bool dvt_barrier_others(void);

/* Around the binding to BLIS and the start of devices, which one thread does at a time. */
void dvt_starting_lock(void);
void dvt_starting_unlock(void);

/* Whether the thread that has it locked is in calls of libdavit's, which it starts. */
void dvt_starting_asks(bool asks);

/* To be called when the runtime on which BLIS computes has started; before the libraries for devices are loaded; and
 * when these have started. */
void dvt_barrier_watch_runtime(void);
void dvt_barrier_watch_libraries(void);
void dvt_barrier_watch_all(void);

/* The handlers of fork(), from the library's beginning: before it, after it in the parent, and in the child. */
typedef struct dvt_child {
  bool whole; /* no other thread was inside BLIS, so it may be called */
  bool parts; /* of the libraries for devices there are no more than parts */
} dvt_child;
void dvt_barrier_close_at_last(void);
void dvt_barrier_open(void);
dvt_child dvt_barrier_in_child(void);
void dvt_dropin_threads_before_fork(void);
void dvt_dropin_threads_in_child(bool whole);
void dvt_dropin_devices_in_child(bool parts);

/* ---- BLIS's threads ---- */

/* What dlopen() gives; NULL: there is none, and dlerror() says why. */
void *dvt_dropin_load_blis(void);

/* Threads that BLIS computes on, once it is bound. */
int dvt_dropin_threads(void);

/* Whether this is the number that the library has chosen. */
bool dvt_dropin_threads_are_given(void);

/* Whether OpenMP may give the calling thread's team fewer threads than it asks for. */
bool dvt_dropin_team_may_be_short(void);

/* ---- routing ---- */

/* A call of level 3, column-major. Letters are capitals; what a routine does not have is 0. m, n and k are
 * those of the product that the routine does: for symm and trmm k is the order of the square matrix, for
 * syrk m is n. */
typedef struct dvt_call {
  dvt_routine routine;
  char type; /* s d c z */
  char side, uplo, transa, transb, diag;
  int64_t m, n, k;
  const void *alpha, *a;
  int64_t lda;
  const void *b;
  int64_t ldb;
  const void *beta; /* of trmm and trsm NULL; c is what they overwrite */
  void *c;
  int64_t ldc;
} dvt_call;

/* The capital of an ASCII letter; '?' of anything else. */
static inline char dvt_capital(const char *letter) {
  const char capital = (char)(*letter & ~0x20);
  return capital >= 'A' && capital <= 'Z' ? capital : '?';
}

static inline bool dvt_single(char type) {
  return type == 's' || type == 'c';
}

static inline bool dvt_complex(char type) {
  return type == 'c' || type == 'z';
}

/* The real (0) or imaginary part (1) of a scalar of that type. */
static inline double dvt_scalar_part(char type, const void *scalar, int i) {
  return dvt_single(type) ? (double)((const float *)scalar)[i] : ((const double *)scalar)[i];
}

static inline double dvt_flops(const dvt_call *call) {
  const double product =
      (double)call->m * (double)call->n * (double)call->k * (dvt_complex(call->type) ? 4 : 1);
  switch (call->routine) {
  case DVT_SYRK:
  case DVT_HERK:
  case DVT_TRMM:
  case DVT_TRSM:
    return product;
  default:
    return 2 * product;
  }
}

/* m n k from which on dvt_route() has to see a call; smaller ones go straight to BLIS. At first -infinity, so that the
 * first call of level 3 works it out; infinite where no call goes to devices. */
extern double dvt_dropin_least;

/* m n k up to which calls of more than one thread are computed on one; -infinity: none. dvt_route() sees those too. */
extern double dvt_alone_most;

static inline bool dvt_is_large_or_small(int64_t m, int64_t n, int64_t k) {
  double least, most;
  __atomic_load(&dvt_dropin_least, &least, __ATOMIC_RELAXED);
  __atomic_load(&dvt_alone_most, &most, __ATOMIC_RELAXED);
  const double product = (double)m * (double)n * (double)k;
  return product >= least || product <= most;
}

static inline bool dvt_is_large(double product) {
  double least;
  __atomic_load(&dvt_dropin_least, &least, __ATOMIC_RELAXED);
  return product >= least;
}

/* Whether a call needs dvt_route(); else BLIS has it as it came. */
static inline bool dvt_to_route(int64_t m, int64_t n, int64_t k) {
  return dvt_is_large_or_small(m, n, k) || !__libc_single_threaded;
}

/* A call that may go to devices, as the decision sees it. */
typedef struct dvt_work {
  const dvt_call *calls; /* the call of level 3 itself, or those that take as long as a routine of LAPACK */
  int count;
  double product;    /* m n k, which is compared with DAVIT_BLAS_FROM cubed */
  int threads;       /* with so many BLIS does the calls in the time of the work on the host */
  bool by_calls;     /* calls of level 3 do it on the host; those that come by here count for themselves */
  const char *never; /* why devices have nothing to do; NULL: they have */
} dvt_work;

typedef struct dvt_decision {
  bool devices;
  double host, device; /* seconds that are predicted; 0: none are */
  int64_t given_ns;    /* what the host has had to do, with this call */
  const char *why;     /* of calls that stay on the host, or for which there is no prediction */
} dvt_decision;

dvt_decision dvt_decide(const dvt_work *work);

/* After work of `by_calls` that the host has done: it counts, if its calls have not. */
void dvt_count_work(const dvt_decision *decision);

/* What is known of a call that the host computes. */
typedef struct dvt_host_call {
  const char *why;     /* for the log; NULL: nothing is logged. Lives as long as the call */
  int64_t begin_ns;    /* dvt_now_ns(), where there is a log */
  double host, device; /* seconds that were predicted; 0: none were */
  bool entered;        /* the barrier */
} dvt_host_call;

dvt_host_call dvt_host_begin(const dvt_decision *decision);

/* Lines of the log; `text` is the routine with its letters and sizes. */
void dvt_log_host(const char *text, const dvt_host_call *host);
void dvt_log_devices(const char *text, const dvt_decision *decision, double seconds);

/* Says, once, that devices have failed; ends the process if the outputs may be half written. */
void dvt_say_failed(const char *text, bool broken, const char *sentence);

static inline bool dvt_one_of(char letter, const char *letters) {
  for (; *letters; letters++)
    if (letter == *letters)
      return true;
  return false;
}

/* Whether a leading dimension is enough for so many rows. */
static inline bool dvt_holds(int64_t ld, int64_t rows) {
  return ld >= 1 && ld >= rows;
}

/* Whether BLIS will find nothing wrong with the arguments. gemmt is a gemm with uplo. */
bool dvt_is_right(const dvt_call *call);

/* A Hermitian update that adds nothing to C: BLAS returns from it at once, where BLIS's typed functions and davit clear
 * the imaginary parts of the diagonal. */
bool dvt_keeps_diagonal(const dvt_call *call);

/* True: the call is done. False: BLIS has to do it, and dvt_route_end() comes after it. */
bool dvt_route(const dvt_call *call, dvt_host_call *host);

/* The same for a call that the host leaves to another BLAS. */
bool dvt_route_elsewhere(const dvt_call *call, dvt_host_call *host);
void dvt_route_end(const dvt_call *call, const dvt_host_call *host);

/* ---- calls that BLIS would answer wrongly ---- */

/* Whether the number, real or complex, has a NaN. */
static inline bool dvt_is_nan(char type, bool is_complex, const void *scalar) {
  for (int i = 0; i < (is_complex ? 2 : 1);
       i++) { /* by its bits: a comparison of a signalling NaN raises a flag */
    uint64_t d = 0;
    uint32_t f = 0;
    if (dvt_single(type))
      memcpy(&f, (const float *)scalar + i, sizeof f);
    else
      memcpy(&d, (const double *)scalar + i, sizeof d);
    if ((f & 0x7fffffffu) > 0x7f800000u || (d & INT64_MAX) > UINT64_C(0x7ff0000000000000))
      return true;
  }
  return false;
}

/* The same of the scalars that a routine has; NULL: it has none, or does not look at it. */
static inline bool dvt_scalars_have_nan(dvt_routine routine, char type, const void *alpha, const void *beta) {
  const bool herk = routine == DVT_HERK, real_beta = herk || routine == DVT_HER2K;
  return (alpha && dvt_is_nan(type, dvt_complex(type) && !herk, alpha)) ||
         (beta && dvt_is_nan(type, dvt_complex(type) && !real_beta, beta));
}

/* Does such a call of level 3, whose arguments are right and sizes positive, and says why it is one; NULL: it is none,
 * and nothing was done. */
const char *dvt_care(const dvt_call *call);

/* ---- small calls ---- */

/* Finds the functions for them. `threads`: of BLIS; with one there is nothing to gain. */
void dvt_alone_bind(void *blis, int threads);

/* Computes a right call on the calling thread. False: it is not small for so many threads, and nothing was done. */
bool dvt_alone(const dvt_call *call, int threads, bool any_size);

/* ---- devices ---- */

/* The devices that calls go to, started by the first request. Their number; 0: there are none, and *why
 * says why, for good. */
int dvt_dropin_devices(const int **numbers, const char **why);

/* Whether it would be of use to start them. False: *why says why. */
bool dvt_dropin_devices_likely(const char **why);
bool dvt_dropin_devices_started(void);

/* Once they are started: how many of them are GPUs. Others are the CPU itself, and never sooner than BLIS. */
int dvt_dropin_devices_gpus(void);

/* DAVIT_BLAS_ARITHMETIC: how libdavit multiplies in routines with an exact form. */
typedef enum dvt_products {
  DVT_NATIVE_PRODUCTS,
  DVT_EXACT_PRODUCTS, /* where a call goes there anyway, and exact sums pay */
  DVT_EXACT_BITS      /* always, as every call goes there */
} dvt_products;
dvt_products dvt_dropin_products(void);

/* That of a call. */
dvt_products dvt_products_of(const dvt_call *call);

/* Whether the devices are predicted to do the calls sooner than BLIS, and the seconds of both. Else *why says
 * why not. */
bool dvt_dropin_devices_are_faster(const dvt_work *work, double *host, double *device, const char **why);

typedef enum dvt_outcome {
  DVT_DONE,
  DVT_UNTOUCHED, /* failed, and the output can still be computed from what is there */
  DVT_BROKEN     /* failed, and the output may be half written */
} dvt_outcome;

typedef struct dvt_ran {
  const char *sentence;   /* of a failure, valid until the thread's next one */
  int moduli;             /* of an exact product; 0: it was native, and */
  const char *why_native; /* why, if exact sums were asked for */
} dvt_ran;
dvt_outcome dvt_dropin_devices_run(const dvt_call *call, dvt_ran *ran);

/* ---- floating-point environment ---- */

/* The program's, with its flags and traps, while something runs that may raise flags. As feholdexcept() and fesetenv(),
 * but these are libm's, which the library does without. */
typedef struct dvt_arithmetic {
  uint32_t x87[7], sse;
} dvt_arithmetic;

static inline dvt_arithmetic dvt_arithmetic_hold(void) {
  enum { FLAGS = 0x3f, NO_TRAPS = 0x1f80 };
  dvt_arithmetic now;
  __asm__ volatile("fnstenv %0\n\tstmxcsr %1" : "=m"(now.x87), "=m"(now.sse)); /* x87 traps no more */
  const uint32_t quiet = (now.sse & ~(uint32_t)FLAGS) | NO_TRAPS;
  __asm__ volatile("ldmxcsr %0" : : "m"(quiet) : "memory");
  return now;
}

static inline void dvt_arithmetic_release(const dvt_arithmetic *before) {
  __asm__ volatile("fldenv %0\n\tldmxcsr %1" : : "m"(before->x87), "m"(before->sse) : "memory");
}

/* ---- log ---- */

void dvt_log_open(void);
bool dvt_log_on(void);

/* One line, written whole. */
void dvt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* To stderr, and into the log; once for each `said`. */
void dvt_complain(bool *said, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
