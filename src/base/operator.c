/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/operator.h"

#define TYPE_BYTES(TYPE, type, ...) [TYPE] = sizeof(DVT_C_##type),
#define TYPE_NAME(TYPE, type, ...) [TYPE] = #type,
#define OPERATOR_NAME(OPERATOR, op, ...) [OPERATOR] = #op,

static const size_t type_bytes[DAVIT_TYPE_COUNT] = {
    DVT_EACH_TYPE(TYPE_BYTES, )[DAVIT_COMPLEX_FLOAT] = 2 * sizeof(float), [DAVIT_COMPLEX_DOUBLE] =
                                                                              2 * sizeof(double)};
static const char *const type_names[DAVIT_TYPE_COUNT] = {
    DVT_EACH_TYPE(TYPE_NAME, )[DAVIT_COMPLEX_FLOAT] = "complex_float", [DAVIT_COMPLEX_DOUBLE] =
                                                                           "complex_double"};
static const char *const operator_names[DAVIT_OPERATOR_COUNT] = {DVT_EACH_OPERATOR(OPERATOR_NAME, )};

size_t davit_type_bytes(davit_type type) {
  return (unsigned)type < DAVIT_TYPE_COUNT ? type_bytes[type] : 0;
}

const char *davit_type_string(davit_type type) {
  return (unsigned)type < DAVIT_TYPE_COUNT ? type_names[type] : "unknown";
}

const char *davit_operator_string(davit_operator op) {
  return (unsigned)op < DAVIT_OPERATOR_COUNT ? operator_names[op] : "unknown";
}
