/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/runtime/image.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/fork.h"
#include "src/base/inject.h"

/* In LLVM's container come magic, version, size, offset and size of the one entry; in the entry the image's
 * offset follows after 24 bytes. */
const unsigned char *dvt_image_unwrap(const dvt_image *image) {
  static const unsigned char magic[4] = {0x10, 0xff, 0x10, 0xad};
  const unsigned char *start = image->start;
  if (image->end - start < 32 || memcmp(start, magic, sizeof magic) != 0)
    return start;
  uint64_t entry, offset;
  memcpy(&entry, start + 16, sizeof entry);
  memcpy(&offset, start + entry + 24, sizeof offset);
  return start + offset;
}

unsigned dvt_image_machine(const dvt_image *image) {
  const unsigned char *start = dvt_image_unwrap(image);
  uint16_t machine;
  memcpy(&machine, start + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
  return memcmp(start, ELFMAG, SELFMAG) == 0 ? machine : 0;
}

/* ---- registration ---- */

extern void __tgt_register_lib(const dvt_image_list *descriptor);

/* The runtime lets devices go with the last descriptor that is unregistered, in an exit handler or when a library is
 * unloaded. These stay. */
static void register_images(void) {
  __tgt_register_lib(&dvt_device_images);
}

void dvt_image_register(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_images);
}

static bool holds(const struct dl_phdr_info *object, const void *address) {
  bool found = false;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    found |= segment->p_type == PT_LOAD &&
             (uintptr_t)address - (object->dlpi_addr + segment->p_vaddr) < segment->p_memsz;
  }
  return found;
}

/* Whether the object names the offload runtime among the libraries that it needs: it has target regions, or calls the
 * runtime's functions. The loader has made an address of the string table's offset, except in the kernel's object. */
static bool needs_runtime(const struct dl_phdr_info *object) {
  const ElfW(Dyn) *entries = NULL;
  const char *strings = NULL;
  for (int i = 0; i < object->dlpi_phnum; i++)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entries = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  for (const ElfW(Dyn) *entry = entries; entry && entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_STRTAB && entry->d_un.d_ptr >= object->dlpi_addr)
      strings = (const char *)entry->d_un.d_ptr;
  for (const ElfW(Dyn) *entry = entries; strings && entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_NEEDED && strncmp(strings + entry->d_un.d_val, "libomptarget.so", 15) == 0)
      return true;
  return false;
}

static int find_user(struct dl_phdr_info *object, size_t bytes, void *unused) {
  (void)bytes, (void)unused;
  return !holds(object, &dvt_device_images) && needs_runtime(object);
}

/* A program that is linked with the static library has the library's images in itself, and needs the runtime. */
static int find_own(struct dl_phdr_info *object, size_t bytes, void *unused) {
  (void)bytes, (void)unused;
  return holds(object, &dvt_device_images) && object->dlpi_name[0] == '\0';
}

/* The runtime has made each GPU current in turn; a thread that has chosen none has CUDA's device 0. */
static void leave_no_gpu_current(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  int (*set_current)(void *context) = NULL;
  if (!driver)
    return;
  *(void **)(void *)&set_current = dlsym(driver, "cuCtxSetCurrent");
  if (set_current)
    (void)set_current(NULL);
  dlclose(driver);
}

/* As early as the images of other parts of the program are registered. A runtime that has been given nothing would
 * crash in omp_get_num_devices(). */
__attribute__((constructor(101))) static void start_runtime(void) {
  static const dvt_image_list none = {.count = 0};
  const bool nobody_chose = !dvt_driver_is_loaded();
  __tgt_register_lib(&none);
  if (!dl_iterate_phdr(find_own, NULL) && !dl_iterate_phdr(find_user, NULL))
    return;
  dvt_image_register();
  if (nobody_chose)
    leave_no_gpu_current();
}

/* ---- the files of host images ---- */

static size_t host_bytes(void) {
  size_t bytes = 0;
  for (int32_t i = 0; i < dvt_device_images.count; i++) {
    const dvt_image *image = &dvt_device_images.images[i];
    const unsigned machine = dvt_image_machine(image);
    if (machine != EM_CUDA && machine != EM_AMDGPU)
      bytes += (size_t)(image->end - image->start);
  }
  return bytes;
}

/* Beyond the limit a signal would end the process. */
static int reserve(int file, size_t bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur)
    return EFBIG;
  return posix_fallocate(file, 0, (off_t)bytes);
}

static int map_executable(int file, size_t bytes) {
  void *code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  return code == MAP_FAILED ? errno : munmap(code, bytes);
}

/* A file as the runtime makes it, but without a name. 0, or the error, with what failed. */
static int try_file(size_t bytes, int *file, const char **failed) {
  char name[] = "/tmp/davit-XXXXXX";
  *failed = "created";
  *file = mkostemp(name, O_CLOEXEC);
  if (*file < 0)
    return errno;
  unlink(name);
  *failed = "filled";
  const int error = reserve(*file, bytes);
  if (error)
    return error;
  *failed = "mapped executable";
  return map_executable(*file, bytes);
}

const char *dvt_image_obstacle(int devices) {
  enum { MAX_FILES = 8 };
  static char sentence[200];
  const size_t bytes = host_bytes();
  int files[MAX_FILES], error = 0, count = 0;
  const char *failed = NULL;
  while (count < devices && count < MAX_FILES && !error)
    error = dvt_injected(DVT_INJECT_UNPACK) ? ENOSPC : try_file(bytes, &files[count++], &failed);
  while (count-- > 0)
    if (files[count] >= 0)
      close(files[count]);
  if (!error)
    return NULL;
  snprintf(
      sentence, sizeof sentence,
      "the OpenMP runtime unpacks code for host devices in /tmp, where a file of %zu bytes cannot be %s: %s",
      bytes, failed, strerror(error));
  return sentence;
}

void dvt_image_remove_file(uintptr_t code) {
  static const char prefix[] = "/tmp/tmpfile_";
  struct stat file;
  Dl_info image;
  if (code && dladdr((const void *)code, &image) && image.dli_fname &&
      strncmp(image.dli_fname, prefix, sizeof prefix - 1) == 0 && lstat(image.dli_fname, &file) == 0 &&
      S_ISREG(file.st_mode))
    unlink(image.dli_fname);
}
