/* The control program's core against a card that is played: by hand, and by a fuzzer. */
#include "card.h"

#include <stdlib.h>
#include <string.h>

static struct mcp mcp;

static void start(void)
{
    card_reset();
    mcp_start(&mcp);
}

static void turns(int count)
{
    while (count-- > 0)
        mcp_step(&mcp);
}

/* Writes as the host. */
static void host_set(uint32_t addr, uint32_t value)
{
    for (uint32_t i = 0; i < 4; i++)
        card.sram[addr + i] = (uint8_t)(value >> (24 - 8 * i));
}

static void set_route(uint32_t node, const uint8_t *bytes, uint32_t hops)
{
    memcpy(card.sram + MY_REGION_ROUTES_BASE + MY_ROUTE_SIZE * node, bytes, hops);
}

/* A packet of the send buffer to `target`. */
static void command(uint32_t target, uint32_t length)
{
    card.sram[HEADER(MY_REGION_SEND_BASE, kind)] = MY_PACKET_TYPE_DP >> 8;
    card.sram[HEADER(MY_REGION_SEND_BASE, kind) + 1] = MY_PACKET_TYPE_DP & 0xff;
    card.sram[HEADER(MY_REGION_SEND_BASE, target)] = (uint8_t)(target >> 8);
    card.sram[HEADER(MY_REGION_SEND_BASE, target) + 1] = (uint8_t)target;
    host_set(AREA(length), length);
    host_set(AREA(command), MY_COMMAND_SEND);
}

static int sends_a_packet_behind_its_route(void)
{
    const uint8_t route[] = {0x81, 0xbf, 0x82, 0x83, 0x84, 0x85};

    for (uint32_t hops = 1; hops <= 6; hops++) {
        start();
        set_route(21844, route, hops);
        memset(card.sram + MY_REGION_SEND_BASE, 0x5a, MY_REGION_SEND_SIZE);
        command(21844, 65536);
        turns(2);
        CHECK(mem_get(AREA(busy)) == 1);
        turns(10);
        CHECK(card.sent_packets == 1 && card.sent_length == hops + 65536);
        CHECK(memcmp(card.sent, route, hops) == 0);
        CHECK(memcmp(card.sent + hops, card.sram + MY_REGION_SEND_BASE, 65536) == 0);
        CHECK(mem_get(AREA(command)) == MY_COMMAND_NONE && mem_get(AREA(busy)) == 0);
        CHECK(mem_get(AREA(status)) == MY_STATUS_DONE && mem_get(AREA(sent)) == 1);
    }
    return 1;
}

static int refuses_what_it_cannot_send(void)
{
    const struct {
        uint32_t command, target, length, status;
    } table[] = {
        {MY_COMMAND_SEND, 5, 100, MY_STATUS_NO_ROUTE},
        {MY_COMMAND_SEND, 21845, 100, MY_STATUS_NO_ROUTE},
        {MY_COMMAND_SEND, 65535, 100, MY_STATUS_NO_ROUTE},
        {MY_COMMAND_SEND, 1, 15, MY_STATUS_BAD_LENGTH},
        {MY_COMMAND_SEND, 1, 65537, MY_STATUS_BAD_LENGTH},
        {77, 1, 100, MY_STATUS_BAD_COMMAND},
    };
    const uint8_t route[] = {0x81};

    for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        start();
        set_route(1, route, 1);
        command(table[i].target, table[i].length);
        host_set(AREA(command), table[i].command);
        turns(10);
        CHECK(mem_get(AREA(status)) == table[i].status);
        CHECK(mem_get(AREA(command)) == MY_COMMAND_NONE && mem_get(AREA(busy)) == 0);
        CHECK(card.sent_length == 0);
    }
    return 1;
}

static void fill_packet(uint8_t *packet, uint32_t type)
{
    memset(packet, 0x33, 70000);
    packet[0] = (uint8_t)(type >> 8);
    packet[1] = (uint8_t)type;
}

static int interrupts_for_dp_packets_only(void)
{
    static uint8_t packet[70000];

    start();
    fill_packet(packet, MY_PACKET_TYPE_DP);
    CHECK(card_receive(packet, 1500, 0));
    turns(3);
    CHECK(card.interrupts == 1 && mem_get(AREA(waiting)) == 1);
    CHECK(mem_get(BLOCK(length)) == 1500);
    CHECK(mem_get(BLOCK(next)) == (MY_DMA_TERMINAL | MY_DMA_WAKE));
    CHECK(!card.armed);
    card_wake();
    turns(3);
    CHECK(card.armed && mem_get(AREA(waiting)) == 0);
    fill_packet(packet, 0x0101);
    CHECK(card_receive(packet, 1500, 0));
    turns(3);
    CHECK(card.armed && card.interrupts == 1 && mem_get(AREA(other)) == 1);
    return 1;
}

