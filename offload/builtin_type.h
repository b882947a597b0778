/* One type of offload/builtin.h: the text for each operator. */
#include "offload/kernel/words.h"

#define DVT_OP_NAME _sum_
#define DVT_IDENTITY 0
#define DVT_OPERATE(T, A, a, b) ((T)((A)(a) + (A)(b)))
#include "offload/builtin_operator.h"

#define DVT_OP_NAME _prod_
#define DVT_IDENTITY 1
#define DVT_OPERATE(T, A, a, b) ((T)((A)(a) * (A)(b)))
#include "offload/builtin_operator.h"

/* NaN if a or b is: if b is, the comparison is false. */
#define DVT_OP_NAME _min_
#define DVT_IDENTITY DVT_GREATEST
#define DVT_OPERATE(T, A, a, b) ((((a) < (b)) | DVT_IS_NAN(a)) ? (a) : (b))
#include "offload/builtin_operator.h"

#define DVT_OP_NAME _max_
#define DVT_IDENTITY DVT_LEAST
#define DVT_OPERATE(T, A, a, b) ((((a) > (b)) | DVT_IS_NAN(a)) ? (a) : (b))
#include "offload/builtin_operator.h"

#undef DVT_T
#undef DVT_T_NAME
#undef DVT_ARITHMETIC
#undef DVT_LEAST
#undef DVT_IS_NAN
#undef DVT_GREATEST
