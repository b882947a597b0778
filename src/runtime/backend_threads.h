/* SPDX-License-Identifier: Apache-2.0 */
/* What any thread may do of the back end "threads". */
#ifndef DAVIT_SRC_RUNTIME_BACKEND_THREADS_H
#define DAVIT_SRC_RUNTIME_BACKEND_THREADS_H

#include "src/runtime/backend.h"

/* Runs a command to its end on the calling thread, when everything before it on its lane is over. */
void dvt_command_run(dvt_command *command);

#endif
