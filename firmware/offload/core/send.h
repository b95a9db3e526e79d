/* Sends. */
#ifndef OFFLOAD_SEND_H
#define OFFLOAD_SEND_H

#include "abi_offload.h"
#include "state.h"

/* SEND and SEND_SYNCHRONOUS. */
void send_command(struct process *process, const struct of_command *command, int synchronous);

/* CLEAR; 0: there is no such send. */
int send_clear_arrives(const struct of_packet *packet, uint32_t kind);

/* Goes on with sendQ. */
void send_advance(void);

#endif
