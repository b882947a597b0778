/* Makes a davit_monoid of DAVIT_MONOID, DAVIT_MONOID_TYPE, DAVIT_MONOID_IDENTITY and DAVIT_MONOID_COMBINE,
 * and undefines them; see <davit/monoid.h>. Meant to be included several times. */
#include <davit/monoid.h>
#include <omp.h>

#include <davit/kernel/gpu.h>

#define DVT_PASTE_(a, b, c) a##b##c
#define DVT_PASTE(a, b, c) DVT_PASTE_(a, b, c)
#define DVT_QUOTE_(name) #name
#define DVT_QUOTE(name) DVT_QUOTE_(name)
#define DVT_T DAVIT_MONOID_TYPE
#define DVT_N(name) DVT_PASTE(dvt_, DAVIT_MONOID, _n_##name)
#define DVT_M(name) DVT_PASTE(dvt_, DAVIT_MONOID, _##name)
#define DVT_COMBINE(a, b) DAVIT_MONOID_COMBINE(a, b)
#define DVT_IDENTITY DAVIT_MONOID_IDENTITY

_Static_assert(sizeof(DVT_T) <= 256, "an element has at most 256 bytes");

#include <davit/kernel/words.h>

#include <davit/kernel/scan.h>

#include <davit/kernel/reduce.h>

#include <davit/kernel/prepend.h>

#include <davit/kernel/host.h>

#include <davit/kernel/tasks.h>

#include <davit/kernel/reduce_host.h>

#include <davit/kernel/probe.h>

static const davit_monoid DAVIT_MONOID = {
    .version = DAVIT_MONOID_VERSION,
    .name = DVT_QUOTE(DAVIT_MONOID),
    .bytes = sizeof(DVT_T),
    .identity = &DVT_M(identity),
    .combine = DVT_M(combine_task),
    .reduce = DVT_M(reduce_task),
    .scan = DVT_M(scan_task),
    .prepend = DVT_M(prepend_task),
    .works = DVT_M(works),
    .reduce_tile = DVT_M(tile),
    .scan_tile = DVT_M(tile),
    .slot_bytes = DVT_N(slot_words) * sizeof(uint64_t),
};

#undef DVT_IDENTITY
#undef DVT_COMBINE
#undef DVT_M
#undef DVT_N
#undef DVT_T
#undef DVT_QUOTE
#undef DVT_QUOTE_
#undef DVT_PASTE
#undef DVT_PASTE_
#undef DAVIT_MONOID
#undef DAVIT_MONOID_TYPE
#undef DAVIT_MONOID_IDENTITY
#undef DAVIT_MONOID_COMBINE
