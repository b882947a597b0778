/* SPDX-License-Identifier: Apache-2.0 */
/* A monoid as a type and an operation of MPI. */
#ifndef DAVIT_SRC_MPI_OPERATOR_H
#define DAVIT_SRC_MPI_OPERATOR_H

#include <davit_mpi.h>

/* What a rank hands to the ranks after it in a scan. The element follows, at DVT_CARRY_HEADER bytes. */
typedef enum dvt_carry_state { DVT_CARRY_NOTHING, DVT_CARRY_SUM, DVT_CARRY_CUT } dvt_carry_state;
enum { DVT_CARRY_HEADER = 16 };

/* Bytes of a carry, and its type and operation, for MPI_Exscan(). CUT: a head lies in the piece, so nothing
 * comes through from before. */
size_t dvt_carry_bytes(const davit_monoid *monoid);
davit_status dvt_carry_operator(const davit_monoid *monoid, MPI_Datatype *type, MPI_Op *op);

#endif
