/* The built-in monoids as text: includes DVT_EACH once for each type and operator, with DVT_T,
 * DVT_COMBINE, DVT_IDENTITY, DVT_N and DVT_M as offload/kernel/ wants them.
 *
 * DVT_OPERATE(T, A, a, b) is the operator for elements as well as for vectors of them, T their type, A that in which they are added
 * and multiplied: integers as unsigned ones, which wrap around. */
#define DVT_PASTE_(a, b, c, d) a##b##c##d
#define DVT_PASTE(a, b, c, d) DVT_PASTE_(a, b, c, d)
#define DVT_N(name) DVT_PASTE(dvt_, DVT_T_NAME, _n_, name)
#define DVT_M(name) DVT_PASTE(dvt_, DVT_T_NAME, DVT_OP_NAME, name)
#define DVT_COMBINE(a, b) DVT_M(combine)(a, b)
#define DVT_REGROUP

#define DVT_T float
#define DVT_T_NAME float
#define DVT_ARITHMETIC float
#define DVT_IS_NAN(a) ((a) != (a))
#define DVT_LEAST (-__builtin_inff())
#define DVT_GREATEST __builtin_inff()
#include "offload/builtin_type.h"
#define DVT_T double
#define DVT_T_NAME double
#define DVT_ARITHMETIC double
#define DVT_IS_NAN(a) ((a) != (a))
#define DVT_LEAST (-__builtin_inf())
#define DVT_GREATEST __builtin_inf()
#include "offload/builtin_type.h"
#define DVT_T int32_t
#define DVT_T_NAME int32
#define DVT_ARITHMETIC uint32_t
#define DVT_IS_NAN(a) 0
#define DVT_LEAST INT32_MIN
#define DVT_GREATEST INT32_MAX
#include "offload/builtin_type.h"
#define DVT_T int64_t
#define DVT_T_NAME int64
#define DVT_ARITHMETIC uint64_t
#define DVT_IS_NAN(a) 0
#define DVT_LEAST INT64_MIN
#define DVT_GREATEST INT64_MAX
#include "offload/builtin_type.h"
