/* SPDX-License-Identifier: Apache-2.0 */
/* The exported names that only jump to BLIS, the slots of all names, and what binds them to BLIS at the first call of
 * any. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/dropin/dropin.h"

static struct {
  const char *text;
  bool logged; /* here; names of ROUTED are by route.c */
  void *blis;
} names[DVT_NAMES] = {
#define ROUTED(name) {#name, false, NULL},
#define FORWARD(name) {#name, true, NULL},
#define CHECKED(name) {#name, true, NULL},
#define HELPER(name) {#name, false, NULL},
#include "src/dropin/names.inc"
#undef ROUTED
#undef FORWARD
#undef CHECKED
#undef HELPER
};

static bool bound;
static bool comes_back; /* BLIS's CBLAS calls Fortran names that lead here */

static void missing(void) {
  fputs(DVT_DROPIN_LIBRARY ": this BLIS does not have the routine that the program calls\n", stderr);
  abort();
}

static void *find(void *blis, const char *name) {
  void *symbol = dlsym(blis, name);
  return symbol ? symbol : (void *)(uintptr_t)missing;
}

static void bind_names(void) {
  void *blis = dvt_dropin_load_blis();
  if (!blis) {
    fprintf(stderr, DVT_DROPIN_LIBRARY ": cannot load BLIS: %s\n", dlerror());
    abort();
  }
  dvt_log_open();
  if (dvt_dropin_threads_are_given())
    dvt_log("BLIS computes on %d threads, one for each core", dvt_dropin_threads());
  for (int i = 0; i < DVT_NAMES; i++) {
    names[i].blis = find(blis, names[i].text);
    if (!names[i].logged || !dvt_log_on())
      __atomic_store_n(&dvt_dropin_slots[i], names[i].blis, __ATOMIC_RELAXED);
  }
  Dl_info found, self;
  void *daxpy = dlsym(RTLD_DEFAULT, "daxpy_");
  comes_back = daxpy && dladdr(daxpy, &found) && dladdr(&bound, &self) && found.dli_fbase == self.dli_fbase;
}

void dvt_dropin_bind(void) {
  if (__atomic_load_n(&bound, __ATOMIC_ACQUIRE))
    return;
  dvt_starting_lock(); /* no process is forked in the midst of it */
  if (!bound) {
    const dvt_arithmetic before = dvt_arithmetic_hold(); /* whatever libraries do when they are loaded */
    bind_names();
    dvt_arithmetic_release(&before);
  }
  __atomic_store_n(&bound, true, __ATOMIC_RELEASE);
  dvt_starting_unlock();
}

/* ---- entries and slots ---- */

#if !defined(__x86_64__)
#error "the entries are written for x86-64"
#endif

/* Where the slot's name leads. A CBLAS routine is logged when BLIS calls the Fortran one. */
__attribute__((used)) static void *dvt_dropin_slow(void **slot) {
  dvt_dropin_bind();
  const ptrdiff_t i = slot - dvt_dropin_slots;
  if (names[i].logged && dvt_log_on() && !(comes_back && names[i].text[0] == 'c' && names[i].text[1] == 'b'))
    dvt_log("%s: host, no form for devices", names[i].text);
  return names[i].blis;
}

/* An entry is one indirect jump. It touches no register and no stack, so it serves every signature: hidden
 * lengths of Fortran strings, complex results, scalars by value. A slot first leads to `slow_NAME`, which
 * has dvt_dropin_slow() say where to go; that keeps all registers in which arguments are passed. r11
 * belongs to nobody between a call and the callee's first instruction. */
/* clang-format off */
__asm__(
    "  .hidden dvt_dropin_slots\n"
    "  .globl dvt_dropin_slots\n"
    "  .pushsection .data.rel.dropin, \"aw\", @progbits\n"
    "  .p2align 3\n"
    "dvt_dropin_slots:\n"
    "  .popsection\n"
    "  .text\n"
    ".macro dvt_slot name\n"
    "  .pushsection .data.rel.dropin, \"aw\", @progbits\n"
    ".Lslot_\\name:\n"
    "  .quad .Lslow_\\name\n"
    "  .popsection\n"
    "  .p2align 4\n"
    ".Lslow_\\name:\n"
    "  endbr64\n"
    "  leaq .Lslot_\\name(%rip), %r11\n"
    "  jmp .Ldvt_slow\n"
    ".endm\n"
    ".macro dvt_entry name\n"
    "  dvt_slot \\name\n"
    "  .p2align 4\n"
    "  .globl \\name\n"
    "  .type \\name, @function\n"
    "\\name:\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  jmp *.Lslot_\\name(%rip)\n"
    "  .cfi_endproc\n"
    "  .size \\name, . - \\name\n"
    ".endm\n"
    "  .p2align 4\n"
    ".Ldvt_slow:\n"
    "  .cfi_startproc\n"
    "  pushq %rax\n  .cfi_adjust_cfa_offset 8\n" /* al: vector registers of a variadic call */
    "  pushq %rdi\n  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rsi\n  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rdx\n  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rcx\n  .cfi_adjust_cfa_offset 8\n"
    "  pushq %r8\n  .cfi_adjust_cfa_offset 8\n"
    "  pushq %r9\n  .cfi_adjust_cfa_offset 8\n"
    "  subq $128, %rsp\n  .cfi_adjust_cfa_offset 128\n"
    "  movaps %xmm0, (%rsp)\n  movaps %xmm1, 16(%rsp)\n  movaps %xmm2, 32(%rsp)\n  movaps %xmm3, 48(%rsp)\n"
    "  movaps %xmm4, 64(%rsp)\n  movaps %xmm5, 80(%rsp)\n  movaps %xmm6, 96(%rsp)\n"
    "  movaps %xmm7, 112(%rsp)\n"
    "  movq %r11, %rdi\n"
    "  call dvt_dropin_slow\n"
    "  movq %rax, %r11\n"
    "  movaps (%rsp), %xmm0\n  movaps 16(%rsp), %xmm1\n  movaps 32(%rsp), %xmm2\n  movaps 48(%rsp), %xmm3\n"
    "  movaps 64(%rsp), %xmm4\n  movaps 80(%rsp), %xmm5\n  movaps 96(%rsp), %xmm6\n"
    "  movaps 112(%rsp), %xmm7\n"
    "  addq $128, %rsp\n  .cfi_adjust_cfa_offset -128\n"
    "  popq %r9\n  .cfi_adjust_cfa_offset -8\n"
    "  popq %r8\n  .cfi_adjust_cfa_offset -8\n"
    "  popq %rcx\n  .cfi_adjust_cfa_offset -8\n"
    "  popq %rdx\n  .cfi_adjust_cfa_offset -8\n"
    "  popq %rsi\n  .cfi_adjust_cfa_offset -8\n"
    "  popq %rdi\n  .cfi_adjust_cfa_offset -8\n"
    "  popq %rax\n  .cfi_adjust_cfa_offset -8\n"
    "  jmp *%r11\n"
    "  .cfi_endproc\n"
#define ROUTED(name) "  dvt_slot " #name "\n"
#define FORWARD(name) "  dvt_entry " #name "\n"
#define CHECKED(name) "  dvt_slot " #name "\n"
#define HELPER(name) "  dvt_entry " #name "\n"
#include "src/dropin/names.inc"
#undef ROUTED
#undef FORWARD
#undef CHECKED
#undef HELPER
);
/* clang-format on */
