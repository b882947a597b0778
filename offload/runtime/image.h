/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own device images, and the files into which the OpenMP runtime unpacks those of the host.
 *
 * To register images opens the drivers of GPUs, a third of a second for one GPU. So the library's are registered when
 * the devices are first looked for (device.c), and not when the library is loaded as images usually are: a program
 * that computes on the CPU opens no GPU. Where another part of the program has target regions of its own, the library's
 * are registered at load, because whose images come first decides how devices are numbered.
 *
 * When a host-offload device is first used, libomptarget writes every image that it has for the host to a
 * file of the device's own in /tmp, loads that file as a shared library, and leaves it behind. The directory
 * is fixed: TMPDIR has no effect. If a file cannot be written or loaded, the runtime ends the process. */
#ifndef DAVIT_OFFLOAD_RUNTIME_IMAGE_H
#define DAVIT_OFFLOAD_RUNTIME_IMAGE_H

#include <stdint.h>

/* What LLVM's linker wrapper writes for the OpenMP runtime (__tgt_bin_desc, __tgt_device_image). */
typedef struct dvt_image {
  const unsigned char *start, *end;
  const void *entries_begin, *entries_end;
} dvt_image;

typedef struct dvt_image_list {
  int32_t count;
  const dvt_image *images;
  const void *entries_begin, *entries_end;
} dvt_image_list;

/* cmake/Library.cmake gives the descriptor this name. */
extern const dvt_image_list dvt_device_images __attribute__((visibility("hidden")));

/* Registers the images, once; later calls do nothing. */
void dvt_image_register(void);

/* The image without LLVM's container, if it stands in one. */
const unsigned char *dvt_image_unwrap(const dvt_image *image);

/* The machine that the image is for, an EM_ number of <elf.h>; 0 if it is no ELF file. */
unsigned dvt_image_machine(const dvt_image *image);

/* Tries what the runtime does for that many host-offload devices: creates files in /tmp, fills them, maps
 * them executable. Leaves nothing behind. NULL, or a sentence about what fails, valid until the next call.
 * Call it from one thread at a time. */
const char *dvt_image_obstacle(int devices);

/* Removes the file that holds the loaded image with the address `code`; 0: there is none. */
void dvt_image_remove_file(uintptr_t code);

#endif
