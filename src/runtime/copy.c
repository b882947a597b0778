/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/copy.h"

#include "src/runtime/memory.h"

static davit_status on_stream(const dvt_site *site, const void *arguments) {
  const dvt_copy *c = arguments;
  return dvt_stream_copy(site->stream, c->destination, c->destination_pitch, c->source, c->source_pitch,
                         c->row_bytes, c->cols);
}

static davit_status blocking(const dvt_site *site, const void *arguments) {
  (void)site;
  const dvt_copy *c = arguments;
  return dvt_copy_blocking(c->destination, c->destination_pitch, c->destination_place, c->source,
                           c->source_pitch, c->source_place, c->row_bytes, c->cols);
}

davit_status dvt_copy_submit(dvt_lane *lane, const dvt_copy *copy) {
  bool streamed = lane->stream && dvt_place_is_streamable(copy->destination_place) &&
                  dvt_place_is_streamable(copy->source_place);
  return dvt_lane_submit(lane, streamed ? DVT_STREAMED : DVT_BLOCKING, streamed ? on_stream : blocking, copy,
                         sizeof *copy);
}
