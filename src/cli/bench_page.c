/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the page of results share. */
#include "src/cli/bench_page.h"

#include <stdio.h>
#include <string.h>

#include "src/cli/bench_text.h"

void bench_say(const bench_page *p, const char *html) {
  fputs(html, p->file);
}

void bench_say_text(const bench_page *p, const char *words) {
  cli_write_markup(p->file, words);
}

/* Rows that the page shows: not those that are the peer of another. */
bool bench_is_shown(const cli_result_row *row) {
  return !row->joined && cli_result_cost(row) > 0;
}

bool bench_is_ours(const cli_result_row *row) {
  return bench_is_shown(row) && !*row->side;
}

bool bench_is_accelerator(const cli_result_device *device) {
  return *device->kind && strcmp(device->kind, "cpu") != 0 && strcmp(device->kind, "host-offload") != 0;
}

double bench_of_limit(const cli_result_row *row) {
  return row->us > 0 ? row->floor_us / row->us : 0;
}

double bench_of_peer(const cli_result_row *row) {
  return row->peer_cost > 0 ? row->peer_cost / cli_result_cost(row) : 0;
}

/* 2026-11-22T11:51:34Z as 2026-11-22 11:51; anything else as it is. */
void bench_write_date(const bench_page *p, const char *date) {
  char short_date[17] = "";
  if (strlen(date) == 20 && date[10] == 'T' && date[16] == ':' && date[19] == 'Z')
    snprintf(short_date, sizeof short_date, "%.10s %.5s", date, date + 11);
  bench_say_text(p, *short_date ? short_date : date);
}

void bench_write_share(const bench_page *p, const bench_change *change) {
  static const char *const classes[] = {" class=\"worse\"", " class=\"worse\"", " class=\"better\"", ""};
  fprintf(p->file, "<td%s>", change ? classes[change->verdict] : "");
  if (change && change->verdict == BENCH_FAILED)
    bench_say(p, "failed");
  else if (change)
    bench_write_change(p->file, change->share);
}
