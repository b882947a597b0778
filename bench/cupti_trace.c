/* SPDX-License-Identifier: Apache-2.0 */
/* A library that the CUDA driver loads into any program, to write what its GPUs do as a trace:
 *
 *   CUDA_INJECTION64_PATH=build/bin/libdavit_cupti.so DAVIT_CUPTI=trace.json bench_gemm ...
 *
 * The format is that of DAVIT_TRACE (docs/trace.md): an event for each copy, fill and kernel of a GPU, with its
 * number as pid and its stream as tid, and one for each call of the driver or of CUDA's runtime that took 0.1 ms
 * or longer, with the category "call" and the host's times. The other times are those of the GPU, by CUPTI. Unlike
 * DAVIT_TRACE it places nothing in streams, so that a program is hardly slower, unless it makes thousands of short
 * copies. It needs CUPTI 13 at run time, whose records it reads. */
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER = 4 << 20, LEAST_CALL_NS = 100000 };

/* The functions used: F(name). */
#define FUNCTIONS(F)                                                                                         \
  F(cuptiActivityRegisterCallbacks)                                                                          \
  F(cuptiActivityEnable) F(cuptiActivityGetNextRecord) F(cuptiActivityFlushAll) F(cuptiGetCallbackName)
#define MEMBER(name) __typeof__(&(name)) name;
#define LOAD(name) all = (cupti.name = (__typeof__(&(name)))dlsym(library, #name)) && all;
static struct {
  FUNCTIONS(MEMBER)
} cupti;

static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *separator = "[\n";

static bool load(void) {
  static const char *const names[] = {"libcupti.so.13", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"};
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
    library = dlopen(names[i], RTLD_NOW);
  bool all = library;
  if (library) {
    FUNCTIONS(LOAD)
  }
  return all;
}

/* An event without its end: the caller writes its args, if any, and the brace. */
static void begin(const char *name, const char *category, unsigned process, unsigned thread, uint64_t from,
                  uint64_t to) {
  fprintf(file,
          "%s{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f",
          separator, name, category, process, thread, 1e-3 * (double)from, 1e-3 * (double)(to - from));
  separator = ",\n";
}

/* Between which kinds of memory: h of the host, d of a device. */
static const char *route(uint8_t kind) {
  switch (kind) {
  case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    return "h2d";
  case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    return "d2h";
  case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
    return "h2h";
  default:
    return "d2d";
  }
}

static void write_record(const CUpti_Activity *record) {
  switch (record->kind) {
  case CUPTI_ACTIVITY_KIND_MEMCPY: {
    const CUpti_ActivityMemcpy6 *r = (const void *)record;
    begin("copy", "stream", r->deviceId, r->streamId, r->start, r->end);
    fprintf(file, ",\"args\":{\"bytes\":%llu,\"route\":\"%s\"}}", (unsigned long long)r->bytes,
            route(r->copyKind));
    break;
  }
  case CUPTI_ACTIVITY_KIND_MEMCPY2: {
    const CUpti_ActivityMemcpyPtoP4 *r = (const void *)record;
    begin("copy", "stream", r->dstDeviceId, r->streamId, r->start, r->end);
    fprintf(file, ",\"args\":{\"bytes\":%llu,\"route\":\"peer\",\"from\":%u}}", (unsigned long long)r->bytes,
            r->srcDeviceId);
    break;
  }
  case CUPTI_ACTIVITY_KIND_MEMSET: {
    const CUpti_ActivityMemset4 *r = (const void *)record;
    begin("fill", "stream", r->deviceId, r->streamId, r->start, r->end);
    fprintf(file, ",\"args\":{\"bytes\":%llu}}", (unsigned long long)r->bytes);
    break;
  }
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
    const CUpti_ActivityKernel10 *r = (const void *)record;
    begin("kernel", "stream", r->deviceId, r->streamId, r->start, r->end);
    fprintf(file, ",\"args\":{\"kernel\":\"%s\"}}", r->name ? r->name : "");
    break;
  }
  case CUPTI_ACTIVITY_KIND_DRIVER:
  case CUPTI_ACTIVITY_KIND_RUNTIME: {
    const CUpti_ActivityAPI *r = (const void *)record;
    const CUpti_CallbackDomain domain =
        r->kind == CUPTI_ACTIVITY_KIND_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    const char *name = "";
    if (r->end < r->start + LEAST_CALL_NS ||
        cupti.cuptiGetCallbackName(domain, r->cbid, &name) != CUPTI_SUCCESS)
      break;
    begin(name, "call", r->processId, r->threadId, r->start, r->end);
    fprintf(file, "}");
    break;
  }
  default:
    break;
  }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *records) {
  *buffer = aligned_alloc(8, BUFFER);
  *size = *buffer ? BUFFER : 0;
  *records = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid) {
  CUpti_Activity *record = NULL;
  (void)context, (void)stream, (void)size;
  pthread_mutex_lock(&lock);
  while (file && cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    write_record(record);
  pthread_mutex_unlock(&lock);
  free(buffer);
}

static void end(void) {
  cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  pthread_mutex_lock(&lock);
  fprintf(file, "%s]\n", separator[0] == '[' ? "[\n" : "\n");
  const bool failed = ferror(file);
  if (fclose(file) != 0 || failed)
    fprintf(stderr, "cupti_trace: the file of DAVIT_CUPTI could not be written\n");
  file = NULL;
  pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void) {
  static const CUpti_ActivityKind kinds[] = {
      CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
      CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
      CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME};
  const char *name = getenv("DAVIT_CUPTI");
  if (!name || !*name || file)
    return 1;
  if (!load()) {
    fprintf(stderr, "cupti_trace: there is no libcupti.so.13\n");
    return 1;
  }
  file = fopen(name, "w");
  if (!file) {
    perror(name);
    return 1;
  }
  CUptiResult result = cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && result == CUPTI_SUCCESS; i++)
    result = cupti.cuptiActivityEnable(kinds[i]);
  if (result != CUPTI_SUCCESS)
    fprintf(stderr, "cupti_trace: CUPTI does not start (%d)\n", (int)result);
  atexit(end);
  return 1;
}
