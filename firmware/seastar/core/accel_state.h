/* What the firmware keeps of accelerated processes beside their process structures: for accel.c, which
 * serves messages, and accel_command.c, which serves mailboxes. */
#ifndef SEASTAR_ACCEL_STATE_H
#define SEASTAR_ACCEL_STATE_H

#include "accel.h"
#include "match.h"

/* What is left to do of a message once its payload is in memory, or its answer has left. */
struct answer {
    uint32_t word0;      /* Operation and portal of its header; 0: none is due. */
    uint32_t target;     /* Node and process, as word 1 of a header. */
    uint32_t length;
    uint32_t bits_lo, bits_hi;
    uint32_t local_lo, local_hi; /* Where a reply goes in the initiator's descriptor. */
    uint32_t offset;     /* That was used. */
    uint32_t handle;     /* The initiator's descriptor. */
    uint32_t serial;
    match_entry_t *entry; /* Whose descriptor is in use; 0: nobody's. */
};

struct accelerated {
    struct match_lists lists;
    struct answer answers[SS_ACCELERATED_PENDINGS];
    uint32_t taken; /* Commands so far. */
};

extern struct accelerated accelerated[SS_ACCELERATED_MAX];

/* That of `process`. */
static inline struct accelerated *own(void)
{
    return &accelerated[process->index - ACCELERATED_FIRST];
}

#endif
