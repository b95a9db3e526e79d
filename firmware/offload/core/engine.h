/* The receive DMA engine and the send engine. Both do what they are given in order, and STATUS
 * counts what is done; a ring beside each tells whom that concerns. Ports gather stores:
 * neighbours that are stored one behind the other become one write of 16 bytes, and the bus sees
 * writes in the order of the program, so that a descriptor needs no barrier before the word that
 * starts it. */
#ifndef OFFLOAD_ENGINE_H
#define OFFLOAD_ENGINE_H

#include "port.h"
#include "state.h"

/* `whom`: told when the bytes are there, or nobody. There must be room. */
static inline void dma_start(struct entry *whom, uint32_t operation, uint32_t local,
                             uint32_t host_lo, uint32_t host_hi, uint32_t length)
{
    const uint32_t port = io_base(OF_DMA_PORT);

    nic->dmas[nic->dmas_given++ % OF_DMA_DEPTH] = whom;
    io_write32(port + offsetof(struct of_dma_port, local), local);
    io_write32(port + offsetof(struct of_dma_port, host_lo), host_lo);
    io_write32(port + offsetof(struct of_dma_port, host_hi), host_hi);
    io_write32(port + offsetof(struct of_dma_port, length), length);
    io_write32(port + offsetof(struct of_dma_port, operation), operation);
}

/* What a packet says besides its payload. */
struct packet_head {
    uint32_t kind; /* OF_PACKET_KIND_*. */
    uint32_t bits_lo, bits_hi;
    uint32_t length;
    uint32_t sender, receiver;
    uint32_t serial;
    uint32_t process; /* Of this node. */
    uint32_t target;  /* As a command's. */
};

/* `process`: told `request` when it has left, or nobody. There must be room. */
static inline void send_start(struct process *process, uint32_t request, struct packet_head head,
                              uint32_t host_lo, uint32_t host_hi, uint32_t payload)
{
    struct send_slot *slot = &nic->slots[nic->sends_given++ % OF_SEND_DEPTH];
    const uint32_t port = io_base(OF_SEND_PORT);
    const uint32_t packet = port + offsetof(struct of_send_port, header);

    io_write32(packet + offsetof(struct of_packet, kind),
               nic->node | (head.target >> 16 & 0xFF) << 8 | head.kind);
    io_write32(packet + offsetof(struct of_packet, bits_lo), head.bits_lo);
    io_write32(packet + offsetof(struct of_packet, bits_hi), head.bits_hi);
    io_write32(packet + offsetof(struct of_packet, length), head.length);
    io_write32(packet + offsetof(struct of_packet, sender), head.sender);
    io_write32(packet + offsetof(struct of_packet, receiver), head.receiver);
    io_write32(packet + offsetof(struct of_packet, serial), head.serial);
    io_write32(packet + offsetof(struct of_packet, process), payload << 8 | head.process);
    io_write32(port + offsetof(struct of_send_port, host_lo), host_lo);
    io_write32(port + offsetof(struct of_send_port, host_hi), host_hi);
    io_write32(port + offsetof(struct of_send_port, length), payload);
    io_write32(port + offsetof(struct of_send_port, target), head.target & 0xFFFF);
    slot->process = process;
    slot->request = request;
    slot->length = head.length;
    slot->serial = head.serial;
}

#endif
