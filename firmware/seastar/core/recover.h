/* Recovery from exhaustion (pedretti2005 s4.3.3; brightwell2007 names CORPSE, and no format): a message for
 * which there is no stream, source or pending is refused, and its sender sends it again, and all behind it to
 * the same node, when it is called. Only in images built with OVERFLOW=nic.
 *
 *     sender                                    receiver
 *     message n, n+1, n+2  ----------------->  no room for n: a bit for the sender; n+1, n+2 dropped
 *     keeps what was not taken  <-- REFUSED n
 *                               <-- CALLED      when there is room, in turn
 *     n (RESUMED)  --------------------------->  the bit goes
 *     its pending is free  <-- TAKEN n
 *     n+1, n+2  ------------------------------>
 *
 * Messages between two nodes keep their order on the way, as do packets of the control class; so a number
 * that only the sender keeps is enough.
 *
 * Requests and the answers that firmware makes to them are refused and called apart, so that no answer waits
 * behind a request: what each may wait for ends (docs/decisions/0090-recovery-on-the-nic.md). */
#ifndef SEASTAR_RECOVER_H
#define SEASTAR_RECOVER_H

#include "context.h"

#if OPT_OVERFLOW
extern volatile struct ss_control_packet control_slots[SS_CONTROL_SLOTS];
extern volatile uint32_t waiting_bits[2 * SS_MAILBOX_COUNT][SS_WAITING_NODES / 32];

/* After boot. */
void recover_init(void);

/* What a notification of a new message says of its number, with SS_DONE_RESUMED. */
#define RECOVER_ROUTING(word) \
    (((word) >> 8 & 0xFF) | ((word) >> 15 & 0xFF00) | ((word) & SS_DONE_RESUMED))

/* Whether the message from `nid` for `target` is taken. One that is not has to be dropped; it comes again. */
int recover_admits(uint32_t nid, uint32_t routing, const struct process *target);

/* A message came from `nid` for which there was no stream. */
void recover_overflow(uint32_t nid, uint32_t routing);

/* Whether packets of the control class for one notification have room: one that ends the telling of what was
 * taken, and a refusal. If not, those that came are read. */
extern uint32_t recover_room, recover_tail;
int recover_make_room(void);
static inline int recover_can_answer(void)
{
    return recover_room >= 3 || recover_make_room();
}

/* Tells the last sender whose messages were taken. */
void recover_tell_taken(void);

/* Reads the packets of the control class that have come. */
void recover_read(void);
/* Reads the one in a slot, of which a notification tells. */
void recover_read_slot(uint32_t slot);

/* Calls nodes that wait, as far as there is room. */
void recover_call(void);

/* Transmission. Gives `pending`, which goes to `peer`, its number. */
void recover_number(struct source *peer);
/* Whether `pending`, of which nothing has left, has to be kept back because its peer has refused messages. */
int recover_keeps(void);
void recover_keep(void);
/* All packets of `pending` have left. Whether it must be kept until it is taken. */
int recover_sent(uint32_t word);
/* Sends again the message that `peer` has refused, if it has called and nothing to it is in the engine. */
void recover_resume(struct source *peer);
/* Flags of the header command of `pending`. */
uint32_t recover_header_flags(void);
#endif

#endif
