/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside of davit with an operator of its own: x -> a x + b, one map after another, on every
 * device. */
#include <davit/davit.h>
#include <stdio.h>

typedef struct map {
  uint32_t a, b;
} map;

static inline map then(map f, map g) {
  return (map){g.a * f.a, g.a * f.b + g.b};
}

#define DAVIT_MONOID maps
#define DAVIT_MONOID_TYPE map
#define DAVIT_MONOID_IDENTITY ((map){1, 0})
#define DAVIT_MONOID_COMBINE then
#include <davit/define_monoid.h>

enum { N = 100003 };
static map x[N], y[N];

static int wrong(const map *all) {
  map sum = {1, 0};
  int count = 0;
  for (int i = 0; i < N; i++) {
    sum = then(sum, x[i]);
    count += y[i].a != sum.a || y[i].b != sum.b;
  }
  return count + (all->a != sum.a || all->b != sum.b);
}

int main(void) {
  int count;
  davit_status status = davit_device_count(&count);
  for (uint32_t i = 0; i < N; i++)
    x[i] = (map){2 * i + 1, i};
  for (int device = DAVIT_HOST; status == DAVIT_SUCCESS && device < count; device++) {
    map all;
    status = davit_monoid_reduce(&maps, N, x, &all,
                                 &(davit_reduce_options){.devices = &device, .device_count = 1});
    if (status == DAVIT_SUCCESS)
      status = davit_monoid_scan(&maps, DAVIT_SCAN_INCLUSIVE, N, x, NULL, y,
                                 &(davit_scan_options){.devices = &device, .device_count = 1});
    if (status == DAVIT_SUCCESS && wrong(&all) > 0) {
      fprintf(stderr, "device %d: %d wrong\n", device, wrong(&all));
      return 1;
    }
  }
  if (status != DAVIT_SUCCESS) {
    fprintf(stderr, "%s: %s\n", davit_status_string(status), davit_last_error());
    return 1;
  }
  printf("%d devices, %d maps\n", count, (int)N);
  return 0;
}
