/* Receiving: always; the type is looked at, and the host is interrupted for DP packets, and for frames if it
 * wants them. */
#ifndef LANAI_RECEIVE_H
#define LANAI_RECEIVE_H

#include "mcp.h"

/* Prepares the DMA block and lets the first packet in. */
void receive_start(struct mcp *mcp);

void receive_step(struct mcp *mcp);

#endif
