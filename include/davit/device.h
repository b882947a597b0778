/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: kind, name, memory, links.
 *
 * Devices are numbered 0 … count-1 in the OpenMP runtime's order. DAVIT_HOST is the CPU that runs the program.
 * DAVIT_CURRENT is accepted wherever a device is, and means the calling thread's current device. A host-offload device
 * is the CPU too, reached through the offload runtime: a machine without accelerators has several of them, and all
 * multi-device code runs on them. They are left out if the OpenMP runtime cannot unpack their code in /tmp; naming one
 * then returns DAVIT_UNSUPPORTED, with the reason.
 *
 * The first call of any davit function starts the library; there is nothing to initialise.
 * Thread safety: any thread may call any function. */
#ifndef DAVIT_DEVICE_H
#define DAVIT_DEVICE_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Special places: <davit/memory.h>. */
enum { DAVIT_HOST = -1, DAVIT_CURRENT = -4 };

typedef enum davit_device_kind {
  DAVIT_DEVICE_CPU,          /* DAVIT_HOST itself */
  DAVIT_DEVICE_HOST_OFFLOAD, /* the CPU as an OpenMP offload device */
  DAVIT_DEVICE_NVIDIA,
  DAVIT_DEVICE_AMD,
  DAVIT_DEVICE_OTHER
} davit_device_kind;

typedef struct davit_device_info {
  int device;
  davit_device_kind kind;
  char name[96];
  size_t memory_bytes;    /* in all; 0: unknown */
  int compute_units;      /* streaming multiprocessors of a GPU, hardware threads of a CPU; 0: unknown */
  int compute_capability; /* NVIDIA: 10 * major + minor; else 0 */
  char bus[32];           /* PCI address, "" if none */
  uint64_t reserved[4];   /* 0 */
} davit_device_info;

typedef enum davit_link_kind {
  DAVIT_LINK_SAME,  /* one memory: a device and itself, or host and host-offload devices */
  DAVIT_LINK_PEER,  /* direct copies between two devices, enabled in both directions */
  DAVIT_LINK_STAGED /* copies go through host memory */
} davit_link_kind;

/* Number of devices, DAVIT_HOST not counted. */
DAVIT_API davit_status davit_device_count(int *count);

/* Describes `device` (DAVIT_HOST allowed). */
DAVIT_API davit_status davit_device_describe(int device, davit_device_info *info);

/* "cpu", "host-offload", "nvidia", "amd" or "other". */
DAVIT_API const char *davit_device_kind_string(davit_device_kind kind);

/* Free and total memory of `device` in bytes, now. Memory that davit keeps for re-use counts as free.
 * DAVIT_UNSUPPORTED if nothing says how much there is, as on GPUs that only the OpenMP runtime knows;
 * everything else works there all the same. */
DAVIT_API davit_status davit_device_memory(int device, size_t *free_bytes, size_t *total_bytes);

/* How bytes travel from one device to another. Peer access is enabled for all pairs at start. */
DAVIT_API davit_status davit_device_link(int from, int to, davit_link_kind *link);

/* The calling thread's current device: 0 at first, DAVIT_HOST where there is no device. */
DAVIT_API davit_status davit_device_select(int device);
DAVIT_API davit_status davit_device_current(int *device);

/* Waits until every queue of `device` (DAVIT_HOST allowed) has finished what was enqueued before the call, and returns
 * the first error of that work. It does not wait for work outside davit's queues. Queues may be created and destroyed
 * meanwhile, even by that work. From within a queue of `device` the call returns DAVIT_WOULD_DEADLOCK. */
DAVIT_API davit_status davit_device_synchronize(int device);

/* Like davit_device_synchronize() but never waits: an error that has already surfaced, else success. The next
 * synchronisation still reports the error. */
DAVIT_API davit_status davit_device_check(int device);

/* The devices that work is spread over when options name none: all GPUs, or the host-offload devices where
 * there is no GPU, or DAVIT_HOST where there is neither. Writes at most `capacity` numbers to `devices`
 * (NULL allowed with capacity 0) and their full number to `count`. */
DAVIT_API davit_status davit_device_defaults(int capacity, int *devices, int *count);

/* Sets how many host threads davit may compute on at the same time, in all calls together, BLIS' threads included. Work
 * beyond that waits for its turn. Threads that only wait, enqueue or copy, and those on which host functions and
 * regions run, are not counted. At most 1024; 0 means the default: DAVIT_THREADS in the environment, else the first
 * number of OMP_NUM_THREADS, else one for each processor that the process may run on, within the CPU quota of its
 * control group. */
DAVIT_API davit_status davit_set_threads(int threads);

/* The back end that executes the commands of queues: "openmp"; "threads" if DAVIT_BACKEND names it or OpenMP has one
 * thread only (OMP_THREAD_LIMIT=1); "none" before the first call of another function. */
DAVIT_API const char *davit_backend_string(void);

/* Finishes all queues' work, stops the library's threads and frees its pooled memory. Needed only by programs that must
 * end with nothing allocated. No other davit call may run at the same time; a later call starts the library again.
 * Destroy queues and events first. */
DAVIT_API davit_status davit_finalize(void);

#ifdef __cplusplus
}
#endif
#endif
