/* Each command and each packet by itself. */
#include <string.h>

#include "world.h"

#define BITS(context, source, tag)                                                                 \
    ((uint64_t)(context) << 30 | (uint64_t)(source) << 15 | (uint64_t)(tag))
#define ANY_TAG ((1ull << OF_TAG_WIDTH) - 1)
#define ANY ((1ull << OF_MATCH_WIDTH) - 1)
#define PLACE(n) ((n) * 0x100000u)

static struct node *const a = &world[0], *const b = &world[1];

static uint32_t cells, threshold;

static void boot(void)
{
    world_reset(cells, threshold);
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < USED_PROCESSES; j++)
            host_open(&world[i], j);
    }
    world_settle();
    CHECK(a->hosts[0].window_lo == 0x100000 && a->hosts[0].window_hi == HOST_BASE_HI);
    CHECK(b->hosts[1].window_lo == 0x200000);
}

static enum request_state state_of(const struct node *node, uint32_t request)
{
    return node->hosts[0].requests[request].state;
}

static void check_all_idle(void)
{
    world_settle();
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < OF_PROCESSES; j++) {
            CHECK(!world[i].hosts[j].expected_count && !world[i].hosts[j].posted_count);
            CHECK(!world[i].hosts[j].unexpected_count);
            for (uint32_t k = 0; k < REQUESTS; k++)
                CHECK(world[i].hosts[j].requests[k].state == IDLE);
        }
        check_idle(&world[i]);
    }
}

/* A message of each interesting length, before and after its receive. */
static void run_lengths(int synchronous)
{
    static const uint32_t lengths[] = {0,    1,     64,    65,     4095,  4096,
                                       4097, 65535, 65536, 65537, 200000};

    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint32_t early = 0; early < 2; early++) {
            for (uint32_t room = 0; room < 3; room++) {
                uint32_t length = lengths[i];
                uint32_t space = room == 0 ? length : room == 1 ? length / 2 : 0;

                if (!early)
                    host_receive(b, 0, 1, BITS(1, 2, 3), ANY_TAG, space, PLACE(5));
                world_settle();
                host_send(a, 0, 7, BITS(1, 2, 4), length, PLACE(3), 1, synchronous);
                world_settle();
                if (early)
                    host_receive(b, 0, 1, BITS(1, 2, 3), ANY_TAG, space, PLACE(5));
                check_all_idle();
            }
        }
    }
}

static void lengths_eager(void)
{
    boot();
    run_lengths(0);
}

static void lengths_synchronous(void)
{
    boot();
    run_lengths(1);
}

static void oldest_receive_first(void)
{
    boot();
    for (uint32_t i = 0; i < 30; i++)
        host_receive(b, 0, i, BITS(1, 2, i % 3), i % 5 ? 0 : ANY_TAG, 100, PLACE(4) + i * 256);
    world_settle();
    for (uint32_t i = 0; i < 4; i++)
        node_turn(b);
    CHECK(b->units[0].count == cells);
    for (uint32_t i = 0; i < 30; i++)
        host_send(a, 1, i, BITS(1, 2, i % 3), i, PLACE(3) + i * 256, 1, 0);
    world_settle();
    CHECK(b->hosts[0].unexpected_count == b->hosts[0].posted_count);
    for (uint32_t i = 0, n = b->hosts[0].posted_count; i < n; i++)
        host_ask(b, 0, OF_OPERATION_CANCEL, b->hosts[0].posted[i].request, 0, 0);
    world_settle();
    for (uint32_t i = 0, n = b->hosts[0].unexpected_count; i < n; i++)
        host_receive(b, 0, 60 + i, 0, ANY, 100, PLACE(4) + i * 256);
    check_all_idle();
}

static void messages_to_itself(void)
{
    boot();
    host_send(a, 0, 0, BITS(0, 0, 1), 5000, PLACE(3), 0 | 1 << 16, 0);
    host_receive(a, 1, 0, BITS(0, 0, 1), 0, 5000, PLACE(5));
    host_receive(a, 0, 1, BITS(0, 0, 1), 0, 5000, PLACE(6));
    host_send(a, 0, 2, BITS(0, 0, 1), 50, PLACE(7), 0, 0);
    check_all_idle();
}

static void cancelled(void)
{
    boot();
    for (uint32_t i = 0; i < 20; i++)
        host_receive(b, 0, i, BITS(0, 0, 1), 0, 10, PLACE(3) + i * 16);
    world_settle();
    for (uint32_t i = 0; i < 20; i += 2)
        host_ask(b, 0, OF_OPERATION_CANCEL, i, 0, 0);
    world_settle();
    CHECK(b->hosts[0].posted_count == 10 && state_of(b, 0) == IDLE && state_of(b, 1) == RECEIVING);
    for (uint32_t i = 0; i < 10; i++)
        host_send(a, 0, i, BITS(0, 0, 1), 10, PLACE(3) + i * 16, 1, 0);
    world_settle();
    host_ask(b, 0, OF_OPERATION_CANCEL, 1, 0, 0);
    check_all_idle();
}

