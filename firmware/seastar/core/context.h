/* The globals that every handler works on: the process, source and pending at hand, the cached
 * FIFO indices and the work that waits. With PINNED_REGS=on they live in r22..r31 (pedretti2005
 * s5.4), and every C file must know that: the Makefile includes this header into each. */
#ifndef SEASTAR_CONTEXT_H
#define SEASTAR_CONTEXT_H

#include <stdint.h>

#include "options.h"

struct process;
struct source;
struct ss_lower_pending;

/* Bits of `waiting`: what the main loop has to take up again. */
#define WAITING_TX 1u    /* Transmit commands that found the TX FIFO full. */
#define WAITING_RX 2u    /* Receive commands that found the RX FIFO full. */
#define WAITING_DRAIN 4u /* Streams to free that found the RX FIFO full. */
#define WAITING_CALL 8u  /* Nodes to call whose messages were refused; OVERFLOW=host: packets of kernels. */
#define WAITING_COLLECTIVE 16u /* Collective operations that can go on. */
#define WAITING_MESSAGE 32u /* OVERFLOW=panic: messages of accelerated processes that had no room for them. */

#if OPT_PINNED_REGS
#define CONTEXT(type, name, reg) register type name __asm__(reg)
#else
#define CONTEXT(type, name, reg) extern type name
#endif

CONTEXT(struct process *, process, "r31");
CONTEXT(struct source *, source, "r30");
CONTEXT(struct ss_lower_pending *, pending, "r29");
CONTEXT(uint32_t, tx_fifo_head, "r28");
CONTEXT(uint32_t, tx_fifo_tail, "r27");
CONTEXT(uint32_t, rx_fifo_head, "r26");
CONTEXT(uint32_t, rx_fifo_tail, "r25");
CONTEXT(uint32_t, tx_done_head, "r24");
CONTEXT(uint32_t, rx_done_head, "r23");
CONTEXT(uint32_t, waiting, "r22");

/* After the registers are taken: functions may not be defined before. */
#include "process.h"
#include "source.h"

#endif
