/* scan_block.h for all block sizes of one monoid, and TABLE: its kernels by size, in the order of
 * dvt_study_scan_blocks. Included with ELEMENT, COMBINE, IDENTITY, TYPE_NAME(name) and TABLE, and
 * HOST_ONLY where it holds. */
#define NAME_PASTED(name, block) name##_##block
#define NAME_EXPANDED(name, block) NAME_PASTED(name, block)
#define NAME(name) NAME_EXPANDED(TYPE_NAME(name), BLOCK)

#define BLOCK 32
#include "bench/study/scan_block.h"
#undef BLOCK
#define BLOCK 48
#include "bench/study/scan_block.h"
#undef BLOCK
#define BLOCK 64
#include "bench/study/scan_block.h"
#undef BLOCK
#define BLOCK 128
#include "bench/study/scan_block.h"
#undef BLOCK
#define BLOCK 256
#include "bench/study/scan_block.h"
#undef BLOCK
#define BLOCK 512
#include "bench/study/scan_block.h"
#undef BLOCK
#define BLOCK 1000
#include "bench/study/scan_block.h"
#undef BLOCK
#define BLOCK 1024
#include "bench/study/scan_block.h"
#undef BLOCK

#define FORMS(block) &NAME_EXPANDED(TYPE_NAME(forms), block)
static const dvt_study_scan_forms *const TABLE[DVT_STUDY_SCAN_BLOCKS] = {
    FORMS(32), FORMS(48), FORMS(64), FORMS(128), FORMS(256), FORMS(512), FORMS(1000), FORMS(1024),
};
#undef FORMS
#undef NAME_PASTED
#undef NAME_EXPANDED
#undef NAME
