/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy: every figure that the sources print, the properties of the rule, CUDA's calculator in its header
 * (a build with CUDA has it, GPU or not), and what CUDA says of the library's own kernels where there is a
 * GPU. */
#include "tests/support.h"

#include "offload/runtime/device.h"
#include "offload/runtime/launch.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_occupancy.h>
#endif

static davit_occupancy_card card_of(const char *name) {
  davit_occupancy_card card;
  CHECK(davit_occupancy_card_find(name, &card));
  return card;
}

static davit_occupancy_result fit(const davit_occupancy_card *card, int threads, int registers,
                                  size_t shared_bytes, davit_occupancy_model model) {
  davit_occupancy_result occupancy;
  const davit_occupancy_block block = {threads, registers, shared_bytes, {0}};
  CHECK(davit_occupancy(card, &block, &occupancy, &(davit_occupancy_options){.model = model}));
  return occupancy;
}

static davit_occupancy_result by_rule(const davit_occupancy_card *card, int threads, int registers,
                                      size_t shared_bytes) {
  return fit(card, threads, registers, shared_bytes, DAVIT_OCCUPANCY_RULE);
}

enum {
  BLOCK_SIZE = DAVIT_OCCUPANCY_LIMIT_BLOCK_SIZE,
  WARPS = DAVIT_OCCUPANCY_LIMIT_WARPS,
  BLOCKS = DAVIT_OCCUPANCY_LIMIT_BLOCKS,
  REGISTERS = DAVIT_OCCUPANCY_LIMIT_REGISTERS,
  SHARED = DAVIT_OCCUPANCY_LIMIT_SHARED
};

/* ---- what the sources print ---- */

typedef struct figure {
  const char *where;
  const char *card;
  int threads, registers;
  size_t shared_bytes;
  int rule, hand; /* blocks by either model */
  int warps;      /* of `rule` blocks */
  double percent;
  unsigned limits; /* by the rule */
} figure;

/* Figures that the sources of docs/occupancy.md print for Fermi and the GTX 670, in the column `rule`. 28
 * bytes of shared memory a thread are its point, distance and pair, 20 a distance and a pair, 4 a counter. */
static const figure figures[] = {
    {"stencil, 40 registers", "GT 560M", 256, 40, 0, 3, 3, 24, 50, REGISTERS},
    {"stencil, block of 32 x 32", "GT 560M", 1024, 40, 0, 0, 0, 0, 0, REGISTERS},
    {"stencil, without the register limit", "GT 560M", 256, 0, 0, 6, 6, 48, 100, WARPS},
    {"stencil, 20 registers", "GT 560M", 256, 20, 0, 6, 6, 48, 100, WARPS | REGISTERS},
    /* One register more: the units make the difference that a division does not see. */
    {"stencil, 21 registers", "GT 560M", 256, 21, 0, 5, 6, 40, 83.33, REGISTERS},
    {"atax, 256 threads", "GT 560M", 256, 0, 4096, 6, 6, 48, 100, WARPS},
    {"atax, shared memory as printed", "GT 560M", 256, 0, 2048, 6, 6, 48, 100, WARPS},
    {"atax, 128 threads", "GT 560M", 128, 0, 2048, 8, 8, 32, 66.67, BLOCKS},
    {"atax, 512 threads", "GT 560M", 512, 0, 8192, 3, 3, 48, 100, WARPS},
    {"covariance, 16 x 16", "GT 560M", 256, 0, 4096, 6, 6, 48, 100, WARPS},
    {"covariance, 8 x 8", "GT 560M", 64, 0, 1024, 8, 8, 16, 33.33, BLOCKS},
    {"covariance, 32 x 32", "GT 560M", 1024, 0, 16384, 1, 1, 32, 66.67, WARPS},
    {"compare_points_bf, 256", "GTX 670", 256, 0, 28 * 256 + 4, 6, 6, 48, 75, SHARED},
    {"compare_points_bf, 512", "GTX 670", 512, 0, 28 * 512 + 4, 3, 3, 48, 75, SHARED},
    {"compare_points_bf, 1024", "GTX 670", 1024, 0, 28 * 1024 + 4, 1, 1, 32, 50, SHARED},
    {"minDistReduction, 256", "GTX 670", 256, 0, 20 * 256, 8, 8, 64, 100, WARPS},
    /* Printed 12, which needs the units: by hand it is 13. */
    {"compareStripPoints, 128", "GTX 670", 128, 0, 28 * 128 + 4, 12, 13, 48, 75, SHARED},
    {"base of 1024, 12 KB", "GTX 670", 1024, 0, 12 << 10, 2, 2, 64, 100, WARPS},
    /* 51 warps by registers, 48 in four parts: 9 blocks of 5. */
    {"five warps, 33 registers", "GTX 670", 160, 33, 0, 9, 12, 45, 70.31, REGISTERS},
    {"registers as many as there are", "GTX 670", 1024, 63, 0, 1, 1, 32, 50, REGISTERS},
};

