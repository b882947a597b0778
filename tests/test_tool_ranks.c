/* SPDX-License-Identifier: Apache-2.0 */
/* The tool on several ranks, of which one fails alone: at every allocation, thread and command that it reaches,
 * when it opens its devices, its outputs, its trace and its files, and by a command line of its own.
 *
 * Whatever fails, and on whichever rank: all ranks end with the same exit code, rank 0 says one line and the others
 * nothing, and no output is new; or the rank does without what failed, and the output is the right one.
 *
 * The ranks are children of this process (ranks_table.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/tool.h"

#include "src/base/allocate.h"
#include "tests/ranks_table.h"

/* ---- files ---- */

static void write_inputs(void) {
  enum { N = 600, WIDTH = 4 };
  static double x[N];
  static int64_t i[N];
  static uint8_t f[N];
  static float s[N * WIDTH], e[40 * WIDTH];
  uint64_t seed = 1;
  for (int k = 0; k < N; k++) {
    x[k] = random_below(&seed, 40) - 20;
    i[k] = random_below(&seed, 40) - 20;
    f[k] = random_below(&seed, 30) == 0;
  }
  for (int k = 0; k < N * WIDTH; k++)
    s[k] = (float)random_below(&seed, 100);
  memcpy(e, s + 400, sizeof e);
  write_npy("in/x.npy", "<f8", "(600,)", x, sizeof x);
  write_npy("in/a.npy", "<f8", "(30, 20)", x, sizeof x);
  write_npy("in/b.npy", "<f8", "(20, 30)", x, sizeof x);
  write_npy("in/c.npy", "<f8", "(30, 30)", s, 900 * sizeof *x);
  write_npy("in/i.npy", "<i8", "(600,)", i, sizeof i);
  write_npy("in/f.npy", "|u1", "(600,)", f, sizeof f);
  write_npy("in/s.npy", "<f4", "(600, 4)", s, sizeof s);
  write_npy("in/short.npy", "<f4", "(500, 4)", s, sizeof s / 6 * 5);
  write_npy("in/e.npy", "<f4", "(40, 4)", e, sizeof e);
  write_npy("in/g.npy", "<f4", "(20, 4)", e, sizeof e / 2);
  write_text("in/few.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
  write_text("in/q.fa", ">one\nACGTACGTTAGC\n>two\nGGGTTTACG\n");
  write_text("in/t.fa", ">a\nACGTACGTTAGC\n>b\nTTTACGTAC\n>c\nGGGTTTACGA\n>d\nACACACAC\n");
  write_text("in/u.fa", ">a\nACGTACGTTAGC\n>b\nTTTACGTAC\n>c\nGGGTTTACGA\n>d\nMLEFPQIL\n");
}

/* A file that a rank has written. */
static char *contents(const char *name, char *text) {
  read_text(path_of(name), text, TEXT);
  return text;
}

/* ---- one run ---- */

/* What one rank does otherwise. */
typedef struct trouble {
  int rank, kind, n;            /* the n-th passage of a kind fails; n 0: none */
  const char *words;            /* in place of the command's, or */
  const char *more;             /* behind them */
  const char *variable, *value; /* in its environment */
  int code;                     /* the exit code that is expected */
  const char *says;             /* and what rank 0 says */
} trouble;

static void redirect_rank(int descriptor, const char *what) {
  char name[32];
  snprintf(name, sizeof name, "%s-%d", what, me);
  redirect(descriptor, path_of(name), O_WRONLY | O_CREAT | O_TRUNC);
}

static void be_a_rank(const char *line, const trouble *t) {
  char both[1024], words[1024], number[16], *argv[MOST_WORDS];
  const bool troubled = t && t->rank == me;
  snprintf(both, sizeof both, "%s %s", troubled && t->words ? t->words : line,
           troubled && t->more ? t->more : "");
  const int argc = split(both, words, sizeof words, argv);
  redirect_rank(STDOUT_FILENO, "said");
  redirect_rank(STDERR_FILENO, "error");
  snprintf(number, sizeof number, "%d", me);
  setenv("OMPI_COMM_WORLD_RANK", number, 1);
  snprintf(number, sizeof number, "%d", RANKS);
  setenv("OMPI_COMM_WORLD_SIZE", number, 1);
  if (troubled && t->variable)
    setenv(t->variable, t->value, 1);
  begin_tool();
  if (!t)
    count_passages();
  else if (troubled && t->n)
    dvt_inject((dvt_injection)t->kind, t->n);
  _exit(davit_main(argc, argv));
}

/* The statuses of all ranks. */
static void run_ranks(const char *line, const trouble *t, int status[RANKS]) {
  int pairs[RANKS][2];
  pid_t children[RANKS];
  *outcome = (ranks_outcome){.fired = t && t->n > 0};
  (void)unlink(path_of("out/o"));
  for (int rank = 1; rank < RANKS; rank++)
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[rank]), 0);
  for (me = 0; me < RANKS; me++) {
    children[me] = fork();
    assert_true(children[me] >= 0);
    if (children[me] > 0)
      continue;
    for (int rank = 1; rank < RANKS; rank++) {
      to[me == 0 ? rank : 0] = me == 0 || me == rank ? pairs[rank][me > 0] : to[0];
      close(pairs[rank][me == 0]);
      if (me > 0 && me != rank)
        close(pairs[rank][1]);
    }
    be_a_rank(line, t);
  }
  for (int rank = 1; rank < RANKS; rank++) {
    close(pairs[rank][0]);
    close(pairs[rank][1]);
  }
  for (int rank = 0; rank < RANKS; rank++)
    assert_int_equal(waitpid(children[rank], &status[rank], 0), children[rank]);
}

