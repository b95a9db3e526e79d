/* Sending: command, route, send, done. */
#ifndef LANAI_SEND_H
#define LANAI_SEND_H

#include "mcp.h"

void send_step(struct mcp *mcp);

#endif
