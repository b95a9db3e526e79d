/* The control program: a state machine that sends what the host asks for, and always receives
 * (vorakosit2001 s3). It never waits: each step looks once at what it is in the middle of. */
#ifndef LANAI_MCP_H
#define LANAI_MCP_H

#include <stdint.h>

/* What becomes of the host's command. */
enum send_state {
    SEND_COMMAND, /* Waits for one. */
    SEND_ROUTE,   /* Looks for the route. */
    SEND_HEADER,  /* The routing header is read by the interface. */
    SEND_PACKET,  /* The packet is. */
    SEND_DONE,    /* Tells the host. */
};

/* What becomes of a packet that arrives. */
enum receive_state {
    RECEIVE_PACKET, /* Waits for one. */
    RECEIVE_HOST,   /* The host has been interrupted, and starts the DMA when it likes. */
};

struct mcp {
    enum send_state send;
    enum receive_state receive;
    uint32_t length;  /* Bytes of the packet that is sent. */
    uint32_t header;  /* Bytes of its routing header. */
    uint32_t status;  /* Of the command, until it is told. */
};

/* Prepares the DMA block, lets packets in and says that it is ready. */
void mcp_start(struct mcp *mcp);

/* One turn of the state machine. */
void mcp_step(struct mcp *mcp);

#endif
