/* SPDX-License-Identifier: Apache-2.0 */
/* The device table: built once, when a device other than the CPU is first asked for, and read-only afterwards, so
 * readers take no lock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/runtime/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/runtime/hip.h"
#include "offload/runtime/image.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/environment.h"
#include "src/base/fork.h"
#include "src/base/team.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

enum { MAX_DEVICES = 64 };

static dvt_device table[MAX_DEVICES + 1];
static int device_count, known_count;                    /* without those that are left out, and with them */
static const char *obstacle;                             /* why some are left out; NULL if none is */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while the table is built */
static atomic_bool listed, known; /* the table is complete; and whoever wants to know has been told */
#ifdef DAVIT_WITH_CUDA
static atomic_bool has_nvidia; /* a device of the table is NVIDIA's */
#endif

enum { MAX_WATCHERS = 2 };
static void (*watchers[MAX_WATCHERS])(void);

static size_t meminfo_bytes(const char *field) {
  FILE *file = fopen("/proc/meminfo", "r");
  if (!file)
    return 0;
  char line[256];
  unsigned long long kib = 0;
  size_t length = strlen(field);
  while (fgets(line, sizeof line, file))
    if (strncmp(line, field, length) == 0 && sscanf(line + length, ": %llu kB", &kib) == 1)
      break;
  fclose(file);
  return (size_t)kib * 1024;
}

