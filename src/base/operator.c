#include <davit/operator.h>
#include <stdint.h>

static const struct {
  const char *name;
  size_t bytes;
} types[DAVIT_TYPE_COUNT] = {[DAVIT_FLOAT] = {"float", sizeof(float)},
                             [DAVIT_DOUBLE] = {"double", sizeof(double)},
                             [DAVIT_INT32] = {"int32", sizeof(int32_t)},
                             [DAVIT_INT64] = {"int64", sizeof(int64_t)}};

static const char *const operators[DAVIT_OPERATOR_COUNT] = {
    [DAVIT_SUM] = "sum", [DAVIT_PROD] = "prod", [DAVIT_MIN] = "min", [DAVIT_MAX] = "max"};

size_t davit_type_bytes(davit_type type) {
  return (unsigned)type < DAVIT_TYPE_COUNT ? types[type].bytes : 0;
}

const char *davit_type_string(davit_type type) {
  return (unsigned)type < DAVIT_TYPE_COUNT ? types[type].name : "unknown";
}

const char *davit_operator_string(davit_operator op) {
  return (unsigned)op < DAVIT_OPERATOR_COUNT ? operators[op] : "unknown";
}
