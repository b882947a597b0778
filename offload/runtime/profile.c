/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/runtime/profile.h"

/* A toolkit may be installed without its part NVTX. */
#if defined(DAVIT_WITH_CUDA) && __has_include(<nvtx3/nvToolsExt.h>)
#include <pthread.h>
#include <stdlib.h>

#include "src/base/environment.h"

/* NVTX loads the library that a variable names: not in a program that has more rights than its user. */
static char *variable(const char *name) {
  return (char *)(uintptr_t)dvt_environment(name);
}
#define getenv variable
#include <nvtx3/nvToolsExt.h>
#undef getenv

static nvtxDomainHandle_t domain;

static void make_domain(void) {
  domain = nvtxDomainCreateA("davit");
}

static nvtxEventAttributes_t named(const char *name) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_domain);
  return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                 .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                 .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                 .message.ascii = name};
}

void dvt_profile_push(const char *name) {
  const nvtxEventAttributes_t range = named(name);
  nvtxDomainRangePushEx(domain, &range);
}

void dvt_profile_pop(void) {
  nvtxDomainRangePop(domain);
}

uint64_t dvt_profile_begin(const char *name) {
  const nvtxEventAttributes_t range = named(name);
  return nvtxDomainRangeStartEx(domain, &range);
}

void dvt_profile_end(uint64_t range) {
  nvtxDomainRangeEnd(domain, range);
}

#else
void dvt_profile_push(const char *name) {
  (void)name;
}

void dvt_profile_pop(void) {
}

uint64_t dvt_profile_begin(const char *name) {
  (void)name;
  return 0;
}

void dvt_profile_end(uint64_t range) {
  (void)range;
}
#endif
