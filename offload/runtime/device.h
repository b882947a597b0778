/* SPDX-License-Identifier: Apache-2.0 */
/* What the OpenMP runtime's devices are.
 *
 * A device's kind is found by running a target region on it: the region is compiled once per
 * architecture, so it knows for certain where it runs. The CUDA ordinal of an NVIDIA device is found from
 * the memory the OpenMP runtime allocates on it, which holds whatever order either runtime numbers in. */
#ifndef DAVIT_OFFLOAD_RUNTIME_DEVICE_H
#define DAVIT_OFFLOAD_RUNTIME_DEVICE_H

#include <davit/device.h>
#include <time.h>

typedef struct dvt_device {
  davit_device_info info;
  int ordinal;             /* CUDA's number, -1 if no NVIDIA device */
  int hip_ordinal;         /* HIP's number, -1 if no AMD device, or HIP is not there */
  bool shares_host_memory; /* the CPU and host-offload devices */
  bool runs_on_host; /* these, and host-offload devices that pose as GPUs (DAVIT_SIMULATE): no kernels */
} dvt_device;

/* The table of all devices, entry i + 1 for device i and entry 0 for DAVIT_HOST; built on the first call,
 * never changed. `count` leaves DAVIT_HOST out. The first call opens the drivers of GPUs (image.h), so that
 * what concerns the CPU alone does without it. */
const dvt_device *dvt_devices(int *count);

/* The same table, with a count of 0 where no device has been asked for yet; and whether one has. */
const dvt_device *dvt_devices_so_far(int *count);
bool dvt_devices_are_known(void);

/* Has the function called once, by the thread that builds the table, before anybody uses a device of it: what it
 * registers with atexit() comes before the exit handlers of the devices' runtimes. It may take the locks of
 * src/base/fork.h that come after DVT_FORK_LOOK. Called by a constructor. */
void dvt_on_devices(void (*function)(void));

/* For the ending thread: waits until no thread is building the table, or until the deadline by CLOCK_REALTIME. */
void dvt_devices_settle(const struct timespec *deadline);

/* The device of that number, NULL if there is none. For DAVIT_HOST no other device is asked for. */
const dvt_device *dvt_device_find(int device);

/* Why a device of the OpenMP runtime is left out of the table; NULL if it is not, or does not exist. */
const char *dvt_device_obstacle(int device);

/* Free and total bytes now; DAVIT_UNSUPPORTED if nothing says so. */
davit_status dvt_device_memory(const dvt_device *device, size_t *free_bytes, size_t *total_bytes);

/* Whether `from` can copy to `to` directly (peer access, enabled in both directions at start). */
bool dvt_device_peers(const dvt_device *from, const dvt_device *to);

/* DAVIT_PEERS: false if it is "off", and copies between devices pass through the host. */
bool dvt_peers_wanted(void);

/* The device's copy of what OpenMP has mapped at this address of the host; NULL: it is not mapped there. */
void *dvt_device_mapped(int device, const void *pointer);

/* An error the device's runtime has already met, without waiting. */
davit_status dvt_device_error(const dvt_device *device);

/* CUDA's current device of the calling thread, -1 where no NVIDIA device is in the table, and putting it back: CUDA
 * code of the user's own relies on it, and both davit and the OpenMP runtime change it. Whatever may run on a thread
 * of the user's ends with what it found. */
int dvt_cuda_current(void);
void dvt_cuda_restore(int current);

static inline void dvt_cuda_restore_at_end(const int *current) {
  dvt_cuda_restore(*current);
}

/* It is put back at the end of the block. */
#define DVT_KEEP_CURRENT                                                                                     \
  __attribute__((cleanup(dvt_cuda_restore_at_end), unused)) const int dvt_current = dvt_cuda_current()

#ifdef DAVIT_WITH_CUDA
/* What became of a CUDA runtime call, whose result is an unsigned here, so that no vendor type shows. CUDA
 * keeps the last failure of a thread; each of davit's is cleared where it is met, so that nobody finds it
 * later, but no call looks at, or clears, one that the program has left.
 *   dvt_cuda_ok       whether the call succeeded; clears
 *   dvt_cuda_status   a status with a sentence that names the operation; clears
 *   dvt_cuda_report   the same without clearing, for callbacks, which must not call CUDA */
bool dvt_cuda_ok(unsigned result);
davit_status dvt_cuda_status(unsigned result, const char *operation);
davit_status dvt_cuda_report(unsigned result, const char *operation);
#endif

#endif
