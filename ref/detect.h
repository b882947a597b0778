/* Detection step by step: one window, one effect. What every device has to agree with, and what the host adds to scores
 * from any device. Similarities are a window x effect matrix, row after row, in the window's own order. */
#ifndef DAVIT_REF_DETECT_H
#define DAVIT_REF_DETECT_H

#include <davit/detect.h>

typedef struct dvt_detect_gaps {
  float open, extend;
} dvt_detect_gaps;

static inline dvt_detect_gaps dvt_detect_gaps_of(const davit_detect_options *options) {
  return (dvt_detect_gaps){100 + (float)options->gap_penalty, (float)options->gap_penalty};
}

/* Frames from one window to the next. */
static inline int64_t dvt_detect_hop(const davit_detect_options *options) {
  return options->hop > 0 ? options->hop : options->window;
}

/* Frames of window w. */
static inline int64_t dvt_detect_length(int64_t frames, const davit_detect_options *options, int64_t w) {
  const int64_t left = frames - w * dvt_detect_hop(options);
  return left < options->window ? left : options->window;
}

/* The last window is the first that reaches the end. */
static inline int64_t dvt_detect_windows(int64_t frames, const davit_detect_options *options) {
  const int64_t beyond = frames - options->window, hop = dvt_detect_hop(options);
  if (frames <= 0)
    return 0;
  return beyond <= 0 ? 1 : 1 + (beyond + hop - 1) / hop;
}

/* x and y: unit vectors of the window's and the effect's frames. */
void dvt_ref_detect_similarity(int width, int64_t window, const float *x, int64_t effect, const float *y,
                               const davit_detect_options *options, float *similarity);

/* The best score with the window's frames in `order`. `state` is scratch of 2 effect elements. */
float dvt_ref_detect_score(int64_t window, int64_t effect, const float *similarity, const uint16_t *order,
                           dvt_detect_gaps gaps, float *state);

/* Frames [*begin, *end) of the best alignment of the window as it is. `choices` is scratch of window x effect bytes, `state` of
 * 2 effect elements. */
void dvt_ref_detect_trace(int64_t window, int64_t effect, const float *similarity, dvt_detect_gaps gaps,
                          float *state, uint8_t *choices, int64_t *begin, int64_t *end);

/* What made a cell, as a traceback needs it: its score in two bits, and whether the gaps that end there go on. */
enum { DVT_STOP, DVT_DIAGONAL, DVT_ACROSS, DVT_DOWN, DVT_ACROSS_ON = 4, DVT_DOWN_ON = 8 };

/* From the cell (i, j) back to where its alignment begins: the row. choices[(i effect + j) stride] is that of a cell. */
int64_t dvt_ref_detect_begin(int64_t effect, const uint8_t *choices, int64_t stride, int64_t i, int64_t j);

/* Fills in what follows from the score of an effect of so many frames and those of the permutations. */
void dvt_ref_detect_judge(int64_t effect, const float *null_scores, const davit_detect_options *options,
                          davit_detection *detection);

#endif
