/* A card that tests play: memory, the registers that the control program uses, a judge of what it does. */
#ifndef LANAI_TESTS_CARD_H
#define LANAI_TESTS_CARD_H

#include <stdint.h>
#include <stdio.h>

#include "area.h"
#include "mcp.h"

struct card {
    uint8_t sram[MY_SRAM_SIZE];
    uint32_t regs[MY_SPECIAL_SIZE / 4];
    uint8_t sent[8 + MY_REGION_SEND_SIZE]; /* The packet that is sent, route first. */
    uint32_t sent_length;
    uint32_t sent_packets;
    int ended; /* The packet that is sent has its end. */
    int armed; /* A packet may come in. */
    int interrupts;
};

extern struct card card;

void card_reset(void);
/* A packet comes in, with error bits of the status. False if the link would hold it back. */
int card_receive(const uint8_t *packet, uint32_t length, uint32_t errors);
/* The host's DMA has taken the packet. */
void card_wake(void);

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);              \
            return 0;                                                           \
        }                                                                       \
    } while (0)

#endif
