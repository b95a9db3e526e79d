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

/* After boot. */
void answer_init(void);

/* Notes for `pending` what its put or get needs when it is done: an acknowledgement, or a reply, which gets
 * its serial. */
void answer_note(const uint32_t *header, uint32_t op, const struct match_found *found);

/* Lets `pending` send its answer. */
void answer_send(void);

/* What answers a message whose payload has come goes to where that came from; it holds `source`. */
void answer_refer(void);

/* Sends the acknowledgement of `pending`. */
void answer_acknowledge(void);

/* accel.c: `pending` of `process` is free again. */
void accel_give(void);

/* That of `process`. */
static inline struct accelerated *own(void)
{
    return &accelerated[process->index - ACCELERATED_FIRST];
}

#endif
