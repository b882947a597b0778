/* SPDX-License-Identifier: Apache-2.0 */
/* How the text of a kernel becomes functions.
 *
 * A text is an .inc file: functions for one element type, or for one element type and one operator. It has no
 * include guard and is included once for each instance, after these macros are defined:
 *
 *   T               the element type
 *   NAME(x)         the instance's own name for x
 *   COMBINE(a, b)   a ∘ b, a stands left of b: where the text needs an operator
 *   IDENTITY        a value: the result for no elements
 *   NEUTRAL         a value that changes no bit of what it is combined with
 *
 * The text's opening comment lists what else it needs. No text leaves a macro behind. The parameters are
 * undefined by the file that defined them, or by the text if it is the only one of its instance. No .c file
 * includes itself.
 *
 * To instantiate a text for all types of a list, define EACH as its path and include
 *
 *   "offload/each_floating.inc"   for float and double: NAME(x) is float_x and double_x
 *   "offload/each_monoid.inc"     for each element type and each operator of src/base/operator.h: NAME(x) is
 *                                 dvt_float_sum_x and so on
 *
 * Programs instantiate texts for operators of their own by <davit/define_monoid.h>. */
#ifndef DAVIT_KERNEL_INSTANCE_H
#define DAVIT_KERNEL_INSTANCE_H

#define DVT_PASTE_(a, b, c) a##b##c
#define DVT_PASTE(a, b, c) DVT_PASTE_(a, b, c)
#define DVT_QUOTE_(x) #x
#define DVT_QUOTE(x) DVT_QUOTE_(x)

#define DVT_LIST(...) __VA_ARGS__
#define DVT_PRAGMA(...) _Pragma(#__VA_ARGS__)

/* How a kernel becomes a region: DVT_REGION(name, body, threads, (pointers), (parameters), arguments…)
 * defines, alone in a function, static void name(int device, int teams, parameters): teams of `threads`
 * threads that call body(arguments…). `pointers` are the parameters that are pointers. DVT_NVIDIA_REGION: the
 * same for kernels for NVIDIA devices alone, whose functions stand inside #ifdef DVT_NVIDIA. */
#define DVT_REGION(...) DVT_REGION_OF(DVT_BODY, __VA_ARGS__)
#define DVT_NVIDIA_REGION(...) DVT_REGION_OF(DVT_NVIDIA_BODY, __VA_ARGS__)
#define DVT_REGION_OF(BODY, name, body, threads, pointers, parameters, ...)                                  \
  __attribute__((used)) static void name(int device, int teams, DVT_LIST parameters) {                       \
    DVT_PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(threads) device(device)              \
                   is_device_ptr pointers)                                                                   \
    BODY(body, __VA_ARGS__);                                                                                 \
  }

#endif
