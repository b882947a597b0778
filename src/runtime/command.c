/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/command.h"

#include <stdio.h>
#include <stdlib.h>

#include "offload/runtime/device.h"
#include "offload/runtime/profile.h"
#include "src/base/allocate.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/base/inject.h"
#include "src/base/order.h"
#include "src/base/team.h"
#include "src/runtime/pool.h"

static _Thread_local dvt_lane *current;

/* ---- lanes ---- */

dvt_lane *dvt_lane_current(void) {
  return current;
}

void dvt_lane_fail(dvt_lane *lane, davit_status status, const char *message) {
  pthread_mutex_lock(&lane->lock);
  if (lane->error.status == DAVIT_SUCCESS) {
    lane->error.status = status;
    snprintf(lane->error.message, sizeof lane->error.message, "%s",
             *message ? message : davit_status_string(status));
    atomic_store(&lane->failed, true);
  }
  pthread_mutex_unlock(&lane->lock);
  dvt_company *company = lane->company;
  int works = DVT_COMPANY_WORKS;
  if (company && atomic_compare_exchange_strong(&company->state, &works, DVT_COMPANY_FAILS)) {
    company->error = (dvt_error){.status = status};
    snprintf(company->error.message, sizeof company->error.message, "%s", message);
    atomic_store(&company->state, DVT_COMPANY_HAS_FAILED);
  }
}

void dvt_lane_check(dvt_lane *lane, davit_status status) {
  if (status != DAVIT_SUCCESS)
    dvt_lane_fail(lane, status, davit_last_error());
}

/* Whether the lane is stopped, by itself or with its company. */
static bool is_stopped(dvt_lane *lane) {
  const dvt_company *company = lane->company;
  if (company && atomic_load(&company->state) == DVT_COMPANY_HAS_FAILED)
    dvt_lane_fail(lane, company->error.status, company->error.message);
  return atomic_load(&lane->failed);
}

davit_status dvt_lane_error(dvt_lane *lane) {
  if (!atomic_load(&lane->failed))
    return DAVIT_SUCCESS;
  pthread_mutex_lock(&lane->lock);
  dvt_error error = lane->error;
  pthread_mutex_unlock(&lane->lock);
  return dvt_error_report(&error);
}

bool dvt_lane_has_stream(int device) {
  return dvt_device_find(device)->ordinal >= 0;
}

bool dvt_lane_is_gpu(const dvt_lane *lane) {
  return dvt_ending_is_guarded() &&
         (dvt_lane_has_stream(lane->device) || !dvt_device_find(lane->device)->shares_host_memory);
}

bool dvt_lane_stream_is_idle(void *argument) {
  dvt_lane *lane = argument;
  bool idle = false;
  DVT_INSIDE;
  const davit_status status = dvt_stream_query(lane->stream, &idle);
  dvt_lane_check(lane, status);
  return idle || status != DAVIT_SUCCESS;
}

/* ---- commands ---- */

static davit_status run_in_team(dvt_form form, const dvt_site *site, const void *arguments) {
  const dvt_team team = dvt_team_begin(site->threads);
  dvt_site here = *site;
  here.threads = team.threads;
  davit_status status = form(&here, arguments);
  dvt_team_end(&team);
  return status;
}

typedef struct handed {
  dvt_form form;
  const dvt_site *site;
  const void *arguments;
  dvt_error error;
  sem_t over;
} handed;

static void run_handed(void *argument) {
  handed *h = argument;
  dvt_error_clear();
  dvt_error_keep(&h->error, run_in_team(h->form, h->site, h->arguments));
  sem_post(&h->over);
}

/* False: there is no thread for it. */
static bool hand_over(handed *h) {
  DVT_UNCANCELLED;
  sem_init(&h->over, 0, 0);
  const bool handed_over = dvt_pool_run(run_handed, h) == DAVIT_SUCCESS;
  while (handed_over && sem_wait(&h->over) != 0) {
  }
  sem_destroy(&h->over);
  if (!handed_over)
    dvt_error_clear();
  return handed_over;
}

davit_status dvt_host_form(dvt_form form, const dvt_site *site, const void *arguments) {
  handed h = {.form = form, .site = site, .arguments = arguments, .error = {.status = DAVIT_SUCCESS}};
  const bool may_lead = site->threads == 1 || dvt_team_is_held() || !dvt_thread_is_forked();
  return !may_lead && hand_over(&h) ? dvt_error_report(&h.error) : run_in_team(form, site, arguments);
}