/* What is wrong with what the ranks said and left; `right`: digests of the output and standard output. */
static const char *judge(const int status[RANKS], const uint64_t right[2], int *code) {
  char text[RANKS][TEXT];
  char name[32];
  *code = WEXITSTATUS(status[0]);
  if (*outcome->why)
    return outcome->why;
  for (int rank = 0; rank < RANKS; rank++) {
    snprintf(name, sizeof name, "error-%d", rank);
    contents(name, text[rank]);
    if (!WIFEXITED(status[rank]))
      return WTERMSIG(status[rank]) == SIGALRM ? "the ranks hang" : "ended by a signal";
    if (WEXITSTATUS(status[rank]) != *code || !outcome->closed[rank])
      return "the ranks end with different codes";
    if (rank > 0 && *text[rank])
      return "a rank above 0 says something";
  }
  const char *end = strchr(text[0], '\n');
  const uint64_t output = digest_of(path_of("out/o")), said = digest_of(path_of("said-0"));
  if (*code > 0 && (strncmp(text[0], "davit", 5) || !end || end[1]))
    return "expected one line";
  if (*code > 0 && output)
    return "an output is there";
  if (*code == 0 && *text[0])
    return "a message without a failure";
  if (*code == 0 && right && (output != right[0] || said != right[1]))
    return "success with another output";
  return NULL;
}

static void complain(const char *line, const trouble *t, const char *why) {
  char text[TEXT];
  print_error("davit %s\n  rank %d, kind %d, passage %d%s%s: %s\n  rank 0 says: %s\n", line, t->rank, t->kind,
              t->n, t->words || t->more ? ", " : "",
              t->words  ? t->words
              : t->more ? t->more
                        : "",
              why, contents("error-0", text));
}

/* ---- failures everywhere ---- */

