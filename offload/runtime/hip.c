/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: the tables are written once, under pthread_once, and only read afterwards. A session, a stream with a
 * handle on it, is in use by one thread or in the list of its device, and is never destroyed. */
#include "offload/runtime/hip.h"

#include <pthread.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/environment.h"
#include "src/base/library.h"

enum { MAX_DEVICES = 64 };

typedef struct dvt_hip_session {
  int ordinal;
  void *stream, *handle;
  struct dvt_hip_session *next;
} dvt_hip_session;

/* hipError_t, 0 for success, unless another type stands there. */
static struct runtime {
  int (*hipGetDeviceCount)(int *count);
  int (*hipGetDevice)(int *ordinal);
  int (*hipSetDevice)(int ordinal);
  int (*hipDeviceGetName)(char *name, int length, int ordinal);
  int (*hipDeviceTotalMem)(size_t *bytes, int ordinal);
  int (*hipDeviceGetAttribute)(int *value, int attribute, int ordinal);
  int (*hipMemGetInfo)(size_t *free_bytes, size_t *total_bytes);
  int (*hipStreamCreateWithFlags)(void **stream, unsigned flags);
  int (*hipStreamSynchronize)(void *stream);
  const char *(*hipGetErrorString)(int error);
} hip;

/* hipblasStatus_t, 0 for success. */
static struct blas {
  int (*hipblasCreate)(void **handle);
  int (*hipblasSetStream)(void *handle, void *stream);
  int (*hipblasSetPointerMode)(void *handle, int on_device);
} blas;

static dvt_hipblas_function entries[DVT_HIPBLAS_COUNT];
static bool has_hip, has_blas;
static int count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dvt_hip_session *idle[MAX_DEVICES];

/* Names of all members of a struct, in their order. */
static bool load_hip(void *library) {
  static const char *const names[] = {
      "hipGetDeviceCount",    "hipGetDevice",          "hipSetDevice",  "hipDeviceGetName",
      "hipDeviceTotalMem",    "hipDeviceGetAttribute", "hipMemGetInfo", "hipStreamCreateWithFlags",
      "hipStreamSynchronize", "hipGetErrorString"};
  enum { COUNT = sizeof names / sizeof *names };
  _Static_assert(sizeof hip == COUNT * sizeof(void *), "one name for each function");
  return !dvt_library_find(library, names, COUNT, &hip);
}

static bool load_blas(void *library) {
#define NAME(name) "hipblas" #name,
  static const char *const names[DVT_HIPBLAS_COUNT] = {DVT_HIPBLAS_FUNCTIONS(NAME)},
                           *const own[] = {"hipblasCreate", "hipblasSetStream", "hipblasSetPointerMode"};
#undef NAME
  _Static_assert(sizeof blas == sizeof own, "one name for each function");
  return !dvt_library_find(library, own, sizeof own / sizeof *own, &blas) &&
         !dvt_library_find(library, names, DVT_HIPBLAS_COUNT, entries);
}

/* The OpenMP runtime and HIP number the GPUs in ROCr's order, unless one of these variables, which only HIP
 * reads, says otherwise. */
static bool is_renumbered(void) {
  static const char *const variables[] = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                          "GPU_DEVICE_ORDINAL"};
  bool any = false;
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = dvt_environment(variables[i]);
    any = any || (value && *value);
  }
  return any;
}

/* hipBLAS first: it brings the HIP that it was built for, whose functions are found through its handle. */
static void load(void) {
  static const char *const blases[] = {"libhipblas.so.3", "libhipblas.so.2", "libhipblas.so.0",
                                       "libhipblas.so", NULL},
                           *const hips[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                            "libamdhip64.so", NULL};
  char unused[1];
  void *library = is_renumbered() ? NULL : dvt_library_open(blases, unused, sizeof unused);
  has_blas = library && load_blas(library);
  has_hip = library && load_hip(library);
  if (!has_hip && !is_renumbered())
    has_hip = (library = dvt_library_open(hips, unused, sizeof unused)) != NULL && load_hip(library);
  has_blas = has_blas && has_hip;
  if (!has_hip || hip.hipGetDeviceCount(&count) != 0 || count < 0)
    count = 0;
  count = count < MAX_DEVICES ? count : MAX_DEVICES;
}

int dvt_hip_count(void) {
  pthread_once(&once, load);
  return count;
}

