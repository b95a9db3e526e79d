/* Mailboxes: how the host gives commands and gets results (pedretti2005 s4.1). */
#ifndef SEASTAR_COMMAND_H
#define SEASTAR_COMMAND_H

#include "context.h"

extern volatile struct ss_mailbox mailboxes[SS_MAILBOX_COUNT]; /* Uncached, at SS_MAILBOX_BASE. */

/* Why a command was not obeyed. */
enum command_error {
    COMMAND_AGAIN = -1,      /* No room for its result: take it again later. */
    COMMAND_BAD = -2,        /* Unknown, or its fields contradict the firmware's state. */
    COMMAND_NO_PROCESS = -3, /* It names a process that was not initialised. */
};

/* Obeys all commands of a mailbox up to `tail`, the value of command_write that the main loop
 * read. */
void command_take_all(uint32_t index, uint32_t tail);

/* Next command of a mailbox that the firmware will take. */
static inline uint32_t command_head(uint32_t index)
{
    return OPT_SHADOW_FIFOS ? processes[index].command_head : mailboxes[index].command_read;
}

#endif