static const char *const commands[] = {
    "dot ../in/x.npy ../in/x.npy --check --quiet",
    "reduce ../in/x.npy --op norm --quiet",
    "reduce ../in/x.npy --op argmax --check --quiet",
    "scan ../in/i.npy --flags ../in/f.npy -o o --check --quiet",
    "gemm ../in/a.npy ../in/b.npy -o o --check --quiet --trace trace",
    "gemm ../in/a.npy ../in/b.npy -o o --arithmetic exact --c0 ../in/c.npy --beta 2 --check --quiet",
    "align ../in/q.fa ../in/t.fa -o o --dna --cigar --check --quiet",
    "detect ../in/s.npy --effect ../in/e.npy ../in/g.npy --permutations 20 -o o --check --quiet",
};

/* A run without trouble: its output, what rank 0 prints, and how often each rank passes what may fail. */
typedef struct reference {
  uint64_t digests[2];
  int passages[RANKS][DVT_INJECTIONS];
} reference;

static const reference *reference_of(int command) {
  static reference of[COUNT(commands)];
  reference *r = &of[command];
  int status[RANKS], code;
  if (r->digests[1])
    return r;
  run_ranks(commands[command], NULL, status);
  const char *complaint = judge(status, NULL, &code);
  if (complaint || code)
    fail_msg("davit %s: %s", commands[command], complaint ? complaint : contents("error-0", (char[TEXT]){0}));
  r->digests[0] = digest_of(path_of("out/o"));
  r->digests[1] = digest_of(path_of("said-0"));
  memcpy(r->passages, outcome->passages, sizeof r->passages);
  return r;
}

/* The first passages, then a sample. */
static int fail_command(int command, int kind, int rank, int *failures) {
  const int all = scaled(8), step = 60 / scaled(20);
  const reference *right = reference_of(command);
  uint64_t seed = 1 + (uint64_t)rank;
  int status[RANKS], code, wrong = 0;
  for (int n = 1; n <= right->passages[rank][kind] && wrong < 5;
       n += n < all ? 1 : 1 + random_below(&seed, 2 * step - 1)) {
    const trouble t = {.rank = rank, .kind = kind, .n = n};
    run_ranks(commands[command], &t, status);
    const char *complaint = judge(status, right->digests, &code);
    if (complaint)
      complain(commands[command], &t, complaint);
    wrong += complaint != NULL;
    *failures += outcome->fired;
  }
  return wrong;
}

static void fail_all(int kind) {
  int failures = 0, wrong = 0;
  for (int c = 0; c < COUNT(commands); c++)
    for (int rank = 0; rank < RANKS; rank++)
      wrong += fail_command(c, kind, rank, &failures);
  print_message("%d failures\n", failures);
  assert_int_equal(wrong, 0);
  assert_true(failures > 0);
}

CASE(test_device_memory) {
  fail_all(DVT_INJECT_DEVICE_MEMORY);
}

CASE(test_pinned_memory) {
  fail_all(DVT_INJECT_PINNED_MEMORY);
}

CASE(test_host_memory) {
  fail_all(DVT_INJECT_HOST_MEMORY);
}

CASE(test_thread) {
  fail_all(DVT_INJECT_THREAD);
}

CASE(test_run) {
  fail_all(DVT_INJECT_RUN);
}

/* ---- steps that fail on one rank ---- */

static void expect_trouble(const char *line, const trouble *t) {
  char text[TEXT], said[TEXT];
  int status[RANKS], code;
  run_ranks(line, t, status);
  const char *complaint = judge(status, NULL, &code);
  contents("error-0", text);
  if (!complaint && code != t->code)
    complaint = "another exit code is expected";
  if (!complaint && !strstr(text, t->says))
    complaint = "expected another sentence";
  if (!complaint && code && *contents("said-0", said))
    complaint = "something is printed";
  if (complaint) {
    complain(line, t, complaint);
    fail();
  }
}

CASE(test_devices_that_cannot_be_opened) {
  for (int c = 0; c < COUNT(commands); c++)
    for (int rank = 0; rank < RANKS; rank++) {
      const bool alone = c == 0 && rank > 0; /* rank 0 works alone */
      const trouble t = {.rank = rank,
                         .variable = "DAVIT_BACKEND",
                         .value = "nope",
                         .code = alone ? 0 : 2,
                         .says = alone ? "" : "DAVIT_BACKEND"};
      expect_trouble(commands[c], &t);
    }
}

