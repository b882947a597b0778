/* SPDX-License-Identifier: Apache-2.0 */
/* What the generator of the task graph (generator.h) is told, and the tasks whose end it is told. */
#ifndef DAVIT_SRC_RUNTIME_MESSAGE_H
#define DAVIT_SRC_RUNTIME_MESSAGE_H

#include <stdatomic.h>
#include <stdint.h>

/* take() is called in the generator, once, and may free the message. The memory is the sender's, so that sending cannot
 * fail. */
typedef struct dvt_message dvt_message;
struct dvt_message {
  _Atomic(dvt_message *) follower;
  void (*take)(dvt_message *message);
};

/* A detached task: its event, and where its body ran: a worker's number of yields, as it was then, or NULL. */
typedef struct dvt_detached {
  uintptr_t event; /* 0: the task is none */
  const atomic_uint *yields;
  unsigned yield;
} dvt_detached;

#endif
