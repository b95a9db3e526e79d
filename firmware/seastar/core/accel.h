/* Accelerated processes (pedretti2005 s4.1, s4.3.2): the firmware matches their messages, deposits,
 * answers gets and acknowledges by itself. Only in images built with ACCELERATED=on. */
#ifndef SEASTAR_ACCEL_H
#define SEASTAR_ACCEL_H

#include "context.h"

/* A firmware process that is one: it has a mailbox from FIRST on. */
#define ACCELERATED_FIRST 2u

extern volatile uint32_t tx_headers[SS_DMA_FIFO_DEPTH][SS_RX_HEADER_SIZE / 4]; /* Uncached. */

#if OPT_ACCELERATED && !OPT_OVERFLOW
/* Takes note of the message of a notification if it has to wait, because its process has no pending free, or
 * no room for its events, or others wait for that. What frees them is notified as well, so that nothing else
 * waits. */
int accel_defers(uint32_t word);

/* Takes those that can go on. */
void accel_resume(void);
#endif

/* Whether an accelerated process can take no message. */
static inline int accel_exhausted(void)
{
    for (uint32_t i = ACCELERATED_FIRST; i < ACCELERATED_FIRST + SS_ACCELERATED_MAX; i++)
        if (processes[i].alive && !process_takes(&processes[i]))
            return 1;
    return 0;
}

/* After boot. */
void accel_init(void);

/* A process begins to take messages. */
void accel_begin(uint32_t index);

/* A message for `process`. */
void accel_message(uint32_t stream, const uint32_t *header);

/* The payload of `pending` is in memory; `word` is the completion. */
void accel_deposited(uint32_t word);

/* accel_answer.c: the header of an answer, for the transmit engine. */
void accel_push_header(uint32_t flags);

/* Whether COUNT has counted an operation for field `entry` of a TX command. */
int accel_counted(uint32_t entry);

/* A message of `pending` has left: an answer, or one that the host sent. */
void accel_sent(uint32_t word);

/* The engine has read the header of `pending` in its slot. */
void accel_slot_read(void);

/* Obeys all commands of an accelerated process's mailbox up to `tail`. A bad one ends the process, and the
 * kernel is told. */
void accel_take_all(uint32_t index, uint32_t tail);

/* END_PROCESS, from the kernel. */
int accel_end_process(const volatile uint32_t *words);

#endif
