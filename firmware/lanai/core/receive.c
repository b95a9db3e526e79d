#include "receive.h"

#include "area.h"
#include "plant.h"

#define BUFFER MY_REGION_RECEIVE_BASE
#define DAMAGED (MY_ISR_LINK0 | MY_ISR_LINK1 | MY_ISR_LINK2)

/* Lets the next packet in. Until then the link holds it back. */
static void let_in(struct mcp *mcp)
{
    mcp->receive = RECEIVE_PACKET;
    reg_set(MY_REGISTER_RMP, BUFFER);
    reg_set(MY_REGISTER_RML, BUFFER + MY_REGION_RECEIVE_SIZE);
}

void receive_start(struct mcp *mcp)
{
    uint32_t terminal = PLANTED(PLANT_ENDLESS_CHAIN) ? 0 : MY_DMA_TERMINAL;

    mem_set(BLOCK(next), terminal | MY_DMA_WAKE);
    mem_set(BLOCK(length), 0);
    mem_set(BLOCK(local), BUFFER);
    let_in(mcp);
}

/* A DP packet, or a frame if the host has a network device on the card. */
static int is_wanted(uint32_t kind)
{
    if (kind == MY_PACKET_TYPE_DP)
        return 1;
    return kind == MY_PACKET_TYPE_FRAME && mem_get(AREA(frames));
}

/* Where the packet is counted if nobody is to see it; 0 for one that the host wants. */
static uint32_t dropped_as(uint32_t isr, uint32_t length)
{
    if ((isr & DAMAGED) && !PLANTED(PLANT_DAMAGED))
        return AREA(damaged);
    if (isr & MY_ISR_BUFF)
        return AREA(too_long);
    if (length < HEADER_SIZE)
        return AREA(too_short);
    if (!is_wanted(mem_half(HEADER(BUFFER, kind))) && !PLANTED(PLANT_ANY_TYPE))
        return AREA(other);
    return 0;
}

static void look_at_packet(struct mcp *mcp, uint32_t isr)
{
    uint32_t length = reg_get(MY_REGISTER_RMW) - BUFFER;
    uint32_t counter = dropped_as(isr, length);

    reg_set(MY_REGISTER_ISR, isr & (MY_ISR_RECV | MY_ISR_BUFF | DAMAGED));
    if (counter != 0) {
        mem_count(counter);
        if (!PLANTED(PLANT_DEAF))
            let_in(mcp);
        return;
    }
    if (!PLANTED(PLANT_LATE_SIZE))
        mem_set(BLOCK(length), PLANTED(PLANT_SHORT_BLOCK) ? length - 4 : length);
    if (PLANTED(PLANT_WILD))
        mem_set(MY_REGION_GUARD_BASE + 8, length);
    mem_count(AREA(received));
    /* The number tells the host a packet from the next one: it may see no 0 between them. */
    mem_set(AREA(waiting), mem_get(AREA(received)));
    if (PLANTED(PLANT_EARLY_BUFFER))
        let_in(mcp);
    mcp->receive = RECEIVE_HOST;
    reg_set(MY_REGISTER_ISR, MY_ISR_HOST);
    if (PLANTED(PLANT_LATE_SIZE))
        mem_set(BLOCK(length), length);
}

void receive_step(struct mcp *mcp)
{
    uint32_t isr = reg_get(MY_REGISTER_ISR);

    switch (mcp->receive) {
    case RECEIVE_PACKET:
        if (isr & MY_ISR_RECV)
            look_at_packet(mcp, isr);
        break;
    case RECEIVE_HOST:
        if (isr & MY_ISR_WAKE) {
            reg_set(MY_REGISTER_ISR, MY_ISR_WAKE);
            mem_set(AREA(waiting), 0);
            let_in(mcp);
        }
        break;
    }
}
