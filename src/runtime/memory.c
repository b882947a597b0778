/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks and pools.
 *
 * Invariant: every block given out is in `blocks`, sorted by address and disjoint (but for a block that was
 * imported twice), so the place of any pointer is one binary search. Freed device and pinned blocks wait in a list
 * per place until an allocation of the same class takes them: giving them back to the driver would wait for the
 * device. Classes are powers of two below 1 MiB and multiples of an eighth of the power of two above, so at most
 * 12.5 % is wasted. Host memory goes straight to malloc. */
#include "src/runtime/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "offload/runtime/space.h"
#include "src/base/allocate.h"
#include "src/base/check.h"
#include "src/base/ending.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/inject.h"
#include "src/base/limit.h"
#include "src/runtime/backend.h"

typedef struct block {
  char *base;
  size_t bytes; /* of the class */
  dvt_space_origin origin;
  int place;
  bool inherited;     /* from the process that this one was forked off: not to be freed */
  bool imported;      /* another process's */
  struct block *next; /* in the list of kept blocks */
} block;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* guards all below */
static block **blocks;
static size_t block_count;
static int64_t block_capacity;
static block *kept;

static bool is_pooled(int place) {
  return place == DAVIT_PINNED ? dvt_place_is_streamable(place) : !dvt_place_is_host(place);
}

static void hold(void) {
  pthread_rwlock_wrlock(&lock);
}

static void release(void) {
  pthread_rwlock_unlock(&lock);
}

/* In a child pageable memory is a copy; a device's memory, and what its driver has pinned, is the parent's,
 * and all that can be done with it is to forget it. */
static void disown(void) {
  pthread_rwlock_init(&lock, NULL);
  for (size_t i = 0; i < block_count; i++) {
    blocks[i]->inherited =
        blocks[i]->inherited || is_pooled(blocks[i]->place); /* also in a child of a child */
    blocks[i]->place = DAVIT_PAGEABLE;
  }
  kept = NULL;
}

__attribute__((constructor)) static void hold_at_fork(void) {
  static const dvt_fork_part part = {.prepare = hold, .parent = release, .child = disown};
  dvt_on_fork(DVT_FORK_MEMORY, &part);
}

static size_t class_bytes(size_t bytes) {
  enum { SMALLEST = 256 };
  size_t power = SMALLEST;
  while (power < bytes && power <= SIZE_MAX / 2)
    power *= 2;
  if (power <= 1 << 20)
    return power;
  size_t step = power / 16;
  return bytes > SIZE_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

/* Index of the first block whose base is above `pointer`. */
static size_t upper(const char *pointer) {
  size_t low = 0, high = block_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (blocks[middle]->base <= pointer)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static block *find(const char *pointer) {
  size_t i = upper(pointer);
  if (i == 0 || (size_t)(pointer - blocks[i - 1]->base) >= blocks[i - 1]->bytes)
    return NULL;
  return blocks[i - 1];
}

static bool insert(block *added) {
  if (!dvt_grow(&blocks, &block_capacity, (int64_t)block_count + 1, 64, sizeof(block *)))
    return false;
  size_t at = upper(added->base);
  memmove(blocks + at + 1, blocks + at, (block_count - at) * sizeof(block *));
  blocks[at] = added;
  block_count++;
  return true;
}

static block *take_out(char *base) {
  size_t i = upper(base);
  if (i == 0 || blocks[i - 1]->base != base)
    return NULL;
  block *found = blocks[i - 1];
  memmove(blocks + i - 1, blocks + i, (block_count - i) * sizeof(block *));
  if (--block_count == 0) {
    free(blocks);
    blocks = NULL;
    block_capacity = 0;
  }
  return found;
}

/* Whoever calls a GPU's runtime with the lock held enters first, which it may never come back from. */
static void lock_for_device(void) {
  dvt_ending_enter();
  hold();
}

static void unlock_for_device(void) {
  release();
  dvt_ending_leave();
}

/* Gives back the kept blocks of `place`, or of all places. */
static void trim(int place, bool all) {
  for (block **at = &kept; *at;) {
    block *one = *at;
    if (all || one->place == place) {
      *at = one->next;
      dvt_space_free(one->base, one->bytes, &one->origin, one->place);
      free(one);
    } else {
      at = &one->next;
    }
  }
}

static block *take_kept(size_t bytes, int place) {
  for (block **at = &kept; *at; at = &(*at)->next)
    if ((*at)->place == place && (*at)->bytes == bytes) {
      block *found = *at;
      *at = found->next;
      return found;
    }
  return NULL;
}

static davit_status no_memory(size_t bytes, int place) {
  if (place < 0)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no %s host memory for %zu bytes",
                      place == DAVIT_PINNED ? "pinned" : "pageable", bytes);
  return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "device %d has no memory for %zu bytes", place, bytes);
}

