/* SPDX-License-Identifier: Apache-2.0 */
/* Files that contain an array. */
#include "src/cli/formats/array_file.h"

#include <string.h>

#include "src/cli/fail.h"

static int refuse(cli_input *input, cli_array *array) {
  (void)array;
  return cli_input_fail(input, "expected the \\x93NUMPY magic or a %%%%MatrixMarket banner, found %s",
                        cli_input_peek(input) == EOF ? "the end of the file" : "something else");
}

/* `other` reads what is neither .npy nor .mtx. */
static int read_array(const char *path, cli_memory memory, int (*other)(cli_input *, cli_array *),
                      cli_array *array) {
  *array = (cli_array){.wanted = memory};
  cli_input input;
  int code = cli_input_open(path, &input);
  if (code != CLI_OK)
    return code;
  const int first = cli_input_peek(&input);
  if (first == CLI_NPY_FIRST_BYTE)
    code = cli_npy_read(&input, array);
  else if (first == '%')
    code = cli_mtx_read(&input, array);
  else
    code = other(&input, array);
  cli_input_close(&input);
  if (code != CLI_OK)
    cli_array_free(array);
  return code;
}

int cli_array_read(const char *path, cli_memory memory, cli_array *array) {
  return read_array(path, memory, refuse, array);
}

int cli_points_read(const char *path, cli_memory memory, cli_array *array) {
  return read_array(path, memory, cli_csv_read, array);
}

cli_array_writer *cli_writer_of(const char *path) {
  const char *end = strrchr(path, '.');
  return !end                   ? cli_npy_write
         : !strcmp(end, ".mtx") ? cli_mtx_write
         : !strcmp(end, ".csv") ? cli_csv_write
                                : cli_npy_write;
}
