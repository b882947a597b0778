/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for HIP and hipBLAS in tests of what davit asks of them: loaded by name like the real ones, it
 * computes by plain loops in host memory, and not before the stream is waited for. Arguments are those of the
 * documented interfaces (hip_runtime_api.h, hipblas.h); what they forbid ends the process. hipblas_calls
 * counts what was computed. */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, OP_N = 111, OP_T = 112, OP_C = 113, UPPER = 121, LOWER = 122, MULTIPROCESSORS = 63 };

static _Thread_local int current;
_Atomic int hipblas_calls;

#define DEMAND(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "the stand-in for hipBLAS: not %s\n", #condition);                                     \
      abort();                                                                                               \
    }                                                                                                        \
  } while (0)

/* ---- HIP ---- */

typedef struct call {
  void (*perform)(const struct call *c);
  int m, n, k, lda, ldb, ldc, transa, transb, uplo;
  double _Complex alpha, beta;
  char type;
  const void *a, *b;
  void *c;
} call;

typedef struct stream {
  int device;
  bool waiting;
  call call;
} stream;

typedef struct handle {
  int device, mode;
  stream *stream;
} handle;

int hipGetDeviceCount(int *count) {
  *count = DEVICES;
  return 0;
}

int hipGetDevice(int *device) {
  *device = current;
  return 0;
}

int hipSetDevice(int device) {
  if (device < 0 || device >= DEVICES)
    return 101; /* hipErrorInvalidDevice */
  current = device;
  return 0;
}

int hipDeviceGetName(char *name, int length, int device) {
  snprintf(name, (size_t)length, "Stand-in %d", device);
  return 0;
}

int hipDeviceTotalMem(size_t *bytes, int device) {
  DEMAND(device >= 0 && device < DEVICES);
  *bytes = (size_t)8 << 30;
  return 0;
}

int hipDeviceGetAttribute(int *value, int attribute, int device) {
  DEMAND(device >= 0 && device < DEVICES && attribute == MULTIPROCESSORS);
  *value = 110;
  return 0;
}

int hipMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
  *total_bytes = (size_t)8 << 30;
  *free_bytes = ((size_t)7 << 30) + (size_t)current;
  return 0;
}

int hipStreamCreateWithFlags(stream **made, unsigned flags) {
  DEMAND(flags == 1); /* hipStreamNonBlocking */
  *made = calloc(1, sizeof **made);
  (*made)->device = current;
  return 0;
}

int hipStreamSynchronize(stream *s) {
  DEMAND(s->device == current);
  if (s->waiting)
    s->call.perform(&s->call);
  s->waiting = false;
  return 0;
}

const char *hipGetErrorString(int error) {
  return error == 101 ? "invalid device ordinal" : "an error";
}

/* ---- hipBLAS ---- */

int hipblasCreate(handle **made) {
  *made = calloc(1, sizeof **made);
  (*made)->device = current;
  return 0;
}

int hipblasSetStream(handle *h, stream *s) {
  DEMAND(h->device == s->device);
  h->stream = s;
  return 0;
}

int hipblasSetPointerMode(handle *h, int mode) {
  DEMAND(mode == 0 || mode == 1); /* HIPBLAS_POINTER_MODE_HOST, _DEVICE */
  h->mode = mode;
  return 0;
}

static double _Complex get(char type, const void *x, int64_t i) {
  return type == 'D'   ? ((const double *)x)[i]
         : type == 'S' ? (double)((const float *)x)[i]
         : type == 'Z' ? ((const double _Complex *)x)[i]
                       : (double _Complex)((const float _Complex *)x)[i];
}

static void put(char type, void *x, int64_t i, double _Complex value) {
  if (type == 'D')
    ((double *)x)[i] = creal(value);
  else if (type == 'S')
    ((float *)x)[i] = (float)creal(value);
  else if (type == 'Z')
    ((double _Complex *)x)[i] = value;
  else
    ((float _Complex *)x)[i] = (float _Complex)value;
}

static double _Complex element(const call *c, const void *x, int trans, int64_t ld, int64_t i, int64_t j) {
  const double _Complex value = get(c->type, x, trans == OP_N ? i + j * ld : j + i * ld);
  return trans == OP_C ? conj(value) : value;
}

/* gemm, and syrk as the triangle of A op(A)'. */
static void multiply(const call *c) {
  for (int64_t j = 0; j < c->n; j++)
    for (int64_t i = 0; i < c->m; i++) {
      if ((c->uplo == LOWER && i < j) || (c->uplo == UPPER && i > j))
        continue;
      double _Complex sum = 0;
      for (int64_t l = 0; l < c->k; l++)
        sum += element(c, c->a, c->transa, c->lda, i, l) * element(c, c->b, c->transb, c->ldb, l, j);
      const int64_t at = i + j * c->ldc;
      put(c->type, c->c, at, c->alpha * sum + (c->beta == 0 ? 0 : c->beta * get(c->type, c->c, at)));
    }
  hipblas_calls++;
}

/* The i-th element of a vector of n, in walking order. */
static int64_t place(int n, int inc, int i) {
  return inc < 0 ? (int64_t)(i + 1 - n) * inc : (int64_t)i * inc;
}

