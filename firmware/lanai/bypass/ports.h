/* Ports, as processes use them: each has a ring of messages to be sent, and one of places for what comes.
 * */
#ifndef BYPASS_PORTS_H
#define BYPASS_PORTS_H

#include "fields.h"

/* A message that a process wants to be sent, from when it was taken to its event. */
struct message {
    uint16_t target;
    uint8_t port;
    uint8_t over; /* It has been taken by the target, or given up. */
    uint32_t offset, length;
    uint16_t epoch, sequence;
    uint8_t status; /* What became of it, or would if it were given up now. */
    uint8_t age; /* Ticks of the timer since it was sent. */
};

struct port {
    uint32_t number;
    int open;
    uint32_t host, bytes;
    /* Messages that were taken from the ring, sent (at present), and told to the process, all told. */
    uint32_t taken, sent, told;
    uint32_t places; /* used */
    uint32_t events;
    uint32_t tries; /* Times that its messages were sent again without an answer. */
    struct message messages[MY_BYPASS_SENDS];
};

extern struct port ports[MY_BYPASS_PORTS];

/* Those that are open. */
extern struct port *open_ports[MY_BYPASS_PORTS];
extern uint32_t open_count;

static inline struct message *message_of(struct port *port, uint32_t number)
{
    return &port->messages[number & (MY_BYPASS_SENDS - 1)];
}

/* Opens and closes ports as the driver asks. No port's memory may be touched meanwhile. */
void ports_step(void);

/* Takes the next message from the port's ring, if there is one. */
void port_take(struct port *port);

/* The next place for a message; 0 if the process has given none. */
int port_place(struct port *port, uint32_t *offset);

/* Forgets that all of its messages on the way have been sent. */
void port_resend(struct port *port);

#endif
