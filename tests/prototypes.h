/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes of the public headers. */
#ifndef DAVIT_TESTS_PROTOTYPES_H
#define DAVIT_TESTS_PROTOTYPES_H

/* Reads all headers in the folder. */
void read_prototypes(const char *headers_folder);

/* The name of the function's n-th argument in its prototype. */
const char *argument_name(const char *function, int n);

#endif
