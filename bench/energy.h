/* SPDX-License-Identifier: Apache-2.0 */
/* What NVIDIA devices have consumed, by NVML, which is loaded at run time. */
#ifndef DAVIT_BENCH_ENERGY_H
#define DAVIT_BENCH_ENERGY_H

/* Joules of the first `devices` devices since the driver was loaded; negative where nothing says it. */
double bench_joules(int devices);

#endif
