/* What engines have done, and what waits for them. */
#ifndef OFFLOAD_ADVANCE_H
#define OFFLOAD_ADVANCE_H

#include <stdint.h>

/* Deals with what STATUS says is done. */
void retire(uint32_t status);

/* The same, then goes on with what waits for room. */
void advance(uint32_t status) __attribute__((noinline));

#endif
