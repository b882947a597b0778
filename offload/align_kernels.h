/* All kernels of alignment, and the regions that launch them. */
#ifndef DAVIT_OFFLOAD_ALIGN_KERNELS_H
#define DAVIT_OFFLOAD_ALIGN_KERNELS_H

#include "offload/align_pair.h"
#include "offload/profile.h"

enum { SEARCH_THREADS = 256, WIDE_COLUMNS = 16 };

#define DVT_SYMBOL uint8_t

#define DVT_KERNEL "offload/sequence_kernel.h"
#define DVT_KIND two
#define DVT_PAIRED
#include "offload/each_shape.h"

/* For scores that do not fit 16 bits. */
#define DVT_KERNEL "offload/sequence_kernel.h"
#define DVT_KIND one
#define DVT_WORD int32_t
#define DVT_ONE_SHAPE
#include "offload/each_shape.h"

#undef DVT_SYMBOL

#endif
