/* The two partners of the firmware in the tests: the host (mailboxes, upper pendings, event
 * rings) and the DMA engines, both checking that the firmware keeps to the contract. Test bodies
 * are dialogues with them. */
#ifndef SEASTAR_TESTS_SIM_H
#define SEASTAR_TESTS_SIM_H

#include "context.h"
#include "devices.h"

#define GENERIC SS_GENERIC_PROCESS
#define SIM_MAX_REGIONS 256

/* A message that the TX engine has sent. */
struct sim_sent {
    uint16_t peer;
    uint16_t tag;
    struct ss_portals_header header;
    uint32_t regions;   /* Addresses and lengths are kept of the first. */
    uint64_t addr[SIM_MAX_REGIONS];
    uint32_t length[SIM_MAX_REGIONS];
    uint32_t total;
};

/* A message in the RX engine. */
struct sim_stream {
    int busy;
    int last;           /* The LAST command has been taken; the completion may be given. */
    int error;          /* To be reported. */
    uint32_t total;     /* Payload bytes. */
    uint32_t deposited;
    uint32_t discarded;
    uint32_t commands;
    uint64_t addr;      /* Of the first deposit. */
    uint16_t tag;
};

extern struct sim_stream sim_streams[SS_CAM_ENTRIES];

/* Fails the running test. */
void sim_fail(const char *file, int line, const char *what) __attribute__((noreturn));
#define CHECK(condition) ((condition) ? (void)0 : sim_fail(__FILE__, __LINE__, #condition))

/* Runs statements that must end in the given panic. */
#define EXPECT_PANIC(reason, detail, statements)                                                   \
    do {                                                                                           \
        sim_expect_panic();                                                                        \
        if (__builtin_setjmp(sim_panic_jump) == 0) {                                               \
            statements;                                                                            \
            sim_fail(__FILE__, __LINE__, "no panic");                                              \
        }                                                                                          \
        CHECK(devices.panic_word == ((reason) << 24 | ((detail) & 0xFFFFFFu)));                    \
        CHECK(niccb.crash_reason == (reason) && niccb.crash_detail == (uint32_t)(detail));         \
    } while (0)
extern void *sim_panic_jump[5];
void sim_expect_panic(void);

/* Boot. `sim_reset` leaves the firmware as after boot; `sim_boot` also brings the generic
 * process to life, as the kernel does. */
void sim_reset(void);
void sim_dma_reset(void);
void sim_boot(uint32_t num_pendings, uint32_t tx_limit, uint32_t events);
void sim_start_process(uint32_t index, uint32_t pid, uint32_t num_pendings, uint32_t tx_limit,
                       uint32_t events);
/* The same of a process whose place was used before. */
void sim_restart_process(uint32_t index, uint32_t pid, uint32_t num_pendings, uint32_t tx_limit,
                         uint32_t events);
void sim_turns(unsigned count);

/* The host. */
int sim_command_room(uint32_t mailbox);
void sim_command(uint32_t mailbox, const void *command);
int sim_result(uint32_t mailbox, uint32_t *value);
uint32_t sim_event(uint32_t index); /* Next event word of a process; 0: none. */
extern struct ss_event_line event_line; /* Of the last, if the process is accelerated. */
uint32_t sim_events_taken(void);
struct ss_portals_header *sim_upper(uint32_t index, uint32_t pending);
uint64_t sim_upper_phys(uint32_t index);
uint32_t sim_upper_local(uint32_t index);
uint32_t sim_event_local(uint32_t index);
#define EVENT(type, pending) (SS_EVENT_TYPE_##type << 16 | (pending))

void sim_tx(uint32_t index, uint32_t pending, uint32_t peer, uint64_t addr, uint32_t length);
void sim_tx_list(uint32_t pending, uint32_t peer, uint32_t length, uint32_t first, uint32_t count);
void sim_rx(uint32_t index, uint32_t pending, uint64_t addr, uint32_t length);
void sim_rx_list(uint32_t pending, uint32_t length, uint32_t first, uint32_t count);
void sim_release(uint32_t index, uint32_t pending);
/* An accelerated process has read so many events of messages. */
void sim_credit(uint32_t index, uint32_t count);

/* The engines. `steps` limits the commands taken. */
unsigned sim_tx_step(unsigned steps);            /* Returns the messages that have left. */
const struct sim_sent *sim_sent(unsigned back);  /* The last one, the one before ... */
void sim_tx_error_next(void);                    /* The next message that leaves fails. */
unsigned sim_rx_step(unsigned steps);            /* Returns the commands taken. */
unsigned sim_rx_finish(uint32_t stream);         /* Gives the completion, if due. Returns 1 then. */
unsigned sim_rx_finish_all(void);
/* A message arrives. Returns its stream. */
uint32_t sim_arrive(const struct ss_portals_header *header, uint32_t payload);
void sim_notify(uint32_t word);
struct ss_portals_header sim_header(uint32_t op, uint32_t flags, uint32_t nid, uint32_t pid,
                                    uint32_t length);

/* Nothing is in flight any more: every pool is whole. */
void sim_check_idle(void);
uint32_t sim_free_pendings(uint32_t index);

#endif
