/* The instances of a kernel for all shapes of offload/profile.h: includes DVT_KERNEL for each number of columns, with the parameters of
 * align_kernel.h. Included with
 *   DVT_KERNEL   the file of the kernel
 *   DVT_KIND     a name: NAME becomes NAME_KIND_COLUMNS
 *   DVT_PAIRED   for scores in pairs of 16 bits, or
 *   DVT_WORD     their type: float (and DVT_FLOATS) or int32_t
 *   DVT_ONE_SHAPE  where only the first shape is wanted
 * All of them are undefined at the end. */
#ifdef DVT_PAIRED
#define DVT_WORD dvt_pair
#define DVT_PAIR 2
#define DVT_ALL(x) dvt_pair_of((int)(x))
#define DVT_FIRST(x) (x)[0]
#define DVT_SECOND(x) (x)[1]
#define DVT_SCORES(a, b, k) (dvt_pair) dvt_byte_pair(a, b, k)
#else
#define DVT_PAIR 1
#define DVT_ALL(x) ((DVT_WORD)(x))
#define DVT_FIRST(x) (x)
#define DVT_SECOND(x) (x)
#endif

#define DVT_NAME_(name, kind, columns) name##_##kind##_##columns
#define DVT_NAME(name, kind, columns) DVT_NAME_(name, kind, columns)
#define DVT_N(name) DVT_NAME(name, DVT_KIND, DVT_COLUMNS)

#define DVT_COLUMNS 16
#include DVT_KERNEL
#undef DVT_COLUMNS
#ifndef DVT_ONE_SHAPE
#define DVT_COLUMNS 20
#include DVT_KERNEL
#undef DVT_COLUMNS
#define DVT_COLUMNS 24
#include DVT_KERNEL
#undef DVT_COLUMNS
#define DVT_COLUMNS 28
#include DVT_KERNEL
#undef DVT_COLUMNS
#define DVT_COLUMNS 32
#include DVT_KERNEL
#undef DVT_COLUMNS
#endif

#undef DVT_N
#undef DVT_NAME
#undef DVT_NAME_
#undef DVT_WORD
#undef DVT_FLOATS
#undef DVT_PAIR
#undef DVT_ALL
#undef DVT_FIRST
#undef DVT_SECOND
#undef DVT_SCORES
#undef DVT_KERNEL
#undef DVT_KIND
#undef DVT_PAIRED
#undef DVT_ONE_SHAPE