dvt_command *dvt_command_new(dvt_lane *lane, dvt_command_kind kind, size_t bytes) {
  dvt_command *command = dvt_allocate_raw(offsetof(dvt_command, arguments) + bytes);
  if (!command)
    return NULL;
  command->next = NULL;
  command->lane = lane;
  command->kind = kind;
  command->work = NULL;
  command->record = NULL;
  command->span = NULL;
  command->task.event = 0;
  command->beside = false;
  return command;
}

static bool is_host_form(const dvt_command *command) {
  return !command->stream && command->threads > 0;
}

/* Whether the command calls the runtime of a GPU, or may. */
static bool is_for_gpu(const dvt_command *command) {
  return !is_host_form(command) && dvt_lane_is_gpu(command->lane);
}

static davit_status work(dvt_command *command, const dvt_site *site) {
  if (dvt_injected(DVT_INJECT_RUN))
    return davit_fail(DAVIT_DEVICE_LOST, "device %d does not answer", command->lane->device);
  atomic_fetch_add_explicit(&command->lane->tried, 1, memory_order_relaxed);
  return is_host_form(command) ? dvt_host_form(command->work, site, command->arguments)
                               : command->work(site, command->arguments);
}

static void end_span(dvt_command *command, dvt_stream *stream, bool skipped) {
  if (command->span)
    dvt_span_end(command->span, stream, skipped);
  command->span = NULL;
}

void dvt_command_begin_wait(dvt_command *command, dvt_stream *stream) {
  if (command->span)
    dvt_span_begin(command->span, stream);
}

void dvt_command_end(dvt_command *command, dvt_stream *stream) {
  end_span(command, stream, false);
}

/* Where the command runs. Its span begins, `traced` by that stream. */
static dvt_site begin(dvt_command *command, dvt_span *span, dvt_stream *traced) {
  dvt_lane *lane = command->lane;
  dvt_site site = lane->site;
  site.stream = command->stream ? lane->stream : NULL;
  site.threads = command->threads;
  dvt_order_after(command);
  dvt_order_after(lane);
  if (span)
    dvt_span_begin(span, traced);
  dvt_error_clear();
  return site;
}

static void work_in_trace(dvt_command *command) {
  dvt_lane *lane = command->lane, *outer = current;
  dvt_span *span = command->kind == DVT_REGION ? NULL : command->span;
  dvt_stream *traced = command->kind == DVT_STREAMED ? lane->stream : NULL;
  if (command->kind != DVT_STREAMED)
    current = lane;
  const dvt_site site = begin(command, span, traced);
  dvt_profile_push(command->name);
  davit_status status = work(command, &site);
  dvt_profile_pop();
  dvt_order_before(lane);
  current = outer;
  dvt_lane_check(lane, status);
  if (span)
    end_span(command, traced, false);
}

/* On a stopped lane it calls no device and does not sleep: it may be in a callback of the device runtime. */
void dvt_command_work(dvt_command *command) {
  if (is_stopped(command->lane)) {
    end_span(command, NULL, true);
    return;
  }
  DVT_INSIDE_IF(is_for_gpu(command));
  work_in_trace(command);
}

void dvt_command_function_ended(void) {
  current = NULL;
}

/* The calling thread is inside. */
bool dvt_command_stage(dvt_command *command, void (*over)(void *argument, davit_status status),
                       void *argument) {
  if (is_stopped(command->lane)) {
    end_span(command, NULL, true);
    return false;
  }
  dvt_site site = begin(command, command->span, NULL);
  site.over = over;
  site.argument = argument;
  command->range = dvt_profile_begin(command->name);
  const davit_status status = work(command, &site);
  if (status != DAVIT_SUCCESS)
    dvt_command_staged(command, status);
  return status == DAVIT_SUCCESS;
}

void dvt_command_staged(dvt_command *command, davit_status status) {
  dvt_profile_end(command->range);
  dvt_lane_check(command->lane, status);
  dvt_order_before(command->lane);
  end_span(command, NULL, false);
}

void dvt_command_pass_failure(dvt_command *command) {
  dvt_record *record = command->record;
  dvt_record_state state = dvt_record_known(record);
  const bool placed = state == DVT_RECORD_ISSUED || record->certain;
  if (state == DVT_RECORD_FAILED || (placed && record->failed_pending))
    dvt_lane_fail(command->lane, record->error.status, record->error.message);
  dvt_order_before(command->lane);
}

void dvt_command_finish_record(dvt_command *command) {
  dvt_order_after(command->lane);
  davit_status status = dvt_lane_error(command->lane);
  end_span(command, NULL, status != DAVIT_SUCCESS);
  dvt_record_finish(command->record, status, status == DAVIT_SUCCESS ? "" : davit_last_error());
}

void dvt_command_free(dvt_command *command) {
  dvt_record_drop(command->record);
  dvt_span_drop(command->span);
  free(command);
}
