/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/fork.h"

static const dvt_fork_part *parts[DVT_FORK_PARTS]; /* NULL: its source is not in the program */
static int process;

void dvt_on_fork(dvt_fork_order order, const dvt_fork_part *part) {
  parts[order] = part;
}

static void prepare(void) {
  for (int i = 0; i < DVT_FORK_PARTS; i++) {
    if (parts[i] && parts[i]->lock)
      pthread_mutex_lock(parts[i]->lock);
    if (parts[i] && parts[i]->prepare)
      parts[i]->prepare();
  }
}

static void parent(void) {
  for (int i = DVT_FORK_PARTS; i-- > 0;) {
    if (parts[i] && parts[i]->parent)
      parts[i]->parent();
    if (parts[i] && parts[i]->lock)
      pthread_mutex_unlock(parts[i]->lock);
  }
}

static void child(void) {
  process++;
  for (int i = 0; i < DVT_FORK_PARTS; i++) {
    if (parts[i] && parts[i]->lock)
      pthread_mutex_init(parts[i]->lock, NULL);
    if (parts[i] && parts[i]->child)
      parts[i]->child();
  }
}

static void watch(void) {
  pthread_atfork(prepare, parent, child);
}

void dvt_fork_watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
}

int dvt_process(void) {
  return process;
}

davit_status dvt_check_process(const char *name, int maker) {
  return maker == process ? DAVIT_SUCCESS
                          : davit_fail(DAVIT_INVALID_ARGUMENT,
                                       "%s was made before fork() by another process than this one", name);
}
