/* SPDX-License-Identifier: Apache-2.0 */
/* Defines a davit_monoid from DAVIT_MONOID, DAVIT_MONOID_TYPE, DAVIT_MONOID_IDENTITY and
 * DAVIT_MONOID_COMBINE, and undefines these four; <davit/monoid.h> says how. May be included several times.
 * All other macros of the program are kept. */
#if !defined(__clang__) || !defined(_OPENMP)
#error "<davit/define_monoid.h> needs Clang and its OpenMP target regions: link davit::monoid (install.md)"
#else
#include <davit/monoid.h>
#include <sched.h>

#include <davit/kernel/gpu.h>
#include <davit/kernel/instance.h>
#include <davit/kernel/threads.h>

/* The program's macros are used here, before texts of kernels define T and the like. */
#define DVT_OWN(x) DVT_PASTE(dvt_, DAVIT_MONOID, _##x)
typedef DAVIT_MONOID_TYPE DVT_OWN(type);
_Static_assert(sizeof(DVT_OWN(type)) % 4 == 0 && sizeof(DVT_OWN(type)) <= 256,
               "the size of DAVIT_MONOID_TYPE is a multiple of 4 bytes, at most 256");
static const DVT_OWN(type) DVT_OWN(identity) = DAVIT_MONOID_IDENTITY;
static inline __attribute__((always_inline)) DVT_OWN(type) DVT_OWN(identity_value)(void) {
  return DAVIT_MONOID_IDENTITY;
}
static inline __attribute__((always_inline)) DVT_OWN(type)
    DVT_OWN(combine)(DVT_OWN(type) a, DVT_OWN(type) b) {
  return DAVIT_MONOID_COMBINE(a, b);
}

/* push_macro and pop_macro keep what the program defines by these names. */
#pragma push_macro("T")
#pragma push_macro("NAME")
#pragma push_macro("COMBINE")
#pragma push_macro("IDENTITY")
#pragma push_macro("NEUTRAL")
#pragma push_macro("OPERATE")
#undef T
#undef NAME
#undef COMBINE
#undef IDENTITY
#undef NEUTRAL
#undef OPERATE
#define T DVT_OWN(type)
#define NAME(x) DVT_OWN(x)
#define COMBINE(a, b) DVT_OWN(combine)(a, b)
#define IDENTITY DVT_OWN(identity_value)()
#define NEUTRAL IDENTITY
#include <davit/kernel/monoid.inc>
#pragma pop_macro("T")
#pragma pop_macro("NAME")
#pragma pop_macro("COMBINE")
#pragma pop_macro("IDENTITY")
#pragma pop_macro("NEUTRAL")
#pragma pop_macro("OPERATE")

static const davit_monoid DAVIT_MONOID = {
    .version = DAVIT_MONOID_VERSION,
    .name = DVT_QUOTE(DAVIT_MONOID),
    .bytes = sizeof(DVT_OWN(type)),
    .identity = &DVT_OWN(identity),
    .combine = DVT_OWN(combine_task),
    .reduce = DVT_OWN(reduce_task),
    .scan = DVT_OWN(scan_task),
    .works = DVT_OWN(works),
    .reduce_tile = DVT_OWN(reduce_tile),
    .scan_tile = DVT_OWN(tile),
    .slot_bytes = DVT_SLOT_WORDS(DVT_OWN(type)) * sizeof(uint64_t),
};

#undef DVT_OWN
#undef DAVIT_MONOID
#undef DAVIT_MONOID_TYPE
#undef DAVIT_MONOID_IDENTITY
#undef DAVIT_MONOID_COMBINE
#endif