static void describe_cpu(davit_device_info *info) {
  snprintf(info->name, sizeof info->name, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (file) {
    char line[256];
    while (fgets(line, sizeof line, file)) {
      const char *colon = strchr(line, ':');
      if (strncmp(line, "model name", 10) == 0 && colon) {
        snprintf(info->name, sizeof info->name, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
      }
    }
    fclose(file);
  }
  info->memory_bytes = meminfo_bytes("MemTotal");
  info->compute_units = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

bool dvt_peers_wanted(void) {
  const char *value = dvt_environment("DAVIT_PEERS");
  return !value || strcmp(value, "off") != 0;
}

int dvt_cuda_current(void) {
  int current = -1;
#ifdef DAVIT_WITH_CUDA
  if (atomic_load(&has_nvidia) && dvt_process() == 0 && !dvt_cuda_ok(cudaGetDevice(&current)))
    current = -1;
#endif
  return current;
}

/* Before the images are registered, which makes each GPU current in turn: 0 is current in a thread that has chosen
 * none. To ask CUDA would open the driver. */
static int current_before(void) {
  int current = 0;
#ifdef DAVIT_WITH_CUDA
  if (dvt_driver_is_loaded() && !dvt_cuda_ok(cudaGetDevice(&current)))
    current = -1;
#endif
  return current;
}

void dvt_cuda_restore(int current) {
#ifdef DAVIT_WITH_CUDA
  if (current >= 0 && dvt_cuda_current() != current)
    (void)dvt_cuda_ok(cudaSetDevice(current));
#else
  (void)current;
#endif
}

#ifdef DAVIT_WITH_CUDA
bool dvt_cuda_ok(unsigned result) {
  if (result != cudaSuccess)
    (void)cudaGetLastError();
  return result == cudaSuccess;
}

davit_status dvt_cuda_status(unsigned result, const char *operation) {
  return dvt_cuda_ok(result) ? DAVIT_SUCCESS : dvt_cuda_report(result, operation);
}

davit_status dvt_cuda_report(unsigned result, const char *operation) {
  switch ((cudaError_t)result) {
  case cudaSuccess:
    return DAVIT_SUCCESS;
  case cudaErrorMemoryAllocation:
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "%s: the device is out of memory", operation);
  case cudaErrorNoDevice:
  case cudaErrorDevicesUnavailable:
  case cudaErrorECCUncorrectable:
  case cudaErrorContained:
  case cudaErrorNvlinkUncorrectable:
    return davit_fail(DAVIT_DEVICE_LOST, "%s: the device is lost: %s", operation,
                      cudaGetErrorString((cudaError_t)result));
  default:
    return davit_fail(DAVIT_DEVICE_ERROR, "%s: %s", operation, cudaGetErrorString((cudaError_t)result));
  }
}

static void describe_nvidia(dvt_device *device) {
  void *probe = omp_target_alloc(256, device->info.device);
  struct cudaPointerAttributes attributes;
  if (!probe || !dvt_cuda_ok(cudaPointerGetAttributes(&attributes, probe)) ||
      attributes.type != cudaMemoryTypeDevice) {
    /* Without its ordinal the device still runs target regions: treat it as one of unknown make. */
    device->info.kind = DAVIT_DEVICE_OTHER;
    snprintf(device->info.name, sizeof device->info.name, "NVIDIA device unknown to CUDA");
    omp_target_free(probe, device->info.device);
    return;
  }
  omp_target_free(probe, device->info.device);
  device->ordinal = attributes.device;
  struct cudaDeviceProp properties;
  if (dvt_cuda_ok(cudaGetDeviceProperties(&properties, device->ordinal))) {
    snprintf(device->info.name, sizeof device->info.name, "%s", properties.name);
    device->info.memory_bytes = properties.totalGlobalMem;
    device->info.compute_units = properties.multiProcessorCount;
    device->info.compute_capability = 10 * properties.major + properties.minor;
  }
  if (!dvt_cuda_ok(cudaDeviceGetPCIBusId(device->info.bus, sizeof device->info.bus, device->ordinal)))
    device->info.bus[0] = '\0';
}

/* The plugin makes threads that wait in the driver sleep. */
static void let_waits_spin(void) {
  const char *value = dvt_environment("DAVIT_WAIT");
  unsigned flags = 0;
  if (!value || strcmp(value, "spin") != 0)
    return;
  for (int i = 1; i <= device_count; i++)
    if (table[i].ordinal >= 0 && dvt_cuda_ok(cudaSetDevice(table[i].ordinal)) &&
        dvt_cuda_ok(cudaGetDeviceFlags(&flags)))
      (void)dvt_cuda_ok(
          cudaSetDeviceFlags((flags & ~(unsigned)cudaDeviceScheduleMask) | cudaDeviceScheduleSpin));
}

/* The plugin enables peer access lazily and one way only, so both directions are enabled here. */
static void enable_peers(void) {
  for (int i = 1; i <= device_count; i++)
    for (int j = 1; j <= device_count; j++) {
      int possible = 0;
      if (i == j || table[i].ordinal < 0 || table[j].ordinal < 0 ||
          !dvt_cuda_ok(cudaDeviceCanAccessPeer(&possible, table[i].ordinal, table[j].ordinal)) || !possible)
        continue;
      if (dvt_cuda_ok(cudaSetDevice(table[i].ordinal))) /* "already enabled" is as good as success */
        (void)dvt_cuda_ok(cudaDeviceEnablePeerAccess(table[j].ordinal, 0));
    }
}
#endif

/* A function of the images, for its address. */
#pragma omp begin declare target
static __attribute__((noinline, used)) void image_code(void) {
}
#pragma omp end declare target

/* What the device is; of a host-offload device also an address in its image. */
static davit_device_kind probe(int device, uintptr_t *code) {
  int kind = DAVIT_DEVICE_OTHER;
  uintptr_t address = 0;
#pragma omp target device(device) map(from : kind, address)
  {
    address = 0;
#if defined(__NVPTX__)
    kind = DAVIT_DEVICE_NVIDIA;
#elif defined(__AMDGCN__)
    kind = DAVIT_DEVICE_AMD;
#elif defined(__x86_64__) || defined(__aarch64__) || defined(__powerpc64__) || defined(__s390x__)
    kind = omp_is_initial_device() ? DAVIT_DEVICE_OTHER : DAVIT_DEVICE_HOST_OFFLOAD;
    if (!omp_is_initial_device())
      address = (uintptr_t)image_code;
#else
    kind = DAVIT_DEVICE_OTHER;
#endif
  }
  *code = address;
  return (davit_device_kind)kind;
}

static void describe(dvt_device *device, bool runs_on_host) {
  device->ordinal = device->hip_ordinal = -1;
  device->runs_on_host = runs_on_host;
  switch (device->info.kind) {
  case DAVIT_DEVICE_CPU:
  case DAVIT_DEVICE_HOST_OFFLOAD:
    device->shares_host_memory = true;
    describe_cpu(&device->info);
    break;
#ifdef DAVIT_WITH_CUDA
  case DAVIT_DEVICE_NVIDIA:
    describe_nvidia(device);
    break;
#endif
  default:
    snprintf(device->info.name, sizeof device->info.name, "OpenMP device %d", device->info.device);
    break;
  }
}

/* The number of devices that can be used, of the runtime's `count`. Host-offload devices come last
 * (cmake/Compiler.cmake), and are left out if the runtime could not load their images: it would end the
 * process when a target region, an allocation or a copy first names one. Where offload/fallback stands in for
 * the runtime, a device counts that cannot be used, so that a call which names it learns why. */
static int usable_devices(int *count) {
  enum { HOST_DEVICES = 4 }; /* of LLVM's plugin for the host, always */
  const int others = *count > HOST_DEVICES ? *count - HOST_DEVICES : 0;
  obstacle = *count > 0 ? dvt_image_obstacle(*count - others) : dlsym(RTLD_DEFAULT, "dvt_offload_missing");
  if (*count == 0 && obstacle)
    *count = 1; /* whatever there would be */
  return obstacle ? others : *count;
}

/* DAVIT_SIMULATE=amd: host-offload devices pose as AMD's, of which the OpenMP runtime says nothing: with
 * memory of their own, nobody knows how much. Tests take the paths of such devices this way. */
static void pose(davit_device_info *info) {
  const char *simulated = dvt_environment("DAVIT_SIMULATE");
  if (simulated && strcmp(simulated, "amd") == 0 && info->kind == DAVIT_DEVICE_HOST_OFFLOAD)
    info->kind = DAVIT_DEVICE_AMD;
}

/* HIP's devices, if they are those of the OpenMP runtime that are AMD's. */
static void meet_hip(void) {
  int amd = 0;
  for (int i = 1; i <= device_count; i++)
    amd += table[i].info.kind == DAVIT_DEVICE_AMD;
  if (amd == 0 || dvt_hip_count() != amd)
    return;
  for (int i = device_count; i >= 1; i--) {
    davit_device_info *info = &table[i].info;
    if (info->kind != DAVIT_DEVICE_AMD)
      continue;
    table[i].hip_ordinal = --amd;
    dvt_hip_describe(amd, info->name, sizeof info->name, &info->memory_bytes, &info->compute_units);
  }
}

/* Of devices that pose as GPUs too. */
static void guard_gpus(void) {
  for (int i = 1; i <= device_count; i++)
    if (table[i].ordinal >= 0 || !table[i].shares_host_memory)
      dvt_ending_guard();
}

#ifdef DAVIT_WITH_CUDA
static void prepare_nvidia(int current) {
  atomic_store(&has_nvidia, true);
  if (dvt_peers_wanted())
    enable_peers();
  let_waits_spin();
  dvt_cuda_restore(current);
}
#endif

static void build_devices(void) {
  bool nvidia = false;
  const int current = current_before();
  const dvt_mask mask = dvt_mask_save();
  dvt_image_register();
  known_count = omp_get_num_devices();
  device_count = usable_devices(&known_count);
  if (device_count > MAX_DEVICES)
    device_count = MAX_DEVICES;
  for (int i = 0; i < device_count; i++) {
    table[i + 1].info.device = i;
    uintptr_t code;
    table[i + 1].info.kind = probe(i, &code);
    dvt_image_remove_file(code);
    const bool runs_on_host = table[i + 1].info.kind == DAVIT_DEVICE_HOST_OFFLOAD;
    nvidia = nvidia || table[i + 1].info.kind == DAVIT_DEVICE_NVIDIA;
    pose(&table[i + 1].info);
    describe(&table[i + 1], runs_on_host);
  }
  meet_hip();
#ifdef DAVIT_WITH_CUDA
  if (nvidia)
    prepare_nvidia(current);
#else
  (void)nvidia, (void)current;
#endif
  guard_gpus();
  dvt_mask_restore(&mask);
}

static const char inherited[] = "this process was made by fork(), and the devices are its parent's";

/* A child must not even ask how many devices there are. */
static void build(void) {
  if (dvt_process() == 0) {
    build_devices();
  } else {
    known_count = INT_MAX;
    obstacle = inherited;
  }
}

static void leave_to_parent(void) {
  if (device_count > 0)
    obstacle = inherited;
  device_count = 0;
}

__attribute__((constructor)) static void watch_fork(void) {
  static const dvt_fork_part look = {.lock = &lock}, devices = {.child = leave_to_parent};
  dvt_on_fork(DVT_FORK_LOOK, &look);
  dvt_on_fork(DVT_FORK_DEVICES, &devices);
}

void dvt_on_devices(void (*function)(void)) {
  for (int i = 0; i < MAX_WATCHERS; i++)
    if (!watchers[i]) {
      watchers[i] = function;
      return;
    }
}

/* With the lock held. */
static void look_for_devices(void) {
  build();
  atomic_store(&listed, true);
  for (int i = 0; i < MAX_WATCHERS && watchers[i]; i++)
    watchers[i]();
  atomic_store_explicit(&known, true, memory_order_release);
}

/* A thread that comes when the process ends must not begin to start the runtimes of GPUs. */
static void know_devices(void) {
  if (atomic_load_explicit(&known, memory_order_acquire))
    return;
  DVT_UNCANCELLED;
  pthread_mutex_lock(&lock);
  if (dvt_ending_is_late()) {
    pthread_mutex_unlock(&lock);
    dvt_ending_sleep();
  }
  if (!atomic_load(&known))
    look_for_devices();
  pthread_mutex_unlock(&lock);
}

void dvt_devices_settle(const struct timespec *deadline) {
  if (!atomic_load(&known) && pthread_mutex_timedlock(&lock, deadline) == 0)
    pthread_mutex_unlock(&lock);
}

const dvt_device *dvt_devices(int *count) {
  know_devices();
  return dvt_devices_so_far(count);
}

static void describe_host(void) {
  DVT_UNCANCELLED;
  table[0].info.device = DAVIT_HOST;
  table[0].info.kind = DAVIT_DEVICE_CPU;
  describe(&table[0], true);
}

const dvt_device *dvt_devices_so_far(int *count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, describe_host);
  if (count)
    *count = atomic_load_explicit(&listed, memory_order_acquire) ? device_count : 0;
  return table;
}

bool dvt_devices_are_known(void) {
  return atomic_load_explicit(&listed, memory_order_acquire);
}

const dvt_device *dvt_device_find(int device) {
  int count;
  if (device == DAVIT_HOST)
    return dvt_devices_so_far(NULL);
  const dvt_device *devices = dvt_devices(&count);
  return device >= DAVIT_HOST && device < count ? &devices[device + 1] : NULL;
}

const char *dvt_device_obstacle(int device) {
  int count;
  dvt_devices(&count);
  return device >= count && device < known_count ? obstacle : NULL;
}

davit_status dvt_device_memory(const dvt_device *device, size_t *free_bytes, size_t *total_bytes) {
  if (device->shares_host_memory) {
    *total_bytes = device->info.memory_bytes;
    *free_bytes = meminfo_bytes("MemAvailable");
    return DAVIT_SUCCESS;
  }
#ifdef DAVIT_WITH_CUDA
  if (device->ordinal >= 0) {
    const int current = dvt_cuda_current();
    cudaError_t result = cudaSetDevice(device->ordinal);
    if (result == cudaSuccess)
      result = cudaMemGetInfo(free_bytes, total_bytes);
    dvt_cuda_restore(current);
    return dvt_cuda_status(result, "memory information");
  }
#endif
  if (device->hip_ordinal >= 0)
    return dvt_hip_memory(device->hip_ordinal, free_bytes, total_bytes);
  return davit_fail(DAVIT_UNSUPPORTED, "nothing says how much memory device %d has", device->info.device);
}

bool dvt_device_peers(const dvt_device *from, const dvt_device *to) {
#ifdef DAVIT_WITH_CUDA
  int possible = 0;
  return dvt_peers_wanted() && from->ordinal >= 0 && to->ordinal >= 0 &&
         dvt_cuda_ok(cudaDeviceCanAccessPeer(&possible, from->ordinal, to->ordinal)) && possible;
#else
  (void)from, (void)to;
  return false;
#endif
}

void *dvt_device_mapped(int device, const void *pointer) {
  return device == DAVIT_HOST ? (void *)(uintptr_t)pointer : omp_get_mapped_ptr(pointer, device);
}

davit_status dvt_device_error(const dvt_device *device) {
#ifdef DAVIT_WITH_CUDA
  if (device->ordinal >= 0) {
    const int current = dvt_cuda_current();
    cudaError_t result = cudaSetDevice(device->ordinal);
    if (result == cudaSuccess) /* after a failure of the device every call fails */
      result = cudaStreamQuery(cudaStreamPerThread);
    (void)dvt_cuda_ok(result);
    dvt_cuda_restore(current);
    return result == cudaErrorNotReady ? DAVIT_SUCCESS : dvt_cuda_report(result, "device check");
  }
#endif
  (void)device;
  return DAVIT_SUCCESS;
}
