/* What wire, engines and doorbells do, a step at a time. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

int step_write(struct node *node)
{
    struct sim_packet *next = &node->wire[node->wire_first % WIRE_MAX];
    struct of_packet head;
    uint32_t kind;

    if (!node->wire_count || node->written - node->taken == OF_ARRIVAL_COUNT)
        return 0;
    head = next->head;
    kind = head.kind & 0xFF;
    if (node->cells && node->units[0].delivery && (head.kind >> 8 & 0xFF) == 0 &&
        (kind == OF_PACKET_KIND_EAGER || kind == OF_PACKET_KIND_REQUEST)) {
        if (!unit_deliver(&node->units[0], (uint64_t)head.bits_hi << 32 | head.bits_lo, 0))
            return 0;
        head.bits_hi |= OF_DELIVERED;
    }
    node->arrivals[node->written++ % OF_ARRIVAL_COUNT] = head;
    if (head.process >> 8) {
        uint32_t at = (node->payload_first + node->payload_count++) % (OF_ARRIVAL_COUNT * 4);

        CHECK(node->payload_count <= OF_ARRIVAL_COUNT * 4);
        node->payloads[at].bytes = next->payload;
        node->payloads[at].length = head.process >> 8;
        next->payload = 0;
    }
    ++node->wire_first;
    --node->wire_count;
    return 1;
}

int step_come(struct node *node)
{
    if (node->come == node->written)
        return 0;
    ++node->come;
    return 1;
}

int step_dma(struct node *node)
{
    const struct of_dma_port *dma = &node->dmas[node->dma_first % OF_DMA_DEPTH];
    uint32_t at = node->payload_first % (OF_ARRIVAL_COUNT * 4);

    if (!node->dma_count)
        return 0;
    if (dma->operation == OF_DMA_OPERATION_COPY_TO_HOST) {
        memcpy(host_place(node, dma->host_lo, dma->host_hi, dma->length),
               buffer_place(node, dma->local, dma->length), dma->length);
    } else {
        uint8_t *to = dma->operation == OF_DMA_OPERATION_TAKE_TO_HOST
                          ? host_place(node, dma->host_lo, dma->host_hi, dma->length)
                          : buffer_place(node, dma->local, dma->length);

        CHECK(node->payload_count && dma->length <= node->payloads[at].length);
        memcpy(to, node->payloads[at].bytes, dma->length);
        free(node->payloads[at].bytes);
        node->payloads[at].bytes = 0;
        ++node->payload_first;
        --node->payload_count;
    }
    ++node->dma_first;
    --node->dma_count;
    ++node->dmas_done;
    return 1;
}

/* Messages of a process leave in the order of their commands. */
static void check_order(struct node *node, const struct of_packet *head)
{
    uint32_t kind = head->kind & 0xFF;
    struct host *host = &node->hosts[head->process & 0xFF];

    if (kind != OF_PACKET_KIND_EAGER && kind != OF_PACKET_KIND_REQUEST)
        return;
    CHECK(head->serial > host->last_order);
    host->last_order = head->serial;
    messages[node->number][head->serial % MESSAGES].left = 1;
}

int step_send(struct node *node)
{
    const struct of_send_port *send = &node->sends[node->send_first % OF_SEND_DEPTH];
    struct sim_packet packet = {.payload = 0};

    if (!node->send_count || world[send->target].wire_count == WIRE_MAX)
        return 0;
    memcpy(&packet.head, send->header, sizeof(packet.head));
    CHECK(packet.head.kind >> 16 == node->number && packet.head.process >> 8 == send->length);
    CHECK(!(packet.head.bits_hi & OF_DELIVERED));
    check_order(node, &packet.head);
    if (send->length) {
        packet.payload = malloc(send->length);
        memcpy(packet.payload, host_place(node, send->host_lo, send->host_hi, send->length),
               send->length);
    }
    world_sent(node, send->target, packet);
    ++node->send_first;
    --node->send_count;
    ++node->sends_left;
    return 1;
}

int step_doorbell(struct node *node, uint32_t process)
{
    struct of_command *command =
        &node->commands[process][node->doorbells[process] % OF_COMMAND_COUNT];

    if (node->doorbells[process] == node->hosts[process].written)
        return 0;
    if (node->cells && process == 0 && node->units[1].delivery &&
        command->operation == OF_OPERATION_RECEIVE) {
        if (!unit_deliver(&node->units[1], (uint64_t)command->bits_hi << 32 | command->bits_lo,
                          (uint64_t)command->mask_hi << 32 | command->mask_lo))
            return 0;
        command->bits_hi |= OF_DELIVERED;
    }
    ++node->doorbells[process];
    return 1;
}
