/* Detection on a GPU: a text for one type of scores and one width; included through each_shape.h with the parameters of align_kernel.h.
 *
 * A team takes one effect in one window: the profile of that pair, a row for each frame of the window. Its groups of lanes take
 * permutations, whose strings are the orders. */
#ifdef DVT_GPU
#include "offload/align_kernel.h"

/* Teams: `slices` for each profile. scores[profile scores_pitch + run]. */
DVT_INLINE void DVT_N(detect)(const char *profiles, int64_t pitch, const uint16_t *orders, float *scores,
                              int64_t scores_pitch, int64_t window, int64_t runs, int64_t width,
                              int64_t slices, int64_t threads, double open, double extend) {
  const int64_t profile = dvt_team() / slices, slice = dvt_team() % slices, bytes = (window + 1) * pitch;
  const int64_t groups = threads / width, group = dvt_thread() / width,
                items = (runs + DVT_PAIR - 1) / DVT_PAIR;
  dvt_fetch_profile(profiles + profile * bytes, bytes, (int)threads);
  for (int64_t first = slice * groups; first < items; first += slices * groups) {
    const int64_t run = (first + group) * DVT_PAIR;
    const DVT_N(work) w = {.profile = dvt_team_memory,
                           .pitch = (int)pitch,
                           .zeros = (int)(window * pitch),
                           .width = (int)width,
                           .of = {.a = orders + run * window,
                                  .b = orders + (run + 1) * window,
                                  .length_a = run < runs ? (int)window : 0,
                                  .length_b = DVT_PAIR > 1 && run + 1 < runs ? (int)window : 0},
                           .open = DVT_ALL(-open),
                           .extend = DVT_ALL(-extend)};
    const DVT_WORD best = DVT_N(align)(&w, (int)window);
    if ((dvt_thread() & (width - 1)) == 0) {
      if (run < runs)
        scores[profile * scores_pitch + run] = (float)DVT_FIRST(best);
      if (DVT_PAIR > 1 && run + 1 < runs)
        scores[profile * scores_pitch + run + 1] = (float)DVT_SECOND(best);
    }
  }
}
#define DVT_BODY DVT_N(detect)
#else
#define DVT_BODY no_body
#endif

#ifndef DVT_EMULATED
__attribute__((used)) static void DVT_N(detect_region)(int device, int teams, const char *profiles,
                                                       int64_t pitch, const uint16_t *orders, float *scores,
                                                       int64_t scores_pitch, int64_t window, int64_t runs,
                                                       int64_t width, int64_t slices, int64_t threads,
                                                       double open, double extend) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(DETECT_THREADS) device(device)              \
    is_device_ptr(profiles, orders, scores)
  {
    DVT_BODY(profiles, pitch, orders, scores, scores_pitch, window, runs, width, slices, threads, open,
             extend);
  }
}
#endif

#undef DVT_BODY
#undef DVT_CHUNK