CASE(test_printed_figures) {
  for (int i = 0; i < COUNT(figures); i++) {
    const figure *f = &figures[i];
    davit_occupancy_card card = card_of(f->card);
    davit_occupancy_result o = by_rule(&card, f->threads, f->registers, f->shared_bytes);
    davit_occupancy_result by_hand =
        fit(&card, f->threads, f->registers, f->shared_bytes, DAVIT_OCCUPANCY_HAND);
    if (o.blocks != f->rule || by_hand.blocks != f->hand || o.warps != f->warps || o.limits != f->limits ||
        o.threads != f->rule * f->threads || fabs(100 * o.occupancy - f->percent) > 0.01)
      fail_msg("%s: %d blocks (%d by hand), %d warps, %.2f %%, limits %x", f->where, o.blocks, by_hand.blocks,
               o.warps, 100 * o.occupancy, o.limits);
    assert_true((o.blocks == 0) == (o.reason[0] != '\0'));
  }
}

/* "819 threads by registers", "30720 registers", "1535 threads" (1536), "512 threads": numbers of the text. */
CASE(test_printed_numbers) {
  davit_occupancy_card fermi = card_of("gt560m");
  assert_int_equal(fermi.registers / 40, 819);
  davit_occupancy_result o = by_rule(&fermi, 256, 40, 0);
  assert_int_equal(o.threads, 768);
  assert_int_equal(o.threads * 40, 30720);
  assert_int_equal(by_rule(&fermi, 256, 0, 0).threads, 1536);
  assert_int_equal(by_rule(&fermi, 64, 0, 0).threads, 512);
  assert_int_equal(by_rule(&fermi, 128, 0, 0).threads, 1024);
  davit_occupancy_card kepler = card_of("GTX 670");
  assert_int_equal(by_rule(&kepler, 256, 0, 28 * 256 + 4).threads, 1536);
  assert_int_equal(by_rule(&kepler, 128, 0, 28 * 128 + 4).threads, 1536);
}

/* Registers given to whole blocks, as on the first CUDA cards (1.3: 16384, in units of 512, 32 warps, 8
 * blocks). */
CASE(test_registers_by_block) {
  davit_occupancy_card card = card_of("GT 560M");
  card.registers = card.block_registers = 16384;
  card.thread_registers = 124;
  card.registers_by_block = true;
  card.register_unit = 512;
  card.threads = 1024;
  card.warps = 32;
  card.block_threads = 512;
  assert_int_equal(by_rule(&card, 256, 16, 0).blocks, 4);
  assert_int_equal(by_rule(&card, 256, 17, 0).blocks, 3);
  assert_int_equal(by_rule(&card, 96, 25, 0).blocks, 4); /* 4 warps, 3200 -> 3584 */
  assert_int_equal(by_rule(&card, 512, 32, 0).blocks, 1);
  assert_int_equal(by_rule(&card, 512, 33, 0).blocks, 0);
}

/* ---- why none ---- */

static void expect_none(const davit_occupancy_card *card, int threads, int registers, size_t shared_bytes,
                        unsigned limits, const char *words) {
  for (int model = 0; model < 2; model++) {
    davit_occupancy_result o = fit(card, threads, registers, shared_bytes, (davit_occupancy_model)model);
    assert_int_equal(o.blocks, 0);
    assert_int_equal(o.warps, 0);
    assert_int_equal(o.threads, 0);
    assert_true(o.occupancy == 0);
    assert_int_equal(o.limits, limits);
    if (!strstr(o.reason, words))
      fail_msg("\"%s\" does not say \"%s\"", o.reason, words);
  }
}

