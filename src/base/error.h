/* SPDX-License-Identifier: Apache-2.0 */
/* An error that outlives the thread that met it: a status with its sentence, kept until somebody
 * synchronises. */
#ifndef DAVIT_SRC_BASE_ERROR_H
#define DAVIT_SRC_BASE_ERROR_H

#include <davit/status.h>

enum { DVT_MESSAGE_BYTES = 240 };

typedef struct dvt_error {
  davit_status status;
  char message[DVT_MESSAGE_BYTES];
} dvt_error;

/* Empties the calling thread's sentence. */
void dvt_error_clear(void);

/* Keeps `status`, with the thread's sentence, if it is a failure and `first` holds none yet. */
void dvt_error_keep(dvt_error *first, davit_status status);

/* Returns what is kept, with its sentence as the thread's. */
davit_status dvt_error_report(const dvt_error *error);

#define DVT_TRY(call)                                                                                        \
  do {                                                                                                       \
    davit_status dvt_try_status = (call);                                                                    \
    if (dvt_try_status != DAVIT_SUCCESS)                                                                     \
      return dvt_try_status;                                                                                 \
  } while (0)

#endif
