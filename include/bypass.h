/* The bypass library: messages between processes that talk to their Myrinet card without a system call,
 * in the manner of GM (the card vendor's library). All of it is ours; GM's own cannot be had.
 *
 * A process opens a port of its node's card. The port's page in the card is mapped into the process, and
 * so is memory that the card reads and writes by itself. A message of up to BP_MESSAGE bytes goes from
 * this memory to a port of another node, into a place that its process has provided; the order of a pair
 * of ports is kept, and each message comes once. What the network loses is sent again; a message without a
 * place waits for one.
 *
 * Memory changes only while simulated time passes: bp_poll and bp_wait read the clock, and a loop of your own
 * that looks at memory must, too. Errors are -1 or NULL, and errno.
 *
 *     sunstar run -n 2 --machine amata-bypass examples/bypass_pingpong.c */
#ifndef BYPASS_H
#define BYPASS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most bytes of a message, and bytes of a place. */
#define BP_MESSAGE 4096
/* Ports of a node. */
#define BP_PORTS 8
/* Messages that may be on their way, and places that may be provided, at a time. */
#define BP_SENDS 32
#define BP_PLACES 64

struct bp_port;

enum bp_kind {
    BP_SENT = 1, /* The oldest message that was sent is over: its memory may be used again. */
    BP_RECEIVED  /* A message has come: `data` is the place that was provided. */
};

struct bp_event {
    enum bp_kind kind;
    int error;        /* of BP_SENT: 0; EHOSTUNREACH: no route; ECONNREFUSED: nobody has that port
                         open; ETIMEDOUT: no answer for a tenth of a second, it may have come. */
    int node, port;   /* The other end. */
    void *data;
    size_t bytes;
};

/* Opens a port with so many bytes of memory (up to 1 MB less 4 KB). ENOENT: the module is not loaded;
 * EADDRINUSE: somebody has that port. */
struct bp_port *bp_open(int port, size_t bytes);

/* The number of this node. */
int bp_node(const struct bp_port *port);

/* Takes so many bytes of the port's memory, which are its process's until the port is closed. ENOMEM:
 * there are no more. */
void *bp_alloc(struct bp_port *port, size_t bytes);

/* Sends `bytes` bytes at `data`, which is in the port's memory and stays as it is until BP_SENT. EAGAIN:
 * BP_SENDS messages are on their way, take their events first; EFAULT: it is not in the port's memory;
 * EMSGSIZE: more than BP_MESSAGE. */
int bp_send(struct bp_port *port, int node, int target, const void *data, size_t bytes);

/* Provides a place of BP_MESSAGE bytes for a message; places are used in order. EAGAIN: there are
 * BP_PLACES. */
int bp_provide(struct bp_port *port, void *place);

/* The next event: 1, or 0 if there is none yet. */
int bp_poll(struct bp_port *port, struct bp_event *event);

/* Waits for the next event by looking again and again: 1, or 0 after so many nanoseconds. */
int bp_wait(struct bp_port *port, struct bp_event *event, long long ns);

/* Closes the port. Messages that are on their way may be lost. */
void bp_close(struct bp_port *port);

#ifdef __cplusplus
}
#endif

#endif
