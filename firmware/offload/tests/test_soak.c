/* Random traffic by seed between two nodes with two processes each: whatever the order of host,
 * engines, units and firmware, every message meets the receive that MPI demands, and in the end
 * every pool is whole. */
#include <stdio.h>

#include "world.h"

#define ANY ((1ull << OF_MATCH_WIDTH) - 1)
#define PLACE_SIZE 0x28000u
#define STEPS 10

static uint64_t random_state;
static uint32_t weights[STEPS];
static uint32_t calm; /* Steps per register read, at most. */

static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) % bound);
}

static int step(struct node *node, uint32_t which)
{
    switch (which) {
    case 0: return step_write(node);
    case 1: return step_come(node);
    case 2: return step_dma(node);
    case 3: return step_send(node);
    case 4: return step_unit_match(node, 0);
    case 5: return step_unit_match(node, 1);
    case 6: return step_unit_command(node, 0);
    case 7: return step_unit_command(node, 1);
    default: return step_doorbell(node, which - 8);
    }
}

/* One step of a random device; slow ones are chosen seldom. */
static void step_random(struct node *node)
{
    uint32_t which = random_below(STEPS);

    if (random_below(100) < weights[which])
        step(node, which);
}

static void choose(struct node *node, uint32_t address)
{
    (void)address;
    for (uint32_t i = random_below(calm + 1); i; i--)
        step_random(node);
}

static uint32_t free_request(const struct host *host)
{
    uint32_t request = random_below(REQUESTS);

    for (uint32_t i = 0; i < REQUESTS; i++, request = (request + 1) % REQUESTS) {
        if (host->requests[request].state == IDLE)
            return request;
    }
    return REQUESTS;
}

/* Few values, so that much matches. */
static uint64_t random_bits(void)
{
    return (uint64_t)(random_below(4) ? 5 : 1029) << 30 | (uint64_t)random_below(3) << 15 |
           random_below(3);
}

static uint64_t random_mask(void)
{
    return (random_below(3) ? 0 : 0x7FFFull << 15) | (random_below(4) ? 0 : 0x7FFFull) |
           (random_below(20) ? 0 : ANY);
}

static uint32_t random_length(void)
{
    switch (random_below(8)) {
    case 0: return random_below(4097);
    case 1: return 4000 + random_below(200);
    case 2: return random_below(8) ? 0 : random_below(0x27000);
    case 3: case 4: return random_below(100);
    default: return 0;
    }
}

/* Each request has places of its own to send from and to receive into. */
static uint32_t place(uint32_t process, uint32_t request)
{
    return 0x400000 + (process * REQUESTS + request) * PLACE_SIZE;
}

static uint32_t count(const struct host *host, enum request_state state)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < REQUESTS; i++)
        n += host->requests[i].state == state;
    return n;
}

static void cancel_any(struct node *node, uint32_t process)
{
    struct host *host = &node->hosts[process];
    uint32_t request = random_below(REQUESTS);

    if (host->requests[request].state == RECEIVING && host->requests[request].cancels < 2)
        host_ask(node, process, OF_OPERATION_CANCEL, request, 0, 0);
}

static void host_acts(struct node *node, uint32_t process, const uint32_t *likes)
{
    struct host *host = &node->hosts[process];
    uint32_t request = free_request(host), kind = random_below(likes[5]);

    if (request == REQUESTS || command_room(node, process) == 0)
        return;
    if (kind < likes[0]) {
        if (count(host, SENDING) < REQUESTS / 2)
            host_send(node, process, request, random_bits(), random_length(),
                      place(process, request),
                      random_below(NODES) | random_below(USED_PROCESSES) << 16,
                      random_below(6) == 0);
    } else if (kind < likes[1]) {
        if (count(host, RECEIVING) < REQUESTS / 2)
            host_receive(node, process, request, random_bits(), random_mask(), random_length(),
                         place(process, request));
    } else if (kind < likes[2]) {
        cancel_any(node, process);
    } else if (kind < likes[3]) {
        host_ask(node, process, OF_OPERATION_PROBE, request, random_bits(), random_mask());
    } else if (kind < likes[4]) {
        if (host->taken_count + count(host, ASKING) < 8)
            host_ask(node, process, OF_OPERATION_TAKE, request, random_bits(), random_mask());
    } else if (host->taken_count) {
        host_receive_taken(node, process, request, random_below(host->taken_count),
                           random_length(), place(process, request));
    }
}

/* Every message is received, then every receive that is left is cancelled. */
static void wind_up(void)
{
    world_choose = choose_all;
    for (uint32_t again = 1, turn = 0; again; turn++) {
        CHECK(turn < 1000);
        again = 0;
        world_settle();
        for (uint32_t i = 0; i < NODES * USED_PROCESSES; i++) {
            struct node *node = &world[i / USED_PROCESSES];
            uint32_t process = i % USED_PROCESSES, request;
            struct host *host = &node->hosts[process];

            request = free_request(host);
            again |= host->unexpected_count | host->posted_count | host->taken_count;
            if (host->posted_count)
                host_ask(node, process, OF_OPERATION_CANCEL, host->posted[0].request, 0, 0);
            if (host->taken_count && request != REQUESTS)
                host_receive_taken(node, process, request, 0, 100, place(process, request));
            else if (host->unexpected_count && request != REQUESTS)
                host_receive(node, process, request, 0, ANY, random_length(),
                             place(process, request));
        }
    }
}

static void soak_once(uint32_t cells, uint32_t threshold)
{
    uint32_t rounds = 300 + random_below(1500), likes[6], sum = 0;

    world_reset(cells, threshold);
    for (uint32_t i = 0; i < STEPS; i++)
        weights[i] = random_below(5) ? 20 + random_below(80) : 3;
    calm = 1 + random_below(12);
    for (uint32_t i = 0; i < 6; i++) {
        static const uint8_t most[] = {40, 40, 20, 8, 8, 8};

        likes[i] = sum += random_below(most[i]) + (i < 2 ? 10 : 0);
    }
    likes[5] = sum += 4;
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < USED_PROCESSES; j++)
            host_open(&world[i], j);
    }
    world_settle();
    world_choose = choose;
    for (uint32_t i = 0; i < rounds; i++) {
        struct node *node = &world[random_below(NODES)];

        for (uint32_t j = random_below(3); j; j--)
            host_acts(node, random_below(USED_PROCESSES), likes);
        for (uint32_t j = random_below(10); j; j--)
            step_random(&world[random_below(NODES)]);
        node_turn(node);
    }
    wind_up();
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < USED_PROCESSES; j++) {
            CHECK(count(&world[i].hosts[j], IDLE) == REQUESTS);
            CHECK(!world[i].hosts[j].expected_count);
        }
        check_idle(&world[i]);
    }
}

static void soak(uint32_t cells, uint32_t threshold)
{
    for (uint32_t i = 0; i < soak_rounds; i++) {
        random_state = (soak_seed + i) * 0x9E3779B97F4A7C15ull + cells;
        random_below(2);
        soak_once(cells, threshold);
    }
}

static void soak_lists(void) { soak(0, 0); }
static void soak_4(void) { soak(4, 0); }
static void soak_16(void) { soak(16, 0); }
static void soak_16_threshold(void) { soak(16, 5); }

const struct test tests_soak[] = {
    {"random traffic, lists", soak_lists},
    {"random traffic, units of 4 cells", soak_4},
    {"random traffic, units of 16 cells", soak_16},
    {"random traffic, units of 16 cells from 5 entries on", soak_16_threshold},
    {0, 0},
};
