#include "card.h"

#include <stdlib.h>
#include <string.h>

struct card card;

/* What no control program may do. */
static void forbid(int wrong, const char *what, uint32_t at)
{
    if (wrong) {
        printf("the control program %s (%#x)\n", what, (unsigned)at);
        abort();
    }
}

static int is_in(uint32_t addr, uint32_t base, uint32_t size)
{
    return addr - base < size;
}

uint32_t mem_byte(uint32_t addr)
{
    forbid(addr >= MY_SRAM_SIZE, "reads beyond the memory", addr);
    return card.sram[addr];
}

void mem_put_byte(uint32_t addr, uint32_t value)
{
    /* It writes commands' status and DMA blocks, and nothing else. */
    forbid(!is_in(addr, MY_REGION_COMMAND_BASE, MY_REGION_COMMAND_SIZE) &&
               !is_in(addr, MY_REGION_DMA_BASE, MY_REGION_DMA_SIZE),
           "writes where it must not", addr);
    card.sram[addr] = (uint8_t)value;
}

uint32_t mem_get(uint32_t addr)
{
    forbid(addr % 4 != 0, "reads a misaligned word", addr);
    return mem_byte(addr) << 24 | mem_byte(addr + 1) << 16 | mem_byte(addr + 2) << 8 |
           mem_byte(addr + 3);
}

void mem_set(uint32_t addr, uint32_t value)
{
    forbid(addr % 4 != 0, "writes a misaligned word", addr);
    for (uint32_t i = 0; i < 4; i++)
        mem_put_byte(addr + i, value >> (24 - 8 * i) & 0xff);
}

uint32_t reg_get(uint32_t offset)
{
    return card.regs[offset / 4];
}

/* Reads what is to be sent. */
static void send_up_to(uint32_t limit, int ends)
{
    uint32_t *from = &card.regs[MY_REGISTER_SMP / 4];

    forbid(card.regs[MY_REGISTER_ISR / 4] & MY_ISR_SEND, "sends before it may", limit);
    forbid(*from > limit || limit > MY_SRAM_SIZE, "sends what is not there", limit);
    if (card.ended)
        card.sent_length = 0;
    card.ended = ends;
    forbid(card.sent_length + (limit - *from) > sizeof(card.sent), "sends too much", limit);
    memcpy(card.sent + card.sent_length, card.sram + *from, limit - *from);
    card.sent_length += limit - *from;
    card.sent_packets += ends;
    *from = limit;
    card.regs[MY_REGISTER_ISR / 4] |= MY_ISR_SEND;
}

void reg_set(uint32_t offset, uint32_t value)
{
    uint32_t *isr = &card.regs[MY_REGISTER_ISR / 4];

    if (offset == MY_REGISTER_ISR) {
        card.interrupts += (value & MY_ISR_HOST) != 0;
        *isr &= ~(value & ~MY_ISR_HOST);
        *isr |= value & MY_ISR_HOST;
        return;
    }
    card.regs[offset / 4] = value;
    if (offset == MY_REGISTER_RML) {
        forbid(card.armed, "lets a second packet in", value);
        card.armed = 1;
    }
    if (offset == MY_REGISTER_SML || offset == MY_REGISTER_SMLT)
        send_up_to(value, offset == MY_REGISTER_SMLT);
}

void card_reset(void)
{
    memset(&card, 0, sizeof(card));
    card.ended = 1;
}

int card_receive(const uint8_t *packet, uint32_t length, uint32_t errors)
{
    uint32_t from = card.regs[MY_REGISTER_RMP / 4], room = card.regs[MY_REGISTER_RML / 4] - from;
    uint32_t taken = length < room ? length : room;

    if (!card.armed)
        return 0;
    card.armed = 0;
    memcpy(card.sram + from, packet, taken);
    card.regs[MY_REGISTER_RMW / 4] = from + taken;
    card.regs[MY_REGISTER_ISR / 4] |= MY_ISR_RECV | errors | (length > room ? MY_ISR_BUFF : 0);
    return 1;
}

void card_wake(void)
{
    card.regs[MY_REGISTER_ISR / 4] |= MY_ISR_WAKE;
}
