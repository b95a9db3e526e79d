/* What ends a node: exhausted resources and broken contracts. */
#include <string.h>

#include "niccb.h"
#include "sim.h"
#include "tests.h"

static void arrive(uint32_t flags, uint32_t nid, uint32_t length)
{
    struct ss_portals_header header = sim_header(SS_PORTALS_OP_PUT, flags, nid, 1, length);

    sim_arrive(&header, length);
}

static void no_receive_pending(void)
{
    sim_boot(36, 32, 1024);
    for (unsigned i = 0; i < 4; i++)
        arrive(SS_HEADER_FLAG_INLINE, 9, 0);
    sim_turns(1);
    arrive(SS_HEADER_FLAG_INLINE, 0xABCD, 0);
    EXPECT_PANIC(SS_PANIC_REASON_NO_RX_PENDING, 0xABCD, sim_turns(1));
}

static void no_source(void)
{
    sim_boot(1272, 1272, 2048);
    for (unsigned i = 0; i < SS_SOURCES; i++) {
        sim_tx(GENERIC, i, i, HOST_PHYS, 100);
        sim_turns(1);
    }
    sim_tx(GENERIC, SS_SOURCES, 5000, HOST_PHYS, 100);
    EXPECT_PANIC(SS_PANIC_REASON_NO_SOURCE, 5000, sim_turns(1));
}

static void cam_overflow(void)
{
    sim_boot(512, 32, 1024);
    for (unsigned i = 0; i < SS_CAM_ENTRIES; i++)
        arrive(0, i, 100);
    sim_turns(1);
    CHECK(niccb.cam_in_use == SS_CAM_ENTRIES && niccb.cam_ovf == 0);
    arrive(0, 777, 100);
    EXPECT_PANIC(SS_PANIC_REASON_CAM_OVERFLOW, 777, sim_turns(1));
    CHECK(niccb.cam_ovf == 1);
}

/* Commands that a booted firmware (64 pendings, 32 for the host) must refuse. */
static const struct { uint32_t words[6]; uint32_t reason, detail; } refused[] = {
    {{0x000001FF}, SS_PANIC_REASON_BAD_COMMAND, 0xFF},                   /* unknown */
    {{0x0000010D}, SS_PANIC_REASON_BAD_COMMAND, 13},                     /* IP_TX: not ours */
    {{0x00200103}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX},       /* a receive pending */
    {{0x00000003}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX},       /* another process */
    {{0x00000103, 0, 1, 0, 0x100}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX}, /* 41 bits */
    {{0x00000103, 0x00010000, 1, 0, 0, 0xFFFA8000}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX},
    {{0x00000103, 0x00020000, 1, 0, 0, 0xFFFA7FF0}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX},
    {{0x00000103, 0x00010000, 1, 0, 0, 0xFFFA4004}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX},
    {{0x00000103, 0x00010000, 1, 0, 0, 0xFFFA4000}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX},
    {{0x00200104}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_RX},       /* not announced */
    {{0x00010104}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_RX},       /* a transmit pending */
    {{0x00400104}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_RX},       /* no such pending */
    {{0x00200105}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_RELEASE},  /* free already */
    {{0x00000105}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_RELEASE},
    {{0x00000100}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_PROCESS}, /* again */
    {{0x00000400}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_PROCESS}, /* no mailbox */
    {{0x00000000}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_PROCESS}, /* no pendings */
    {{0x00000101}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_MARK_ALIVE},   /* again */
    {{0x00000001}, SS_PANIC_REASON_NO_PROCESS, 0},
    {{0x00000302, 1024, HOST_LOCAL}, SS_PANIC_REASON_NO_PROCESS, 3},
    {{0x00000102, 512, HOST_LOCAL}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_EQCB},
    {{0x00000102, 1025, HOST_LOCAL}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_EQCB},
    {{0x00000102, 1024, 0x1000}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_EQCB},
    {{0x00000102, 1024, 0xF0000000}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_EQCB},
    {{0x00000102, 1024, 0x8FFFFFF0}, SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_EQCB},
};

static void wrong_commands(void)
{
    for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        uint32_t command[SS_COMMAND_SIZE / 4] = {0};

        sim_boot(64, 32, 1024);
        memcpy(command, refused[i].words, sizeof(refused[i].words));
        sim_command(GENERIC, command);
        EXPECT_PANIC(refused[i].reason, refused[i].detail, sim_turns(1));
    }
}

static void a_pending_in_use_cannot_be_sent_again(void)
{
    sim_boot(64, 32, 1024);
    sim_tx(GENERIC, 3, 1, HOST_PHYS, 1);
    sim_tx(GENERIC, 3, 1, HOST_PHYS, 1);
    EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX, sim_turns(1));
}

static void more_cannot_be_received_than_was_sent(void)
{
    uint32_t event;

    sim_boot(64, 32, 1024);
    arrive(0, 1, 100);
    sim_turns(1);
    event = sim_event(GENERIC);
    sim_rx(GENERIC, event & 0xFFFF, 0, 101);
    EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_RX, sim_turns(1));
}

