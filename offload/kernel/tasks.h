/* The functions that a davit_monoid points to, for one monoid. Included after host.h of the monoid; needs <davit/monoid.h>. */

static const DVT_T DVT_M(identity) = DVT_IDENTITY;

static void DVT_M(combine_task)(const void *a, const void *b, void *result) {
  const DVT_T left = *(const DVT_T *)a, right = *(const DVT_T *)b;
  *(DVT_T *)result = DVT_COMBINE(left, right);
}

static void DVT_M(scan_task)(const davit_monoid_task *task) {
  if (!task->gpu)
    DVT_M(host_scan)(task->threads, task->n, task->x, task->flags, task->carry_in, task->carry_out, task->y,
                     task->modes & 1);
  else if (task->flags)
    DVT_M(segmented_region)(task->device, task->n, task->x, task->flags, task->sums, task->prefixes,
                            task->carry_in, task->carry_out, task->y, task->modes);
  else
    DVT_M(scan_region)(task->device, task->n, task->x, NULL, task->sums, task->prefixes, task->carry_in,
                       task->carry_out, task->y, task->modes);
}

static void DVT_M(prepend_task)(const davit_monoid_task *task) {
  enum { MOST_TEAMS = 2048 };
  const int64_t teams = (task->n + DVT_M(threads) - 1) / DVT_M(threads);
  if (task->gpu)
    DVT_M(prepend_region)(task->device, teams < MOST_TEAMS ? (int)teams : MOST_TEAMS, task->n, task->result,
                          task->y);
  else
    DVT_M(host_prepend)(task->threads, task->n, task->result, task->y);
}
