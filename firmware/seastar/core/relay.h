/* Recovery by the hosts' kernels (brightwell2007 names such a protocol of Cray's, on the Opteron, and no format): the
 * firmware drops a message for which there is no stream, source or pending, tells its kernel, and carries what
 * kernels say to one another. It keeps nothing of any node. Only in images built with OVERFLOW=host.
 *
 *     sender's kernel                              receiver's firmware and kernel
 *     message n  ------------------------------>  no room: dropped; event NO_PENDING n
 *     keeps what was not taken  <-- REFUSED n ---  CONTROL command
 *     event REFUSED n            <-- CALLED n ---  when its pendings are back
 *     message n, again  ------------------------>
 *
 * The protocol is in crates/portals/src/nal/seastar/overflow; docs/decisions/0103-recovery-by-the-host.md. */
#ifndef SEASTAR_RELAY_H
#define SEASTAR_RELAY_H

#include "context.h"

#if OPT_RELAY
extern volatile struct ss_control_packet control_slots[SS_CONTROL_SLOTS];

/* After boot. */
void relay_init(void);

/* The event ring has so many slots beside those for pendings. */
void relay_events(uint32_t spare);

/* Whether an event about control or a refusal may be posted: one for each notification. */
extern uint32_t relay_room;

/* Whether the message from `nid` is taken. One that is not has to be dropped; the kernel has been told. */
int relay_admits(uint32_t nid, uint32_t number);

/* A message came from `nid` for which there was no stream. */
void relay_overflow(uint32_t nid, uint32_t number);

/* Notes beside the header of `pending` what the routing flit said. */
void relay_note(uint32_t nid, uint32_t number);

/* Hands on the packet of the control class in a slot, of which a notification tells. */
void relay_read_slot(uint32_t slot);

/* CONTROL and SEEN commands. Return 0 or a negative enum command_error. */
int relay_control(uint32_t word0, const volatile uint32_t *words);
int relay_seen(uint32_t word0);

/* Goes on with packets that found the FIFO full, and with ROOM. */
void relay_progress(void);
#endif

#endif
