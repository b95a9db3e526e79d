/* Small worlds, tried in every order: a few commands and a few messages of no bytes meet at one
 * node whose units have few cells. Each time that the firmware reads a register which tells of
 * progress, every step that could have changed the answer is tried, and none. What a read cannot
 * see is not tried there, because it makes no difference before a later read: steps of the posted
 * unit and of the wire belong to STATUS and to that unit's results, the others to TAILS and to the
 * other unit's. The search goes back to where two ways lead to the same state at the start of a
 * turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "world.h"

#define ANY ((1ull << OF_MATCH_WIDTH) - 1)
#define CHOICES_MAX 400
#define VISITED_MAX (1u << 22)

/* A command or a message, in a letter and a tag; `*`: any tag. */
struct world_small {
    const char *commands; /* R receive, C cancel (the n-th), P probe, T take. */
    const char *messages;
    uint32_t cells, threshold;
};

static struct node *const node = &world[0];

/* The way to the state at hand: which choice of how many; the first `prefix` of them were tried
 * before. */
static uint8_t chosen[CHOICES_MAX], of_how_many[CHOICES_MAX];
static uint32_t depth, known, prefix;
static uint32_t turn_reads;
/* Where the firmware is follows from the state at the turn's start and from what it has read
 * since. */
static uint64_t trail;
static jmp_buf known_way;
static uint64_t *visited;
static uint32_t states;

/* A hash of all that what happens from now on depends on. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const uint32_t *words = bytes;

    for (size_t i = 0; i < size / 4; i++)
        hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15ull, hash ^= hash >> 29;
    return hash;
}

static uint64_t hash_unit(uint64_t hash, const struct sim_unit *u)
{
    uint32_t counts[] = {u->count, u->input_count, u->command_count, u->result_count,
                         u->delivery | u->inserting << 1 | u->held << 2};

    hash = hash_bytes(hash, counts, sizeof(counts));
    hash = hash_bytes(hash, u->cells, u->count * sizeof(u->cells[0]));
    for (uint32_t i = 0; i < u->input_count; i++)
        hash = hash_bytes(hash, &u->inputs[(u->input_first + i) % UNIT_FIFO], sizeof(u->inputs[0]));
    for (uint32_t i = 0; i < u->command_count; i++) {
        uint32_t at = (u->command_first + i) % UNIT_FIFO;
        uint32_t words[] = {u->commands[at].command, u->commands[at].cell.tag};

        hash = hash_bytes(hash, words, sizeof(words));
    }
    for (uint32_t i = 0; i < u->result_count; i++)
        hash = hash_bytes(hash, &u->results[(u->result_first + i) % UNIT_FIFO], 4);
    return hash;
}

/* Of everything but the firmware and what the host waits for. */
static uint64_t hash_devices(uint64_t hash)
{
    for (uint32_t i = 0; i < 2; i++)
        hash = hash_unit(hash, &node->units[i]);
    hash = hash_bytes(hash, &node->written, 4);
    hash = hash_bytes(hash, &node->come, 4);
    for (uint32_t i = node->looked; i != node->written; i++)
        hash = hash_bytes(hash, &node->arrivals[i % OF_ARRIVAL_COUNT], sizeof(node->arrivals[0]));
    hash = hash_bytes(hash, &node->doorbells[0], 4);
    for (uint32_t i = node->looked_commands[0]; i != node->doorbells[0]; i++)
        hash = hash_bytes(hash, &node->commands[0][i].bits_hi, 4);
    return hash | 1;
}

static uint64_t hash_world(void)
{
    uint64_t hash = 1;
    static struct state state;

    memcpy(&state, nic, sizeof(state));
    for (uint32_t i = 0; i < 2; i++)
        state.units[i].epoch = 0;
    hash = hash_bytes(hash, &state, sizeof(state));
    for (uint32_t i = 0; i < nic->used_entries; i++) {
        struct entry entry = native_entries[i];
        uint32_t in_unit = entry.epoch && entry.epoch == nic->units[entry.epoch & 1].epoch;

        entry.epoch = in_unit;
        hash = hash_bytes(hash, &entry, sizeof(entry));
    }
    for (uint32_t i = 0; i < 10; i++) {
        const struct request *r = &node->hosts[0].requests[i];
        uint32_t words[] = {r->state, r->cancels, r->cancelled, r->ended,
                            r->message ? r->message->serial : 0};

        hash = hash_bytes(hash, words, sizeof(words));
    }
    return hash_devices(hash);
}

