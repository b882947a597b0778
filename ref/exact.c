/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products on the CPU, as ref/exact.h says: integers in digits of 20 bits, whose products BLIS sums in doubles
 * without rounding (Ozaki's scheme I with all of its products), and numbers of 192 bits that these are added to. */
#include "ref/exact.h"

#include <math.h>
#include <stdlib.h>

#include "offload/kernel/threads.h"
#include "ref/blas.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"

enum {
  RUN =
      4096, /* elements of a vector whose products fit: 2 parts, 4 digits and 2^12 elements of 2^38 are 2^53 */
  SIDE = 256 /* of C at once */
};

/* ---- choices ---- */

int dvt_exact_room(int moduli) {
  uint64_t word[3];
  dvt_exact_product(moduli, -1, word);
  const int length = word[2]   ? 192 - __builtin_clzll(word[2])
                     : word[1] ? 128 - __builtin_clzll(word[1])
                               : 64 - __builtin_clzll(word[0]);
  return length - 3;
}

/* Whether integers of so many bits keep the bound: the error of an element is at most half a unit in each integer. */
static bool is_bounded(davit_type type, int64_t length, const dvt_exact_need *need, int room) {
  const int parts = dvt_exact_parts(type), most = 64;
  const double unit = dvt_exact_is_long(type) ? 0x1p-53 : 0x1p-24, terms = (double)length * parts,
               allowed = (double)(dvt_at_most(length, most) - 1) * unit;
  return ldexp(room % 2 ? need->growth.odd : need->growth.even, -15 - room / 2) +
             ldexp(need->growth.both * terms / 4, -room) <=
         allowed;
}

dvt_exact_choice dvt_exact_choose(davit_type type, int64_t length, const dvt_exact_need *need, int windows,
                                  int least) {
  const int usual = dvt_exact_usual(type), all = need->bits[0] + need->bits[1],
            most = windows == 1 ? (int)dvt_at_least(usual + 2, least) : DVT_EXACT_MOST;
  const bool fits = need->bits[0] <= DVT_EXACT_MOST_BITS && need->bits[1] <= DVT_EXACT_MOST_BITS;
  int exact = 1, bounded = least > 0 ? least : 1;
  if (need->infinite)
    return (dvt_exact_choice){.moduli = 0};
  while (exact <= DVT_EXACT_MOST && (!fits || dvt_exact_room(exact) < all))
    exact++;
  while (bounded <= DVT_EXACT_MOST && !is_bounded(type, length, need, dvt_exact_room(bounded)))
    bounded++;
  if ((exact <= usual && least == 0) || (bounded > DVT_EXACT_MOST && windows > 1 && exact <= DVT_EXACT_MOST))
    return (dvt_exact_choice){exact, {need->bits[0], need->bits[1]}};
  const int room = dvt_exact_room(bounded > most ? 1 : bounded);
  return bounded > most ? (dvt_exact_choice){.moduli = 0}
                        : (dvt_exact_choice){bounded, {(room + 1) / 2, room / 2}};
}

void dvt_exact_merge(dvt_exact_need *need, const dvt_exact_need *other) {
  dvt_exact_raise(&need->growth, &other->growth);
  need->infinite |= other->infinite;
  for (int side = 0; side < 2; side++)
    need->bits[side] = other->bits[side] > need->bits[side] ? other->bits[side] : need->bits[side];
}

/* ---- vectors ---- */

static void look_at(const dvt_exact_vectors *v, int64_t index, double number[2], int64_t h) {
  const int parts = dvt_exact_parts(v->type);
  const int64_t at = (index * v->step + h * v->stride) * parts;
  for (int i = 0; i < parts; i++)
    number[i] =
        dvt_exact_is_long(v->type) ? ((const double *)v->x)[at + i] : (double)((const float *)v->x)[at + i];
  if (v->conjugate)
    number[1] = -number[1];
}

/* False: a number is not finite. */
static bool find_range(const dvt_exact_vectors *v, int64_t index, dvt_exact_vector *found) {
  int64_t tops = 0, count = 0;
  bool finite = true;
  *found = (dvt_exact_vector){.top = INT32_MIN, .low = INT32_MAX};
  for (int64_t h = 0; h < v->length; h++) {
    double number[2];
    look_at(v, index, number, h);
    for (int i = 0; i < dvt_exact_parts(v->type); i++) {
      finite &= dvt_exact_is_finite(number[i]);
      if (number[i] == 0 || !dvt_exact_is_finite(number[i]))
        continue;
      const int top = dvt_exact_top(number[i]), low = dvt_exact_low(number[i]);
      found->top = top > found->top ? top : found->top;
      found->low = low < found->low ? low : found->low;
      tops += top;
      count++;
    }
  }
  found->coarse = dvt_exact_coarse(dvt_exact_parts(v->type), found->top, tops, count);
  return finite;
}

static void add_up(const dvt_exact_vectors *v, int64_t index, dvt_exact_vector *found) {
  const int parts = dvt_exact_parts(v->type);
  double *coarse = (double *)v->coarse + index * v->pitch;
  for (int window = 0; window < v->windows; window++)
    memset(coarse + window * v->plane, 0, (size_t)v->pitch * sizeof *coarse);
  for (int64_t h = 0; h < v->length && found->top != INT32_MIN; h++) {
    double number[2];
    look_at(v, index, number, h);
    for (int i = 0; i < parts; i++) {
      dvt_exact_add(number[i], found->top, &found->squares, &found->sum);
      for (int window = 0; window < v->windows; window++)
        coarse[window * v->plane + h] +=
            dvt_exact_coarse_value(number[i], found->coarse + DVT_EXACT_STEP * window - found->top, parts);
    }
  }
}

typedef struct measuring {
  const dvt_exact_vectors *vectors;
  dvt_exact_need *need; /* of each thread */
} measuring;

static void measure_part(int thread, int team, const void *arguments) {
  const measuring *m = arguments;
  const dvt_exact_vectors *v = m->vectors;
  dvt_exact_need *need = &m->need[thread];
  const int64_t end = dvt_share_begin(v->count, thread + 1, team);
  for (int64_t i = dvt_share_begin(v->count, thread, team); i < end; i++) {
    dvt_exact_vector *found = &v->vector[i];
    if (!find_range(v, i, found)) {
      need->infinite = 1;
      *found = (dvt_exact_vector){.top = INT32_MIN, .low = INT32_MAX};
    }
    add_up(v, i, found);
    const int bits = dvt_exact_all_bits(found);
    need->bits[v->side] = bits > need->bits[v->side] ? bits : need->bits[v->side];
  }
}

davit_status dvt_exact_measure_host(const dvt_site *site, const void *vectors) {
  const dvt_exact_vectors *v = vectors;
  const int threads = (int)dvt_at_least(dvt_at_most(site->threads, v->count), 1);
  measuring m = {v, dvt_allocate((size_t)threads, sizeof *m.need)};
  if (!m.need)
    return DAVIT_OUT_OF_HOST_MEMORY;
  dvt_on_threads(threads, measure_part, &m);
  for (int i = 0; i < threads; i++)
    dvt_exact_merge(v->need, &m.need[i]);
  free(m.need);
  return DAVIT_SUCCESS;
}

static void cut_part(int thread, int team, const void *arguments) {
  const dvt_exact_vectors *v = arguments;
  const int parts = dvt_exact_parts(v->type), digits = dvt_exact_digits(v->choice.bits[v->side]);
  const int64_t end = dvt_share_begin(v->count, thread + 1, team);
  double *planes = v->planes;
  for (int64_t i = dvt_share_begin(v->count, thread, team); i < end; i++) {
    const int shift = dvt_exact_shift(&v->vector[i], v->choice.bits[v->side]);
    const bool finite = v->vector[i].squares > 0; /* or all of it is 0 */
    for (int64_t h = 0; h < v->length; h++) {
      double number[2];
      look_at(v, i, number, h);
      for (int part = 0; part < parts; part++) {
        double rest = finite ? dvt_exact_integer(number[part], shift) : 0;
        for (int d = digits - 1; d >= 0; d--) {
          const double digit = rint(rest * dvt_exact_power(-d * DVT_EXACT_DIGIT));
          planes[(d * parts + part) * v->plane + i * v->pitch + h] = digit;
          rest -= digit * dvt_exact_power(d * DVT_EXACT_DIGIT);
        }
      }
    }
  }
}

davit_status dvt_exact_cut_host(const dvt_site *site, const void *vectors) {
  const dvt_exact_vectors *v = vectors;
  dvt_on_threads((int)dvt_at_least(dvt_at_most(site->threads, v->count), 1), cut_part, v);
  return DAVIT_SUCCESS;
}

/* ---- tiles ---- */

/* A part of a tile: its first row and column, and its lengths. */
typedef struct part {
  const dvt_exact_tile *tile;
  int64_t row, column, rows, columns;
  double *products; /* of digits */
  uint64_t (*sum)[3];
  int number, shift; /* of the sums that products are added to; where they stand in them */
} part;

static davit_status multiply(const dvt_site *site, const part *p, int plane_a, int plane_b, int64_t first,
                             int64_t length, double alpha, double beta) {
  const dvt_exact_tile *t = p->tile;
  const double *a = (const double *)t->planes[0] + plane_a * t->plane[0] + p->row * t->pitch + first,
               *b = (const double *)t->planes[1] + plane_b * t->plane[1] + p->column * t->pitch + first;
  const dvt_level3 product = dvt_gemm_of(DAVIT_DOUBLE, 'T', 'N', p->rows, p->columns, length, alpha, a,
                                         t->pitch, b, t->pitch, beta, p->products, p->rows);
  return dvt_level3_host(site, &product);
}

/* The products of digits that stand at the same place, of one part of C. */
static davit_status multiply_digits(const dvt_site *site, const part *p, int place, int64_t first,
                                    int64_t length) {
  const dvt_exact_choice *choice = &p->tile->choice;
  const int parts = dvt_exact_parts(p->tile->type), a = dvt_exact_digits(choice->bits[0]),
            b = dvt_exact_digits(choice->bits[1]);
  double beta = 0;
  for (int i = 0; i < a; i++) {
    const int j = place - i;
    if (j < 0 || j >= b)
      continue;
    DVT_TRY(multiply(site, p, i * parts, j * parts + p->number, first, length, 1, beta));
    if (parts == 2)
      DVT_TRY(
          multiply(site, p, i * parts + 1, j * parts + 1 - p->number, first, length, p->number ? 1 : -1, 1));
    beta = 1;
  }
  return DAVIT_SUCCESS;
}

static void add_part(int thread, int team, const void *arguments) {
  const part *p = arguments;
  const int64_t all = p->rows * p->columns, end = dvt_share_begin(all, thread + 1, team);
  for (int64_t i = dvt_share_begin(all, thread, team); i < end; i++)
    dvt_exact_add_wide(p->sum[p->number * all + i], (int64_t)p->products[i], p->shift);
}

static void finish(const part *p) {
  const dvt_exact_tile *t = p->tile;
  const bool is_long = dvt_exact_is_long(t->type);
  const int parts = dvt_exact_parts(t->type), digits = is_long ? 53 : 24, least = is_long ? -1074 : -149;
  const double alpha = __real__ t->alpha, alpha_i = __imag__ t->alpha, beta = __real__ t->beta,
               beta_i = __imag__ t->beta;
  for (int64_t j = 0; j < p->columns; j++) {
    const int shift_b = dvt_exact_shift(&t->vector[1][p->column + j], t->choice.bits[1]);
    for (int64_t i = 0; i < p->rows; i++) {
      const int64_t row = p->row + i + t->offset, column = p->column + j;
      if (!dvt_exact_is_stored(t->uplo, row, column))
        continue;
      const int exponent = -shift_b - dvt_exact_shift(&t->vector[0][p->row + i], t->choice.bits[0]);
      const int64_t at = (p->row + i + (p->column + j) * t->ldc) * parts;
      double value[2];
      for (int part = 0; part < parts; part++) {
        const uint64_t *sum = p->sum[(part * p->columns + j) * p->rows + i];
        value[part] = dvt_exact_round(sum[0], sum[1], sum[2], exponent, digits, least);
      }
      if (is_long)
        dvt_exact_blend_double(parts, alpha, alpha_i, value, beta, beta_i, (double *)t->c + at);
      else
        dvt_exact_blend_float(parts, (float)alpha, (float)alpha_i,
                              (float[]){(float)value[0], (float)value[parts - 1]}, (float)beta, (float)beta_i,
                              (float *)t->c + at);
      if (t->hermitian && row == column)
        is_long ? (((double *)t->c)[at + 1] = 0) : (((float *)t->c)[at + 1] = 0);
    }
  }
}

static davit_status multiply_part(const dvt_site *site, part *p) {
  const dvt_exact_tile *t = p->tile;
  const int parts = dvt_exact_parts(t->type),
            threads = dvt_level3_threads(100 * (double)(p->rows * p->columns), site->threads),
            places = dvt_exact_digits(t->choice.bits[0]) + dvt_exact_digits(t->choice.bits[1]) - 1;
  memset(p->sum, 0, (size_t)(parts * p->rows * p->columns) * sizeof *p->sum);
  for (int64_t first = 0; first < t->length; first += RUN)
    for (p->number = 0; p->number < parts; p->number++)
      for (int place = 0; place < places; place++) {
        p->shift = place * DVT_EXACT_DIGIT;
        DVT_TRY(multiply_digits(site, p, place, first, dvt_at_most(t->length - first, RUN)));
        dvt_on_threads(threads, add_part, p);
      }
  finish(p);
  return DAVIT_SUCCESS;
}

/* The largest of the lower bounds that the windows have. */
static davit_status check_part(const dvt_site *site, part *p) {
  const dvt_exact_tile *t = p->tile;
  const int64_t all = p->rows * p->columns;
  double *best = (double *)p->sum;
  memset(best, 0, (size_t)all * sizeof *best);
  for (int window = 0; window < t->windows; window++) {
    DVT_TRY(multiply(site, p, window, window, 0, t->length, 1, 0));
    for (int64_t i = 0; i < all; i++)
      best[i] = fmax(best[i], p->products[i] * dvt_exact_power(-2 * DVT_EXACT_STEP * window));
  }
  for (int64_t i = 0; i < all; i++) {
    const dvt_exact_vector *a = &t->vector[0][p->row + i % p->rows],
                           *b = &t->vector[1][p->column + i / p->rows];
    if (a->squares == 0 || b->squares == 0 ||
        !dvt_exact_is_stored(t->uplo, p->row + i % p->rows + t->offset, p->column + i / p->rows))
      continue;
    const dvt_exact_growth growth =
        dvt_exact_growth_of(dvt_exact_relative_norm(a), (double)a->sum, dvt_exact_relative_norm(b),
                            (double)b->sum, best[i] * dvt_exact_unit(a) * dvt_exact_unit(b));
    dvt_exact_raise(&t->need->growth, &growth);
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_exact_multiply_host(const dvt_site *site, const void *tile) {
  const dvt_exact_tile *t = tile;
  const size_t side = (size_t)SIDE * SIDE;
  part p = {.tile = t, .products = dvt_allocate_raw(side * sizeof *p.products)};
  p.sum = dvt_allocate_raw(2 * side * sizeof *p.sum);
  davit_status status = p.products && p.sum ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  for (p.column = 0; p.column < t->columns && status == DAVIT_SUCCESS; p.column += SIDE)
    for (p.row = 0; p.row < t->rows && status == DAVIT_SUCCESS; p.row += SIDE) {
      p.rows = dvt_at_most(t->rows - p.row, SIDE);
      p.columns = dvt_at_most(t->columns - p.column, SIDE);
      if (!dvt_exact_is_outside(t->uplo, p.row + t->offset, p.rows, p.column, p.columns))
        status = t->need ? check_part(site, &p) : multiply_part(site, &p);
    }
  free(p.products);
  free(p.sum);
  return status;
}

/* ---- symmetric operands ---- */

static void mirror_part(int thread, int team, const void *arguments) {
  const dvt_exact_mirror *m = arguments;
  const int parts = dvt_exact_parts(m->type);
  const size_t bytes = davit_type_bytes(m->type);
  const int64_t end = dvt_share_begin(m->n, thread + 1, team);
  for (int64_t j = dvt_share_begin(m->n, thread, team); j < end; j++)
    for (int64_t i = 0; i < m->n; i++) {
      const bool stored = dvt_exact_is_stored(m->uplo, i, j);
      char *to = (char *)m->whole + (size_t)(i + j * m->n) * bytes;
      const char *from = (const char *)m->a + (size_t)(stored ? i + j * m->lda : j + i * m->lda) * bytes;
      if (to != from)
        memcpy(to, from, bytes);
      if (parts == 2 && m->hermitian && (!stored || i == j)) {
        if (m->type == DAVIT_COMPLEX_DOUBLE)
          ((double *)(void *)to)[1] = i == j ? 0 : -((double *)(void *)to)[1];
        else
          ((float *)(void *)to)[1] = i == j ? 0 : -((float *)(void *)to)[1];
      }
    }
}

davit_status dvt_exact_mirror_host(const dvt_site *site, const void *mirror) {
  dvt_on_threads((int)dvt_at_least(dvt_at_most(site->threads, ((const dvt_exact_mirror *)mirror)->n), 1),
                 mirror_part, mirror);
  return DAVIT_SUCCESS;
}
