/* The way out: answers first, then messages from two buffers, so that one comes from the host while the
 * other is sent. */
#ifndef BYPASS_WIRE_H
#define BYPASS_WIRE_H

#include "ports.h"

/* An answer to who sent a message. */
struct answer {
    uint16_t kind;
    uint16_t node;
    uint8_t port;        /* Whose messages it is about. */
    uint8_t own;         /* The port here. */
    uint16_t epoch, sequence;
};

void wire_start(void);
/* Sends what there is, if nothing is being sent. */
void wire_step(void);
/* The interface has sent what it was told to send. */
void wire_sent(void);

/* Queues an answer. If there are too many it is left out: message and answer come again. */
void wire_answer(const struct answer *answer);

/* A buffer for the next message, where its bytes belong; 0 if both are in use. */
uint32_t wire_buffer(void);
/* The header of the message in that buffer; its bytes are there, or are awaited. */
void wire_fill(uint32_t port, const struct message *message);
/* Its bytes have come. */
void wire_filled(void);

#endif
