/* What the other parts of the library know of events. */
#ifndef DAVIT_SRC_RUNTIME_EVENT_H
#define DAVIT_SRC_RUNTIME_EVENT_H

#include <davit/event.h>

#include "src/runtime/record.h"

/* The event's record, held for the caller; NULL if there is nothing to wait for. */
dvt_record *dvt_event_record(davit_event *event);

#endif
