/* SPDX-License-Identifier: Apache-2.0 */
/* Processes on the drop-in: fork() and exit() while other threads call BLAS, descriptors that are closed, flags.
 *
 * N is what there is at most: the loops end after 10 seconds, or those that LOOP_S says.
 *
 *   processes forks N      N children of a process with two threads in small products; each computes one
 *   processes first N      N processes that fork while another thread makes the first call, and whose child computes
 *   processes end N        N processes that end while another thread makes the first call; an exit handler calls
 *   processes leave        an xerbla_ that does not return, then a fork by another thread
 *   processes closed FILE  closes all descriptors and writes FILE, with calls in between
 *   processes written FILE makes calls while FILE takes 1000 bytes at most
 *   processes many         more calls than a pipe has lines for
 *   processes reader FIFO  calls before and after the reader of FIFO has gone
 *   processes flags [traps]  which flags of floating-point arithmetic are left by calls, with traps for some
 *   processes few          as a user with no more threads than there are, once devices have started; needs root
 *
 * Says what is wrong and exits 1, or exits 0. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
void daxpy_(const int *, const double *, const double *, const int *, double *, const int *);

enum { N = 32, LARGE = 200, CHILD_SECONDS = 20 };
static double a[LARGE * LARGE], b[LARGE * LARGE];
static volatile bool stop;

static void fill(void) {
  for (int i = 0; i < LARGE * LARGE; i++) {
    a[i] = i * 7 % 11 - 5;
    b[i] = i * 5 % 13 - 6;
  }
}

/* A product of that order; whether an element of it is right. */
static bool multiply(int n) {
  const double one = 1, zero = 0;
  double *c = malloc(sizeof(double) * (size_t)n * (size_t)n), sum = 0;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
  for (int l = 0; l < n; l++)
    sum += a[1 + l * n] * b[l + 2 * n];
  const bool right = c[1 + 2 * n] == sum;
  free(c);
  return right;
}

static void *multiply_on(void *unused) {
  while (!stop)
    multiply(N);
  return unused;
}

static void *multiply_once(void *order) {
  multiply(*(int *)order);
  return order;
}

static void nap(long microseconds) {
  nanosleep(&(struct timespec){microseconds / 1000000, microseconds % 1000000 * 1000}, NULL);
}

static bool is_late(void) {
  static double begin;
  const char *most = getenv("LOOP_S");
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  if (begin == 0)
    begin = seconds;
  return seconds - begin > (most ? atof(most) : 10);
}

/* What became of a child: 0 if it has exited with 0. One that does not end is ended. */
static int await(pid_t child, const char *what, int number) {
  const time_t begin = time(NULL);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (time(NULL) - begin > CHILD_SECONDS) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      printf("wrong: %s %d does not end\n", what, number);
      return 1;
    }
    nap(1000);
  }
  if (status != 0)
    printf("wrong: %s %d ends with status %x\n", what, number, (unsigned)status);
  return status != 0;
}

/* ---- fork ---- */

static int forks(int count) {
  pthread_t thread[2];
  int wrong = 0;
  for (int i = 0; i < 2; i++)
    pthread_create(&thread[i], NULL, multiply_on, NULL);
  nap(20000);
  for (int i = 0; i < count && wrong == 0 && !is_late(); i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(CHILD_SECONDS);
      _exit(!multiply(N));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      printf("wrong: child %d ends with status %x\n", i, (unsigned)status);
      wrong = 1;
    }
  }
  stop = true;
  for (int i = 0; i < 2; i++)
    pthread_join(thread[i], NULL);
  return wrong;
}

/* Moments over the whole of the first call, which takes longer where it starts devices. */
static long moment(int i) {
  const char *longest = getenv("LONGEST_US");
  return (long)(i * 37 % 100) * (longest ? atol(longest) : 20000) / 100;
}

static int fork_in_first(long delay) {
  int order = LARGE;
  pthread_t thread;
  pthread_create(&thread, NULL, multiply_once, &order);
  nap(delay);
  const pid_t child = fork();
  if (child == 0)
    exit(!multiply(N)); /* with handlers of libraries that were being loaded */
  const int wrong = await(child, "the child of a process", (int)delay);
  pthread_join(thread, NULL);
  return wrong || !multiply(LARGE);
}

/* Each in a process of its own that has not called BLAS before. */
static int processes(int count, int (*body)(long)) {
  int wrong = 0;
  for (int i = 0; i < count && !wrong && !is_late(); i++) {
    const pid_t child = fork();
    if (child == 0)
      exit(body(moment(i)));
    wrong |= await(child, "process", i);
  }
  return wrong;
}

/* ---- the end ---- */

static void at_exit(void) {
  if (!multiply(LARGE))
    _exit(1);
}

