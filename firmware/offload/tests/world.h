/* A small world: nodes whose devices are simulated, hosts that give commands, and a reference that
 * says what MPI demands. Everything that waits is a step that the test chooses, so that a test can
 * try any order of events, also while the firmware waits for a unit. */
#ifndef OFFLOAD_TESTS_WORLD_H
#define OFFLOAD_TESTS_WORLD_H

#include <setjmp.h>

#include "abi_offload.h"
#include "port.h"
#include "registers_offload.h"
#include "state.h"

#define NODES 2
#define USED_PROCESSES 2 /* Of each node. */
#define WIRE_MAX 32
#define UNIT_FIFO 16
#define CELLS_MAX 16
#define REQUESTS 96
#define MESSAGES 4096 /* Serials of a node, modulo this. */
#define LIST_MAX 512
#define EXPECT_MAX 256
#define HOST_SIZE 0x4000000u
#define HOST_BASE_HI 2u /* Host addresses begin at 8 GB. */

/* Fails the running test. */
void test_fail(const char *file, int line, const char *what) __attribute__((noreturn));
#define CHECK(condition) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, #condition))

/* A unit after brightwell2005: an ordered list; the first that matches wins and is deleted; in
 * insert mode what fails is held. */
struct sim_cell {
    uint64_t bits, mask;
    uint32_t tag;
};

struct sim_unit {
    struct sim_cell cells[CELLS_MAX];
    uint32_t count;
    uint8_t delivery, inserting, held, posted;
    struct sim_cell inputs[UNIT_FIFO]; /* Copies of headers or receives. */
    uint32_t input_first, input_count;
    struct {
        uint32_t command;
        struct sim_cell cell;
    } commands[UNIT_FIFO];
    uint32_t command_first, command_count;
    uint32_t results[UNIT_FIFO];
    uint32_t result_first, result_count;
    uint32_t port[8];
};

struct sim_packet {
    struct of_packet head;
    uint8_t *payload;
};

/* A message, as its sender knows it. */
struct message {
    uint64_t bits;
    uint32_t length, serial, node, process, target, host;
    uint8_t synchronous, matched, left;
};

enum request_state { IDLE, SENDING, RECEIVING, ASKING };

struct request {
    uint8_t state;
    uint8_t cancels;      /* CANCEL that are not answered. */
    uint8_t cancelled;    /* The reference has taken it back. */
    uint8_t ended;        /* RECEIVED or CANCELLED has come. */
    struct message *message;
    uint32_t room, host;
};

struct posted {
    uint64_t bits, mask;
    uint32_t request;
};

struct expectation {
    uint32_t kind, request, length, serial, node;
    uint64_t bits;
    struct message *message;
};

/* What the reference and the host know of a process. */
struct host {
    struct request requests[REQUESTS];
    struct posted posted[LIST_MAX];
    uint32_t posted_count;
    struct message *unexpected[LIST_MAX];
    uint32_t unexpected_count;
    struct expectation expected[EXPECT_MAX]; /* Answers that come at once. */
    uint32_t expected_first, expected_count;
    struct {
        struct message *message;
        uint32_t handle;
    } taken[LIST_MAX];
    uint32_t taken_count;
    uint8_t watching;
    uint64_t watch_bits, watch_mask;
    uint32_t watch_request;
    uint32_t written;   /* Commands in the FIFO, also those that the doorbell does not tell of. */
    uint32_t completed; /* Completions that have come. */
    uint32_t words[8];
    uint32_t window_lo, window_hi;
    uint32_t last_order; /* Serial of the last EAGER or REQUEST that has left. */
};

struct node {
    struct state state;
    uint32_t number;
    uint32_t cells, threshold;
    struct of_packet arrivals[OF_ARRIVAL_COUNT];
    uint32_t written, come, taken; /* Headers in the ring, those that STATUS tells of ... */
    uint32_t looked;               /* Headers that the reference has dealt with. */
    struct sim_packet wire[WIRE_MAX]; /* On its way to this node. */
    uint32_t wire_first, wire_count;
    struct {
        uint8_t *bytes;
        uint32_t length;
    } payloads[OF_ARRIVAL_COUNT * 4];
    uint32_t payload_first, payload_count;
    struct of_dma_port dmas[OF_DMA_DEPTH];
    uint32_t dma_first, dma_count, dmas_done;
    struct of_send_port sends[OF_SEND_DEPTH];
    uint32_t send_first, send_count, sends_left;
    uint32_t dma_words[8], send_words[16];
    struct of_command commands[OF_PROCESSES][OF_COMMAND_COUNT];
    uint32_t doorbells[OF_PROCESSES], taken_commands[OF_PROCESSES], looked_commands[OF_PROCESSES];
    struct sim_unit units[2];
    struct host hosts[OF_PROCESSES];
    uint32_t serial; /* Of the last message. */
    uint32_t last_read, unmoved; /* Register that was read last, and since when nothing moves. */
};

