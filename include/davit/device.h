/* Devices: what there is, what it is called, how much memory it has, how it is linked.
 *
 * Devices are numbered 0 … count-1 in the OpenMP runtime's order; DAVIT_HOST (-1) is the CPU that runs
 * the program. A host-offload device is the CPU too, reached through the offload runtime: on a machine
 * without accelerators there are several of them, and all multi-device code runs on them.
 *
 * The first call of any davit function starts the library; nothing has to be initialised.
 * Thread safety: every function may be called from any thread. */
#ifndef DAVIT_DEVICE_H
#define DAVIT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <davit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DAVIT_HOST = -1 };

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
  size_t memory_bytes;    /* in all */
  int compute_units;      /* streaming multiprocessors of a GPU, hardware threads of a CPU */
  int compute_capability; /* NVIDIA: 10 * major + minor; else 0 */
  char bus[32];           /* PCI address, "" if none */
} davit_device_info;

typedef enum davit_link_kind {
  DAVIT_LINK_SAME,  /* one memory: a device and itself, or host and host-offload devices */
  DAVIT_LINK_PEER,  /* direct copies between two devices, enabled in both directions */
  DAVIT_LINK_STAGED /* copies go through host memory */
} davit_link_kind;

/* Number of devices, DAVIT_HOST not counted. */
DAVIT_API davit_status davit_device_count(int *count);

/* What `device` is (DAVIT_HOST allowed). */
DAVIT_API davit_status davit_device_describe(int device, davit_device_info *info);

/* "cpu", "host-offload", "nvidia", "amd" or "other". */
DAVIT_API const char *davit_device_kind_string(davit_device_kind kind);

/* Free and total memory of `device` in bytes, now. Memory that davit keeps for re-use counts as free. */
DAVIT_API davit_status davit_device_memory(int device, size_t *free_bytes, size_t *total_bytes);

/* How bytes travel from one device to another. Peer access is enabled for all pairs at start. */
DAVIT_API davit_status davit_device_link(int from, int to, davit_link_kind *link);

/* The calling thread's current device: 0 at first, DAVIT_HOST where there is no device. Only
 * DAVIT_CURRENT, accepted wherever a device number is, reads it. */
enum { DAVIT_CURRENT = -100 };
DAVIT_API davit_status davit_device_select(int device);
DAVIT_API davit_status davit_device_current(int *device);

/* Waits until every queue of `device` (DAVIT_HOST allowed) has finished what was enqueued before the
 * call, and returns the first error of that work. Work outside davit's queues is not waited for. Queues may be
 * created and destroyed meanwhile, by that work as well; from within a queue of `device` the call is
 * DAVIT_WOULD_DEADLOCK. */
DAVIT_API davit_status davit_device_synchronize(int device);

/* Like davit_device_synchronize() but never waits: an error that has already surfaced, else success. The
 * error stays to be reported by the next synchronisation. */
DAVIT_API davit_status davit_device_check(int device);

/* The devices that work is spread over when the caller names none: all GPUs, or the host-offload devices
 * where there is no GPU, or DAVIT_HOST where there is neither. Writes at most `capacity` numbers to
 * `devices` (NULL allowed with capacity 0) and their full number to `count`. */
DAVIT_API davit_status davit_default_devices(int capacity, int *devices, int *count);

/* Finishes all queues' work, stops the library's threads and frees its pooled memory. Only for programs
 * that must end with nothing allocated; the process's end does the same. No davit call may run beside
 * it; a later call starts the library again. Queues and events must have been destroyed. */
DAVIT_API davit_status davit_finalize(void);

#ifdef __cplusplus
}
#endif
#endif
