/* reduce_block.h for all block sizes of one element type, and TABLE: a row of kernels for each size.
 * Included with ELEMENT, COMBINE, IDENTITY, TYPE_NAME(name) and TABLE, and COMMUTES or HOST_ONLY where
 * they hold. */
#define NAME_PASTED(name, block) name##_##block
#define NAME_EXPANDED(name, block) NAME_PASTED(name, block)
#define NAME(name) NAME_EXPANDED(TYPE_NAME(name), BLOCK)

#define BLOCK 2
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 4
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 8
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 16
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 32
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 64
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 128
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 256
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 512
#include "bench/study/reduce_block.h"
#undef BLOCK
#define BLOCK 1024
#include "bench/study/reduce_block.h"
#undef BLOCK

#define FORMS(block) NAME_EXPANDED(TYPE_NAME(forms), block)
static const dvt_study_reduce_form *const TABLE[DVT_STUDY_BLOCKS] = {
    FORMS(2),  FORMS(4),   FORMS(8),   FORMS(16),  FORMS(32),
    FORMS(64), FORMS(128), FORMS(256), FORMS(512), FORMS(1024),
};
#undef FORMS
#undef NAME_PASTED
#undef NAME_EXPANDED
#undef NAME