static int end_in_first(long delay) {
  static int order = LARGE;
  pthread_t thread;
  atexit(at_exit);
  pthread_create(&thread, NULL, multiply_once, &order);
  nap(delay);
  exit(0);
}

/* ---- wrong arguments ---- */

static jmp_buf back;

__attribute__((visibility("default"))) void xerbla_(const char *routine, const int *argument, size_t length);
void xerbla_(const char *routine, const int *argument, size_t length) {
  (void)routine, (void)argument, (void)length;
  longjmp(back, 1);
}

static void *leave_call(void *unused) {
  const int n = N, few = 1;
  const double one = 1;
  if (setjmp(back) == 0)
    dgemm_("N", "N", &n, &n, &n, &one, a, &few, b, &n, &one, a, &n, 1, 1);
  return unused;
}

static int leave(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, leave_call, NULL);
  pthread_join(thread, NULL);
  pthread_create(&thread, NULL, multiply_on, NULL); /* so that calls are counted */
  const pid_t child = fork();
  if (child == 0)
    _exit(!multiply(N));
  const int wrong = await(child, "child", 0);
  stop = true;
  pthread_join(thread, NULL);
  return wrong;
}

/* ---- files ---- */

static int closed(const char *path) {
  multiply(N);
  for (int i = 2; i < 100; i++)
    close(i);
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666), other = dup(file);
  for (int i = 0; i < 50; i++)
    dup(other); /* whatever number the log had is the program's now */
  if (write(file, "mine", 4) != 4)
    return 1;
  multiply(N);
  char text[64] = "";
  const ssize_t length = pread(file, text, sizeof text - 1, 0);
  return !(length == 4 && strcmp(text, "mine") == 0);
}

static int written(void) {
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
  for (int i = 0; i < 50; i++)
    if (!multiply(N))
      return 1;
  return 0;
}

static int many(void) {
  for (int i = 0; i < 2000; i++)
    if (!multiply(3))
      return 1;
  return 0;
}

/* The other reader is the caller's. */
static int reader(const char *fifo) {
  const int own = open(fifo, O_RDONLY | O_NONBLOCK);
  multiply(N);
  char line[256];
  const bool has_line = read(own, line, sizeof line) > 0;
  close(own);
  return !has_line || many();
}

/* ---- threads run out ---- */

/* The output of these calls is read as well. */
static int few(void) {
  enum { NOBODY_ELSE = 61358 };
  const double one = 1;
  if (geteuid() != 0) {
    puts("not root");
    return 0;
  }
  if (!multiply(LARGE)) /* starts devices */
    return 1;
  nap(12000000); /* idle threads end after 10 s */
  if (setrlimit(RLIMIT_NPROC, &(struct rlimit){1, 1}) || setuid(NOBODY_ELSE))
    return 1;
  static double c[LARGE * LARGE];
  const int n = LARGE;
  double sum = 5;
  c[1 + 2 * n] = 5;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &one, c, &n, 1, 1);
  for (int l = 0; l < n; l++)
    sum += a[1 + l * n] * b[l + 2 * n];
  return c[1 + 2 * n] != sum;
}

/* ---- floating point ---- */

static int flags(bool with_traps) {
  enum { UNEXPECTED = FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID | FE_DIVBYZERO };
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO);
  if (with_traps)
    feenableexcept(FE_OVERFLOW | FE_INVALID);
  const bool right = multiply(N) && multiply(LARGE) && multiply(LARGE);
  const int raised = fetestexcept(UNEXPECTED), trapped = fegetexcept();
  const bool left_alone = raised == FE_DIVBYZERO && trapped == (with_traps ? FE_OVERFLOW | FE_INVALID : 0);
  if (!left_alone)
    printf("wrong: flags %x, traps %x\n", (unsigned)raised, (unsigned)trapped);
  return !right || !left_alone;
}

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "", *more = count > 2 ? words[2] : "";
  setvbuf(stdout, NULL, _IONBF, 0);
  fill();
  return strcmp(what, "forks") == 0     ? forks(atoi(more))
         : strcmp(what, "first") == 0   ? processes(atoi(more), fork_in_first)
         : strcmp(what, "end") == 0     ? processes(atoi(more), end_in_first)
         : strcmp(what, "leave") == 0   ? leave()
         : strcmp(what, "closed") == 0  ? closed(more)
         : strcmp(what, "written") == 0 ? written()
         : strcmp(what, "many") == 0    ? many()
         : strcmp(what, "reader") == 0  ? reader(more)
         : strcmp(what, "few") == 0     ? few()
         : strcmp(what, "flags") == 0   ? flags(strcmp(more, "traps") == 0)
                                        : 2;
}
