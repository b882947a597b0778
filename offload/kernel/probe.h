/* For one monoid: whether its regions do anything. */

/* Whether bodies of bare regions are there: without -fopenmp-cuda-mode Clang 19 removes those that have a local array. */
#ifdef DVT_GPU
DVT_INLINE void DVT_M(probe_body)(uint32_t *word) {
  uint32_t local[2] = {1, (uint32_t)dvt_team()};
  if (dvt_thread() == 0)
    *word = local[dvt_team()];
}
#else
static inline void DVT_M(probe_body)(uint32_t *word) {
  (void)word;
}
#endif

static bool DVT_M(works)(int device) {
  enum { MOST = 64 };
  static _Atomic(signed char) known[MOST]; /* 0: not asked yet */
  if (device >= 0 && device < MOST && known[device] != 0)
    return known[device] > 0;
  uint32_t word = 0;
#pragma omp target teams ompx_bare num_teams(1) thread_limit(32) device(device) map(tofrom : word)
  DVT_M(probe_body)(&word);
  if (device >= 0 && device < MOST)
    known[device] = word == 1 ? 1 : -1;
  return word == 1;
}
