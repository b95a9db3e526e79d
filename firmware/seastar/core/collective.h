/* Collective operations of accelerated processes by the firmware (brightwell2007 names a barrier and a
 * reduction on the network interface, and no format). Only in images built with COLLECTIVES=on.
 *
 *     library                                   firmware
 *     GROUP OPEN, then each step  ------------>  a schedule: tell that process, await a word, the next step
 *     COLLECT  ------------------------------->  does the steps: COLLECTIVE packets of the control class
 *                                 <------------  event COLLECTIVE
 *
 * A schedule that awaits a word in each of ceil(log2 n) steps is a barrier (dissemination); one whose words
 * bring entries of a reduction is an allreduce (recursive doubling). Packets of the control class are
 * neither lost nor overtaken, so a step counts what came, and knows words of the next operation from those
 * of this one by their order: nobody can be further ahead than that.
 *
 * Steps may come before the process enters: it must open its group before anybody enters. */
#ifndef SEASTAR_COLLECTIVE_H
#define SEASTAR_COLLECTIVE_H

#include "context.h"

#if OPT_COLLECTIVES
/* After boot. */
void collective_init(void);

/* A process begins: it has no groups. */
void collective_begin(uint32_t index);

/* GROUP of `process`: an entry_result, or a negative enum command_error; nothing is answered if `*silent`. */
int collective_group(uint32_t word0, const uint32_t *words, int *silent);

/* COLLECT of `process`: 0, or a negative enum command_error. */
int collective_enter(uint32_t word0, const uint32_t *words);

/* A packet has come. Nothing is sent. */
void collective_arrived(uint32_t word0, const volatile uint32_t *words);

/* Notes a packet of the control class, if it is one of these. */
#define COLLECTIVE_HEARS(word0, words)                                                             \
    do {                                                                                           \
        if (((word0) & 0xFF) == SS_CONTROL_OP_COLLECTIVE)                                          \
            collective_arrived(word0, words);                                                      \
    } while (0)

/* Goes on with what waited for room in the engine's FIFO, or has heard of other processes. */
void collective_progress(void);
#else
#define COLLECTIVE_HEARS(word0, words) ((void)0)
#endif

#endif