static int is_new(uint64_t hash)
{
    uint32_t at = (uint32_t)(hash >> 20) % VISITED_MAX;

    while (visited[at] && visited[at] != hash)
        at = (at + 1) % VISITED_MAX;
    if (visited[at])
        return 0;
    CHECK(++states < VISITED_MAX / 2);
    visited[at] = hash;
    return 1;
}

static uint32_t choice(uint32_t count)
{
    CHECK(depth < CHOICES_MAX);
    if (depth >= prefix && !is_new(hash_devices(trail ^ count << 1 ^ turn_reads)))
        longjmp(known_way, 1);
    if (depth >= known) {
        chosen[depth] = 0;
        of_how_many[depth] = (uint8_t)count;
        known = depth + 1;
    }
    CHECK(of_how_many[depth] == count);
    return chosen[depth++];
}

enum { WRITE, COME, DOORBELL, COMMAND, MATCH };

static int can(uint32_t action, uint32_t unit)
{
    const struct sim_unit *u = &node->units[unit];

    switch (action) {
    case WRITE: return node->wire_count && (!u->delivery || u->input_count < UNIT_FIFO);
    case COME: return node->come != node->written;
    case DOORBELL: return node->doorbells[0] != node->hosts[0].written;
    case COMMAND: return u->command_count && u->result_count < UNIT_FIFO;
    default: return u->input_count && u->result_count < UNIT_FIFO && !(u->inserting && u->held);
    }
}

static void act(uint32_t action, uint32_t unit)
{
    switch (action) {
    case WRITE: CHECK(step_write(node)); break;
    case COME: CHECK(step_come(node)); break;
    case DOORBELL: CHECK(step_doorbell(node, 0)); break;
    case COMMAND: CHECK(step_unit_command(node, unit)); break;
    default: CHECK(step_unit_match(node, unit));
    }
}

/* True if the read would only be repeated: then something has to happen first. */
static int must_move(uint32_t address)
{
    switch (address) {
    case OF_REGISTER_BASE + OF_REGISTER_STATUS:
        return turn_reads > 2 && node->come == node->looked;
    case OF_REGISTER_BASE + OF_REGISTER_TAILS:
        return turn_reads > 2 && node->doorbells[0] == node->looked_commands[0];
    default:
        return !node->units[address >= OF_UNEXPECTED_UNIT].result_count;
    }
}

/* What the read will say. */
static void note_read(uint32_t address)
{
    const struct sim_unit *unit = &node->units[address >= OF_UNEXPECTED_UNIT];
    uint32_t words[] = {address, 0};

    if (unit->result_count)
        words[1] = unit->results[unit->result_first % UNIT_FIFO];
    if (address == OF_REGISTER_BASE + OF_REGISTER_STATUS)
        words[1] = node->come;
    if (address == OF_REGISTER_BASE + OF_REGISTER_TAILS)
        words[1] = node->doorbells[0];
    trail = hash_bytes(trail, words, sizeof(words));
}

static void choose(struct node *at, uint32_t address)
{
    const uint32_t tails = OF_REGISTER_BASE + OF_REGISTER_TAILS;
    const uint32_t unit = address == tails || address >= OF_UNEXPECTED_UNIT;
    /* Headers become visible last, because nothing but STATUS sees that. */
    uint32_t showing = 0;

    CHECK(at == node);
    ++turn_reads;
    for (;;) {
        uint32_t actions[4], count = 0, stay = !must_move(address), pick;

        if (!showing && can(unit ? DOORBELL : WRITE, unit))
            actions[count++] = unit ? DOORBELL : WRITE;
        if (!showing && can(COMMAND, unit))
            actions[count++] = COMMAND;
        if (!showing && can(MATCH, unit))
            actions[count++] = MATCH;
        if (!unit && can(COME, unit))
            actions[count++] = COME;
        if (count + stay == 0 && showing) {
            showing = 0;
            continue;
        }
        CHECK(count + stay); /* Else the firmware waits for ever. */
        pick = count + stay == 1 ? 0 : choice(count + stay);
        if (pick == count)
            break;
        showing |= actions[pick] == COME;
        act(actions[pick], unit);
    }
    note_read(address);
}

