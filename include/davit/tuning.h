/* Tuning: values, measured on a machine, for choices that the library otherwise makes by itself: the tile of a product,
 * the size of the pieces in which arrays travel, threads and teams.
 *
 * A value belongs to a kind of device (what it is and what it is called), a capability and a parameter. The values are
 * in a table; the first operation that looks for one fills it from the tuning file:
 *   $DAVIT_TUNING_FILE, where that variable is set (empty: no file at all);
 *   else $XDG_CONFIG_HOME/davit/tuning.tsv, else ~/.config/davit/tuning.tsv, if it exists.
 * `davit tune` measures and writes that file; docs/tune.md lists the parameters and has the format. Lines that cannot be
 * used (malformed, of another version of davit, of a device that is not here, of a parameter or value that
 * davit does not know) are left out, and davit_tuning_warning() says so; the operations work all the same.
 *
 * A tuned value may change the rounding of a floating-point result, as another number of devices may; it never
 * changes what a result means. An operation under way when a value changes uses the old or the new one.
 * Thread safety: any thread. */
#ifndef DAVIT_TUNING_H
#define DAVIT_TUNING_H

#include <davit/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One value. `device` is the device's kind and name, such as "nvidia NVIDIA H200". */
typedef struct davit_tuning_entry {
  char device[128];
  char capability[24], parameter[24];
  int64_t value;  /* greater than 0 */
  double seconds; /* measured with it; 0: unknown */
} davit_tuning_entry;

/* What can be tuned. */
typedef struct davit_tuning_parameter {
  char capability[24], parameter[24];
  int64_t least, most;
} davit_tuning_parameter;

/* Writes at most `capacity` to `parameters` (NULL allowed with capacity 0) and their full number to `count`. */
DAVIT_API davit_status davit_tuning_parameters(int capacity, davit_tuning_parameter *parameters, int *count);

/* Replaces the table by what is in the file; NULL is the tuning file. DAVIT_INVALID_ARGUMENT if it cannot be read (the
 * table stays as it was) or, for NULL, if there is none to read. */
DAVIT_API davit_status davit_tuning_load(const char *path);

/* Writes the table, entries of other machines' devices included, to the file, whole or not at all; NULL is the tuning
 * file, whose directory is made. DAVIT_INVALID_ARGUMENT if it cannot be written; it is then as it was. */
DAVIT_API davit_status davit_tuning_save(const char *path);

/* Empties the table, so that the library decides everything by itself; no file is read any more. */
DAVIT_API davit_status davit_tuning_clear(void);

/* Sets a value for all devices of the kind of `device` (DAVIT_HOST allowed); 0 takes it out again. `seconds` is what was
 * measured, 0 if nothing was. */
DAVIT_API davit_status davit_tuning_set(int device, const char *capability, const char *parameter,
                                        int64_t value, double seconds);

/* The table: writes at most `capacity` entries (NULL allowed with capacity 0) and their full number to `count`. */
DAVIT_API davit_status davit_tuning_list(int capacity, davit_tuning_entry *entries, int *count);

/* The tuning file's path with its final 0, at most `capacity` characters of it; "" where there is none (an
 * empty DAVIT_TUNING_FILE, or no home directory). It need not exist. */
DAVIT_API davit_status davit_tuning_path(int capacity, char *path);

/* What was left out when the table was last filled, in one sentence for each reason, separated by "; ": at most
 * `capacity` characters with the final 0. "" if nothing was, and as long as no file has been read. */
DAVIT_API davit_status davit_tuning_warning(int capacity, char *text);

#ifdef __cplusplus
}
#endif
#endif
