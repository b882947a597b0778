/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a trace: a JSON array of events, written as they come, and complete after every write, so that
 * a program which is killed leaves a file that can be read. One at a time; the caller has a lock. */
#ifndef DAVIT_SRC_RUNTIME_TRACE_FILE_H
#define DAVIT_SRC_RUNTIME_TRACE_FILE_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Opens the file, "%p" in its path being the number of the process, and empties it; with `go_on` it goes on
 * with a file of that path that this process has closed before. A failure names what `what` says. */
davit_status dvt_trace_file_open(const char *what, const char *path, bool go_on);

/* Adds an event, a JSON object in the form of printf(), of at most DVT_TRACE_EVENT_BYTES bytes. Written when
 * 64 KiB have come together, or after 0.2 s. */
enum { DVT_TRACE_EVENT_BYTES = 1200 };
void dvt_trace_file_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes `from` as the inside of a JSON string to `to`, as much as fits. */
void dvt_trace_file_quote(const char *from, size_t bytes, char *to);

/* Writes what there is and closes the file. If any of it could not be written, the file ends before that, and
 * the sentence says why. */
davit_status dvt_trace_file_close(void);

/* In a child after fork(): the file is the parent's. */
void dvt_trace_file_forget(void);

#endif
