/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors.h"

#include "offload/runtime/stream.h"

static dvt_stream *stream;

const davit_type vector_types[VECTOR_TYPES] = {DAVIT_DOUBLE, DAVIT_FLOAT, DAVIT_COMPLEX_DOUBLE,
                                               DAVIT_COMPLEX_FLOAT};
static const int64_t lengths[] = {0, 1, 2, 5, 33, 5000};
const int64_t vector_increments[VECTOR_INCREMENTS] = {1, 2, -1, -3};

void perform_form(const dvt_form forms[FORMS], int form, const void *arguments) {
  const dvt_site site = {.device = form == HOST ? DAVIT_HOST : 0, .stream = stream, .threads = 1};
  CHECK(forms[form](&site, arguments));
  if (form == STREAM)
    CHECK(dvt_stream_synchronize(stream));
}

bool form_available(int form) {
  return form == HOST || (form == REGION && device_count() > 0) || (form == STREAM && stream);
}

void open_forms(void) {
  if (device_count() > 0)
    (void)dvt_stream_acquire(0, DVT_STREAM_MIXED, &stream);
}

void close_forms(void) {
  if (stream)
    dvt_stream_release(stream);
  stream = NULL;
}

void each_vector(void (*work)(davit_type type, int64_t n, int64_t inc)) {
  open_forms();
  for (int t = 0; t < VECTOR_TYPES; t++)
    for (int s = 0; s < COUNT(lengths); s++)
      for (int i = 0; i < VECTOR_INCREMENTS; i++)
        work(vector_types[t], lengths[s], vector_increments[i]);
  close_forms();
}
