/* SPDX-License-Identifier: Apache-2.0 */
/* Covariance against long double. With u = (rows + 4) eps, M_j = sum_i |d_ij| / |mean_divisor|, C the exact
 * centred data:
 *
 *   |mean_j - exact|     <= u M_j
 *   |centred_ij - exact| <= u (M_j + |d_ij|) <= E_j = u (M_j + max_i |d_ij|)
 *   |S_ij - exact|       <= (u sum_k |C_ki C_kj| + sum_k (|C_ki| E_j + |C_kj| E_i) + rows E_i E_j) / |divisor|
 *
 * and S equals its transpose to the last bit. */
#include "tests/operations.h"

enum { D, CENTRED, MEAN, S };

static int64_t rows_of(const trial *t) {
  return t->size[0];
}

static int64_t cols_of(const trial *t) {
  return t->size[1];
}

static bool is_full(const trial *t) {
  return t->flag[1] == 'f';
}

/* One case of 50 has more columns than a block of kernels. */
static void draw(trial *t, uint64_t *seed) {
  t->type = real_type(random_below(seed, 2));
  t->flag[0] = DRAW(seed, char, 'N', 'T');
  t->flag[1] = DRAW(seed, char, 'f', 'p');
  t->size[0] = t->number % 50 == 7 ? 20 : draw_length(seed, 130);
  t->size[1] = t->number % 50 == 7 ? 300 + draw_length(seed, 700) : draw_length(seed, 160);
  t->alpha = DRAW(seed, double, (double)rows_of(t) + 1, (double)rows_of(t) + 1, 3214212.01);
  t->beta = DRAW(seed, double, 1, -2.5);
  t->in_place = random_below(seed, 3) == 0;
  for (int i = D; i <= S; i++) {
    t->step[i] = random_below(seed, 4);
    t->shift[i] = random_below(seed, 2) * random_below(seed, 4);
  }
  t->written = 1U << S | (unsigned)(random_below(seed, 5) > 0) << MEAN |
               (unsigned)(random_below(seed, 7) > 0) << (t->in_place ? D : CENTRED);
}

static void make(const trial *t, const int places[OPERANDS], dense *o) {
  const bool plain = t->flag[0] == 'N', full = is_full(t);
  const int64_t rows = rows_of(t), cols = cols_of(t), m = plain ? rows : cols, n = plain ? cols : rows;
  o[D] = dense_new(t->type, m, n, t->step[D], t->shift[D], places[D], t->data);
  o[CENTRED] = dense_new(t->type, m, n, t->step[CENTRED], t->shift[CENTRED], places[CENTRED], UNSET);
  o[MEAN] = dense_new(t->type, cols, 1, 0, t->shift[MEAN], places[MEAN], UNSET);
  o[S] = dense_new(t->type, full ? cols : cols * (cols - 1) / 2, full ? cols : 1, full ? t->step[S] : 0,
                   t->shift[S], places[S], UNSET);
}

static davit_status call(const trial *t, const dense *o, davit_queue *queue, const int *devices, int count) {
  const int which = t->in_place ? D : CENTRED;
  void *mean = is_written(t, MEAN) ? dense_there(&o[MEAN]) : NULL,
       *centred = is_written(t, which) ? dense_there(&o[which]) : NULL;
  const davit_covariance_options options = {.mean_divisor = (double)t->alpha,
                                            .divisor = (double)t->beta,
                                            .form =
                                                is_full(t) ? DAVIT_COVARIANCE_FULL : DAVIT_COVARIANCE_PACKED,
                                            .devices = devices,
                                            .device_count = count};
  return FORM(queue, covariance, t->type, t->flag[0], rows_of(t), cols_of(t), dense_there(&o[D]), o[D].ld,
              mean, centred, o[which].ld, dense_there(&o[S]), o[S].ld, &options);
}

/* The exact answer, and how far off each number may be. */
typedef struct exact {
  long double *mean, *mean_bound, *bound, *centred; /* bound: of a column of centred */
} exact;

static long double *numbers(int64_t count) {
  return kept_zeros((size_t)count * sizeof(long double));
}