CASE(test_reasons) {
  davit_occupancy_card card = card_of("GTX 670"), h100 = card_of("H100");
  expect_none(&card, 1024, 64, 0, REGISTERS, "at most 63 registers, not 64");
  expect_none(&h100, 1024, 65, 0, REGISTERS, "65 registers need more than the 65536");
  expect_none(&card, 32, 0, (48 << 10) + 1, SHARED, "at most 49152 bytes of shared memory");
  expect_none(&card, 1025, 0, 0, BLOCK_SIZE, "1025 threads is larger than the largest, 1024");
  expect_none(&card, INT_MAX, 0, 0, BLOCK_SIZE | WARPS, "larger than the largest");
  expect_none(&card, 32, 0, SIZE_MAX, SHARED, "shared memory");
  expect_none(&card, 64, INT_MAX, 0, REGISTERS, "at most 63");
  /* Several at once, each of which forbids a block. */
  expect_none(&card, 32, 64, SIZE_MAX, REGISTERS | SHARED, "63");
}

CASE(test_reserved_memory) {
  davit_occupancy_card a100 = card_of("A100"), h100 = card_of("H100"), v100 = card_of("V100");
  assert_int_equal(by_rule(&a100, 128, 0, 163 << 10).blocks, 1);
  assert_int_equal(by_rule(&a100, 128, 0, (163 << 10) + 1).blocks, 0);
  assert_int_equal(by_rule(&a100, 128, 0, 82 << 10).blocks, 1);
  assert_int_equal(fit(&a100, 128, 0, 82 << 10, DAVIT_OCCUPANCY_HAND).blocks,
                   2); /* what a block costs besides */
  assert_int_equal(by_rule(&h100, 128, 0, 227 << 10).blocks, 1);
  assert_int_equal(by_rule(&h100, 128, 0, 113 << 10).blocks, 2);
  assert_int_equal(by_rule(&v100, 128, 0, 48 << 10).blocks, 2);
  /* Blocks without shared memory cost 1 KiB each, which bounds nothing. */
  assert_int_equal(by_rule(&h100, 32, 0, 0).limits, BLOCKS);
}

/* ---- properties ---- */

CASE(test_properties) {
  davit_occupancy_card cards[32];
  int count = 0;
  uint64_t random = 7;
  CHECK(davit_occupancy_card_list(COUNT(cards), cards, &count));
  for (int trial = 0; trial < 20000; trial++) {
    const davit_occupancy_card *card = &cards[random_below(&random, count)];
    int threads = 1 + random_below(&random, 1100), registers = random_below(&random, 100);
    size_t shared = (size_t)random_below(&random, 60000);
    davit_occupancy_result o = by_rule(card, threads, registers, shared);
    davit_occupancy_result hand = fit(card, threads, registers, shared, DAVIT_OCCUPANCY_HAND);
    /* No resource is overdrawn, and one block more would overdraw one of those that are named. */
    assert_true(o.threads <= card->threads && o.warps <= card->warps && o.blocks <= card->blocks);
    assert_true((int64_t)o.threads * registers <= card->registers);
    assert_true((size_t)o.blocks * shared <= card->shared_bytes);
    assert_true(o.limits != 0);
    assert_true(o.blocks <= hand.blocks || threads % card->warp_size != 0);
    /* Asking for more never gives more. */
    assert_true(by_rule(card, threads, registers + 1, shared).blocks <= o.blocks);
    assert_true(by_rule(card, threads, registers, shared + 100).blocks <= o.blocks);
    assert_true(by_rule(card, threads + 1, registers, shared).blocks <= o.blocks);
    assert_true(o.blocks <= o.blocks_by_warps && o.blocks <= o.blocks_by_blocks &&
                o.blocks <= o.blocks_by_registers && o.blocks <= o.blocks_by_shared);
  }
}

