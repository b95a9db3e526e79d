#include "mcp.h"

#include "area.h"
#include "receive.h"
#include "send.h"

void mcp_start(struct mcp *mcp)
{
    mcp->send = SEND_COMMAND;
    mcp->length = mcp->header = mcp->status = 0;
    for (uint32_t at = 0; at < sizeof(struct my_command_area); at += 4)
        mem_set(MY_REGION_COMMAND_BASE + at, 0);
    reg_set(MY_REGISTER_MYRINET, MY_MODE_CRC32);
    receive_start(mcp);
    mem_set(AREA(ready), MY_READY);
}

void mcp_step(struct mcp *mcp)
{
    receive_step(mcp);
    send_step(mcp);
}
