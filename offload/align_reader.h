/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a string of bytes for a lane of a warp, in blocks of 4 rows: a word has a symbol for each row of a
 * block, in the order of its bytes. Lane g of a group is g rows behind the first: g / 4 blocks, which the caller
 * counts, and the rest, by which words are shifted here. After its last symbol a string goes on with symbols that score
 * nothing.
 *
 * Strings begin anywhere. Aligned words are loaded that have at least one of the string's bytes, so memory is readable
 * up to the next multiple of 4 bytes. The next word is on its way while the one before is used. */
#ifndef DAVIT_OFFLOAD_ALIGN_READER_H
#define DAVIT_OFFLOAD_ALIGN_READER_H

#include "offload/kernel/gpu.h"

#ifdef DVT_NVIDIA
typedef struct dvt_align_reader {
  uintptr_t at;        /* address of the next block */
  int left;            /* symbols from there on, or less than 0 */
  uint32_t held, next; /* the aligned word of its first byte, and the one after */
  uint32_t last;       /* the block before */
} dvt_align_reader;

DVT_INLINE uint32_t dvt_align_word(const dvt_align_reader *r, int words, uint32_t blank) {
  uint32_t word = blank;
  if (r->left > 0 && r->left + (int)(r->at & 3) > 4 * words)
    word = ((const uint32_t *)(r->at & ~(uintptr_t)3))[words];
  return word;
}

/* `blank`: four symbols that score nothing. Keeps the block before, which another string may have had. */
DVT_INLINE void dvt_align_open_reader(dvt_align_reader *r, const uint8_t *string, int length,
                                      uint32_t blank) {
  r->at = (uintptr_t)string;
  r->left = length;
  r->held = dvt_align_word(r, 0, blank);
  r->next = dvt_align_word(r, 1, blank);
}

/* The next block of a lane that is `late` rows, at most 3, behind the reader. */
DVT_INLINE uint32_t dvt_align_read(dvt_align_reader *r, int late, uint32_t blank) {
  uint32_t block = dvt_funnel_right(r->held, r->next, 8 * (uint32_t)r->at);
  if (r->left < 4) {
    const uint32_t after = r->left > 0 ? ~0u << 8 * r->left : ~0u;
    block = (block & ~after) | (blank & after);
  }
  const uint32_t symbols = dvt_funnel_left(r->last, block, 8 * (uint32_t)late);
  r->last = block;
  r->at += 4;
  r->left -= 4;
  r->held = r->next;
  r->next = dvt_align_word(r, 1, blank);
  return symbols;
}
#endif

#endif
