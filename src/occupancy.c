/* SPDX-License-Identifier: Apache-2.0 */
/* The occupancy rule and the built-in cards. Pure arithmetic: a handful of divisions a call. */
#include <davit/occupancy.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "offload/occupancy.h"
#include "offload/runtime/device.h"
#include "src/base/check.h"
#include "src/base/ending.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"

enum { KIB = 1024, MAX_THREAD_SHARED = 1 << 20 };

/* The rule is the same from capability 8.0 on. A block reserves 1 KiB there. */
#define AMPERE_AND_LATER(name, capability, warps, blocks, kib)                                               \
  {name, capability, 32, 1024,        32 * (warps),      warps, blocks, 65536, 65536, 255,                   \
   256,  false,      4,  (kib) * KIB, ((kib) - 1) * KIB, KIB,   128,    {0}}

/* A compute unit of CDNA 2 and 3: four parts with 8 waves of 64 threads and 512 registers a thread each,
 * which are given out by 8 (vector and accumulation registers together). */
#define CDNA(name)                                                                                           \
  {name, 0, 64, 1024, 2048, 32, 32, 131072, 131072, 512, 512, false, 4, 64 * KIB, 64 * KIB, 0, 512, {0}}

/* In the order of davit_occupancy_card. GT 560M and GTX 670 are as the sources of docs/occupancy.md list
 * them, the other NVIDIA cards as NVIDIA's occupancy calculator, its tuning guides and the CUDA programming
 * guide do, the cards of AMD as the documents of their instruction sets and LLVM's guide to its AMDGPU back
 * end do. */
static const davit_occupancy_card cards[] = {
    // clang-format off
    {"8800 GTX", 10, 32, 512, 768, 24, 8, 8192, 8192, 124, 256, true, 2, 16 * KIB, 16 * KIB, 0, 512, {0}},
    {"GTX 460", 21, 32, 1024, 1536, 48, 8, 32768, 32768, 63, 64, false, 2, 48 * KIB, 48 * KIB, 0, 128, {0}},
    {"GT 560M", 21, 32, 1024, 1536, 48, 8, 32768, 32768, 63, 128, false, 2, 48 * KIB, 48 * KIB, 0, 128, {0}},
    {"GTX 670", 30, 32, 1024, 2048, 64, 16, 65536, 65536, 63, 256, false, 4, 48 * KIB, 48 * KIB, 0, 256, {0}},
    {"930M", 50, 32, 1024, 2048, 64, 32, 65536, 65536, 255, 256, false, 4, 64 * KIB, 48 * KIB, 0, 256, {0}},
    {"V100", 70, 32, 1024, 2048, 64, 32, 65536, 65536, 255, 256, false, 4, 96 * KIB, 96 * KIB, 0, 256, {0}},
    AMPERE_AND_LATER("A100", 80, 64, 32, 164),
    AMPERE_AND_LATER("RTX 3090", 86, 48, 16, 100),
    AMPERE_AND_LATER("RTX 4090", 89, 48, 24, 100),
    AMPERE_AND_LATER("L40S", 89, 48, 24, 100),
    AMPERE_AND_LATER("H100", 90, 64, 32, 228),
    AMPERE_AND_LATER("H200", 90, 64, 32, 228),
    AMPERE_AND_LATER("B200", 100, 64, 32, 228),
    AMPERE_AND_LATER("RTX 5090", 120, 48, 24, 100),
    CDNA("MI210"),
    CDNA("MI300X"),
    // clang-format on
};
enum { CARDS = sizeof cards / sizeof *cards };

/* ---- cards ---- */

davit_status davit_occupancy_card_list(int capacity, davit_occupancy_card *list, int *count) {
  DVT_TRY(dvt_check_list("cards", capacity, list, count));
  for (int i = 0; i < CARDS && i < capacity; i++)
    list[i] = cards[i];
  *count = CARDS;
  return DAVIT_SUCCESS;
}

davit_status davit_occupancy_card_find(const char *name, davit_occupancy_card *card) {
  DVT_TRY(dvt_check_pointer("name", name));
  DVT_TRY(dvt_check_pointer("card", card));
  char names[256] = "";
  size_t used = 0;
  for (int i = 0; i < CARDS; i++) {
    if (dvt_same_name(name, cards[i].name)) {
      *card = cards[i];
      return DAVIT_SUCCESS;
    }
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", cards[i].name);
  }
  return davit_fail(DAVIT_INVALID_ARGUMENT, "name is '%.60s', not one of: %s", name, names);
}