static void probed(void)
{
    boot();
    host_ask(b, 0, OF_OPERATION_PROBE, 1, BITS(0, 0, 1), 0);
    world_settle();
    CHECK(b->hosts[0].watching);
    host_send(a, 0, 1, BITS(0, 0, 2), 10, PLACE(3), 1, 0);
    world_settle();
    CHECK(b->hosts[0].watching);
    host_send(a, 0, 1, BITS(0, 0, 1), 10, PLACE(3), 1, 0);
    world_settle();
    CHECK(!b->hosts[0].watching && !b->hosts[0].expected_count);
    host_send(a, 0, 1, BITS(0, 0, 1), 11, PLACE(3), 1, 0);
    host_ask(b, 0, OF_OPERATION_PROBE, 1, BITS(0, 0, 1), 0);
    host_ask(b, 0, OF_OPERATION_PROBE, 2, BITS(0, 0, 3), 0);
    host_ask(b, 0, OF_OPERATION_PROBE, 3, BITS(0, 0, 2), 0);
    world_settle();
    CHECK(!b->hosts[0].watching && b->hosts[0].unexpected_count == 3);
    for (uint32_t i = 0; i < 3; i++)
        host_receive(b, 0, i, 0, ANY, 20, PLACE(3) + i * 32);
    check_all_idle();
}

static void taken(void)
{
    boot();
    for (uint32_t i = 0; i < 12; i++)
        host_send(a, 0, i, BITS(0, 0, i % 2), i * 500, PLACE(3) + i * 8192, 1, 0);
    world_settle();
    for (uint32_t i = 0; i < 4; i++)
        host_ask(b, 0, OF_OPERATION_TAKE, i, BITS(0, 0, 1), 0);
    host_ask(b, 0, OF_OPERATION_TAKE, 4, BITS(0, 0, 7), 0);
    world_settle();
    CHECK(b->hosts[0].taken_count == 4 && b->hosts[0].unexpected_count == 8);
    for (uint32_t i = 0; i < 8; i++)
        host_receive(b, 0, i, 0, ANY, 6000, PLACE(3) + i * 8192);
    world_settle();
    for (uint32_t i = 0; i < 4; i++)
        host_receive_taken(b, 0, i, 0, 6000, PLACE(3) + i * 8192);
    check_all_idle();
}

static void closed(void)
{
    boot();
    for (uint32_t i = 0; i < 20; i++)
        host_receive(b, 0, i, BITS(0, 0, 1), 0, 10, PLACE(3) + i * 16);
    for (uint32_t i = 0; i < 20; i++)
        host_send(a, 0, i, BITS(0, 0, 2), i, PLACE(3), 1, 0);
    world_settle();
    CHECK(b->hosts[0].posted_count == 20 && b->hosts[0].unexpected_count == 20);
    host_ask(b, 0, OF_OPERATION_CLOSE, 0, 0, 0);
    world_settle();
    memset(b->hosts[0].requests, 0, sizeof(b->hosts[0].requests));
    check_all_idle();
    b->hosts[0].completed = 0;
    host_open(b, 0);
    host_send(a, 0, 0, BITS(0, 0, 1), 10, PLACE(3), 1, 0);
    host_receive(b, 0, 1, BITS(0, 0, 1), 0, 10, PLACE(4));
    check_all_idle();
}

/* More completions than the ring has slots. */
static void laps(void)
{
    boot();
    for (uint32_t i = 0; i < 2 * OF_WINDOW_SIZE / 32 + 10; i++) {
        host_ask(b, 0, OF_OPERATION_TAKE, 1, 0, 0);
        if (command_room(b, 0) == 0)
            world_settle();
        else
            b->hosts[0].requests[1].state = IDLE;
    }
    check_all_idle();
    CHECK(nic->processes[0].lap == 3 || b->state.processes[0].lap == 3);
}

static void engines_full(void)
{
    boot();
    for (uint32_t i = 0; i < 40; i++)
        host_send(a, 0, i, BITS(0, 0, i), i % 3 ? 100 : 70000, PLACE(3) + i * 0x20000, 1, 0);
    world_settle();
    for (uint32_t i = 0; i < 40; i++)
        host_receive(b, 0, i, BITS(0, 0, 39 - i), 0, 80000, PLACE(3) + i * 0x20000);
    check_all_idle();
}

static void arrive(struct of_packet head)
{
    b->wire[(b->wire_first + b->wire_count++) % WIRE_MAX] = (struct sim_packet){.head = head};
    step_write(b);
    step_come(b);
    node_turn(b);
}

static void bad_packets(void)
{
    boot();
    EXPECT_PANIC(OF_PANIC_REASON_BAD_PACKET, 9, arrive((struct of_packet){.kind = 9}));
    boot();
    EXPECT_PANIC(OF_PANIC_REASON_BAD_PACKET, OF_PACKET_KIND_EAGER,
                 arrive((struct of_packet){.kind = OF_PACKET_KIND_EAGER | 4 << 8}));
    boot();
    EXPECT_PANIC(OF_PANIC_REASON_BAD_PACKET, OF_PACKET_KIND_CLEAR,
                 arrive((struct of_packet){.kind = OF_PACKET_KIND_CLEAR, .sender = 0}));
    boot();
    EXPECT_PANIC(OF_PANIC_REASON_BAD_PACKET, OF_PACKET_KIND_DATA,
                 arrive((struct of_packet){.kind = OF_PACKET_KIND_DATA, .receiver = 70000}));
}