void dvt_hip_describe(int ordinal, char *name, size_t name_bytes, size_t *memory_bytes, int *units) {
  size_t bytes = 0;
  int number = 0;
  (void)hip.hipDeviceGetName(name, (int)name_bytes, ordinal);
  if (hip.hipDeviceTotalMem(&bytes, ordinal) == 0)
    *memory_bytes = bytes;
  if (hip.hipDeviceGetAttribute(&number, DVT_HIP_MULTIPROCESSORS, ordinal) == 0)
    *units = number;
}

/* A status with HIP's own sentence. */
static davit_status report(int result, const char *operation) {
  if (result == 0)
    return DAVIT_SUCCESS;
  return davit_fail(result == DVT_HIP_OUT_OF_MEMORY ? DAVIT_OUT_OF_DEVICE_MEMORY
                    : result == DVT_HIP_NO_DEVICE   ? DAVIT_DEVICE_LOST
                                                    : DAVIT_DEVICE_ERROR,
                    "%s: HIP says: %s", operation, hip.hipGetErrorString(result));
}

davit_status dvt_hip_memory(int ordinal, size_t *free_bytes, size_t *total_bytes) {
  int current = 0;
  int result = hip.hipGetDevice(&current);
  if (result == 0)
    result = hip.hipSetDevice(ordinal);
  if (result == 0) {
    result = hip.hipMemGetInfo(free_bytes, total_bytes);
    (void)hip.hipSetDevice(current);
  }
  return report(result, "memory information");
}

/* ---- sessions ---- */

static dvt_hip_session *make(int ordinal) {
  dvt_hip_session *made = dvt_allocate(1, sizeof *made);
  if (made) {
    made->ordinal = ordinal;
    if (hip.hipStreamCreateWithFlags(&made->stream, DVT_HIP_NON_BLOCKING) == 0 &&
        blas.hipblasCreate(&made->handle) == 0 && blas.hipblasSetStream(made->handle, made->stream) == 0)
      return made;
  }
  free(made);
  return NULL;
}

static void give_back(dvt_hip_session *session) {
  pthread_mutex_lock(&lock);
  session->next = idle[session->ordinal];
  idle[session->ordinal] = session;
  pthread_mutex_unlock(&lock);
}

bool dvt_hip_begin(int ordinal, bool result_on_device, dvt_hip_work *work) {
  if (ordinal < 0 || ordinal >= dvt_hip_count() || !has_blas || hip.hipGetDevice(&work->current) != 0 ||
      hip.hipSetDevice(ordinal) != 0)
    return false;
  pthread_mutex_lock(&lock);
  work->session = idle[ordinal];
  if (work->session)
    idle[ordinal] = work->session->next;
  pthread_mutex_unlock(&lock);
  if (!work->session)
    work->session = make(ordinal);
  if (work->session) {
    work->handle = work->session->handle;
    if (blas.hipblasSetPointerMode(work->handle, result_on_device) == 0)
      return true;
    give_back(work->session);
  }
  (void)hip.hipSetDevice(work->current);
  return false;
}

dvt_hipblas_function dvt_hipblas_entry(dvt_hipblas_number number) {
  return entries[number];
}

static davit_status blas_status(int result, const char *operation) {
  static const davit_status statuses[] = {[0] = DAVIT_SUCCESS,
                                          [DVT_HIPBLAS_ALLOC_FAILED] = DAVIT_OUT_OF_DEVICE_MEMORY,
                                          [DVT_HIPBLAS_INVALID_VALUE] = DAVIT_INVALID_ARGUMENT,
                                          [DVT_HIPBLAS_NOT_SUPPORTED] = DAVIT_UNSUPPORTED,
                                          [DVT_HIPBLAS_ARCH_MISMATCH] = DAVIT_UNSUPPORTED};
  if (result == 0)
    return DAVIT_SUCCESS;
  const bool known = result > 0 && result < (int)(sizeof statuses / sizeof *statuses);
  const davit_status status = known ? statuses[result] : DAVIT_SUCCESS;
  return davit_fail(status == DAVIT_SUCCESS ? DAVIT_DEVICE_ERROR : status, "%s: hipBLAS fails with status %d",
                    operation, result);
}

davit_status dvt_hip_end(const dvt_hip_work *work, int result, const char *operation) {
  const int end = hip.hipStreamSynchronize(work->session->stream);
  (void)hip.hipSetDevice(work->current);
  give_back(work->session);
  return result != 0 ? blas_status(result, operation) : report(end, operation);
}
