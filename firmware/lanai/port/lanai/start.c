/* What crt.s calls: clears the zeroed data, and runs the control program for ever. */
#include "mcp.h"

extern uint32_t __zeroed_start[], __zeroed_end[];

void start_c(void);

void start_c(void)
{
    struct mcp mcp;

    for (uint32_t *word = __zeroed_start; word < __zeroed_end; word++)
        *word = 0;
    mcp_start(&mcp);
    for (;;)
        mcp_step(&mcp);
}
