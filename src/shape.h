/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of the capabilities take of a device, with the values that are tuned for it now: one
 * function a capability, for the elements and sizes that `davit tune` measures with. The stream is the
 * device's. */
#ifndef DAVIT_SRC_SHAPE_H
#define DAVIT_SRC_SHAPE_H

#include "offload/runtime/launch.h"

davit_status dvt_tree_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit);
davit_status dvt_scan_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit);
davit_status dvt_stencil_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit);
davit_status dvt_atax_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit);
davit_status dvt_covariance_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit);
davit_status dvt_align_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit);
davit_status dvt_detect_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit);
davit_status dvt_closest_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit);

#endif