static long double data_at(const trial *t, const dense *d, int64_t i, int64_t j) {
  const int64_t row = t->flag[0] == 'N' ? i : j, col = t->flag[0] == 'N' ? j : i;
  return creall(is_written(t, D) ? dense_old_value(d, row, col) : dense_value(d, row, col));
}

static exact solve(const trial *t, const dense *d, long double u) {
  const int64_t rows = rows_of(t), cols = cols_of(t);
  const exact e = {numbers(cols), numbers(cols), numbers(cols), numbers(rows * cols)};
  for (int64_t j = 0; j < cols; j++) {
    long double most = 0, size = 0;
    for (int64_t i = 0; i < rows; i++) {
      const long double value = data_at(t, d, i, j), term = value / creall((wide)t->alpha);
      e.mean[j] += term;
      size += fabsl(term);
      most = fmaxl(most, fabsl(value));
    }
    e.mean_bound[j] = u * size;
    e.bound[j] = u * (size + most);
    for (int64_t i = 0; i < rows; i++)
      e.centred[i + j * rows] = data_at(t, d, i, j) - e.mean[j];
  }
  return e;
}

static void expect_product(const trial *t, const dense *s, const exact *e, long double u) {
  const int64_t rows = rows_of(t), cols = cols_of(t);
  const long double divisor = creall((wide)t->beta);
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < j + is_full(t); i++) {
      const long double *x = e->centred + i * rows, *y = e->centred + j * rows;
      long double sum = 0, bound = (long double)rows * e->bound[i] * e->bound[j];
      for (int64_t k = 0; k < rows; k++) {
        sum += x[k] * y[k];
        bound += u * fabsl(x[k] * y[k]) + fabsl(x[k]) * e->bound[j] + fabsl(y[k]) * e->bound[i];
      }
      const int64_t row = is_full(t) ? i : davit_covariance_packed_index(cols, i, j);
      expect_within("s", s, row, is_full(t) ? j : 0, sum / divisor, bound / fabsl(divisor));
      assert_true(!is_full(t) || dense_at(s, i, j) == dense_at(s, j, i));
    }
}

static void expect(const trial *t, dense *o) {
  const long double u = (long double)(rows_of(t) + 4) * trial_epsilon(t);
  const exact e = solve(t, &o[D], u);
  const int which = t->in_place ? D : CENTRED;
  for (int64_t j = 0; j < cols_of(t); j++) {
    if (is_written(t, MEAN))
      expect_within("mean", &o[MEAN], j, 0, e.mean[j], e.mean_bound[j]);
    for (int64_t i = 0; i < rows_of(t) && is_written(t, which); i++)
      expect_within("centred", &o[which], t->flag[0] == 'N' ? i : j, t->flag[0] == 'N' ? j : i,
                    e.centred[i + j * rows_of(t)], e.bound[j]);
  }
  expect_product(t, &o[S], &e, u);
}

/* Writes everything, apart from the data. */
static bool refer(const trial *t, const dense *o) {
  const int64_t rows = rows_of(t), cols = cols_of(t);
  const double mean_divisor = (double)t->alpha, divisor = (double)t->beta;
  if (!is_full(t) || t->in_place || !is_written(t, MEAN) || !is_written(t, CENTRED))
    return false;
  if (t->type == DAVIT_DOUBLE)
    dvt_ref_dcovariance(t->flag[0], rows, cols, dense_there(&o[D]), o[D].ld, mean_divisor, divisor,
                        dense_there(&o[MEAN]), dense_there(&o[CENTRED]), o[CENTRED].ld, dense_there(&o[S]),
                        o[S].ld);
  else
    dvt_ref_scovariance(t->flag[0], rows, cols, dense_there(&o[D]), o[D].ld, mean_divisor, divisor,
                        dense_there(&o[MEAN]), dense_there(&o[CENTRED]), o[CENTRED].ld, dense_there(&o[S]),
                        o[S].ld);
  return true;
}

const operation covariance_operation = {.name = "covariance",
                                        .cases = 1000,
                                        .operands = 4,
                                        .tunable = "panel",
                                        .shortest = 64,
                                        .draw = draw,
                                        .make = make,
                                        .call = call,
                                        .refer = refer,
                                        .expect = expect};
