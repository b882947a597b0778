/* The least of BLOCK candidates in a block's shared memory, by a tree with sequential addressing. Included
 * with BLOCK, NAME. */

enum { NAME(threads) = WARPS_OF(BLOCK) * 32 };

/* dist[0], pairs[0] = the least and its pair. Begins after a barrier and ends with one. */
STUDY_INLINE void NAME(least)(SPACE float *dist, SPACE dvt_study_two_points *pairs) {
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    PHASE(t, half) {
      if (dist[t + half] < dist[t]) {
        dist[t] = dist[t + half];
        pairs[t] = pairs[t + half];
      }
    }
    BARRIER();
  }
}
