/* All kernels of alignment, and the regions that launch them. */
#ifndef DAVIT_OFFLOAD_ALIGN_KERNELS_H
#define DAVIT_OFFLOAD_ALIGN_KERNELS_H

#include "offload/align_pair.h"
#include "offload/profile.h"

enum { SEARCH_THREADS = 256, WIDE_COLUMNS = 16 };

#define DVT_SYMBOL uint8_t

#define DVT_WORD dvt_pair
#define DVT_PAIR 2
#define DVT_ALL(x) dvt_pair_of((int)(x))
#define DVT_FIRST(x) (x)[0]
#define DVT_SECOND(x) (x)[1]
#define DVT_SCORES(a, b, k) (dvt_pair) dvt_byte_pair(a, b, k)

#define DVT_COLUMNS 16
#define DVT_N(name) name##_two_16
#include "offload/sequence_kernel.h"
#define DVT_COLUMNS 20
#define DVT_N(name) name##_two_20
#include "offload/sequence_kernel.h"
#define DVT_COLUMNS 24
#define DVT_N(name) name##_two_24
#include "offload/sequence_kernel.h"
#define DVT_COLUMNS 28
#define DVT_N(name) name##_two_28
#include "offload/sequence_kernel.h"
#define DVT_COLUMNS 32
#define DVT_N(name) name##_two_32
#include "offload/sequence_kernel.h"

#undef DVT_WORD
#undef DVT_PAIR
#undef DVT_ALL
#undef DVT_FIRST
#undef DVT_SECOND
#undef DVT_SCORES

/* For scores that do not fit 16 bits. */
#define DVT_WORD int32_t
#define DVT_PAIR 1
#define DVT_ALL(x) ((int32_t)(x))
#define DVT_FIRST(x) (x)
#define DVT_SECOND(x) (x)

#define DVT_COLUMNS 16
#define DVT_N(name) name##_one_16
#include "offload/sequence_kernel.h"

#undef DVT_WORD
#undef DVT_PAIR
#undef DVT_ALL
#undef DVT_FIRST
#undef DVT_SECOND
#undef DVT_SYMBOL

#endif
