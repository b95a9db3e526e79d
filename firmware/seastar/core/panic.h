/* The end of a node: recorded in the control block, reported through REG_PANIC. Exhausted
 * resources end here too, as in the published firmware (pedretti2005 s4.3.3). */
#ifndef SEASTAR_PANIC_H
#define SEASTAR_PANIC_H

#include "abi_seastar.h"

/* reason: SS_PANIC_REASON_*; detail: its low 24 bits reach the register, all reach the control
 * block. */
void panic(uint32_t reason, uint32_t detail) __attribute__((noreturn, cold));

#endif
