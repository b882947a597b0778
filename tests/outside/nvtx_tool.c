/* SPDX-License-Identifier: Apache-2.0 */
/* A tool as NVTX loads it into a process: keeps the names of davit's ranges (tests/test_profile.c). */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
enum { MOST = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char names[MOST][32];
static int count, open_ranges;
static const char *of_domain;
static char the_domain; /* its address is the handle */

/* How many ranges had this name (NULL: all); in *open how many have not ended. */
EXPORTED int nvtx_tool_count(const char *name, int *open) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < count; i++)
    found += !name || strcmp(names[i], name) == 0;
  *open = open_ranges;
  pthread_mutex_unlock(&lock);
  return found;
}

EXPORTED const char *nvtx_tool_domain(void) {
  return of_domain;
}

static void keep(const nvtxEventAttributes_t *range) {
  pthread_mutex_lock(&lock);
  if (count < MOST)
    snprintf(names[count++], sizeof names[0], "%s", range->message.ascii);
  open_ranges++;
  pthread_mutex_unlock(&lock);
}

static void end(void) {
  pthread_mutex_lock(&lock);
  open_ranges--;
  pthread_mutex_unlock(&lock);
}

static nvtxDomainHandle_t NVTX_API create(const char *name) {
  of_domain = name;
  return (nvtxDomainHandle_t)(void *)&the_domain;
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range) {
  if ((char *)domain == &the_domain)
    keep(range);
  return 0;
}

static int NVTX_API pop(nvtxDomainHandle_t domain) {
  if ((char *)domain == &the_domain)
    end();
  return 0;
}

static nvtxRangeId_t NVTX_API start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range) {
  (void)push(domain, range);
  return 1;
}

static void NVTX_API stop(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  (void)id;
  (void)pop(domain);
}

EXPORTED int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
EXPORTED int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned size;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
    return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  *table[NVTX_CBID_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)start;
  *table[NVTX_CBID_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)stop;
  return 1;
}
