/* All of a core that is looked at: globals of its firmware, which the Makefile puts into sections of their
 * own, and what its devices have. Pools of which a small world uses the beginning are taken that far. */
#include <string.h>

#include "pair.h"

extern char __start_fwbss[], __stop_fwbss[];
extern char __start_fwdata[], __stop_fwdata[];

struct piece { void *at; size_t size; };
static struct piece pieces[48];
static unsigned piece_count;
size_t image_size;

static void piece(volatile void *at, size_t size)
{
    pieces[piece_count++] = (struct piece){(void *)at, size};
    image_size += size;
}

/* All between `from` and `to` but the holes, which are in order. */
void image_find(void)
{
    struct { char *at; size_t size, kept; } holes[] = {
        {(char *)sources, sizeof(sources), sizeof(source_t) * OPT_SOURCES},
        {(char *)lower_pendings, sizeof(lower_pendings), sizeof(pending_t) * 2 * PENDINGS},
        {(char *)accelerated, sizeof(accelerated),
         offsetof(struct accelerated, answers) + sizeof(struct answer) * PENDINGS},
    };
    char *at = __start_fwbss;

    for (;;) {
        int next = -1;

        for (int i = 0; i < 3; i++)
            if (holes[i].at >= at && (next < 0 || holes[i].at < holes[next].at))
                next = i;
        if (next < 0)
            break;
        piece(at, (size_t)(holes[next].at - at) + holes[next].kept);
        at = holes[next].at + holes[next].size;
    }
    piece(at, (size_t)(__stop_fwbss - at));
    piece(__start_fwdata, (size_t)(__stop_fwdata - __start_fwdata));
    piece(&accelerated[0].taken, sizeof(accelerated[0].taken));
    piece(&devices, offsetof(struct devices, dma_list));
    piece(devices.frames, sizeof(devices.frames));
    piece(devices.host, sizeof(devices.host));
    piece(&mailboxes[SS_GENERIC_PROCESS], 2 * sizeof(mailboxes[0]));
    piece(rx_headers, 4 * sizeof(rx_headers[0]));
    piece(control_slots, sizeof(struct ss_control_packet) * SS_CONTROL_SLOTS);
    for (uint32_t row = 0; row < 2 * SS_MAILBOX_COUNT; row++)
        piece(&waiting_bits[row][0], sizeof(waiting_bits[row][0]));
    piece(&niccb, sizeof(niccb));
}

void image_save(uint8_t *image)
{
    for (unsigned i = 0; i < piece_count; image += pieces[i++].size)
        memcpy(image, pieces[i].at, pieces[i].size);
}

void image_load(const uint8_t *image)
{
    for (unsigned i = 0; i < piece_count; image += pieces[i++].size)
        memcpy(pieces[i].at, image, pieces[i].size);
}

static void forget_counters(struct ss_niccb *block)
{
    block->firmware_heartbeat = 0;
    block->rx_message = block->rx_complete = block->tx_complete = 0;
    block->refused = block->called = block->repeated = block->cam_ovf = 0;
}

/* Entries of a ring that are not between `head` and `tail`. */
static void forget_ring(volatile void *ring, size_t size, uint32_t count, uint32_t head,
                        uint32_t tail)
{
    for (; tail != head; tail = (tail + 1) % count) {
        memset((uint8_t *)ring + tail * size, 0, size);
        if ((tail + 1) % count == head)
            break;
    }
    if (tail == head)
        memset((void *)ring, 0, size * count);
}

void image_forget(const struct around *a)
{
    forget_counters((struct ss_niccb *)&niccb);
    forget_counters(&cached_niccb);
    devices.register_reads = devices.interrupts = 0;
    process = 0;
    source = 0;
    pending = 0;
    forget_ring(devices.tx_fifo, 16, SS_DMA_FIFO_DEPTH, devices.tx_head, devices.tx_tail);
    forget_ring(devices.rx_fifo, 16, SS_DMA_FIFO_DEPTH, devices.rx_head, devices.rx_tail);
    forget_ring(devices.control_fifo, 16, SS_DMA_FIFO_DEPTH, devices.control_head,
                devices.control_tail);
    forget_ring(devices.tx_done, 4, SS_DONE_FIFO_DEPTH, devices.tx_done_head, devices.tx_done_tail);
    forget_ring(devices.rx_done, 4, SS_DONE_FIFO_DEPTH, devices.rx_done_head, devices.rx_done_tail);
    forget_ring(mailboxes[USER].commands, SS_SLOT_SIZE, SS_SLOT_COUNT,
                mailboxes[USER].command_read, mailboxes[USER].command_write);
    for (uint32_t i = 0; i < world.streams; i++)
        if (!a->busy[i])
            memset((void *)rx_headers[i], 0, sizeof(rx_headers[i]));
    for (uint32_t i = 0; i < world.transmits + world.receives; i++) {
        pending_t *p = &processes[USER].pendings[i];

        if (p->state != PENDING_IDLE)
            continue;
        p->peer = p->stream = p->addr_hi = p->dma_count = 0;
        p->addr_lo = p->length = p->extra = 0;
        p->source = 0;
        memset(&accelerated[0].answers[i], 0, sizeof(accelerated[0].answers[i]));
        if (!a->flying[i])
            memset(&devices.host[PROCESS_STRIDE + i * 128], 0, 128);
    }
}
