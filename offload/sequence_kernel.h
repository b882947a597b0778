/* A query against many targets on a GPU: a text for one type of scores and one width; included through each_shape.h with the parameters
 * of align_kernel.h.
 *
 * The profile, of one strip of the query, is the same for all teams. Groups of lanes take targets (two, of pairs) in
 * order, so that those side by side are of nearly the same length. */
#ifdef DVT_GPU
#include "offload/align_kernel.h"

/* The largest of the warp. */
DVT_INLINE int DVT_N(longest)(int length) {
  uint32_t most = (uint32_t)length;
  for (int apart = 1; apart < 32; apart *= 2) {
    const uint32_t other = dvt_shuffle(most, dvt_lane_number() ^ apart);
    most = other > most ? other : most;
  }
  return (int)most;
}

/* Targets first … first + count - 1, or list[first] …; `border` has a place for each of their symbols, from that of target
 * first on. enters: the strip is not the first; leaves: it is not the last. */
DVT_INLINE void DVT_N(search)(const char *profile, int64_t alphabet, int64_t pitch, const uint8_t *symbols,
                              const int64_t *offsets, const int32_t *list, int64_t first, int64_t count,
                              int32_t *scores, void *border, int64_t enters, int64_t leaves, int64_t width,
                              int64_t threads, int64_t open, int64_t extend) {
  const int64_t groups = threads / width, items = (count + DVT_PAIR - 1) / DVT_PAIR;
  const int64_t base = offsets[list ? list[first] : first];
  dvt_fetch_profile(profile, (alphabet + 1) * pitch, (int)threads);
  for (int64_t at = dvt_team() * groups; at < items; at += dvt_teams() * groups) {
    const int64_t a = (at + dvt_thread() / width) * DVT_PAIR, b = a + 1;
    const bool has_a = a < count, has_b = DVT_PAIR > 1 && b < count;
    const int64_t target_a = !has_a ? 0
                             : list ? list[first + a]
                                    : first + a,
                  target_b = has_b ? first + b : 0;
    const DVT_N(work) w = {.profile = dvt_team_memory,
                           .pitch = (int)pitch,
                           .zeros = (int)(alphabet * pitch),
                           .width = (int)width,
                           .of = {.a = symbols + offsets[target_a],
                                  .b = symbols + offsets[target_b],
                                  .length_a = has_a ? (int)(offsets[target_a + 1] - offsets[target_a]) : 0,
                                  .length_b = has_b ? (int)(offsets[target_b + 1] - offsets[target_b]) : 0},
                           .open = DVT_ALL(-open),
                           .extend = DVT_ALL(-extend),
                           .border = (DVT_N(border) *)border + (has_a ? offsets[target_a] - base : 0),
                           .enters = enters,
                           .leaves = leaves};
    const DVT_WORD best = DVT_N(align)(&w, DVT_N(longest)(w.of.length_a));
    if ((dvt_thread() & (width - 1)) == 0) {
      if (has_a && (!enters || DVT_FIRST(best) > scores[target_a]))
        scores[target_a] = DVT_FIRST(best);
      if (has_b && (!enters || DVT_SECOND(best) > scores[target_b]))
        scores[target_b] = DVT_SECOND(best);
    }
  }
}
#define DVT_BODY DVT_N(search)
#else
#define DVT_BODY no_body
#endif

#ifndef DVT_EMULATED
__attribute__((used)) static void
DVT_N(search_region)(int device, int teams, const char *profile, int64_t alphabet, int64_t pitch,
                     const uint8_t *symbols, const int64_t *offsets, const int32_t *list, int64_t first,
                     int64_t count, int32_t *scores, void *border, int64_t enters, int64_t leaves,
                     int64_t width, int64_t threads, int64_t open, int64_t extend) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(SEARCH_THREADS) device(device)              \
    is_device_ptr(profile, symbols, offsets, list, scores, border)
  {
    DVT_BODY(profile, alphabet, pitch, symbols, offsets, list, first, count, scores, border, enters, leaves,
             width, threads, open, extend);
  }
}
#endif

#undef DVT_BODY
#undef DVT_CHUNK