static bool refused(int place) {
  return dvt_injected(place >= 0              ? DVT_INJECT_DEVICE_MEMORY
                      : place == DAVIT_PINNED ? DVT_INJECT_PINNED_MEMORY
                                              : DVT_INJECT_HOST_MEMORY);
}

static davit_status make_block(size_t bytes, int place, block **made) {
  if (refused(place))
    return no_memory(bytes, place);
  if (place < 0)
    DVT_TRY(dvt_check_memory(bytes));
  block *found = take_kept(bytes, place);
  if (!found) {
    found = dvt_allocate(1, sizeof *found);
    if (!found)
      return DAVIT_OUT_OF_HOST_MEMORY;
    *found = (block){.bytes = bytes, .place = place};
    found->base = dvt_space_alloc(bytes, place, &found->origin);
    if (!found->base) {
      trim(place, false); /* what is kept in other sizes may make room */
      found->base = dvt_space_alloc(bytes, place, &found->origin);
      if (found->base)
        dvt_error_clear();
    }
    if (!found->base) {
      free(found);
      return no_memory(bytes, place);
    }
  }
  *made = found;
  return DAVIT_SUCCESS;
}

/* Of a place that is resolved. */
static davit_status allocate_at(size_t bytes, int place, void **pointer) {
  if (bytes == 0) {
    *pointer = NULL;
    return DAVIT_SUCCESS;
  }
  block *made = NULL;
  const bool pooled = is_pooled(place);
  pooled ? lock_for_device() : hold();
  davit_status status = make_block(class_bytes(bytes), place, &made);
  if (status == DAVIT_SUCCESS && !insert(made)) {
    made->next = kept;
    kept = made;
    status = DAVIT_OUT_OF_HOST_MEMORY;
  }
  pooled ? unlock_for_device() : release();
  if (status == DAVIT_SUCCESS)
    *pointer = made->base;
  return status;
}

davit_status davit_malloc(size_t bytes, int place, void **pointer) {
  DVT_TRY(dvt_check_pointer("pointer", pointer));
  DVT_TRY(dvt_resolve_place(place, &place));
  return allocate_at(bytes, place, pointer);
}

davit_status dvt_malloc(size_t bytes, int place, void **pointer) {
  DVT_TRY(dvt_resolve_place(place, &place));
  return allocate_at(bytes, place == DAVIT_PINNED && !dvt_devices_are_known() ? DAVIT_PAGEABLE : place,
                     pointer);
}

static void end_import(block *one) {
  DVT_INSIDE;
  dvt_space_unmap(one->base, one->place);
  free(one);
}

/* Calls no GPU, unless memory was imported: a block of its memory is kept. */
davit_status davit_free(void *pointer) {
  if (!pointer)
    return DAVIT_SUCCESS;
  hold();
  block *found = take_out(pointer);
  const bool imported = found && found->imported && !found->inherited;
  if (found && !imported && is_pooled(found->place)) {
    found->next = kept;
    kept = found;
  } else if (found && !imported) {
    if (!found->inherited)
      dvt_space_free(found->base, found->bytes, &found->origin, found->place);
    free(found);
  }
  release();
  if (imported)
    end_import(found);
  return found ? DAVIT_SUCCESS
               : davit_fail(DAVIT_INVALID_ARGUMENT, "pointer %p is not the start of a block of davit_malloc",
                            pointer);
}

/* ---- other processes ---- */

/* What a davit_memory_handle begins with. */
typedef struct handle_content {
  char kind[8];
  uint64_t bytes;
  unsigned char native[DVT_SPACE_HANDLE];
} handle_content;

static const char handle_kind[8] = "davit 1";
_Static_assert(sizeof(handle_content) <= sizeof(davit_memory_handle), "a handle holds it");