/* A trace, an output, and a file that the check reads again are rank 0's. */
CASE(test_files_that_cannot_be_opened) {
  static const trouble troubles[] = {
      {.rank = 0, .more = "--trace /nowhere/t", .code = 1, .says = "/nowhere/t"},
      {.rank = 1, .words = "reduce ../in/none.npy", .code = 3, .says = "rank 1: ../in/none.npy"},
      {.rank = 2, .words = "reduce ../in/f.npy", .code = 3, .says = "rank 2: its files differ from rank 0's"},
      {.rank = 2,
       .words = "reduce ../in/few.mtx",
       .code = 3,
       .says = "rank 2: its files differ from rank 0's"},
  };
  for (int k = 0; k < COUNT(troubles); k++)
    expect_trouble("reduce ../in/x.npy", &troubles[k]);
  expect_trouble("scan ../in/i.npy -o /nowhere/o", &(trouble){.code = 1, .says = "/nowhere/o"});
}

/* A file of another type, which is read whole, and what shows only when a stream has been read. */
CASE(test_files_that_differ) {
  FILE *file = fopen(path_of("in/same.mtx"), "wb");
  assert_true(file && fputs("%%MatrixMarket matrix array real general\n600 1\n", file) >= 0);
  for (int i = 0; i < 600; i++)
    assert_true(fprintf(file, "%d\n", i) > 0);
  assert_int_equal(fclose(file), 0);
  static const char scan_line[] = "scan ../in/i.npy -o o --quiet",
                    detect_line[] = "detect ../in/s.npy --effect ../in/e.npy ../in/g.npy -o o --quiet",
                    align_line[] = "align ../in/q.fa ../in/t.fa -o o --quiet";
  expect_trouble(scan_line, &(trouble){.rank = 1,
                                       .words = "scan ../in/same.mtx -o o --quiet",
                                       .code = 3,
                                       .says = "rank 1: its files differ from rank 0's"});
  expect_trouble(detect_line,
                 &(trouble){.rank = 2,
                            .words = "detect ../in/short.npy --effect ../in/e.npy ../in/g.npy -o o --quiet",
                            .code = 3,
                            .says = "rank 2: its files differ from rank 0's"});
  expect_trouble(detect_line,
                 &(trouble){.rank = 2,
                            .words = "detect ../in/s.npy --effect ../in/g.npy ../in/e.npy -o o --quiet",
                            .code = 3,
                            .says = "rank 2: its files differ from rank 0's"});
  expect_trouble(align_line, &(trouble){.rank = 1,
                                        .words = "align ../in/q.fa ../in/u.fa -o o --quiet",
                                        .code = 3,
                                        .says = "rank 1: its files differ from rank 0's"});
}

CASE(test_commands_that_differ) {
  static const char line[] = "reduce ../in/x.npy";
  static const char *const words[] = {"help", "nothing",   "scan ../in/i.npy",
                                      "",     "--version", "dot ../in/x.npy ../in/x.npy"};
  for (int k = 0; k < COUNT(words); k++)
    for (int rank = 1; rank < RANKS; rank++) {
      char says[64];
      snprintf(says, sizeof says, "rank %d: its command differs from rank 0's", rank);
      expect_trouble(line, &(trouble){.rank = rank, .words = words[k], .code = 2, .says = says});
    }
  expect_trouble(line, &(trouble){.rank = 0, .words = "help", .code = 2, .says = "rank 1: its command"});
  expect_trouble(line,
                 &(trouble){.rank = 1, .more = "--op nothing", .code = 2, .says = "rank 1: --op takes"});
}