extern struct node world[NODES];
extern struct node *current;
extern struct message messages[NODES][MESSAGES];
extern uint8_t *host_memory[NODES];

/* Called before a register that tells of progress is read; may do steps. */
extern void (*world_choose)(struct node *node, uint32_t address);
void choose_all(struct node *node, uint32_t address); /* The default: nothing is slow. */
/* Called with a packet that has left; the default puts it onto the wire. */
extern void (*world_sent)(struct node *from, uint32_t target, struct sim_packet packet);

/* Boots all nodes, with so many cells and this threshold. */
void world_reset(uint32_t cells, uint32_t threshold);
/* The same for one node. */
void world_restart(struct node *node, uint32_t cells, uint32_t threshold);
void node_select(struct node *node);
void node_turn(struct node *node);

/* Steps of the devices; each returns 0 if there is nothing to do. */
int step_write(struct node *node);   /* A header from the wire into the ring, and into the unit. */
int step_come(struct node *node);    /* STATUS tells of it. */
int step_dma(struct node *node);
int step_send(struct node *node);
int step_unit_command(struct node *node, uint32_t unit);
int step_unit_match(struct node *node, uint32_t unit);
int step_doorbell(struct node *node, uint32_t process);

/* A command for a unit, with what stands in its port; and a copy for it: 0 if it has no room, and
 * what is copied waits. */
void unit_command(struct node *node, uint32_t which, uint32_t command);
int unit_deliver(struct sim_unit *unit, uint64_t bits, uint64_t mask);
/* Bytes of a node's memory; fails if it has none there. */
uint8_t *host_place(struct node *node, uint32_t lo, uint32_t hi, uint32_t length);
uint8_t *buffer_place(struct node *node, uint32_t address, uint32_t length);

/* The host. */
uint32_t command_room(const struct node *node, uint32_t process);
void host_open(struct node *node, uint32_t process);
struct message *host_send(struct node *node, uint32_t process, uint32_t request, uint64_t bits,
                          uint32_t length, uint32_t host, uint32_t target, int synchronous);
void host_receive(struct node *node, uint32_t process, uint32_t request, uint64_t bits,
                  uint64_t mask, uint32_t room, uint32_t host);
void host_ask(struct node *node, uint32_t process, uint32_t operation, uint32_t request,
              uint64_t bits, uint64_t mask); /* PROBE, TAKE, CANCEL, CLOSE. */
void host_receive_taken(struct node *node, uint32_t process, uint32_t request, uint32_t taken,
                        uint32_t room, uint32_t host);
/* Puts a command as it stands into the FIFO. */
void host_command(struct node *node, uint32_t process, struct of_command command);
uint8_t pattern(uint32_t serial, uint32_t node, uint32_t at);

/* The reference. */
void reference_command(struct node *node, uint32_t process, const struct of_command *command);
void reference_header(struct node *node, const struct of_packet *packet);
void reference_completion(struct node *node, uint32_t process, const struct of_completion *done);

/* All steps of all nodes until nothing moves any more. */
void world_settle(void);
/* Every pool is whole, but for entries that a unit holds. */
void check_idle(struct node *node);

/* Runs statements that must end in the given panic. */
#define EXPECT_PANIC(reason, detail, statements)                                                   \
    do {                                                                                           \
        panic_expected = 1;                                                                        \
        if (setjmp(panic_jump) == 0) {                                                   \
            statements;                                                                            \
            test_fail(__FILE__, __LINE__, "no panic");                                             \
        }                                                                                          \
        CHECK(of_register_panic_get_reason(panic_word) == (uint32_t)(reason));                     \
        CHECK(of_register_panic_get_detail(panic_word) == (uint32_t)(detail));                     \
    } while (0)
extern jmp_buf panic_jump;
extern int panic_expected;
extern uint32_t panic_word;

struct test {
    const char *name;
    void (*run)(void);
};
extern const struct test tests_dialogue[], tests_soak[], tests_small[];
extern uint64_t soak_seed;
extern uint32_t soak_rounds;

#endif
