/* SPDX-License-Identifier: Apache-2.0 */
/* Files that contain an array: .npy, members of .npz, dense Matrix Market, and CSV, each also compressed by
 * gzip. Each format is a file of its own.
 *
 * On failure a reader reports the file, the place and what was expected, and returns the exit code. */
#ifndef DAVIT_SRC_CLI_FORMATS_ARRAY_FILE_H
#define DAVIT_SRC_CLI_FORMATS_ARRAY_FILE_H

#include "src/cli/formats/array.h"
#include "src/cli/formats/columns.h"
#include "src/cli/formats/input.h"
#include "src/cli/formats/part.h"

/* Reads the file at `path` ("-": standard input), or a part of it (NULL: all). The first bytes decide which
 * format it has, unless `reading` says that there are elements alone, in C order. */
int cli_array_read(const char *path, const cli_reading *reading, cli_memory memory, cli_part *part,
                   cli_array *array);

/* The shape, the order and the type alone, where the file says so at its beginning; else *known is false. */
int cli_array_peek(const char *path, const cli_reading *reading, cli_array *array, bool *known);

/* The same for points, one a row. `columns` says which columns to take, and
 * afterwards which were taken: of a table those that columns.h chooses, of a matrix all but where some are
 * wanted. */
int cli_points_read(const char *path, const cli_reading *reading, cli_memory memory, cli_columns *columns,
                    cli_array *array);

/* The formats. `array` comes with `wanted` set and without a block; the caller frees what a failed reader
 * leaves in it. A reader makes room for as many elements as the file's length allows; where that is not
 * known, the block grows as data arrive. */
enum { CLI_NPY_FIRST_BYTE = 0x93 };
int cli_mtx_read(cli_input *input, cli_array *array);
int cli_csv_read(cli_input *input, const cli_reading *reading, cli_columns *columns, cli_array *array);

/* All but the elements, which come next in the file. */
int cli_npy_open(cli_input *input, cli_array *array);

/* Write an array; false on a write error, with errno. */
bool cli_npy_write(FILE *file, const cli_array *array);
bool cli_mtx_write(FILE *file, const cli_array *array);
bool cli_csv_write(FILE *file, const cli_array *array);

/* The writer for a file of this name: by the name's end, of any case, and .npy where it has none. NULL: there
 * is no format of that name; CLI_WRITTEN lists those that there are. */
#define CLI_WRITTEN ".npy, .mtx or .csv"
typedef bool cli_array_writer(FILE *file, const cli_array *array);
cli_array_writer *cli_writer_of(const char *path);

#endif