static void a_list_must_add_up(void)
{
    for (uint32_t wrong = 99; wrong <= 101; wrong += 2) {
        sim_boot(64, 32, 1024);
        devices.dma_list[0].length = 50;
        devices.dma_list[1].length = 50;
        sim_tx_list(0, 1, wrong, 0, 2);
        EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX, sim_turns(1));
    }
}

static void lists_stand_where_lists_may(void)
{
    static const struct { uint32_t list, count; } bad[] = {
        {SS_DMA_LIST_BASE + 4, 1},
        {SS_DMA_LIST_BASE - 16, 1},
        {SS_DMA_LIST_BASE, SS_DMA_LIST_COUNT + 1},
        {0, 1}, /* Window 0 is not mapped. */
        {SS_WINDOW_COUNT * SS_WINDOW_SIZE - 16, 2},
        {SS_WINDOW_COUNT * SS_WINDOW_SIZE, 1},
    };

    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ss_tx_command command = {
            .op = SS_COMMAND_OP_TX, .process_index = GENERIC, .peer = 1, .length = 100,
            .dma_count = (uint16_t)bad[i].count, .dma_list = bad[i].list};

        sim_boot(64, 32, 1024);
        sim_command(GENERIC, &command);
        EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_TX, sim_turns(1));
    }
}

static void users_cannot_set_up_processes(void)
{
    struct ss_init_process_command init = {
        .op = SS_COMMAND_OP_INIT_PROCESS, .process_index = 2, .num_pendings = 8,
        .upper_pending_local = HOST_LOCAL};

    if (OPT_ACCELERATED)
        return; /* It ends the process only (test_accel.c). */
    sim_boot(64, 32, 1024);
    sim_start_process(0, 42, 64, 16, 1024);
    sim_command(0, &init);
    EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_PROCESS, sim_turns(1));
}

static void pendings_are_limited_in_all(void)
{
    struct ss_init_process_command init = {
        .op = SS_COMMAND_OP_INIT_PROCESS, .process_index = 3, .num_pendings = 1,
        .upper_pending_local = HOST_LOCAL};

    sim_boot(SS_GENERIC_PENDINGS, 600, 2048);
    if (OPT_ACCELERATED) {
        sim_start_process(2, 2, SS_ACCELERATED_PENDINGS, 100, 1024);
        init.num_pendings = SS_ACCELERATED_PENDINGS + 1;
    } else {
        sim_start_process(0, 1, SS_GENERIC_PENDINGS, 600, 2048);
        sim_start_process(2, 2, SS_GENERIC_PENDINGS, 600, 2048);
    }
    sim_command(GENERIC, &init);
    EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_PROCESS, sim_turns(1));
}

static void a_wild_tail_is_noticed(void)
{
    extern volatile struct ss_mailbox mailboxes[];

    sim_boot(64, 32, 1024);
    mailboxes[GENERIC].command_write = SS_COMMAND_COUNT;
    EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_COUNT, sim_turns(1));
}

static void engines_that_lie_are_noticed(void)
{
    static const uint32_t words[] = {
        0, SS_DONE_NEW_MESSAGE | SS_CAM_ENTRIES, SS_DONE_COMPLETE | 5,
        SS_DONE_COMPLETE | LOWER_PENDINGS, SS_DONE_COMPLETE | SS_DONE_ERROR | TAG_DRAIN};

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        sim_boot(64, 32, 1024);
        sim_notify(words[i]);
        EXPECT_PANIC(SS_PANIC_REASON_DMA_ERROR, words[i], sim_turns(1));
    }
    sim_boot(64, 32, 1024);
    devices.tx_done[0] = SS_DONE_COMPLETE | 1;
    devices.tx_done_tail = 1;
    EXPECT_PANIC(SS_PANIC_REASON_DMA_ERROR, SS_DONE_COMPLETE | 1, sim_turns(1));
}

const struct test tests_fault[] = {
    {"panic: no receive pending", no_receive_pending},
    {"panic: no source", no_source},
    {"panic: CAM overflow", cam_overflow},
    {"panic: wrong commands", wrong_commands},
    {"panic: a pending in use cannot be sent again", a_pending_in_use_cannot_be_sent_again},
    {"panic: more cannot be received than was sent", more_cannot_be_received_than_was_sent},
    {"panic: a list must add up", a_list_must_add_up},
    {"panic: lists stand where lists may", lists_stand_where_lists_may},
    {"panic: users cannot set up processes", users_cannot_set_up_processes},
    {"panic: pendings are limited in all", pendings_are_limited_in_all},
    {"panic: a wild tail is noticed", a_wild_tail_is_noticed},
    {"panic: engines that lie are noticed", engines_that_lie_are_noticed},
    {0, 0},
};