static int frames_interrupt_if_they_are_wanted(void)
{
    static uint8_t packet[70000];

    start();
    fill_packet(packet, MY_PACKET_TYPE_FRAME);
    CHECK(card_receive(packet, 100, 0));
    turns(3);
    CHECK(card.armed && card.interrupts == 0 && mem_get(AREA(other)) == 1);
    host_set(AREA(frames), 1);
    for (uint32_t number = 1; number <= 2; number++) {
        CHECK(card_receive(packet, 100, 0));
        turns(3);
        CHECK(card.interrupts == (int)number && mem_get(AREA(waiting)) == number);
        card_wake();
        turns(3);
    }
    return 1;
}

static int drops_what_is_damaged(void)
{
    static uint8_t packet[70000];
    const uint32_t errors[] = {MY_ISR_LINK0, MY_ISR_LINK1, MY_ISR_LINK2};

    start();
    fill_packet(packet, MY_PACKET_TYPE_DP);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(card_receive(packet, 100, errors[i]));
        turns(3);
        CHECK(mem_get(AREA(damaged)) == i + 1);
    }
    CHECK(card_receive(packet, 65537, 0));
    turns(3);
    CHECK(mem_get(AREA(too_long)) == 1);
    CHECK(card_receive(packet, 15, 0));
    turns(3);
    CHECK(mem_get(AREA(too_short)) == 1);
    CHECK(card.interrupts == 0 && card.armed);
    return 1;
}

/* Packets, commands and the host's doings in any order: the card forbids what must never happen, and
 * whatever came in is counted once. */
static int fuzz(unsigned seed)
{
    static uint8_t packet[70000];
    uint32_t in = 0, commands = 0, done = 0;

    start();
    srand(seed);
    for (int round = 0; round < 3000; round++) {
        uint32_t length = rand() % 3 ? (uint32_t)rand() % 64 : (uint32_t)rand() % 70000;

        switch (rand() % 6) {
        case 0:
            fill_packet(packet, rand() % 2 ? MY_PACKET_TYPE_DP : (uint32_t)rand() & 0x7fff);
            in += (uint32_t)card_receive(packet, length, rand() % 4 ? 0 : MY_ISR_LINK0);
            break;
        case 1:
            if (mem_get(AREA(waiting)))
                card_wake();
            break;
        case 2:
            if (mem_get(AREA(command)) == MY_COMMAND_NONE) {
                command((uint32_t)rand() & 0xffff, length);
                host_set(AREA(command), 1 + (rand() % 8 == 0 ? (uint32_t)rand() : 0));
                commands += mem_get(AREA(command)) != MY_COMMAND_NONE;
            }
            break;
        case 3:
            card.sram[MY_REGION_ROUTES_BASE + (uint32_t)rand() % MY_REGION_ROUTES_SIZE] =
                (uint8_t)rand();
            break;
        default: {
            uint32_t before = mem_get(AREA(command));

            turns(rand() % 8);
            done += before != MY_COMMAND_NONE && mem_get(AREA(command)) == MY_COMMAND_NONE;
        }
        }
    }
    for (int i = 0; i < 2; i++) {
        if (mem_get(AREA(command)) != MY_COMMAND_NONE)
            done++;
        turns(20);
    }
    CHECK(done == commands);
    CHECK(mem_get(AREA(received)) + mem_get(AREA(other)) + mem_get(AREA(damaged)) +
              mem_get(AREA(too_long)) + mem_get(AREA(too_short)) == in);
    CHECK(mem_get(AREA(sent)) == card.sent_packets);
    CHECK(mem_get(AREA(ready)) == MY_READY);
    return 1;
}

static int passed, failed;

static void report(const char *name, int ok)
{
    passed += ok != 0;
    failed += ok == 0;
    printf("%s: native lanai %s\n", ok ? "pass" : "FAIL", name);
}

int main(void)
{
    const char *seed_text = getenv("SEED"), *rounds_text = getenv("ROUNDS");
    unsigned seed = seed_text ? (unsigned)atoi(seed_text) : 1;
    int rounds = rounds_text ? atoi(rounds_text) : 200;

    report("sends_a_packet_behind_its_route", sends_a_packet_behind_its_route());
    report("refuses_what_it_cannot_send", refuses_what_it_cannot_send());
    report("interrupts_for_dp_packets_only", interrupts_for_dp_packets_only());
    report("frames_interrupt_if_they_are_wanted", frames_interrupt_if_they_are_wanted());
    report("drops_what_is_damaged", drops_what_is_damaged());
    int ok = 1;
    for (int round = 0; round < rounds && ok; round++) {
        ok = fuzz(seed + (unsigned)round);
        if (!ok)
            printf("seed %u\n", seed + (unsigned)round);
    }
    report("fuzz", ok);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
