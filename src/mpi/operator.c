/* SPDX-License-Identifier: Apache-2.0 */
/* MPI gives an operation nothing but a type, so the type carries the monoid, as an attribute. */
#include <davit_mpi.h>

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/check.h"
#include "src/mpi/agree.h"

static int monoid_key = MPI_KEYVAL_INVALID;
static pthread_mutex_t key_mutex = PTHREAD_MUTEX_INITIALIZER;

static davit_status make_key(void) {
  davit_status status = DAVIT_SUCCESS;
  pthread_mutex_lock(&key_mutex);
  if (monoid_key == MPI_KEYVAL_INVALID)
    status =
        dvt_mpi_status(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &monoid_key, NULL));
  pthread_mutex_unlock(&key_mutex);
  return status;
}

static const davit_monoid *monoid_of(MPI_Datatype type) {
  const davit_monoid *monoid = NULL;
  int found = 0;
  MPI_Type_get_attr(type, monoid_key, &monoid, &found);
  return found ? monoid : NULL;
}

/* MPI asks for b = a ∘ b, where a comes from the lower ranks. A monoid's operation may not write its
 * operand. */
static void combine_into(const davit_monoid *monoid, const void *a, void *b) {
  _Alignas(16) char sum[256];
  monoid->combine(a, b, sum);
  memcpy(b, sum, monoid->bytes);
}

static void combine_elements(void *a, void *b, int *count, MPI_Datatype *type) {
  const davit_monoid *monoid = monoid_of(*type);
  for (size_t i = 0; monoid && i < (size_t)*count; i++)
    combine_into(monoid, (char *)a + i * monoid->bytes, (char *)b + i * monoid->bytes);
}

static bool is_builtin(const davit_monoid *monoid) {
  for (davit_operator op = 0; op < DAVIT_OPERATOR_COUNT; op++)
    for (davit_type type = 0; type < DAVIT_COMPLEX_FLOAT; type++) {
      const davit_monoid *builtin;
      if (davit_monoid_builtin(op, type, &builtin) == DAVIT_SUCCESS && builtin == monoid)
        return true;
    }
  return false;
}

static davit_status make(const davit_monoid *monoid, size_t bytes, MPI_User_function *combine, bool commute,
                         MPI_Datatype *type, MPI_Op *op) {
  DVT_TRY(make_key());
  DVT_TRY_MPI(MPI_Type_contiguous((int)bytes, MPI_BYTE, type));
  davit_status status = dvt_mpi_status(MPI_Type_commit(type));
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_status(MPI_Type_set_attr(*type, monoid_key, (void *)(uintptr_t)monoid));
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_status(MPI_Op_create(combine, commute, op));
  if (status != DAVIT_SUCCESS)
    MPI_Type_free(type);
  return status;
}

davit_status davit_mpi_operator(const davit_monoid *monoid, MPI_Datatype *type, MPI_Op *op) {
  DVT_TRY(dvt_mpi_check(MPI_COMM_SELF));
  DVT_TRY(dvt_check_monoid(monoid));
  DVT_TRY(dvt_check_pointer("type", type));
  DVT_TRY(dvt_check_pointer("op", op));
  return make(monoid, monoid->bytes, combine_elements, is_builtin(monoid), type, op);
}