/* What shapes the result; each in place of nothing, and what may differ. */
CASE(test_options_that_differ) {
  static const struct {
    const char *line, *more, *names; /* names NULL: it may differ */
  } rows[] = {
      {"reduce ../in/x.npy --quiet", "--op min", "--op"},
      {"reduce ../in/x.npy --quiet", "--axis 0", "--axis"},
      {"reduce ../in/x.npy --quiet", "--check", "--check"},
      {"reduce ../in/x.npy --quiet", "--json", "--json"},
      {"reduce ../in/x.npy --quiet", "--repeat 2", "--repeat"},
      {"reduce ../in/x.npy --quiet", "--warmup 1", "--warmup"},
      {"reduce ../in/x.npy --quiet", "--devices cpu", "--devices"},
      {"reduce ../in/x.npy --quiet", "--devices 0", NULL},
      {"reduce ../in/x.npy --quiet", "--threads 1", NULL},
      {"reduce ../in/x.npy --quiet", "--op sum", NULL},
      {"reduce ../in/x.npy", "--quiet", NULL},
      {"scan ../in/i.npy -o o --quiet", "--exclusive", "--exclusive"},
      {"scan ../in/i.npy -o o --quiet", "--flags ../in/f.npy", "--flags"},
      {"scan ../in/i.npy -o o --quiet", "-o p", "-o"},
      {"scan ../in/i.npy --quiet", "-o p", "-o"},
      {"gemm ../in/a.npy ../in/b.npy --quiet", "--alpha 2", "--alpha"},
      {"gemm ../in/a.npy ../in/b.npy --quiet", "--transa", "--transa"},
      {"gemm ../in/a.npy ../in/b.npy --quiet", "--tile 8", "--tile"},
      {"gemm ../in/a.npy ../in/b.npy --quiet", "--explain", "--explain"},
      {"gemm ../in/a.npy ../in/b.npy --quiet", "--trace t", NULL},
      {"align ../in/q.fa ../in/t.fa -o o --quiet", "--dna", "--dna"},
      {"align ../in/q.fa ../in/t.fa -o o --quiet", "--evalue 10", "--evalue"},
      {"align ../in/q.fa ../in/t.fa -o o --quiet", "--top 1", "--top"},
      {"align ../in/q.fa ../in/t.fa -o o --quiet", "--matrix pam30", "--matrix"},
      {"detect ../in/s.npy --effect ../in/e.npy -o o --quiet", "--effect ../in/g.npy", "--effect"},
      {"detect ../in/s.npy --effect ../in/e.npy -o o --quiet", "--seed 3", "--seed"},
      {"detect ../in/s.npy --effect ../in/e.npy -o o --quiet", "--labels l", "--labels"},
  };
  for (int k = 0; k < COUNT(rows); k++)
    for (int rank = 1; rank < RANKS; rank++) {
      char says[64] = "";
      if (rows[k].names)
        snprintf(says, sizeof says, "rank %d: its %s differs from rank 0's", rank, rows[k].names);
      expect_trouble(
          rows[k].line,
          &(trouble){.rank = rank, .more = rows[k].more, .says = says, .code = rows[k].names ? 2 : 0});
    }
}

/* The first rank of each machine says why, not only rank 0. */
CASE(test_ranks_that_cannot_be_joined) {
  for (int local = 0; local < 2; local++) {
    char text[TEXT];
    const pid_t child = fork();
    int status;
    if (child == 0) {
      me = 2;
      without_table = true;
      setenv("OMPI_COMM_WORLD_LOCAL_RANK", local ? "1" : "0", 1);
      be_a_rank("reduce ../in/x.npy", NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 4);
    contents("error-2", text);
    assert_int_equal(strstr(text, "cannot be joined") != NULL, !local);
  }
}

static int set_up(void **state) {
  (void)state;
  outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcome == MAP_FAILED || make_folders())
    return -1;
  write_inputs();
  return 0;
}

int main(void) {
  return run_cases(set_up, remove_folders);
}