static uint64_t tag_of(const char *word)
{
    return word[1] == '*' ? 0 : (uint64_t)(word[1] - '0');
}

/* The world at its start: all that comes is still outside. */
static void begin(const struct world_small *small)
{
    uint32_t request = 0;

    world_choose = choose_all;
    world_restart(node, small->cells, small->threshold);
    host_open(node, 0);
    for (const char *c = small->commands; *c; c += 3) {
        uint64_t mask = c[1] == '*' ? ANY : 0;

        if (c[0] == 'R')
            host_receive(node, 0, request++, tag_of(c), mask, 0, 0);
        else if (c[0] == 'C')
            host_ask(node, 0, OF_OPERATION_CANCEL, (uint32_t)tag_of(c), 0, 0);
        else
            host_ask(node, 0, c[0] == 'P' ? OF_OPERATION_PROBE : OF_OPERATION_TAKE, request++,
                     tag_of(c), mask);
        if (!c[2])
            break;
    }
    for (const char *m = small->messages; *m; m++) {
        uint32_t serial = ++node->serial;

        messages[0][serial] = (struct message){.bits = (uint64_t)(*m - '0'), .serial = serial};
        node->wire[node->wire_count++] = (struct sim_packet){
            .head = {.kind = OF_PACKET_KIND_EAGER, .bits_lo = (uint32_t)(*m - '0'),
                     .serial = serial}};
    }
    world_choose = choose;
}

/* Everything has come: what has met is told. */
static void check_end(void)
{
    const struct host *host = &node->hosts[0];

    if (node->wire_count || node->come != node->looked || node->written != node->come ||
        node->hosts[0].written != node->looked_commands[0])
        return;
    CHECK(!host->expected_count);
    for (uint32_t i = 0; i < REQUESTS; i++)
        CHECK(host->requests[i].state == IDLE || !host->requests[i].message);
}

/* One way through, as far as it is new. */
static void run_way(const struct world_small *small)
{
    prefix = known;
    begin(small);
    depth = 0;
    if (setjmp(known_way))
        return;
    for (;;) {
        trail = hash_world();
        if (depth >= prefix && !is_new(trail))
            break;
        turn_reads = 0;
        node_turn(node);
        check_end();
    }
}

static void try_all(const struct world_small *small)
{
    uint32_t ways = 0;

    memset(visited, 0, VISITED_MAX * sizeof(*visited));
    states = 0;
    known = 0;
    do {
        run_way(small);
        ++ways;
        while (known && chosen[known - 1] + 1 == of_how_many[known - 1])
            --known;
        if (known)
            ++chosen[known - 1];
    } while (known);
    if (getenv("VERBOSE"))
        fprintf(stderr, "cells %u threshold %u: %s and %s: %u ways, %u states\n", small->cells,
                small->threshold, small->commands, small->messages, ways, states);
}

static void small_worlds(void)
{
    static const struct world_small worlds[] = {
        {"R1 R*", "12", 2, 0},
        {"R1 R1 C0", "11", 2, 0},
        {"R1 T* R*", "12", 2, 0},
        {"R1 R1 C0", "11", 4, 0},
        {"R1 T1 R1", "11", 4, 0},
        {"R1 R* R1", "11", 2, 2},
        {"P1 R1", "11", 2, 1},
        {"R1 R* R1", "112", 2, 2},
        {"R1 R1 C0 R*", "11", 2, 2},
        {"R1 R1 R1 C1", "12", 4, 0},
        {"T1 R* R1", "211", 4, 2},
    };

    world_reset(2, 0);
    visited = malloc(VISITED_MAX * sizeof(*visited));
    for (uint32_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
        try_all(&worlds[i]);
    free(visited);
}

const struct test tests_small[] = {
    {"small worlds, every order of commands, messages and the units' steps", small_worlds},
    {0, 0},
};