CASE(test_names) {
  davit_occupancy_card card, list[2];
  int count = 0;
  CHECK(davit_occupancy_card_find("gtx-670", &card));
  assert_string_equal(card.name, "GTX 670");
  assert_int_equal(card.compute_capability, 30);
  REFUSED(davit_occupancy_card_find("GTX 67", &card), "GT 560M, GTX 670, 930M, V100, A100");
  REFUSED(davit_occupancy_card_find("GTX 67", &card), "MI300X");
  REFUSED(davit_occupancy_card_find("", &card), "name");
  REFUSED(davit_occupancy_card_find(NULL, &card), "name");
  CHECK(davit_occupancy_card_list(0, NULL, &count));
  assert_int_equal(count, 16);
  CHECK(davit_occupancy_card_list(2, list, &count));
  assert_string_equal(list[1].name, "GTX 460");
  assert_string_equal(davit_occupancy_limit_string(SHARED), "shared memory");
}

CASE(test_arguments) {
  davit_occupancy_card card = card_of("H200");
  davit_occupancy_block block = {.threads = 256, .registers = 32};
  davit_occupancy_options options = {.model = DAVIT_OCCUPANCY_RULE};
  davit_occupancy_result o = {.blocks = 77};
#define BAD(card, block, result, words)                                                                      \
  CHECK_FAILS(davit_occupancy(card, block, result, &options), DAVIT_INVALID_ARGUMENT, words)
  BAD(NULL, &block, &o, "card is NULL");
  BAD(&card, NULL, &o, "block is NULL");
  BAD(&card, &block, NULL, "result is NULL");
  options.model = (davit_occupancy_model)2;
  BAD(&card, &block, &o, "options->model is 2");
  options = (davit_occupancy_options){.reserved = {0, 0, 9}};
  BAD(&card, &block, &o, "options->reserved[2] is 9");
  options = (davit_occupancy_options){.model = DAVIT_OCCUPANCY_RULE};
  block.reserved[1] = 1;
  BAD(&card, &block, &o, "block->reserved[1] is 1");
  block = (davit_occupancy_block){.threads = 0};
  BAD(&card, &block, &o, "block->threads is 0");
  block = (davit_occupancy_block){.threads = 256, .registers = -1};
  BAD(&card, &block, &o, "block->registers is -1");
  block.registers = 0;
  card.reserved[0] = 3;
  BAD(&card, &block, &o, "card->reserved[0] is 3");
  card.reserved[0] = 0;
  card.shared_unit = 0;
  BAD(&card, &block, &o, "unit");
#undef BAD
  assert_int_equal(o.blocks, 77);
}

/* ---- advice ---- */

/* No multiple of a warp has more occupancy, and no smaller one as much. */
CASE(test_advice) {
  davit_occupancy_card cards[32];
  int count = 0;
  uint64_t random = 11;
  CHECK(davit_occupancy_card_list(COUNT(cards), cards, &count));
  for (int trial = 0; trial < 2000; trial++) {
    const davit_occupancy_card *card = &cards[random_below(&random, count)];
    const davit_occupancy_options options = {.thread_shared_bytes = (size_t)random_below(&random, 64)};
    davit_occupancy_block block = {.registers = random_below(&random, 60),
                                   .shared_bytes = (size_t)random_below(&random, 16000)};
    davit_occupancy_result advised, other;
    int threads = 0;
    CHECK(davit_occupancy_advise(card, &block, &threads, &advised, &options));
    for (block.threads = card->warp_size; block.threads <= card->block_threads;
         block.threads += card->warp_size) {
      CHECK(davit_occupancy(card, &block, &other, &options));
      assert_true(block.threads < threads ? other.occupancy < advised.occupancy
                                          : other.occupancy <= advised.occupancy);
      if (block.threads == threads)
        assert_memory_equal(&other, &advised, sizeof other);
    }
  }
  davit_occupancy_block block = {.threads = 1};
  davit_occupancy_result o;
  int threads = 0;
  REFUSED(davit_occupancy_advise(&cards[0], &block, &threads, &o, NULL), "block->threads is 1");
  REFUSED(davit_occupancy_advise(&cards[0], &(davit_occupancy_block){0}, NULL, &o, NULL), "threads is NULL");
  REFUSED(davit_occupancy_advise(&cards[0], &(davit_occupancy_block){0}, &threads, &o,
                                 &(davit_occupancy_options){.thread_shared_bytes = SIZE_MAX}),
          "thread_shared_bytes");
  /* A kernel that no block size makes possible: the smallest, and why. */
  CHECK(davit_occupancy_advise(&cards[0], &(davit_occupancy_block){.registers = 200}, &threads, &o, NULL));
  assert_int_equal(threads, 32);
  assert_non_null(strstr(o.reason, "at most 124 registers"));
}

