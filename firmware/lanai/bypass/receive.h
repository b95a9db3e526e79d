/* The way in: two buffers, so that a packet comes while the one before goes to the host. */
#ifndef BYPASS_RECEIVE_H
#define BYPASS_RECEIVE_H

#include "dma.h"

void receive_start(void);
void receive_step(uint32_t isr);

/* The message that was delivered is in the host. */
void receive_delivered(void);

#endif
