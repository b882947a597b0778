/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: values, measured on a machine, for choices that the library otherwise makes by itself: the figures from which
 * tiles are chosen, the size of the pieces in which arrays are copied, threads and teams.
 *
 * A value belongs to a kind of device (its kind and its name), a capability and a parameter. The values are
 * in a table. The first operation that looks for one fills the table from the tuning file:
 *   $DAVIT_TUNING_FILE, where that variable is set (empty: no file at all);
 *   else $XDG_CONFIG_HOME/davit/tuning.tsv, else ~/.config/davit/tuning.tsv, if it exists.
 * `davit tune` measures and writes that file; docs/tuning.md lists the parameters and has the format. Lines
 * that cannot be used (malformed, of another version of davit, of a device that this machine lacks, of a
 * parameter or value that davit does not know) are ignored, and davit_tuning_warning() reports them; all
 * operations work without them.
 *
 * A tuned value may change the rounding of a floating-point result, as another number of devices may; it
 * never changes the meaning of a result. An operation that runs while a value changes uses the old or the new
 * one. Thread safety: any thread. */
#ifndef DAVIT_TUNING_H
#define DAVIT_TUNING_H

#include <davit/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One value. `device` is the device's kind and name, such as "nvidia NVIDIA H200". */
typedef struct davit_tuning_entry {
  char device[128];
  char capability[24], parameter[24];
  int64_t value;        /* greater than 0 */
  double seconds;       /* measured with it; 0: unknown */
  uint64_t reserved[2]; /* 0 */
} davit_tuning_entry;

/* What can be tuned. */
typedef struct davit_tuning_parameter {
  char capability[24], parameter[24];
  int64_t minimum, maximum; /* of the value */
  uint64_t reserved[2];     /* 0 */
} davit_tuning_parameter;

/* Writes at most `capacity` to `parameters` (NULL allowed with capacity 0) and their full number to `count`. */
DAVIT_API davit_status davit_tuning_parameters(int capacity, davit_tuning_parameter *parameters, int *count);

/* Replaces the table by the contents of the file; NULL is the tuning file. DAVIT_INVALID_ARGUMENT if it
 * cannot be read or, for NULL, if there is none; the table then stays as it was. */
DAVIT_API davit_status davit_tuning_load(const char *path);

/* Writes the table to the file, including entries of other machines' devices, whole or not at all; NULL is the tuning
 * file, whose directory is created. DAVIT_INVALID_ARGUMENT if the file cannot be written; it is then unchanged. */
DAVIT_API davit_status davit_tuning_save(const char *path);

/* Empties the table, so that the library decides everything by itself. The tuning file is not read after this
 * call. */
DAVIT_API davit_status davit_tuning_clear(void);

/* Sets a value for all devices of the kind of `device` (DAVIT_HOST allowed); 0 removes it. `seconds` is the
 * measured time, 0 if none was measured. */
DAVIT_API davit_status davit_tuning_set(int device, const char *capability, const char *parameter,
                                        int64_t value, double seconds);

/* A kernel as it would be launched. */
typedef struct davit_tuning_shape {
  int threads, registers; /* of a team; of a thread */
  size_t team_bytes;      /* static and dynamic */
  int teams;              /* that a multiprocessor holds at once; 0: the device cannot launch it */
  double occupancy;       /* as davit_occupancy() says */
  uint64_t reserved[2];   /* 0 */
} davit_tuning_shape;

/* What the capability's main kernel needs on the device with the values that are in the table now, for double (align
 * and detect: 16-bit words). So a value that does not fit is known before it is used. If the table asks for a shape
 * that does not exist, the operation uses the nearest one that does. DAVIT_INVALID_ARGUMENT: a capability without a
 * kernel of this kind; DAVIT_UNSUPPORTED: not an NVIDIA device. */
DAVIT_API davit_status davit_tuning_kernel(int device, const char *capability, davit_tuning_shape *shape);

/* The table: writes at most `capacity` entries (NULL allowed with capacity 0) and their full number to
 * `count`. */
DAVIT_API davit_status davit_tuning_list(int capacity, davit_tuning_entry *entries, int *count);

/* Writes the tuning file's path, at most `capacity` characters with the final 0; "" where there is none (an
 * empty DAVIT_TUNING_FILE, or no home directory). The file need not exist. */
DAVIT_API davit_status davit_tuning_path(int capacity, char *path);

/* Writes what was ignored when the table was last filled, one sentence for each reason, separated by "; ", at
 * most `capacity` characters with the final 0. "" if nothing was ignored, and before a file is read. */
DAVIT_API davit_status davit_tuning_warning(int capacity, char *text);

#ifdef __cplusplus
}
#endif
#endif
