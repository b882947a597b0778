/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/operations.h"

const int pageable[] = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};

/* ---- drawing ---- */

int64_t draw_length(uint64_t *seed, int64_t most) {
  const int64_t power = DRAW(seed, int64_t, 1, 1, 3)
                        << random_below(seed, 64 - __builtin_clzll((uint64_t)most)),
                length = power + random_below(seed, 3) - 1;
  return random_below(seed, 2) ? random_below(seed, (int)most + 1) : length < most ? length : most;
}

int64_t draw_increment(uint64_t *seed) {
  return DRAW(seed, int64_t, 1, 1, 1, 2, -1, -3);
}

davit_type draw_type(uint64_t *seed) {
  return DRAW(seed, davit_type, DAVIT_FLOAT, DAVIT_DOUBLE, DAVIT_COMPLEX_FLOAT, DAVIT_COMPLEX_DOUBLE);
}

double _Complex draw_factor(davit_type type, uint64_t *seed) {
  const double real = DRAW(seed, double, 0, 1, -1, 0.75, 0.5, -0.25);
  return __builtin_complex(real, is_complex_type(type) ? DRAW(seed, double, 0, 0, -0.5, 2) : 0);
}

/* ---- comparing ---- */

long double trial_epsilon(const trial *t) {
  return (long double)element_epsilon(part_type(t->type)) * (is_complex_type(t->type) ? 4 : 1);
}

long double size_of(wide value) {
  return fabsl(creall(value)) + fabsl(cimagl(value));
}

void expect_within(const char *name, const dense *m, int64_t i, int64_t j, wide right, long double bound) {
  const wide is = dense_value(m, i, j);
  if (isfinite(size_of(right)) ? !(size_of(is - right) <= bound) /* NaN fails, too */ : isfinite(size_of(is)))
    fail_msg("%s(%lld, %lld) is %Lg%+Lgi, not %Lg%+Lgi within %Lg", name, (long long)i, (long long)j,
             creall(is), cimagl(is), creall(right), cimagl(right), bound);
}

void expect_old(const char *name, const dense *m) {
  if (memcmp(m->image, m->before, m->bytes) != 0)
    fail_msg("%s has other bytes", name);
}

bool is_written(const trial *t, int which) {
  return t->written >> which & 1;
}

void take_all(const trial *t, dense *o) {
  for (int i = 0; i < t->row->operands; i++)
    if (is_written(t, i))
      dense_take(&o[i]);
    else
      assert_true(dense_as_image(&o[i]));
}

void try_trial(const trial *t, int device) {
  SCOPE;
  const int place = device == NO_DEVICE ? DAVIT_PAGEABLE : place_for(device);
  dense o[OPERANDS];
  davit_queue *queue = device == NO_DEVICE ? NULL : new_queue(device, 1);
  t->row->make(t, (int[OPERANDS]){place, place, place, place}, o);
  CHECK(t->row->call(t, o, queue, NULL, 0));
  if (queue)
    finish(queue);
  take_all(t, o);
  t->row->expect(t, o);
}
