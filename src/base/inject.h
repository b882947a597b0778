/* SPDX-License-Identifier: Apache-2.0 */
/* Failure injection: makes the n-th allocation, command or thread from now fail, so that tests walk every
 * error path. Costs one relaxed load where it is not armed. */
#ifndef DAVIT_SRC_BASE_INJECT_H
#define DAVIT_SRC_BASE_INJECT_H

#include <stdbool.h>

typedef enum dvt_injection {
  DVT_INJECT_DEVICE_MEMORY,
  DVT_INJECT_PINNED_MEMORY,
  DVT_INJECT_HOST_MEMORY,
  DVT_INJECT_THREAD,
  DVT_INJECT_UNPACK, /* a file for the code of a host-offload device, when the library starts */
  DVT_INJECT_RUN,    /* a command of a lane fails as if its device were lost */
  DVT_INJECTIONS
} dvt_injection;

/* The n-th (from 1) passage fails, once, or every one with DVT_INJECT_ALWAYS; 0 disarms. Returns what was armed
 * before: 0 if that failure has happened. */
enum { DVT_INJECT_ALWAYS = -1 };
int dvt_inject(dvt_injection kind, int n);

/* True when this passage is to fail. */
bool dvt_injected(dvt_injection kind);

#endif