davit_status davit_memory_export(const void *pointer, davit_memory_handle *handle) {
  DVT_TRY(dvt_check_pointer("pointer", pointer));
  DVT_TRY(dvt_check_pointer("handle", handle));
  DVT_TRY(dvt_start());
  pthread_rwlock_rdlock(&lock);
  const block *found = find(pointer);
  const bool start = found && found->base == pointer && !found->imported && !found->inherited;
  const int place = start ? found->place : DAVIT_PAGEABLE;
  handle_content content = {.bytes = start ? found->bytes : 0};
  pthread_rwlock_unlock(&lock);
  if (!start)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "pointer %p is not the start of a block of davit_malloc",
                      pointer);
  memcpy(content.kind, handle_kind, sizeof content.kind);
  DVT_INSIDE;
  DVT_TRY(dvt_space_export(pointer, place, content.native));
  *handle = (davit_memory_handle){{0}};
  memcpy(handle->bytes, &content, sizeof content);
  return DAVIT_SUCCESS;
}

davit_status davit_memory_import(const davit_memory_handle *handle, int device, void **pointer) {
  handle_content content;
  DVT_TRY(dvt_check_pointer("handle", handle));
  DVT_TRY(dvt_check_pointer("pointer", pointer));
  DVT_TRY(dvt_resolve_device(device, &device));
  memcpy(&content, handle->bytes, sizeof content);
  if (memcmp(content.kind, handle_kind, sizeof content.kind) != 0 || content.bytes == 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "handle is none of davit_memory_export");
  block *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  void *base = NULL;
  DVT_INSIDE;
  const davit_status status = dvt_space_map(content.native, device, &base);
  if (status != DAVIT_SUCCESS) {
    free(made);
    return status;
  }
  *made = (block){.base = base, .bytes = content.bytes, .place = device, .imported = true};
  hold();
  const bool inserted = insert(made);
  release();
  if (!inserted) {
    end_import(made);
    return DAVIT_OUT_OF_HOST_MEMORY;
  }
  *pointer = base;
  return DAVIT_SUCCESS;
}

davit_status davit_memory_trim(int place) {
  DVT_TRY(dvt_resolve_place(place, &place));
  lock_for_device();
  trim(place, false);
  unlock_for_device();
  return DAVIT_SUCCESS;
}

static void trim_all(void) {
  lock_for_device();
  trim(0, true);
  unlock_for_device();
}

__attribute__((constructor)) static void trim_at_stop(void) {
  dvt_on_stop(trim_all);
}

size_t dvt_memory_kept(int place) {
  size_t bytes = 0;
  pthread_rwlock_rdlock(&lock);
  for (block *one = kept; one; one = one->next)
    if (one->place == place)
      bytes += one->bytes;
  pthread_rwlock_unlock(&lock);
  return bytes;
}

int dvt_place_of(const void *pointer) {
  pthread_rwlock_rdlock(&lock);
  block *found = find(pointer);
  int place = found ? found->place : DAVIT_PAGEABLE;
  pthread_rwlock_unlock(&lock);
  if (found)
    return place;
  DVT_INSIDE;
  return dvt_space_place(pointer);
}

davit_status davit_pointer_place(const void *pointer, int *place) {
  if (!pointer || !place)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", pointer ? "place" : "pointer");
  DVT_TRY(dvt_start());
  *place = dvt_place_of(pointer);
  return DAVIT_SUCCESS;
}

davit_status davit_pin(void *pointer, size_t bytes) {
  if (!pointer || bytes == 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, pointer ? "bytes is 0" : "pointer is NULL");
  DVT_TRY(dvt_check_bytes(bytes));
  DVT_TRY(dvt_start());
  DVT_INSIDE;
  return dvt_space_pin(pointer, bytes);
}

davit_status davit_unpin(void *pointer) {
  DVT_TRY(dvt_check_pointer("pointer", pointer));
  DVT_TRY(dvt_start());
  hold();
  const block *own = find(pointer);
  const bool stays = own && own->place == DAVIT_PINNED;
  release();
  if (stays)
    return davit_fail(DAVIT_INVALID_STATE, "memory of davit_malloc() is pinned until davit_free()");
  DVT_INSIDE;
  return dvt_space_unpin(pointer);
}
