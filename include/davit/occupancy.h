/* Occupancy: how many blocks (teams) of a kernel a multiprocessor of a GPU holds at once, and what keeps it from holding
 * more.
 *
 * A multiprocessor has so many places for warps and blocks, so many registers and so much shared (team)
 * memory; a block needs some of each, and the scarcest decides. Occupancy is the share of the places for warps that
 * are taken. It is no measure of speed: kernels with half of it are often as fast or faster.
 *
 * Source: NVIDIA's occupancy calculator (the spreadsheet of the CUDA toolkits 4 to 11, and cuda_occupancy.h).
 * Everything here is arithmetic on a card's limits; but for davit_card_describe() nothing starts the
 * library or needs a GPU. Thread safety: any thread. */
#ifndef DAVIT_OCCUPANCY_H
#define DAVIT_OCCUPANCY_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The limits of a card's multiprocessors. A unit is what an amount is rounded up to before it is given out. */
typedef struct davit_card {
  char name[96];
  int compute_capability; /* 10 * major + minor */
  int warp_size;
  int block_threads;          /* most threads of a block */
  int threads, warps, blocks; /* places of a multiprocessor */
  int registers;              /* of a multiprocessor, 32 bits each */
  int block_registers;        /* most of a block */
  int thread_registers;       /* most of a thread */
  int register_unit;          /* registers are given out in such units, to each warp … */
  bool registers_by_block;    /* … or to a block as a whole (capability 1.x) */
  int warp_unit;             /* so many warps get registers at a time: one in each part of a multiprocessor */
  size_t shared_bytes;       /* of a multiprocessor */
  size_t block_shared_bytes; /* most of a block, where the program asks for it */
  size_t block_reserved_bytes; /* that each block costs besides its own (capability 8.0 and later) */
  size_t shared_unit;
} davit_card;

/* The cards that are built in: "GT 560M", "GTX 670", "V100", "A100", "H100", "H200". Writes at most `capacity` to `cards`
 * (NULL allowed with capacity 0) and their full number to `count`. */
DAVIT_API davit_status davit_card_list(int capacity, davit_card *cards, int *count);

/* The built-in card of that name; only letters and digits count, and not their case. DAVIT_INVALID_ARGUMENT, with the
 * names there are, if there is none. */
DAVIT_API davit_status davit_card_find(const char *name, davit_card *card);

/* A device of this machine, as its runtime tells; what that leaves out (the units, and the registers of a thread) as its
 * compute capability has it. DAVIT_UNSUPPORTED if it is no NVIDIA device. */
DAVIT_API davit_status davit_card_describe(int device, davit_card *card);

/* What a block needs. */
typedef struct davit_block {
  int threads;         /* at least 1 */
  int registers;       /* of a thread; 0: none that count */
  size_t shared_bytes; /* static and dynamic */
} davit_block;

typedef enum davit_occupancy_model {
  DAVIT_OCCUPANCY_RULE, /* as the hardware gives out registers and shared memory, in units */
  DAVIT_OCCUPANCY_HAND /* plain divisions, as one does them by hand: registers by registers * threads, and so on */
} davit_occupancy_model;

/* Bits: what the number of blocks is bounded by. */
typedef enum davit_occupancy_limit {
  DAVIT_LIMIT_WARPS = 1,  /* places for warps, that is for threads */
  DAVIT_LIMIT_BLOCKS = 2, /* places for blocks */
  DAVIT_LIMIT_REGISTERS = 4,
  DAVIT_LIMIT_SHARED = 8,
  DAVIT_LIMIT_BLOCK_SIZE = 16 /* no block may have so many threads */
} davit_occupancy_limit;

typedef struct davit_occupancy {
  int blocks;       /* on a multiprocessor; 0: the kernel cannot be launched so */
  int warps;        /* of these blocks */
  int threads;      /* of these blocks */
  double occupancy; /* warps over the card's, 0 to 1 */
  unsigned limits;  /* of davit_occupancy_limit: what allows no block more, all that do */
  /* Blocks that each resource alone would allow; INT_MAX: any number. */
  int blocks_by_warps, blocks_by_blocks, blocks_by_registers, blocks_by_shared;
  char reason[160]; /* why there is no block; "" if there is one */
} davit_occupancy;

/* Zero blocks are an answer, not a failure. */
DAVIT_API davit_status davit_occupancy_of(const davit_card *card, const davit_block *block,
                                          davit_occupancy_model model, davit_occupancy *occupancy);

/* "warps", "blocks", "registers", "shared memory" or "block size"; `limit` is one bit. */
DAVIT_API const char *davit_occupancy_limit_string(davit_occupancy_limit limit);

#ifdef __cplusplus
}
#endif
#endif
