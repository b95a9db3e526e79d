/* Devices of the simulated nodes. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "mainloop.h"

#define POLLS_MAX 200000 /* Reads without a step until a turn is said to hang. */

struct state *nic;
struct entry *native_entries;
struct buffer_page *native_pages;
uint32_t planted_bug;

struct node world[NODES];
struct node *current;
struct message messages[NODES][MESSAGES];
uint8_t *host_memory[NODES];
static struct entry *pools[NODES];
static struct buffer_page *pages[NODES];
static uint8_t *buffers[NODES];

void (*world_choose)(struct node *node, uint32_t address);
void (*world_sent)(struct node *from, uint32_t target, struct sim_packet packet);

jmp_buf panic_jump;
int panic_expected;
uint32_t panic_word;

void port_halt(void)
{
    if (panic_expected) {
        panic_expected = 0;
        longjmp(panic_jump, 1);
    }
    fprintf(stderr, "panic %08x of node %u\n", panic_word, current->number);
    test_fail(__FILE__, __LINE__, "the firmware has stopped its node");
}

void node_select(struct node *node)
{
    current = node;
    nic = &node->state;
    native_entries = pools[node->number];
    native_pages = pages[node->number];
}

void node_turn(struct node *node)
{
    node_select(node);
    node->unmoved = 0;
    node->last_read = 0;
    mainloop_turn();
}

/* Nothing is slow. */
void choose_all(struct node *node, uint32_t address)
{
    (void)address;
    step_come(node);
    step_dma(node);
    step_doorbell(node, 0);
    for (uint32_t i = 0; i < 2 && node->cells; i++) {
        step_unit_command(node, i);
        step_unit_match(node, i);
    }
}

static void put_on_wire(struct node *from, uint32_t target, struct sim_packet packet)
{
    struct node *node = &world[target];

    (void)from;
    node->wire[(node->wire_first + node->wire_count++) % WIRE_MAX] = packet;
}

/* Packets in flight own their payloads. */
static void drop_payloads(struct node *node)
{
    for (; node->wire_count; --node->wire_count)
        free(node->wire[node->wire_first++ % WIRE_MAX].payload);
    for (; node->payload_count; --node->payload_count)
        free(node->payloads[node->payload_first++ % (OF_ARRIVAL_COUNT * 4)].bytes);
}

void world_restart(struct node *node, uint32_t cells, uint32_t threshold)
{
    uint32_t number = (uint32_t)(node - world);

    drop_payloads(node);
    memset(pools[number], 0, node->state.used_entries * sizeof(struct entry));
    memset(node, 0, sizeof(*node));
    node->number = number;
    node->cells = cells;
    node->threshold = threshold;
    node->units[0].posted = 1;
    node_select(node);
    firmware_init();
}

void world_reset(uint32_t cells, uint32_t threshold)
{
    panic_expected = 0;
    world_choose = choose_all;
    world_sent = put_on_wire;
    memset(messages, 0, sizeof(messages));
    for (uint32_t i = 0; i < NODES; i++) {
        if (!pools[i]) {
            pools[i] = calloc(ENTRY_COUNT, sizeof(struct entry));
            pages[i] = calloc(BUFFER_PAGES, sizeof(struct buffer_page));
            buffers[i] = calloc(1, OF_BUFFER_SIZE);
            host_memory[i] = calloc(1, HOST_SIZE);
        }
        world_restart(&world[i], cells, threshold);
    }
}

uint8_t *host_place(struct node *node, uint32_t lo, uint32_t hi, uint32_t length)
{
    CHECK(hi == HOST_BASE_HI && lo <= HOST_SIZE && length <= HOST_SIZE - lo);
    return host_memory[node->number] + lo;
}

uint8_t *buffer_place(struct node *node, uint32_t address, uint32_t length)
{
    CHECK(address >= OF_BUFFER_BASE && address - OF_BUFFER_BASE + length <= OF_BUFFER_SIZE);
    return buffers[node->number] + (address - OF_BUFFER_BASE);
}

void *local_pointer(uint32_t address)
{
    uint32_t at = address - OF_ARRIVAL_BASE;

    if (at < sizeof(current->arrivals)) {
        CHECK(at % OF_PACKET_SIZE == 0);
        return &current->arrivals[at / OF_PACKET_SIZE];
    }
    at = address - OF_COMMAND_BASE;
    CHECK(at < sizeof(current->commands) && at % OF_COMMAND_SIZE == 0);
    return (uint8_t *)current->commands + at;
}

/* What the firmware looks at it deals with before it looks at anything else, but for a payload that
 * has no room. */