davit_status davit_occupancy_card_describe(int device, davit_occupancy_card *card) {
  DVT_TRY(dvt_check_pointer("card", card));
  DVT_TRY(dvt_resolve_device(device, &device));
  DVT_INSIDE;
  return dvt_device_card(dvt_device_find(device), card);
}

/* ---- the rule ---- */

/* In 64 bits, as the caller may give any int. */
static int64_t rounded_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* How often `need` is in `have`; INT_MAX if nothing is needed. */
static int divide(int64_t have, int64_t need) {
  return need <= 0 ? INT_MAX : (int)(have / need);
}

static int block_warps(const davit_occupancy_card *card, const davit_occupancy_block *block) {
  return (int)(((int64_t)block->threads + card->warp_size - 1) / card->warp_size);
}

static int by_warps(const davit_occupancy_card *card, const davit_occupancy_block *block, bool hand) {
  return hand ? divide(card->threads, block->threads) : divide(card->warps, block_warps(card, block));
}

/* Registers given to warps: as many warps as each part of the multiprocessor holds, in all parts. */
static int by_warp_registers(const davit_occupancy_card *card, int64_t warps, int64_t warp_registers) {
  int64_t each = rounded_up(warp_registers, card->register_unit);
  /* Whether a block may be launched is judged as if all parts got as many warps. */
  if (each * rounded_up(warps, card->warp_unit) > card->block_registers)
    return 0;
  int holds = divide(card->registers, each);
  return holds == INT_MAX ? INT_MAX : divide(holds / card->warp_unit * card->warp_unit, warps);
}

static int by_block_registers(const davit_occupancy_card *card, int64_t warps, int64_t warp_registers) {
  int64_t each = rounded_up(rounded_up(warps, card->warp_unit) * warp_registers, card->register_unit);
  return each > card->block_registers ? 0 : divide(card->registers, each);
}

static int by_registers(const davit_occupancy_card *card, const davit_occupancy_block *block, bool hand) {
  if (block->registers > card->thread_registers)
    return 0;
  if (hand)
    return divide(card->registers, (int64_t)block->registers * block->threads);
  return (card->registers_by_block ? by_block_registers : by_warp_registers)(
      card, block_warps(card, block), (int64_t)block->registers * card->warp_size);
}

static int by_shared(const davit_occupancy_card *card, const davit_occupancy_block *block, bool hand) {
  if (block->shared_bytes > card->block_shared_bytes)
    return 0;
  int64_t needed = (int64_t)block->shared_bytes;
  if (!hand)
    needed = rounded_up(needed + (int64_t)card->block_reserved_bytes, (int64_t)card->shared_unit);
  return divide((int64_t)card->shared_bytes, needed);
}

static int smaller(int a, int b) {
  return a < b ? a : b;
}

static void explain(const davit_occupancy_card *card, const davit_occupancy_block *block,
                    davit_occupancy_result *o) {
  if (o->limits & DAVIT_OCCUPANCY_LIMIT_BLOCK_SIZE)
    snprintf(o->reason, sizeof o->reason, "a block of %d threads is larger than the largest, %d",
             block->threads, card->block_threads);
  else if ((o->limits & DAVIT_OCCUPANCY_LIMIT_REGISTERS) && block->registers > card->thread_registers)
    snprintf(o->reason, sizeof o->reason, "a thread has at most %d registers, not %d", card->thread_registers,
             block->registers);
  else if (o->limits & DAVIT_OCCUPANCY_LIMIT_REGISTERS)
    snprintf(o->reason, sizeof o->reason,
             "%d threads with %d registers need more than the %d registers of a block", block->threads,
             block->registers, card->block_registers);
  else if (o->limits & DAVIT_OCCUPANCY_LIMIT_SHARED)
    snprintf(o->reason, sizeof o->reason, "a block has at most %zu bytes of shared memory, not %zu",
             card->block_shared_bytes, block->shared_bytes);
  else
    snprintf(o->reason, sizeof o->reason, "a multiprocessor has no place for %d threads", block->threads);
}

