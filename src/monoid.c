/* SPDX-License-Identifier: Apache-2.0 */
#include "src/monoid.h"

#include <pthread.h>

#include "src/base/arithmetic.h"

static davit_monoid builtin[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES];
static dvt_monoid_key keys[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES];

static void make_builtin(void) {
  for (int op = 0; op < DAVIT_OPERATOR_COUNT; op++)
    for (int type = 0; type < DVT_MONOID_TYPES; type++) {
      const dvt_builtin_reduce *reduce = &dvt_builtin_reduces[op][type];
      const dvt_builtin_scan *scan = &dvt_builtin_scans[op][type];
      keys[op][type] = (dvt_monoid_key){(davit_operator)op, (davit_type)type};
      builtin[op][type] = (davit_monoid){.version = DAVIT_MONOID_VERSION,
                                         .name = davit_operator_string((davit_operator)op),
                                         .bytes = scan->bytes,
                                         .identity = scan->identity,
                                         .combine = scan->combine,
                                         .reduce = reduce->task,
                                         .scan = scan->scan,
                                         .reduce_tile = reduce->tile,
                                         .scan_tile = scan->tile,
                                         .slot_bytes = scan->slot_bytes,
                                         .kernels = &keys[op][type]};
    }
}

davit_status davit_monoid_builtin(davit_operator op, davit_type type, const davit_monoid **monoid) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!monoid)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "monoid is NULL");
  if ((unsigned)op >= DAVIT_OPERATOR_COUNT)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "op is %d, which is no operator", (int)op);
  if ((unsigned)type >= DAVIT_TYPE_COUNT)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "type is %d, which is no type", (int)type);
  if ((unsigned)type >= DVT_MONOID_TYPES)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "type is %s, which has no operators", davit_type_string(type));
  pthread_once(&once, make_builtin);
  *monoid = &builtin[op][type];
  return DAVIT_SUCCESS;
}

int64_t dvt_monoid_group(const davit_monoid *monoid) {
  return DAVIT_MONOID_GROUP_TILES * monoid->scan_tile;
}

int64_t dvt_monoid_piece(const davit_monoid *monoid, int64_t tile, int device, dvt_tunable which) {
  enum { PIECE_BYTES = 32 << 20 };
  const int64_t tiles = dvt_tuned(device, which, PIECE_BYTES) / (int64_t)monoid->bytes / tile;
  return dvt_at_least(tiles, 1) * tile;
}

davit_status dvt_monoid_check_works(const dvt_site *site, const davit_monoid *monoid) {
  if (monoid->kernels || monoid->works(site->device))
    return DAVIT_SUCCESS;
  return davit_fail(DAVIT_UNSUPPORTED,
                    "monoid %s has no code for device %d: compile its source with offloading and "
                    "-fopenmp-cuda-mode",
                    monoid->name, site->device);
}
