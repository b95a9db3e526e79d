/* Transmission (pedretti2005 s4.3.1): one list of pendings and one FIFO for all processes and
 * destinations. */
#ifndef SEASTAR_TX_H
#define SEASTAR_TX_H

#include "context.h"

/* The length field of a header command: all headers are as long, so that an image that recovers gives the
 * message's number there. */
#if OPT_NUMBERED
#define TX_HEADER_LENGTH pending->stream
#else
#define TX_HEADER_LENGTH ((uint32_t)sizeof(struct ss_portals_header))
#endif

void tx_init(void);

/* TX command of `process`; word0 is its first word. Returns 0 or a negative enum command_error. */
int tx_command(uint32_t word0, const volatile uint32_t *words);

#if OPT_ACCELERATED
/* The usual message of an accelerated process, in `pending`, with nothing before it that waits: its whole
 * way to the engine, which takes the header from a slot of the mailbox, and then the books. Returns 0, and
 * has done nothing, if it is another. */
int tx_straight(uint32_t slot);
#endif

#if OPT_ACCELERATED || OPT_OVERFLOW
/* Appends `pending`, an answer or a message that is repeated, to the list; gives it to the engine if there is
 * room. */
void tx_append(void);
#endif

#if OPT_OVERFLOW
/* Takes `pending`, a new message of the class (0 or WAY_ANSWERS), to send it when there is a source. */
void tx_enter(uint32_t class);

/* For recover.c. `pending` is done with; `word` has the engine's error flag. */
void tx_finish(uint32_t word);
/* Messages to `peer` of which nothing has left go from the list to those kept. */
void tx_keep_unsent(source_t *peer);
/* Lets all of the payload of `pending` be sent again. */
void tx_restore(void);
#endif

/* Gives the engine as many commands as its FIFO takes; the rest waits for the main loop. */
void tx_progress(void);

/* Takes the engine's completions up to `tail`. */
void tx_complete_all(uint32_t tail);

#endif