/* Waves a part holds by LLVM's table for 512 registers of a thread: 8 up to 64 registers, 7 up to 72, 4 up to
 * 128, 1 from 257 on. */
CASE(test_cdna) {
  static const struct {
    int registers, waves;
  } table[] = {{24, 8}, {64, 8},  {65, 7},  {72, 7},  {73, 6}, {80, 6},
               {96, 5}, {128, 4}, {168, 3}, {256, 2}, {512, 1}};
  davit_occupancy_card card = card_of("MI210");
  for (int i = 0; i < COUNT(table); i++)
    assert_int_equal(by_rule(&card, 256, table[i].registers, 0).blocks, table[i].waves);
  assert_int_equal(by_rule(&card, 64, 0, 0).blocks, 32);
  assert_int_equal(by_rule(&card, 256, 0, 32 << 10).blocks, 2);
}

/* ---- CUDA's calculator ---- */

#ifdef DAVIT_WITH_CUDA
/* Blocks by cuda_occupancy.h, which keeps to 48 KiB of shared memory unless a kernel opts in, as ours do. */
static int by_cuda(const davit_occupancy_card *card, int threads, int registers, size_t shared_bytes) {
  const cudaOccDeviceProp properties = {.computeMajor = card->compute_capability / 10,
                                        .computeMinor = card->compute_capability % 10,
                                        .maxThreadsPerBlock = card->block_threads,
                                        .maxThreadsPerMultiprocessor = card->threads,
                                        .regsPerBlock = card->block_registers,
                                        .regsPerMultiprocessor = card->registers,
                                        .warpSize = card->warp_size,
                                        .sharedMemPerBlock = 48 << 10,
                                        .sharedMemPerMultiprocessor = card->shared_bytes,
                                        .numSms = 1,
                                        .sharedMemPerBlockOptin = card->block_shared_bytes,
                                        .reservedSharedMemPerBlock = card->block_reserved_bytes};
  const cudaOccFuncAttributes attributes = {.maxThreadsPerBlock = INT_MAX,
                                            .numRegs = registers,
                                            .partitionedGCConfig = PARTITIONED_GC_OFF,
                                            .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                            .maxDynamicSharedSizeBytes = card->block_shared_bytes,
                                            .numBlockBarriers = 1};
  const cudaOccDeviceState device = {.cacheConfig = CACHE_PREFER_SHARED, .carveoutConfig = 100};
  cudaOccResult result;
  assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &device,
                                                           threads, shared_bytes),
                   CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

CASE(test_cuda_header) {
  static const char *const names[] = {"GTX 670",  "930M", "V100",     "A100", "RTX 3090",
                                      "RTX 4090", "H100", "RTX 5090", "B200"}; /* it no longer knows Fermi */
  uint64_t random = 1;
  for (int trial = 0; trial < 200000; trial++) {
    davit_occupancy_card card = card_of(names[random_below(&random, COUNT(names))]);
    if (card.compute_capability == 30 &&
        random_below(&random, 2)) { /* 3.7: a block gets half of the registers */
      card.compute_capability = 37;
      card.registers = 2 * card.block_registers;
      card.thread_registers = 255;
    }
    int threads = 1 + random_below(&random, 1024),
        registers = 1 + random_below(&random, card.thread_registers);
    size_t shared = random_below(&random, 2) ? (size_t)random_below(&random, 60 << 10)
                                             : (size_t)random_below(&random, 240 << 10);
    int expected = by_cuda(&card, threads, registers, shared);
    int found = by_rule(&card, threads, registers, shared).blocks;
    if (found != expected)
      fail_msg("%s, %d threads, %d registers, %zu bytes: %d blocks, CUDA has %d", card.name, threads,
               registers, shared, found, expected);
  }
}
#else
CASE(test_cuda_header) {
  skip();
}
#endif

