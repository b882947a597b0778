/* One operator of offload/builtin_type.h: what has it as DVT_COMBINE, and the text. */
static inline DVT_T DVT_M(combine)(DVT_T a, DVT_T b) {
  return DVT_OPERATE(DVT_T, DVT_ARITHMETIC, a, b);
}
#include DVT_EACH
#undef DVT_OP_NAME
#undef DVT_IDENTITY
#undef DVT_OPERATE
