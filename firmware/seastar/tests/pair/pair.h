/* A small world of two cores (pair.c). */
#ifndef SEASTAR_TESTS_PAIR_H
#define SEASTAR_TESTS_PAIR_H

#include <stddef.h>
#include <stdint.h>

#include "accel_state.h"
#include "command.h"
#include "devices.h"
#include "mainloop.h"
#include "niccb.h"
#include "recover.h"
#include "rx.h"


enum { CORES = 2, USER = 2, PID = 42, QUEUE = 32, PENDINGS = 12 };

/* Host memory of a process: its upper pendings, and its event ring, that of the library of lines. */
#define LINES 64u
#define EVENTS 0x800u
#define PROCESS_STRIDE 0x1800u

/* What there is. */
struct world {
    uint32_t messages[CORES]; /* That each host sends to the other. */
    uint32_t receives;        /* Receive pendings. */
    uint32_t transmits;
    uint32_t streams;
    uint32_t acks;            /* Messages ask for an acknowledgement, which firmware sends. */
    uint32_t first;           /* Number of the first message. */
    uint32_t prompt;          /* The firmware takes a turn after all that happens. */
};

struct message {
    struct ss_portals_header header;
    uint16_t number;
    uint16_t resumed;
};

/* What is outside of a core's firmware. */
struct around {
    struct message coming[QUEUE];
    struct ss_control_packet control[QUEUE];
    uint32_t coming_count, control_count;
    uint32_t slot;            /* The next to be filled. */
    uint8_t busy[SS_CAM_ENTRIES];
    uint32_t event;           /* Next slot of the event ring. */
    uint32_t sent, ended;     /* Messages of this host. */
    uint32_t flying[PENDINGS];
    uint32_t got, acked;      /* Messages and acknowledgements that it has seen. */
    uint32_t held;            /* Events of messages of which it has not told. */
};

extern struct world world;
extern struct around around[CORES];

void fail(const char *what) __attribute__((noreturn));
#define CHECK(condition, what) ((condition) ? (void)0 : fail(what))

/* image.c: what a core's firmware and devices have in memory. */
extern size_t image_size;
void image_find(void);
void image_save(uint8_t *image);
void image_load(const uint8_t *image);
/* Clears what says how a state was come to, and not what it is. */
void image_forget(const struct around *a);

/* partners.c: what can happen to the core that is loaded. */
enum { TURN, ARRIVE, CONTROL, STREAMS, RELEASE, ACTIONS };
/* False if it cannot. */
int act(unsigned core, int action);
void command(uint32_t mailbox, const void *bytes);
void host_sends(unsigned core);

#endif
