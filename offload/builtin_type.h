/* One type of offload/builtin.h: the text for each operator. */
#include "offload/kernel/words.h"

#define DVT_OP_NAME _sum_
#define DVT_IDENTITY 0
static inline DVT_T DVT_M(combine)(DVT_T a, DVT_T b) {
  return (DVT_T)((DVT_ARITHMETIC)a + (DVT_ARITHMETIC)b);
}
#include DVT_EACH
#undef DVT_OP_NAME
#undef DVT_IDENTITY

#define DVT_OP_NAME _prod_
#define DVT_IDENTITY 1
static inline DVT_T DVT_M(combine)(DVT_T a, DVT_T b) {
  return (DVT_T)((DVT_ARITHMETIC)a * (DVT_ARITHMETIC)b);
}
#include DVT_EACH
#undef DVT_OP_NAME
#undef DVT_IDENTITY

/* NaN if a or b is: if b is, the comparison is false. */
#define DVT_OP_NAME _min_
#define DVT_IDENTITY DVT_GREATEST
static inline DVT_T DVT_M(combine)(DVT_T a, DVT_T b) {
  return a < b || DVT_IS_NAN(a) ? a : b;
}
#include DVT_EACH
#undef DVT_OP_NAME
#undef DVT_IDENTITY

#define DVT_OP_NAME _max_
#define DVT_IDENTITY DVT_LEAST
static inline DVT_T DVT_M(combine)(DVT_T a, DVT_T b) {
  return a > b || DVT_IS_NAN(a) ? a : b;
}
#include DVT_EACH
#undef DVT_OP_NAME
#undef DVT_IDENTITY

#undef DVT_T
#undef DVT_T_NAME
#undef DVT_ARITHMETIC
#undef DVT_LEAST
#undef DVT_IS_NAN
#undef DVT_GREATEST