static davit_status check(const davit_occupancy_card *card, const davit_occupancy_block *block,
                          const davit_occupancy_result *result, const davit_occupancy_options *options) {
  DVT_TRY(dvt_check_pointer("card", card));
  DVT_TRY(dvt_check_pointer("block", block));
  DVT_TRY(dvt_check_pointer("result", result));
  DVT_TRY(dvt_check_reserved("card", card->reserved, sizeof card->reserved / sizeof *card->reserved));
  DVT_TRY(dvt_check_reserved("block", block->reserved, sizeof block->reserved / sizeof *block->reserved));
  DVT_TRY(DVT_CHECK_OPTIONS(options));
  if (card->warp_size < 1 || card->warps < 1 || card->register_unit < 1 || card->warp_unit < 1 ||
      card->shared_unit < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "card has a warp size, a number of warps or a unit below 1");
  if (block->registers < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block->registers is %d, less than 0", block->registers);
  if (options && options->model != DAVIT_OCCUPANCY_RULE && options->model != DAVIT_OCCUPANCY_HAND)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->model is %d, neither DAVIT_OCCUPANCY_RULE nor DAVIT_OCCUPANCY_HAND",
                      (int)options->model);
  if (options && options->thread_shared_bytes > MAX_THREAD_SHARED)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->thread_shared_bytes is %zu, more than %d",
                      options->thread_shared_bytes, MAX_THREAD_SHARED);
  return DAVIT_SUCCESS;
}

static void compute(const davit_occupancy_card *card, const davit_occupancy_block *block,
                    davit_occupancy_result *result, const davit_occupancy_options *options) {
  const bool hand = options && options->model == DAVIT_OCCUPANCY_HAND;
  const bool fits = block->threads <= card->block_threads;
  davit_occupancy_block b = *block;
  if (options)
    b.shared_bytes += options->thread_shared_bytes * (size_t)b.threads;
  davit_occupancy_result o = {.blocks_by_warps = by_warps(card, &b, hand),
                              .blocks_by_blocks = card->blocks,
                              .blocks_by_registers = by_registers(card, &b, hand),
                              .blocks_by_shared = by_shared(card, &b, hand)};
  int found = smaller(smaller(o.blocks_by_warps, o.blocks_by_blocks),
                      smaller(o.blocks_by_registers, o.blocks_by_shared));
  o.blocks = fits ? found : 0;
  o.limits = (fits ? 0U : DAVIT_OCCUPANCY_LIMIT_BLOCK_SIZE) |
             (o.blocks_by_warps == o.blocks ? DAVIT_OCCUPANCY_LIMIT_WARPS : 0U) |
             (o.blocks_by_blocks == o.blocks ? DAVIT_OCCUPANCY_LIMIT_BLOCKS : 0U) |
             (o.blocks_by_registers == o.blocks ? DAVIT_OCCUPANCY_LIMIT_REGISTERS : 0U) |
             (o.blocks_by_shared == o.blocks ? DAVIT_OCCUPANCY_LIMIT_SHARED : 0U);
  o.warps = o.blocks * block_warps(card, &b);
  o.threads = o.blocks * b.threads;
  o.occupancy = (double)o.warps / card->warps;
  if (o.blocks == 0)
    explain(card, &b, &o);
  *result = o;
}

davit_status davit_occupancy(const davit_occupancy_card *card, const davit_occupancy_block *block,
                             davit_occupancy_result *result, const davit_occupancy_options *options) {
  DVT_TRY(check(card, block, result, options));
  if (block->threads < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block->threads is %d, less than 1", block->threads);
  compute(card, block, result, options);
  return DAVIT_SUCCESS;
}

/* Smaller blocks wait less at barriers and leave less idle at the end, so of equals the smallest is taken. */
davit_status davit_occupancy_advise(const davit_occupancy_card *card, const davit_occupancy_block *block,
                                    int *threads, davit_occupancy_result *result,
                                    const davit_occupancy_options *options) {
  DVT_TRY(check(card, block, result, options));
  DVT_TRY(dvt_check_pointer("threads", threads));
  if (block->threads != 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block->threads is %d; it is asked for and must be 0",
                      block->threads);
  davit_occupancy_block tried = *block;
  davit_occupancy_result best = {0};
  *threads = 0;
  for (tried.threads = card->warp_size; tried.threads <= card->block_threads;
       tried.threads += card->warp_size) {
    davit_occupancy_result found;
    compute(card, &tried, &found, options);
    if (*threads && found.occupancy <= best.occupancy)
      continue;
    best = found;
    *threads = tried.threads;
  }
  *result = best;
  return DAVIT_SUCCESS;
}

const char *davit_occupancy_limit_string(davit_occupancy_limit limit) {
  switch (limit) {
  case DAVIT_OCCUPANCY_LIMIT_WARPS:
    return "warps";
  case DAVIT_OCCUPANCY_LIMIT_BLOCKS:
    return "blocks";
  case DAVIT_OCCUPANCY_LIMIT_REGISTERS:
    return "registers";
  case DAVIT_OCCUPANCY_LIMIT_SHARED:
    return "shared memory";
  case DAVIT_OCCUPANCY_LIMIT_BLOCK_SIZE:
    return "block size";
  }
  return "unknown";
}
