/* SPDX-License-Identifier: Apache-2.0 */
/* All public headers of davit. docs/interface.md lists all functions and the rules that they follow. */
#ifndef DAVIT_DAVIT_H
#define DAVIT_DAVIT_H

#include <davit/align.h>
#include <davit/atax.h>
#include <davit/axpy.h>
#include <davit/closest_pair.h>
#include <davit/cluster.h>
#include <davit/complex.h>
#include <davit/covariance.h>
#include <davit/detect.h>
#include <davit/device.h>
#include <davit/dot.h>
#include <davit/event.h>
#include <davit/features.h>
#include <davit/gemv.h>
#include <davit/level3.h>
#include <davit/memory.h>
#include <davit/monoid.h>
#include <davit/neighbors.h>
#include <davit/norm.h>
#include <davit/occupancy.h>
#include <davit/operator.h>
#include <davit/queue.h>
#include <davit/reduce.h>
#include <davit/scal.h>
#include <davit/scan.h>
#include <davit/solve.h>
#include <davit/status.h>
#include <davit/stencil.h>
#include <davit/timer.h>
#include <davit/trace.h>
#include <davit/tuning.h>
#include <davit/version.h>

#endif