static void multiply_vector(const call *c) {
  const int length = c->transa == OP_N ? c->m : c->n, inner = c->transa == OP_N ? c->n : c->m;
  for (int i = 0; i < length; i++) {
    double _Complex sum = 0;
    for (int l = 0; l < inner; l++)
      sum += element(c, c->a, c->transa, c->lda, i, l) * get(c->type, c->b, place(inner, c->ldb, l));
    const int64_t at = place(length, c->ldc, i);
    put(c->type, c->c, at, c->alpha * sum + (c->beta == 0 ? 0 : c->beta * get(c->type, c->c, at)));
  }
  hipblas_calls++;
}

static void add_vector(const call *c) {
  for (int i = 0; i < c->n; i++) {
    const int64_t at = place(c->n, c->ldb, i);
    put(c->type, c->c, at, get(c->type, c->c, at) + c->alpha * get(c->type, c->a, place(c->n, c->lda, i)));
  }
  hipblas_calls++;
}

static void sum_products(const call *c) {
  double _Complex sum = 0;
  for (int i = 0; i < c->n; i++) {
    const double _Complex x = get(c->type, c->a, place(c->n, c->lda, i));
    sum += (c->k ? conj(x) : x) * get(c->type, c->b, place(c->n, c->ldb, i)); /* k: dotc */
  }
  put(c->type, c->c, 0, sum);
  hipblas_calls++;
}

static int enqueue(handle *h, const call *c) {
  DEMAND(h->device == current && !h->stream->waiting);
  h->stream->call = *c;
  h->stream->waiting = true;
  return 0;
}

static bool is_op(int trans) {
  return trans == OP_N || trans == OP_T || trans == OP_C;
}

static int at_least_1(int value) {
  return value > 1 ? value : 1;
}

#define ROUTINES(X, T)                                                                                       \
  int hipblas##X##gemm(handle *h, int transa, int transb, int m, int n, int k, const T *alpha, const T *a,   \
                       int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {                         \
    DEMAND(h->mode == 0 && is_op(transa) && is_op(transb) && m >= 0 && n >= 0 && k >= 0);                    \
    DEMAND(lda >= at_least_1(transa == OP_N ? m : k) && ldb >= at_least_1(transb == OP_N ? k : n));          \
    DEMAND(ldc >= at_least_1(m));                                                                            \
    return enqueue(                                                                                          \
        h, &(call){multiply, m, n, k, lda, ldb, ldc, transa, transb, 0, *alpha, *beta, #X[0], a, b, c});     \
  }                                                                                                          \
  int hipblas##X##syrk(handle *h, int uplo, int trans, int n, int k, const T *alpha, const T *a, int lda,    \
                       const T *beta, T *c, int ldc) {                                                       \
    DEMAND(h->mode == 0 && (uplo == UPPER || uplo == LOWER) && (trans == OP_N || trans == OP_T));            \
    DEMAND(lda >= at_least_1(trans == OP_N ? n : k) && ldc >= at_least_1(n));                                \
    return enqueue(h, &(call){multiply, n, n, k, lda, lda, ldc, trans, trans == OP_N ? OP_T : OP_N, uplo,    \
                              *alpha, *beta, #X[0], a, a, c});                                               \
  }                                                                                                          \
  int hipblas##X##gemv(handle *h, int trans, int m, int n, const T *alpha, const T *a, int lda, const T *x,  \
                       int incx, const T *beta, T *y, int incy) {                                            \
    DEMAND(h->mode == 0 && is_op(trans) && lda >= at_least_1(m) && incx && incy);                            \
    return enqueue(                                                                                          \
        h, &(call){multiply_vector, m, n, 0, lda, incx, incy, trans, 0, 0, *alpha, *beta, #X[0], a, x, y});  \
  }                                                                                                          \
  int hipblas##X##axpy(handle *h, int n, const T *alpha, const T *x, int incx, T *y, int incy) {             \
    DEMAND(h->mode == 0);                                                                                    \
    return enqueue(h, &(call){add_vector, 0, n, 0, incx, incy, 0, 0, 0, 0, *alpha, 0, #X[0], x, NULL, y});   \
  }

/* With the pointer mode of the host the result is there on return. */
#define DOT(X, name, conjugate, T)                                                                           \
  int hipblas##X##name(handle *h, int n, const T *x, int incx, const T *y, int incy, T *result) {            \
    const call c = {sum_products, 0, n, conjugate, incx, incy, 0, 0, 0, 0, 0, 0, #X[0], x, y, result};       \
    DEMAND(h->device == current);                                                                            \
    if (h->mode == 1)                                                                                        \
      return enqueue(h, &c);                                                                                 \
    c.perform(&c);                                                                                           \
    return 0;                                                                                                \
  }
ROUTINES(D, double)
ROUTINES(S, float)
ROUTINES(Z, double _Complex)
ROUTINES(C, float _Complex)
DOT(D, dot, 0, double)
DOT(S, dot, 0, float)
DOT(Z, dotu, 0, double _Complex)
DOT(Z, dotc, 1, double _Complex)
DOT(C, dotu, 0, float _Complex)
DOT(C, dotc, 1, float _Complex)
