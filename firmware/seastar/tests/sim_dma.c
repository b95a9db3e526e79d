/* The DMA engines: they take commands as the contract says, and check them. */
#include <string.h>

#include "accel.h"
#include "rx.h"
#include "sim.h"

#define SENT_KEPT 128

struct sim_stream sim_streams[SS_CAM_ENTRIES];

static struct sim_sent sent[SENT_KEPT];
static unsigned sent_count;
static int tx_error;
static int tx_open; /* A message has been started and not ended. */

static uint64_t command_addr(const struct ss_dma_command *command)
{
    return (uint64_t)command->addr_hi << 32 | command->addr_lo;
}

static void tx_done(uint32_t word)
{
    uint32_t next = (devices.tx_done_tail + 1) % SS_DONE_FIFO_DEPTH;

    CHECK(next != devices.tx_done_head);
    devices.tx_done[devices.tx_done_tail] = word;
    devices.tx_done_tail = next;
}

void sim_notify(uint32_t word)
{
    uint32_t next = (devices.rx_done_tail + 1) % SS_DONE_FIFO_DEPTH;

    CHECK(next != devices.rx_done_head);
    devices.rx_done[devices.rx_done_tail] = word;
    devices.rx_done_tail = next;
}

void sim_dma_reset(void)
{
    memset(sim_streams, 0, sizeof(sim_streams));
    sent_count = 0;
    tx_error = 0;
    tx_open = 0;
}

void sim_tx_error_next(void)
{
    tx_error = 1;
}

const struct sim_sent *sim_sent(unsigned back)
{
    CHECK(back < sent_count && back < SENT_KEPT);
    return &sent[(sent_count - 1 - back) % SENT_KEPT];
}

static void tx_header(struct sim_sent *message, const struct ss_dma_command *command)
{
    uint64_t offset = command_addr(command) - HOST_PHYS;

    CHECK(!tx_open);
#if OPT_ACCELERATED
    if (command->op == SS_DMA_OP_LOCAL_HEADER) {
        const void *header = devices_local_header(command->addr_lo);

        CHECK(command->length == sizeof(struct ss_portals_header) && header);
        memset(message, 0, sizeof(*message));
        message->peer = command->peer;
        message->tag = command->tag;
        memcpy(&message->header, header, sizeof(message->header));
        tx_open = 1;
        return;
    }
#endif
    /* Where messages are numbered, all headers are as long. */
    CHECK(OPT_NUMBERED || command->length == sizeof(struct ss_portals_header));
    CHECK(offset % 128 == 0 && offset < HOST_SIZE);
    memset(message, 0, sizeof(*message));
    message->peer = command->peer;
    message->tag = command->tag;
    memcpy(&message->header, &devices.host[offset], sizeof(message->header));
    tx_open = 1;
}

static void tx_payload(struct sim_sent *message, const struct ss_dma_command *command)
{
    CHECK(tx_open);
    CHECK(command->length > 0 && command->tag == message->tag);
    if (message->regions < SIM_MAX_REGIONS) {
        message->addr[message->regions] = command_addr(command);
        message->length[message->regions] = command->length;
    }
    ++message->regions;
    message->total += command->length;
}

unsigned sim_tx_step(unsigned steps)
{
    unsigned left = 0;

    while (steps-- && devices.tx_head != devices.tx_tail) {
        const struct ss_dma_command *command = &devices.tx_fifo[devices.tx_head];
        struct sim_sent *message = &sent[sent_count % SENT_KEPT];

        if (command->op == SS_DMA_OP_HEADER || command->op == SS_DMA_OP_LOCAL_HEADER)
            tx_header(message, command);
        else if (command->op == SS_DMA_OP_PAYLOAD)
            tx_payload(message, command);
        else
            CHECK(!"TX command");
        if (command->flags & SS_DMA_FLAG_LAST) {
            tx_done(SS_DONE_COMPLETE | command->tag | (tx_error ? SS_DONE_ERROR : 0));
            tx_error = 0;
            tx_open = 0;
            ++sent_count;
            ++left;
        }
        devices.tx_head = (devices.tx_head + 1) % SS_DMA_FIFO_DEPTH;
    }
    return left;
}

unsigned sim_rx_step(unsigned steps)
{
    unsigned taken = 0;

    while (steps-- && devices.rx_head != devices.rx_tail) {
        const struct ss_dma_command *command = &devices.rx_fifo[devices.rx_head];
        struct sim_stream *stream;

        CHECK(command->peer < SS_CAM_ENTRIES);
        stream = &sim_streams[command->peer];
        CHECK(stream->busy && !stream->last);
        CHECK(stream->commands == 0 || stream->tag == command->tag);
        stream->tag = command->tag;
        if (command->op == SS_DMA_OP_PAYLOAD) {
            CHECK(command->length > 0 && stream->discarded == 0);
            if (stream->deposited == 0)
                stream->addr = command_addr(command);
            stream->deposited += command->length;
        } else {
            CHECK(command->op == SS_DMA_OP_DISCARD);
            stream->discarded += command->length;
        }
        CHECK(stream->deposited + stream->discarded <= stream->total);
        ++stream->commands;
        if (command->flags & SS_DMA_FLAG_LAST) {
            CHECK(stream->deposited + stream->discarded == stream->total);
            stream->last = 1;
        }
        devices.rx_head = (devices.rx_head + 1) % SS_DMA_FIFO_DEPTH;
        ++taken;
    }
    return taken;
}

unsigned sim_rx_finish(uint32_t stream)
{
    struct sim_stream *s = &sim_streams[stream];

    if (!s->busy || !s->last)
        return 0;
    s->busy = 0;
    sim_notify(SS_DONE_COMPLETE | s->tag | (s->error ? SS_DONE_ERROR : 0));
    return 1;
}

unsigned sim_rx_finish_all(void)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < SS_CAM_ENTRIES; i++)
        count += sim_rx_finish(i);
    return count;
}

uint32_t sim_arrive(const struct ss_portals_header *header, uint32_t payload)
{
    for (uint32_t i = 0; i < SS_CAM_ENTRIES; i++) {
        struct sim_stream *s = &sim_streams[i];

        if (s->busy)
            continue;
        memset(s, 0, sizeof(*s));
        s->busy = 1;
        s->total = payload;
        memcpy((void *)rx_headers[i], header, sizeof(*header));
        sim_notify(SS_DONE_NEW_MESSAGE | i);
        return i;
    }
    sim_notify(SS_DONE_CAM_OVERFLOW | header->source_nid);
    return SS_CAM_ENTRIES;
}