void port_invalidate(const void *line)
{
    struct node *node = current;
    const uint8_t *at = line, *commands = (const uint8_t *)node->commands;

    if (at >= commands && at < commands + sizeof(node->commands)) {
        uint32_t slot = (uint32_t)(at - commands) / OF_COMMAND_SIZE;
        uint32_t process = slot / OF_COMMAND_COUNT, *looked = &node->looked_commands[process];

        if ((at - commands) % OF_COMMAND_SIZE)
            return;
        CHECK(*looked % OF_COMMAND_COUNT == slot % OF_COMMAND_COUNT);
        CHECK(*looked != node->doorbells[process]);
        ++*looked;
        reference_command(node, process, line);
    } else {
        const struct of_packet *packet = line;

        CHECK(packet == &node->arrivals[node->looked % OF_ARRIVAL_COUNT]);
        CHECK(node->looked != node->come);
        if (packet->process >> 8 && node->dma_count == OF_DMA_DEPTH)
            return;
        /* The firmware may know less than the engine. */
        if (packet->process >> 8 && nic->dmas_given - nic->dmas_done == OF_DMA_DEPTH)
            return;
        ++node->looked;
        reference_header(node, packet);
    }
}

/* Registers. */

static uint32_t register_read(struct node *node, uint32_t offset)
{
    uint32_t word = 0, tails = 0;

    switch (offset) {
    case OF_REGISTER_STATUS:
        word = of_register_status_set_headers(word, node->come);
        word = of_register_status_set_sends(word, node->sends_left);
        return of_register_status_set_moves(word, node->dmas_done);
    case OF_REGISTER_TAILS:
        for (uint32_t i = 0; i < OF_PROCESSES; i++)
            tails |= (node->doorbells[i] & 0xFF) << 8 * i;
        return tails;
    case OF_REGISTER_OPTIONS:
        word = of_register_options_set_cells(word, node->cells);
        return of_register_options_set_threshold(word, node->threshold);
    case OF_REGISTER_NODE:
        return node->number;
    }
    CHECK(!"a register that cannot be read");
    return 0;
}

uint32_t io_read32(uint32_t address)
{
    struct node *node = current;
    const struct sim_unit *unit = &node->units[address >= OF_UNEXPECTED_UNIT];

    world_choose(node, address);
    CHECK(++node->unmoved < POLLS_MAX);
    if (address < OF_POSTED_UNIT)
        return register_read(node, address - OF_REGISTER_BASE);
    CHECK(address == OF_POSTED_UNIT || address == OF_UNEXPECTED_UNIT);
    return unit->result_count ? unit->results[unit->result_first % UNIT_FIFO] : 0;
}

static void unit_write(struct node *node, uint32_t which, uint32_t offset, uint32_t value)
{
    struct sim_unit *unit = &node->units[which];

    switch (offset) {
    case OF_UNIT_REGISTER_POP:
        CHECK(unit->result_count);
        ++unit->result_first;
        --unit->result_count;
        break;
    case OF_UNIT_REGISTER_DELIVERY:
        CHECK(value <= 1);
        unit->delivery = (uint8_t)value;
        break;
    case OF_UNIT_REGISTER_COMMAND:
        CHECK(value != OF_UNIT_COMMAND_INSERT);
        unit_command(node, which, value);
        break;
    default:
        CHECK(!"a register of a unit that cannot be written");
    }
}

static void register_write(struct node *node, uint32_t offset, uint32_t value)
{
    uint32_t process = offset / 4 % OF_PROCESSES;

    if (offset == OF_REGISTER_TAKEN) {
        uint32_t taken = (value - node->taken) & 0xFF;

        CHECK(value < 256 && taken <= node->come - node->taken);
        CHECK(node->taken + taken <= node->looked);
        node->taken += taken;
    } else if (offset == OF_REGISTER_PANIC) {
        panic_word = value;
    } else if (offset >= OF_REGISTER_WINDOW_LO && offset < OF_REGISTER_WINDOW_HI) {
        node->hosts[process].window_lo = value;
    } else if (offset >= OF_REGISTER_WINDOW_HI && offset < OF_REGISTER_DOORBELL) {
        node->hosts[process].window_hi = value;
    } else if (offset >= OF_REGISTER_TAKEN_COMMANDS && offset < OF_REGISTER_NODE) {
        CHECK(value == node->looked_commands[process]);
        node->taken_commands[process] = value;
    } else {
        CHECK(offset == OF_REGISTER_READY || offset == OF_REGISTER_CONTEXT ||
              offset == OF_REGISTER_HEARTBEAT);
    }
}

