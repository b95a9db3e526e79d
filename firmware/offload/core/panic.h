/* The end of a node. Exhausted resources and broken contracts end here. */
#ifndef OFFLOAD_PANIC_H
#define OFFLOAD_PANIC_H

#include "state.h"

/* reason: OF_PANIC_REASON_*; detail: 24 bits. */
void panic(uint32_t reason, uint32_t detail) __attribute__((noreturn, cold, noinline));

#endif