/* ---- devices ---- */

static int first_nvidia(void) {
  EACH_DEVICE(device) {
    davit_device_info info;
    CHECK(davit_device_describe(device, &info));
    if (info.kind == DAVIT_DEVICE_NVIDIA)
      return device;
  }
  return DAVIT_HOST;
}

CASE(test_devices) {
  davit_occupancy_card card;
  CHECK_FAILS(davit_occupancy_card_describe(1000, &card), DAVIT_UNKNOWN_DEVICE, "1000");
  EACH_DEVICE(device) {
    davit_device_info info;
    CHECK(davit_device_describe(device, &info));
    if (info.kind != DAVIT_DEVICE_NVIDIA) {
      CHECK_FAILS(davit_occupancy_card_describe(device, &card), DAVIT_UNSUPPORTED, "no NVIDIA device");
      continue;
    }
    CHECK(davit_occupancy_card_describe(device, &card));
    assert_string_equal(card.name, info.name);
    assert_int_equal(card.compute_capability, info.compute_capability);
    assert_true(card.warp_size == 32 && card.warps * 32 == card.threads);
    assert_true(card.block_threads <= card.threads && card.blocks > 0);
    assert_true(card.registers >= card.block_registers && card.block_registers > 0);
    assert_true(card.shared_bytes >= card.block_shared_bytes + card.block_reserved_bytes);
    /* The built-in description of the same card says the same. */
    static const char *const names[] = {"V100", "A100", "H100", "H200"};
    for (int k = 0; k < COUNT(names); k++)
      if (strstr(info.name, names[k])) {
        davit_occupancy_card known = card_of(names[k]);
#define SAME(member) assert_int_equal(known.member, card.member)
        SAME(compute_capability);
        SAME(warp_size);
        SAME(block_threads);
        SAME(threads);
        SAME(warps);
        SAME(blocks);
        SAME(registers);
        SAME(block_registers);
        SAME(thread_registers);
        SAME(register_unit);
        SAME(warp_unit);
        SAME(shared_bytes);
        SAME(block_shared_bytes);
        SAME(block_reserved_bytes);
        SAME(shared_unit);
#undef SAME
      }
  }
}

/* CUDA's answer for one shape of one kernel; false when there is no such kernel. */
static bool same_as_cuda(dvt_stream *stream, const davit_occupancy_card *card, int index, int threads,
                         size_t shared_bytes) {
  dvt_kernel_fit kernel = {.name = ""};
  davit_status status = dvt_launch_fit(stream, index, threads, 0, &kernel);
  if (status == DAVIT_INVALID_ARGUMENT)
    return false;
  CHECK(status);
  if (kernel.static_bytes + shared_bytes > card->block_shared_bytes)
    return true;
  CHECK(dvt_launch_fit(stream, index, threads, shared_bytes, &kernel));
  davit_occupancy_result o =
      by_rule(card, kernel.threads, kernel.registers, kernel.static_bytes + shared_bytes);
  if (o.blocks != kernel.teams)
    fail_msg("%s, %d threads, %d registers, %zu + %zu bytes: %d blocks, CUDA says %d", kernel.name,
             kernel.threads, kernel.registers, kernel.static_bytes, shared_bytes, o.blocks, kernel.teams);
  return true;
}

CASE(test_own_kernels) {
  int device = first_nvidia();
  if (device == DAVIT_HOST)
    skip();
  davit_occupancy_card card;
  dvt_stream *stream = NULL;
  CHECK(davit_occupancy_card_describe(device, &card));
  CHECK(dvt_stream_acquire(device, DVT_STREAM_MIXED, &stream));
  int index = 0;
  for (bool more = true; more; index += more)
    for (int threads = 32; threads <= 1024 && more; threads += 96)
      for (size_t shared = 0; shared <= card.block_shared_bytes && more; shared += 20000)
        more = same_as_cuda(stream, &card, index, threads, shared);
  assert_true(index > 20);
  dvt_stream_release(stream);
}
