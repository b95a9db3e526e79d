#include "devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel.h"
#include "command.h"
#include "context.h"

/* Where the pools are said to be. */
#define PENDINGS_LOCAL (SS_CACHED_DATA_BASE + 0x1000u)
#define SOURCES_LOCAL (SS_CACHED_DATA_BASE + 0x20000u)
#define SOURCE_STRIDE 32u

struct devices devices;
void (*devices_halted)(void);

/* What the contract places in uncached SRAM. */
volatile struct ss_niccb niccb;
volatile struct ss_mailbox mailboxes[SS_MAILBOX_COUNT];
volatile uint32_t rx_headers[SS_CAM_ENTRIES][SS_RX_HEADER_SIZE / 4];
volatile uint32_t ready_flag;
#if OPT_NUMBERED
volatile struct ss_control_packet control_slots[SS_CONTROL_SLOTS];
#endif
#if OPT_OVERFLOW
volatile uint32_t waiting_bits[2 * SS_MAILBOX_COUNT][SS_WAITING_NODES / 32];
#endif

static uint32_t lines[16];

const uint32_t *port_lines(const volatile void *shared)
{
    const volatile uint32_t *words = shared;

    for (uint32_t i = 0; i < 16; i++)
        lines[i] = words[i];
    return lines;
}

void port_lines_done(void)
{
    memset(lines, 0xA5, sizeof(lines));
}

void devices_fail(const char *what, uint32_t address)
{
    fprintf(stderr, "%s: %08x\n", what, address);
    abort();
}

uint32_t local_address(const volatile void *pointer)
{
    uintptr_t p = (uintptr_t)pointer;

    if (!pointer)
        return 0;
#if OPT_ACCELERATED
    if (p >= (uintptr_t)tx_headers && p < (uintptr_t)(tx_headers + SS_DMA_FIFO_DEPTH))
        return SS_UNCACHED_DATA_BASE + (uint32_t)(p - (uintptr_t)tx_headers);
#endif
    if (p >= (uintptr_t)lower_pendings && p < (uintptr_t)(lower_pendings + LOWER_PENDINGS))
        return PENDINGS_LOCAL + (uint32_t)(p - (uintptr_t)lower_pendings);
    if (p >= (uintptr_t)sources && p < (uintptr_t)(sources + OPT_SOURCES))
        return SOURCES_LOCAL +
               (uint32_t)((p - (uintptr_t)sources) / sizeof(source_t)) * SOURCE_STRIDE;
    devices_fail("pointer into no pool", (uint32_t)p);
}

const void *devices_local_header(uint32_t address)
{
    uint32_t own = address - SS_UNCACHED_DATA_BASE, slot = address - SS_MAILBOX_BASE;
    uint32_t at = (uint32_t)offsetof(struct ss_transmit_slot, header);

#if OPT_ACCELERATED
    if (own < sizeof(tx_headers) && own % SS_RX_HEADER_SIZE == 0)
        return (const uint8_t *)tx_headers + own;
#endif
    (void)own;
    if (slot < sizeof(mailboxes) && slot % SS_MAILBOX_SIZE % SS_SLOT_SIZE == at)
        return (const uint8_t *)mailboxes + slot;
    return 0;
}

void *local_pointer(uint32_t address)
{
    uint32_t offset;

    if (address == 0)
        return 0;
    offset = address - PENDINGS_LOCAL;
    if (offset < sizeof(lower_pendings) && offset % sizeof(pending_t) == 0)
        return &lower_pendings[offset / sizeof(pending_t)];
    offset = address - SOURCES_LOCAL;
    if (offset / SOURCE_STRIDE < OPT_SOURCES && offset % SOURCE_STRIDE == 0)
        return &sources[offset / SOURCE_STRIDE];
    devices_fail("local address of no object", address);
}

/* A word of a table of words or 16-byte commands, or null. */
static void *table_word(void *table, uint32_t size, uint32_t base, uint32_t address)
{
    uint32_t offset = address - base;

    return offset < size && offset % 4 == 0 ? (uint8_t *)table + offset : 0;
}

static uint32_t *index_register(uint32_t address)
{
    switch (address) {
    case SS_TX_HEAD: return &devices.tx_head;
    case SS_TX_TAIL: return &devices.tx_tail;
    case SS_TX_DONE_HEAD: return &devices.tx_done_head;
    case SS_TX_DONE_TAIL: return &devices.tx_done_tail;
    case SS_RX_HEAD: return &devices.rx_head;
    case SS_RX_TAIL: return &devices.rx_tail;
    case SS_RX_DONE_HEAD: return &devices.rx_done_head;
    case SS_RX_DONE_TAIL: return &devices.rx_done_tail;
#if OPT_NUMBERED
    case SS_TX_CONTROL_HEAD: return &devices.control_head;
    case SS_TX_CONTROL_TAIL: return &devices.control_tail;
    case SS_RX_CONTROL_HEAD: return &devices.slot_head;
#endif
    default: return 0;
    }
}