/* A payload that is not the message's length, and one that is too long. */
static void bad_payloads(void)
{
    struct of_packet head = {.kind = OF_PACKET_KIND_EAGER, .length = 8};

    boot();
    EXPECT_PANIC(OF_PANIC_REASON_BAD_PACKET, OF_PACKET_KIND_EAGER, arrive(head));
    boot();
    head.kind = OF_PACKET_KIND_REQUEST;
    head.process = 8 << 8;
    EXPECT_PANIC(OF_PANIC_REASON_BAD_PACKET, OF_PACKET_KIND_REQUEST, arrive(head));
    boot();
    head.kind = OF_PACKET_KIND_EAGER;
    head.length = OF_EAGER_LIMIT + 1;
    head.process = head.length << 8;
    messages[0][0] = (struct message){.length = head.length};
    EXPECT_PANIC(OF_PANIC_REASON_BAD_PACKET, OF_PACKET_KIND_EAGER, arrive(head));
}

/* Memory for kept payloads runs out. */
static void no_buffer(void)
{
    boot();
    EXPECT_PANIC(OF_PANIC_REASON_NO_BUFFER, 0, {
        for (uint32_t i = 0; i <= OF_BUFFER_SIZE / 4096; i++) {
            /* The reference need not know of them all. */
            b->hosts[0].unexpected_count = 0;
            a->hosts[0].requests[0].state = IDLE;
            host_send(a, 0, 0, 1, 4096, PLACE(3), 1, 0);
            world_settle();
        }
    });
}

static void no_entry(void)
{
    boot();
    b->state.used_entries = ENTRY_COUNT;
    EXPECT_PANIC(OF_PANIC_REASON_NO_ENTRY, 1,
                 (host_send(a, 0, 0, 1, 0, PLACE(3), 1 | 1 << 16, 0), world_settle()));
}

static void bad_commands(void)
{
    boot();
    EXPECT_PANIC(OF_PANIC_REASON_BAD_COMMAND, 99,
                 (host_command(b, 0, (struct of_command){.operation = 99}), world_settle()));
    boot();
    EXPECT_PANIC(OF_PANIC_REASON_BAD_COMMAND, 3 << 8 | OF_OPERATION_SEND,
                 (host_command(b, 3, (struct of_command){.operation = OF_OPERATION_SEND}),
                  world_settle()));
    boot();
    EXPECT_PANIC(OF_PANIC_REASON_BAD_COMMAND, OF_OPERATION_RECEIVE_TAKEN,
                 (host_command(b, 0, (struct of_command){.operation = OF_OPERATION_RECEIVE_TAKEN,
                                                         .handle = 3}),
                  world_settle()));
}

#define WITH(name, number, level)                                                                  \
    static void name##_##number##_##level(void)                                                    \
    {                                                                                              \
        cells = number;                                                                            \
        threshold = level;                                                                         \
        name();                                                                                    \
    }
#define ALL(name) WITH(name, 0, 0) WITH(name, 4, 0) WITH(name, 16, 0) WITH(name, 16, 5)
ALL(lengths_eager)
ALL(lengths_synchronous)
ALL(oldest_receive_first)
ALL(messages_to_itself)
ALL(cancelled)
ALL(probed)
ALL(taken)
ALL(closed)
ALL(engines_full)
WITH(laps, 0, 0)
WITH(bad_packets, 0, 0)
WITH(bad_payloads, 0, 0)
WITH(no_buffer, 0, 0)
WITH(no_entry, 0, 0)
WITH(bad_commands, 0, 0)

#define ROW(text, name, number, level)                                                             \
    {text " (cells " #number ", threshold " #level ")", name##_##number##_##level}
#define ROWS(text, name)                                                                           \
    ROW(text, name, 0, 0), ROW(text, name, 4, 0), ROW(text, name, 16, 0), ROW(text, name, 16, 5)

const struct test tests_dialogue[] = {
    ROWS("messages of each length, posted and unexpected, with room and without", lengths_eager),
    ROWS("the same, synchronous", lengths_synchronous),
    ROWS("the oldest receive that matches takes the message", oldest_receive_first),
    ROWS("messages from a node to itself", messages_to_itself),
    ROWS("receives are cancelled", cancelled),
    ROWS("messages are probed for, and news come", probed),
    ROWS("messages are taken", taken),
    ROWS("a process closes and opens again", closed),
    ROWS("engines run full", engines_full),
    {"completions go around their ring", laps_0_0},
    {"packets that cannot be stop the node", bad_packets_0_0},
    {"payloads that cannot be stop the node", bad_payloads_0_0},
    {"memory that has run out stops the node", no_buffer_0_0},
    {"a pool that has run out stops the node", no_entry_0_0},
    {"commands that cannot be stop the node", bad_commands_0_0},
    {0, 0},
};
