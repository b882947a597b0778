/* SPDX-License-Identifier: Apache-2.0 */
/* A file that the library keeps open and writes beside the program's own: a trace, a log.
 *
 * The program does not know of it. It may close every descriptor, as daemons do, and open files of its own, which get
 * the same numbers; it may limit the size of files, or end the reader of a pipe. So before each write the file is
 * looked at: where the number leads to another file nothing is written and nothing closed. The signals that come with
 * a write, SIGXFSZ and SIGPIPE, are taken back: the writer gets the error alone. */
#ifndef DAVIT_SRC_BASE_OWN_FILE_H
#define DAVIT_SRC_BASE_OWN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct dvt_own_file {
  int descriptor;  /* -1: none */
  dev_t device;    /* of the file system, */
  ino_t number;    /* and of the file in it */
  bool is_regular; /* no pipe and no terminal */
} dvt_own_file;

/* Opens it with these flags of open(), made if it is not there. Waits for nobody: a FIFO that is opened to be written
 * alone and has no reader is an error, ENXIO. 0, or the error as errno has it; then it is not open. */
int dvt_own_file_open(dvt_own_file *file, const char *path, int flags);

/* Takes a descriptor that is open; it is not to be closed. */
int dvt_own_file_take(dvt_own_file *file, int descriptor);

/* Whether the descriptor leads to the file still. */
bool dvt_own_file_is_there(const dvt_own_file *file);

/* Writes all of it at that offset. 0, or the error as errno has it: EBADF if the descriptor leads to another file. */
int dvt_own_file_write(const dvt_own_file *file, int64_t offset, const char *text, size_t bytes);

/* The same at the end of a file that was opened with O_APPEND, by one write(), so that lines of threads and processes
 * do not mix. What a full pipe does not take is lost. */
int dvt_own_file_append(const dvt_own_file *file, const char *text, size_t bytes);

/* 0, or the error as errno has it. */
int dvt_own_file_close(dvt_own_file *file);

#endif
