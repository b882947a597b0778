/* KERNELS, the name of a file, for all sizes of a block: included with BLOCK and NAME(name).
 * ALL_SIZES(name) lists what is called NAME(name). */
#define NAME_PASTED(name, block) name##_##block
#define NAME_EXPANDED(name, block) NAME_PASTED(name, block)
#define NAME(name) NAME_EXPANDED(name, BLOCK)

#define BLOCK 2
#include KERNELS
#undef BLOCK
#define BLOCK 32
#include KERNELS
#undef BLOCK
#define BLOCK 64
#include KERNELS
#undef BLOCK
#define BLOCK 128
#include KERNELS
#undef BLOCK
#define BLOCK 256
#include KERNELS
#undef BLOCK
#define BLOCK 512
#include KERNELS
#undef BLOCK
#define BLOCK 1024
#include KERNELS
#undef BLOCK

#define ALL_SIZES(name)                                                                                      \
  {&name##_2, &name##_32, &name##_64, &name##_128, &name##_256, &name##_512, &name##_1024}
