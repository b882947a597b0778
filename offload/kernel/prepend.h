/* For one monoid: what came before, brought into a part that was scanned on its own. Included after scan.h of the monoid. Reads and
 * writes y once. */

/* y_i = left ∘ y_i for the first n elements: how what came before reaches a part that was scanned on its own. */
#ifdef DVT_GPU
DVT_INLINE void DVT_M(prepend_body)(int64_t n, const DVT_T *left, DVT_T *y) {
  const DVT_T first = *left;
  for (int64_t i = (int64_t)dvt_team() * DVT_M(threads) + dvt_thread(); i < n;
       i += (int64_t)dvt_teams() * DVT_M(threads))
    y[i] = DVT_COMBINE(first, y[i]);
}
#else
static inline void DVT_M(prepend_body)(int64_t n, const DVT_T *left, DVT_T *y) {
  (void)n, (void)left, (void)y;
}
#endif

static void DVT_M(prepend_region)(int device, int teams, int64_t n, const DVT_T *left, DVT_T *y) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(DVT_M(threads)) device(device)              \
    is_device_ptr(left, y)
  DVT_M(prepend_body)(n, left, y);
}
