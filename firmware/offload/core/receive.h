/* Arriving packets, and receives from the meeting of message and receive on. */
#ifndef OFFLOAD_RECEIVE_H
#define OFFLOAD_RECEIVE_H

#include "state.h"

/* Takes the headers that STATUS tells of, as long as their payloads have room in the engine. */
void take_headers(uint32_t status) __attribute__((noinline));

/* Takes one header; waits until there is one and the engine has room. */
void take_header_waiting(void) __attribute__((noinline));

/* A kept message has met the receive that stands in the entry. */
void receive_start(struct entry *entry);

/* A descriptor that concerned this entry is done. */
void receive_moved(struct entry *entry);

/* Goes on with receives that waited for room in an engine. */
void receive_advance(void);

#endif
