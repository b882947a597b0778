/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is written whole or not at all, and replaces the file that has its name.
 *
 * The new file has no name (O_TMPFILE) while it is written, so that a process that is killed leaves nothing.
 * It then gets a temporary name in its folder, because a link cannot replace a file, and is renamed. On file
 * systems without such files, and without /proc, it has the temporary name from the beginning.
 *
 * Owner, group and mode are those of the file that is replaced. A file of an owner or a group that the
 * process cannot give to the new file is refused. Links are followed. The folder is opened once, so that all
 * names are looked up in the same one. */
#ifndef DAVIT_SRC_BASE_REPLACE_H
#define DAVIT_SRC_BASE_REPLACE_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct dvt_replacement {
  char *target;                /* the path, all links followed; NULL: nothing is open */
  int folder, file;            /* descriptors: of the folder, of the new file */
  char temporary[24];          /* a name in the folder */
  volatile sig_atomic_t named; /* whether the new file has that name */
  bool exchanged, created;     /* in place: the old file has the temporary name; there was none */
} dvt_replacement;

/* Begins to replace `path`, or to make it. NULL, or why not, in words, with errno and nothing open. */
const char *dvt_replacement_open(const char *path, dvt_replacement *replacement);

/* A stream that writes the new file; NULL with errno. Flush, fsync() and close it before the commit. */
FILE *dvt_replacement_stream(const dvt_replacement *replacement);

/* Gives the new file its temporary name, if it has none; false with errno. What can fail has failed then. */
bool dvt_replacement_name(dvt_replacement *replacement);

/* Puts the new file in the place of the old one; false with errno, and nothing is changed. Until it is kept,
 * dvt_replacement_discard() takes it back, but on file systems that cannot exchange two names. */
bool dvt_replacement_place(dvt_replacement *replacement);
void dvt_replacement_keep(dvt_replacement *replacement);

/* The two in one. */
bool dvt_replacement_commit(dvt_replacement *replacement);

/* Removes the temporary name. For signal handlers. */
void dvt_replacement_unlink(const dvt_replacement *replacement);

/* Ends without a change; keeps errno. {0} and what has ended are allowed. */
void dvt_replacement_discard(dvt_replacement *replacement);

#endif
