/* SPDX-License-Identifier: Apache-2.0 */
/* Shows ThreadSanitizer the order of commands.
 *
 * In a program that is built with -fsanitize=thread, davit itself is not: the sanitizer does not see how a
 * queue orders the program's host functions, and would report races between them. These functions are its
 * own names for "what came before is visible after"; without the sanitizer they are not there. Where davit
 * is built with it too, they are left out, because they would hide races of davit's own. */
#ifndef DAVIT_SRC_BASE_ORDER_H
#define DAVIT_SRC_BASE_ORDER_H

#include <stddef.h>

#if __has_feature(thread_sanitizer)
static inline void dvt_order_before(const volatile void *object) {
  (void)object;
}

static inline void dvt_order_after(const volatile void *object) {
  (void)object;
}
#else

#pragma GCC visibility push(default)
extern void AnnotateHappensBefore(const char *file, int line, const volatile void *address)
    __attribute__((weak));
extern void AnnotateHappensAfter(const char *file, int line, const volatile void *address)
    __attribute__((weak));
#pragma GCC visibility pop

/* What the calling thread has done so far comes before what others do after dvt_order_after(object). */
static inline void dvt_order_before(const volatile void *object) {
  if (AnnotateHappensBefore)
    AnnotateHappensBefore(__FILE__, __LINE__, object);
}

static inline void dvt_order_after(const volatile void *object) {
  if (AnnotateHappensAfter)
    AnnotateHappensAfter(__FILE__, __LINE__, object);
}

#endif
#endif
