/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy: how many blocks (teams) of a kernel a multiprocessor of a GPU holds at once, and what limits
 * their number.
 *
 * A multiprocessor has a limited number of places for warps and for blocks, of registers, and of bytes of shared (team)
 * memory. A block needs some of each, and the scarcest resource decides. Occupancy is the share of the places for warps
 * that are taken. It is not a measure of speed: a kernel at half occupancy is often as fast or faster.
 *
 * Source: NVIDIA's occupancy calculator (the spreadsheet of the CUDA toolkits 4 to 11, and cuda_occupancy.h).
 * Cost: a few divisions. Only davit_occupancy_card_describe() starts the library or needs a GPU. Thread
 * safety: any thread. */
#ifndef DAVIT_OCCUPANCY_H
#define DAVIT_OCCUPANCY_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The limits of a card's multiprocessors. A unit is what an amount is rounded up to before it is given out. */
typedef struct davit_occupancy_card {
  char name[96];
  int compute_capability; /* 10 * major + minor; 0: not NVIDIA's */
  int warp_size;
  int block_threads;          /* maximum of a block */
  int threads, warps, blocks; /* places of a multiprocessor */
  int registers;              /* of a multiprocessor, 32 bits each */
  int block_registers;        /* maximum of a block */
  int thread_registers;       /* maximum of a thread */
  int register_unit;          /* registers are given out in such units, to each warp … */
  bool registers_by_block;    /* … or to a block as a whole (capability 1.x) */
  int warp_unit;       /* this many warps get registers at a time: one in each part of a multiprocessor */
  size_t shared_bytes; /* of a multiprocessor */
  size_t block_shared_bytes;   /* maximum of a block, where the program asks for it */
  size_t block_reserved_bytes; /* that each block takes besides its own (capability 8.0 and later) */
  size_t shared_unit;
  uint64_t reserved[4]; /* 0 */
} davit_occupancy_card;

/* The cards that are built in: "8800 GTX", "GTX 460", "GT 560M", "GTX 670", "930M", "V100", "A100",
 * "RTX 3090", "RTX 4090", "L40S", "H100", "H200", "B200", "RTX 5090", "MI210", "MI300X". Writes at most
 * `capacity` to `cards` (NULL allowed with capacity 0) and their full number to `count`. */
DAVIT_API davit_status davit_occupancy_card_list(int capacity, davit_occupancy_card *cards, int *count);

/* The built-in card of that name; only letters and digits count, upper or lower case. DAVIT_INVALID_ARGUMENT,
 * with the names of all cards, if there is none. */
DAVIT_API davit_status davit_occupancy_card_find(const char *name, davit_occupancy_card *card);

/* A device of this machine as its runtime reports it; what that leaves out (the units, and the registers of a thread)
 * follows from its compute capability. DAVIT_UNSUPPORTED if it is not an NVIDIA device. */
DAVIT_API davit_status davit_occupancy_card_describe(int device, davit_occupancy_card *card);

/* What a block needs. */
typedef struct davit_occupancy_block {
  int threads;          /* at least 1 */
  int registers;        /* of a thread; 0: registers do not limit */
  size_t shared_bytes;  /* static and dynamic */
  uint64_t reserved[2]; /* 0 */
} davit_occupancy_block;

typedef enum davit_occupancy_model {
  DAVIT_OCCUPANCY_RULE, /* as the hardware gives out registers and shared memory, in units */
  DAVIT_OCCUPANCY_HAND  /* plain divisions: registers by registers * threads, and so on */
} davit_occupancy_model;

typedef struct davit_occupancy_options {
  davit_occupancy_model model;
  size_t thread_shared_bytes; /* shared memory that each thread adds to the block's */
  uint64_t reserved[3];       /* 0 */
} davit_occupancy_options;

/* Bits: the resources that limit the number of blocks. */
typedef enum davit_occupancy_limit {
  DAVIT_OCCUPANCY_LIMIT_WARPS = 1,  /* places for warps, that is for threads */
  DAVIT_OCCUPANCY_LIMIT_BLOCKS = 2, /* places for blocks */
  DAVIT_OCCUPANCY_LIMIT_REGISTERS = 4,
  DAVIT_OCCUPANCY_LIMIT_SHARED = 8,
  DAVIT_OCCUPANCY_LIMIT_BLOCK_SIZE = 16 /* a block may not have this many threads */
} davit_occupancy_limit;

typedef struct davit_occupancy_result {
  int blocks;       /* on a multiprocessor; 0: the kernel cannot be launched */
  int warps;        /* of these blocks */
  int threads;      /* of these blocks */
  double occupancy; /* warps over the card's, 0 to 1 */
  unsigned limits;  /* of davit_occupancy_limit; several may limit */
  /* Blocks that each resource alone would allow; INT_MAX: any number. */
  int blocks_by_warps, blocks_by_blocks, blocks_by_registers, blocks_by_shared;
  char reason[160];     /* why there is no block; "" if there is one */
  uint64_t reserved[4]; /* 0 */
} davit_occupancy_result;

/* Computes how many blocks fit. Zero blocks are a result, not a failure. */
DAVIT_API davit_status davit_occupancy(const davit_occupancy_card *card, const davit_occupancy_block *block,
                                       davit_occupancy_result *result,
                                       const davit_occupancy_options *options);

/* Advises a block size: of all multiples of a warp, the smallest with the highest occupancy. block->threads must be 0.
 * *threads gets the size, and *result what davit_occupancy() returns for it; if no size can be launched, they get the
 * smallest size and the reason. */
DAVIT_API davit_status davit_occupancy_advise(const davit_occupancy_card *card,
                                              const davit_occupancy_block *block, int *threads,
                                              davit_occupancy_result *result,
                                              const davit_occupancy_options *options);

/* "warps", "blocks", "registers", "shared memory" or "block size"; `limit` is one bit. */
DAVIT_API const char *davit_occupancy_limit_string(davit_occupancy_limit limit);

#ifdef __cplusplus
}
#endif
#endif