uint8_t *devices_host(uint64_t phys, uint32_t size)
{
    if (phys - HOST_PHYS <= HOST_SIZE - size)
        return &devices.host[phys - HOST_PHYS];
    if (phys - (HOST_PHYS - HOST_BELOW) <= HOST_BELOW - size)
        return &devices.below[phys - (HOST_PHYS - HOST_BELOW)];
    for (uint32_t i = 0; i < HOST_FAR_COUNT; i++)
        if (phys - HOST_FAR(i) <= HOST_FAR_SIZE - size)
            return &devices.far[i][phys - HOST_FAR(i)];
    return 0;
}

/* Host memory that the firmware shows itself through its own windows, or null. */
static uint8_t *own_window(uint32_t address, uint32_t size)
{
    uint32_t window = address / SS_WINDOW_SIZE;

    if (window < SS_OWN_WINDOW_FIRST || window >= SS_WINDOW_COUNT)
        return 0;
    return devices_host((uint64_t)devices.frames[window - SS_OWN_WINDOW_FIRST] << 28 |
                            (address & (SS_WINDOW_SIZE - 1)), size);
}

uint32_t io_read32(uint32_t address)
{
    uint32_t value;
    const void *word = index_register(address);

    if (address == SS_REG_NID)
        return devices.nid;
    if (word)
        ++devices.register_reads;
    if (!word)
        word = table_word(devices.tx_done, sizeof(devices.tx_done), SS_TX_DONE_FIFO, address);
    if (!word)
        word = table_word(devices.rx_done, sizeof(devices.rx_done), SS_RX_DONE_FIFO, address);
    if (!word)
        word = table_word(devices.dma_list, sizeof(devices.dma_list), SS_DMA_LIST_BASE, address);
    if (!word)
        word = table_word(devices.host_list, sizeof(devices.host_list), HOST_LIST_LOCAL, address);
    if (!word && address % 4 == 0)
        word = own_window(address, 4);
    if (!word)
        word = table_word(devices.host, sizeof(devices.host), HOST_LOCAL, address);
    if (!word)
        devices_fail("read that the firmware should not do", address);
    memcpy(&value, word, 4);
    return value;
}

/* Registers that only the firmware may move. */
static int is_own_index(uint32_t address)
{
    return address == SS_TX_TAIL || address == SS_RX_TAIL || address == SS_TX_DONE_HEAD ||
           address == SS_RX_DONE_HEAD ||
           (OPT_NUMBERED && (address == SS_TX_CONTROL_TAIL || address == SS_RX_CONTROL_HEAD));
}

uint8_t io_read8(uint32_t address)
{
    const uint8_t *place = own_window(address, 1);

    if (!place)
        devices_fail("byte that the firmware should not read", address);
    return *place;
}

void io_write8(uint32_t address, uint8_t value)
{
    uint8_t *place = own_window(address, 1);

    if (!place)
        devices_fail("byte that the firmware should not write", address);
    *place = value;
}

void io_write32(uint32_t address, uint32_t value)
{
    void *word = is_own_index(address) ? index_register(address) : 0;

    if (address >= SS_HTB_MAP + SS_OWN_WINDOW_FIRST * 4 &&
        address < SS_HTB_MAP + SS_WINDOW_COUNT * 4) {
        if (!(value & SS_HTB_VALID))
            devices_fail("a window that is not valid", value);
        devices.frames[(address - SS_HTB_MAP) / 4 - SS_OWN_WINDOW_FIRST] = value & ~SS_HTB_VALID;
        ++devices.maps;
        return;
    }
    if (!word)
        word = own_window(address, 4);

    if (address == SS_REG_INTERRUPT) {
        ++devices.interrupts;
        return;
    }
    if (address == SS_REG_PANIC) {
        devices.panic_word = value;
        return;
    }
    if (!word)
        word = table_word(devices.tx_fifo, sizeof(devices.tx_fifo), SS_TX_FIFO, address);
    if (!word)
        word = table_word(devices.rx_fifo, sizeof(devices.rx_fifo), SS_RX_FIFO, address);
#if OPT_NUMBERED
    if (!word)
        word = table_word(devices.control_fifo, sizeof(devices.control_fifo), SS_TX_CONTROL_FIFO, address);
#endif
    if (!word)
        word = table_word(devices.host, sizeof(devices.host), HOST_LOCAL, address);
    if (!word)
        devices_fail("write that the firmware should not do", address);
    memcpy(word, &value, 4);
}

void port_trace(uint8_t value)
{
    struct ss_trace_record *record = &devices.trace[devices.trace_count % SS_TRACE_COUNT];
    uint32_t pc = (uint32_t)(uintptr_t)__builtin_return_address(0);

    record->timestamp = devices.trace_count++;
    record->value_pc = (uint32_t)value << 24 | (pc & 0x00FFFFFF);
}

uint32_t port_trace_index(void)
{
    return devices.trace_count % SS_TRACE_COUNT;
}

void port_halt(void)
{
    devices_halted();
    abort();
}