/* Words are stored upwards; the last one of a completion, `lap`, makes it valid. */
static void window_write(struct node *node, uint32_t offset, uint32_t value)
{
    uint32_t process = offset / OF_WINDOW_SIZE;
    struct host *host = &node->hosts[process];
    uint32_t at = host->completed * (uint32_t)sizeof(struct of_completion);
    struct of_completion done;

    CHECK(offset % OF_WINDOW_SIZE / 32 == at % OF_WINDOW_SIZE / 32);
    host->words[offset % 32 / 4] = value;
    if (offset % 32 != offsetof(struct of_completion, lap))
        return;
    memcpy(&done, host->words, sizeof(done));
    CHECK(done.lap == at / OF_WINDOW_SIZE + 1);
    memset(host->words, 0xA5, sizeof(host->words));
    ++host->completed;
    reference_completion(node, process, &done);
}

static void port_write(struct node *node, uint32_t address, uint32_t value)
{
    uint32_t word;

    if (address < OF_DMA_PORT) {
        word = (address - OF_SEND_PORT) / 4;
        node->send_words[word] = value;
        if (word == offsetof(struct of_send_port, target) / 4) {
            CHECK(node->send_count < OF_SEND_DEPTH &&
                  nic->sends_given - nic->sends_done <= OF_SEND_DEPTH && value < NODES);
            memcpy(&node->sends[(node->send_first + node->send_count++) % OF_SEND_DEPTH],
                   node->send_words, sizeof(node->send_words));
        }
    } else if (address < OF_POSTED_PORT) {
        word = (address - OF_DMA_PORT) / 4;
        CHECK(word < 8);
        node->dma_words[word] = value;
        if (word == offsetof(struct of_dma_port, operation) / 4) {
            CHECK(node->dma_count < OF_DMA_DEPTH &&
                  nic->dmas_given - nic->dmas_done <= OF_DMA_DEPTH);
            memcpy(&node->dmas[(node->dma_first + node->dma_count++) % OF_DMA_DEPTH],
                   node->dma_words, sizeof(node->dma_words));
        }
    } else {
        uint32_t which = address >= OF_UNEXPECTED_PORT;

        word = (address - (which ? OF_UNEXPECTED_PORT : OF_POSTED_PORT)) / 4;
        CHECK(word < 8);
        node->units[which].port[word] = value;
        if (word == offsetof(struct of_insert_port, tag) / 4)
            unit_command(node, which, OF_UNIT_COMMAND_INSERT);
    }
}

void io_write32(uint32_t address, uint32_t value)
{
    struct node *node = current;

    if (address - OF_WINDOW_BASE < OF_PROCESSES * OF_WINDOW_SIZE)
        window_write(node, address - OF_WINDOW_BASE, value);
    else if (address >= OF_PORT_BASE)
        port_write(node, address, value);
    else if (address >= OF_UNEXPECTED_UNIT)
        unit_write(node, 1, address - OF_UNEXPECTED_UNIT, value);
    else if (address >= OF_POSTED_UNIT)
        unit_write(node, 0, address - OF_POSTED_UNIT, value);
    else
        register_write(node, address - OF_REGISTER_BASE, value);
}

void world_settle(void)
{
    for (uint32_t turn = 0, moved = 1; moved; turn++) {
        CHECK(turn < 100000);
        moved = 0;
        for (uint32_t i = 0; i < NODES; i++) {
            struct node *node = &world[i];

            for (uint32_t j = 0; j < OF_PROCESSES; j++)
                moved |= (uint32_t)step_doorbell(node, j);
            moved |= (uint32_t)(step_write(node) | step_come(node) | step_dma(node) |
                                step_send(node));
            for (uint32_t j = 0; j < 2 && node->cells; j++)
                moved |= (uint32_t)(step_unit_match(node, j) | step_unit_command(node, j));
            moved |= node->come != node->looked;
            for (uint32_t j = 0; j < OF_PROCESSES; j++)
                moved |= node->doorbells[j] != node->looked_commands[j];
            moved |= node->units[0].result_count | node->units[1].result_count;
            node_turn(node);
        }
    }
}

void check_idle(struct node *node)
{
    uint32_t live = 0, held = 0;

    node_select(node);
    for (const struct entry *e = nic->free_entries; e; e = e->next)
        ++live;
    for (uint32_t i = 0; i < 2; i++) {
        for (const struct entry *e = nic->units[i].graves; e; e = e->next)
            ++held;
        CHECK(nic->units[i].dead == held);
        CHECK(nic->units[i].held == node->units[i].count);
        live += held;
        held = 0;
    }
    CHECK(live == nic->used_entries);
    CHECK(!nic->active_receives.first && !nic->sends.first);
    for (uint32_t i = 0; i < BUFFER_CLASSES; i++)
        CHECK(nic->part_pages[i] == 0xFFFF);
}
