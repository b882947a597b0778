/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of buffers. The fuzzers are built with the small ones, so that short inputs reach the ends of all. */
#ifndef DAVIT_SRC_BASE_BUFFER_H
#define DAVIT_SRC_BASE_BUFFER_H

#ifdef DAVIT_SMALL_BUFFERS
#define DVT_BUFFER(usual, small) (small)
#else
#define DVT_BUFFER(usual, small) (usual)
#endif

#endif
