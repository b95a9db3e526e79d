/* Reception (pedretti2005 s4.3.2): a header announces a message, the host says where its payload
 * goes, the engine deposits it. Of each source one message at a time is in the engine. */
#ifndef SEASTAR_RX_H
#define SEASTAR_RX_H

#include "context.h"

extern volatile uint32_t rx_headers[SS_CAM_ENTRIES][SS_RX_HEADER_SIZE / 4]; /* Uncached. */

void rx_init(void);

/* RX and RELEASE commands of `process`. Return 0 or a negative enum command_error. */
int rx_command(uint32_t word0, const volatile uint32_t *words);
int rx_release(uint32_t word0);

#if OPT_ACCELERATED
/* For accel.c. Frees the stream of a message without payload under a tag of no pending; programs the
 * head of the list of `source`; takes the message of a notification. */
void rx_message(uint32_t word);
void rx_drain(uint32_t stream, uint32_t tag);
void rx_program(void);
#endif

/* Goes on with what found the FIFO full. */
void rx_progress(void);

/* Takes the engine's notifications up to `tail`. */
void rx_take_all(uint32_t tail);

#endif
