#include "send.h"

#include "area.h"
#include "plant.h"

/* Takes a command, and looks at whether it can be done. */
static void take_command(struct mcp *mcp)
{
    uint32_t command = mem_get(AREA(command));

    if (command == MY_COMMAND_NONE)
        return;
    mem_set(AREA(busy), 1);
    mcp->length = mem_get(AREA(length));
    mcp->send = SEND_DONE;
    if (command != MY_COMMAND_SEND) {
        mcp->status = MY_STATUS_BAD_COMMAND;
    } else if (mcp->length < HEADER_SIZE || mcp->length > MY_REGION_SEND_SIZE) {
        mcp->status = MY_STATUS_BAD_LENGTH;
    } else {
        mcp->status = MY_STATUS_DONE;
        mcp->send = SEND_ROUTE;
    }
}

/* A byte of a route has its upper bit set; what is not used is 0. */
static uint32_t copy_route(uint32_t route)
{
    uint32_t hops = 0;

    while (hops < MY_ROUTE_SIZE && (mem_byte(route + hops) & 0x80)) {
        mem_put_byte(AREA(route) + hops, mem_byte(route + hops));
        hops++;
    }
    return hops;
}

/* The route is looked for by the target in the packet's own header. It does not fit in front of a packet of
 * 64 KB, so it is sent from a place of its own. */
static void find_route(struct mcp *mcp)
{
    uint32_t target = mem_half(HEADER(MY_REGION_SEND_BASE, target)) + PLANTED(PLANT_WRONG_ROUTE);
    uint32_t hops = 0;

    /* 6 is 4 and 2: the processor cannot multiply. */
    if (target < MY_ROUTE_COUNT)
        hops = copy_route(MY_REGION_ROUTES_BASE + (target << 2) + (target << 1));
    if (PLANTED(PLANT_SHORT_ROUTE) && hops > 0)
        hops--;
    if (hops == 0) {
        mcp->status = MY_STATUS_NO_ROUTE;
        mcp->send = SEND_DONE;
        return;
    }
    mcp->header = hops;
    reg_set(MY_REGISTER_SMP, AREA(route));
    reg_set(MY_REGISTER_SMH, AREA(route) + hops);
    reg_set(MY_REGISTER_SML, AREA(route) + hops);
    mcp->send = SEND_HEADER;
}

/* True once what was asked for has been read. */
static int has_been_read(void)
{
    if ((reg_get(MY_REGISTER_ISR) & MY_ISR_SEND) == 0)
        return 0;
    reg_set(MY_REGISTER_ISR, MY_ISR_SEND);
    return 1;
}

void send_step(struct mcp *mcp)
{
    switch (mcp->send) {
    case SEND_COMMAND:
        take_command(mcp);
        break;
    case SEND_ROUTE:
        find_route(mcp);
        break;
    case SEND_HEADER:
        if (has_been_read()) {
            reg_set(MY_REGISTER_SMP, MY_REGION_SEND_BASE);
            reg_set(MY_REGISTER_SMLT, MY_REGION_SEND_BASE + mcp->length);
            mcp->send = SEND_PACKET;
            if (PLANTED(PLANT_EARLY_DONE))
                mem_set(AREA(command), MY_COMMAND_NONE);
        }
        break;
    case SEND_PACKET:
        if (has_been_read()) {
            mem_count(AREA(sent));
            mcp->send = SEND_DONE;
        }
        break;
    case SEND_DONE:
        mem_set(AREA(status), mcp->status);
        mem_set(AREA(command), MY_COMMAND_NONE);
        mem_set(AREA(busy), 0);
        mcp->send = SEND_COMMAND;
        break;
    }
}
