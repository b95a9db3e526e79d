#include "receive.h"

#include "advance.h"
#include "buffer.h"
#include "complete.h"
#include "engine.h"
#include "panic.h"
#include "pool.h"
#include "search.h"
#include "send.h"
#include "unit.h"

#define CONTEXT (OF_REGISTER_BASE + OF_REGISTER_CONTEXT)

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void bad_packet(const struct of_packet *packet)
{
    panic(OF_PANIC_REASON_BAD_PACKET, packet->kind & 0xFF);
}

/* The end of a receive. */
static void receive_finish(struct entry *entry)
{
    if (entry->buffer)
        buffer_free(entry->buffer);
    complete_receive(entry);
    entry_release(entry);
}

/* Tells the sender how many bytes there is room for. Without any, both sides are done. */
static void send_clear(struct entry *entry)
{
    send_start(0, 0,
               (struct packet_head){.kind = OF_PACKET_KIND_CLEAR,
                                    .length = entry->room,
                                    .sender = entry->peer,
                                    .receiver = entry->number,
                                    .serial = entry->serial,
                                    .process = entry->process,
                                    .target = entry->node},
               0, 0, 0);
    entry->flags |= FLAG_CLEARED;
    if (entry->room == 0)
        receive_finish(entry);
}

static void copy_to_host(struct entry *entry)
{
    dma_start(PLANTED(PLANT_TELLS_TOO_SOON) ? 0 : entry, OF_DMA_OPERATION_COPY_TO_HOST,
              entry->buffer, entry->host_lo, entry->host_hi, entry->room);
    if (PLANTED(PLANT_TELLS_TOO_SOON))
        receive_finish(entry);
}

void receive_advance(void)
{
    struct entry *entry;

    while ((entry = nic->active_receives.first)) {
        if (entry->flags & FLAG_RENDEZVOUS ? !send_has_room() : !dma_has_room())
            return;
        fifo_remove(&nic->active_receives);
        if (entry->flags & FLAG_RENDEZVOUS)
            send_clear(entry);
        else
            copy_to_host(entry);
    }
}

/* Puts a receive onto activeRecvQ; most often it is served at once. */
static void activate(struct entry *entry)
{
    fifo_append(&nic->active_receives, entry);
    receive_advance();
}

void receive_start(struct entry *entry)
{
    entry->kind = ENTRY_RECEIVE;
    entry->room = smaller(entry->room, entry->length);
    if (entry->flags & FLAG_RENDEZVOUS)
        activate(entry);
    else if (entry->flags & FLAG_TAKING)
        return; /* receive_moved goes on when the payload is whole. */
    else if (entry->room)
        activate(entry);
    else
        receive_finish(entry);
}

void receive_moved(struct entry *entry)
{
    if (!(entry->flags & FLAG_TAKING)) {
        receive_finish(entry);
        return;
    }
    entry->flags &= ~FLAG_TAKING;
    if (entry->flags & FLAG_DROPPED) {
        buffer_free(entry->buffer);
        entry_release(entry);
    } else if (entry->kind == ENTRY_RECEIVE) {
        if (entry->room)
            activate(entry);
        else
            receive_finish(entry);
    }
}

/* Notes in an entry what message it is. */
static inline void note_message(struct entry *entry, const struct of_packet *packet)
{
    uint32_t kind = packet->kind, process = packet->process;

    entry->bits_lo = packet->bits_lo;
    entry->bits_hi = packet->bits_hi & BITS_HI;
    entry->length = packet->length;
    entry->serial = packet->serial;
    entry->node = kind >> 16 | (process & 0xFF) << 16;
}

static __attribute__((noinline)) void start_rendezvous(struct entry *entry, uint32_t sender)
{
    entry->peer = sender;
    entry->flags = FLAG_RENDEZVOUS;
    activate(entry);
}

/* A message has met a posted receive. */
static inline void meet(struct process *process, struct entry *entry,
                        const struct of_packet *packet)
{
    uint32_t kind = packet->kind, payload = packet->process >> 8, bytes;

    list_remove(&process->posted, entry);
    unit_bereave(&nic->units[POSTED], entry);
    if ((kind & 0xFF) == OF_PACKET_KIND_EAGER && !payload) {
        /* Nothing to move: told at once, from the header. */
        complete(process, OF_COMPLETION_KIND_RECEIVED, entry->request, packet->bits_lo,
                 packet->bits_hi & BITS_HI, 0, kind >> 16, packet->serial);
        entry_release(entry);
        return;
    }
    bytes = smaller(entry->room, packet->length);
    note_message(entry, packet);
    entry->kind = ENTRY_RECEIVE;
    entry->room = bytes;
    if ((kind & 0xFF) == OF_PACKET_KIND_EAGER) {
        if (PLANTED(PLANT_FORGETS_TAKE) && !bytes)
            return;
        dma_start(entry, OF_DMA_OPERATION_TAKE_TO_HOST, 0, entry->host_lo, entry->host_hi, bytes);
    } else {
        start_rendezvous(entry, packet->sender);
    }
}

/* A PROBE has looked for this message before it came. */
static __attribute__((noinline)) void tell_news(struct process *process, const struct entry *entry)
{
    if ((entry->bits_lo ^ process->watch_bits_lo) & ~process->watch_mask_lo ||
        (entry->bits_hi ^ process->watch_bits_hi) & ~process->watch_mask_hi)
        return;
    process->watching = 0;
    if (PLANTED(PLANT_LOSES_NEWS))
        return;
    complete(process, OF_COMPLETION_KIND_NEWS, process->watch_request, entry->bits_lo,
             entry->bits_hi, entry->length, entry->node & 0xFFFF, entry->serial);
}

/* No receive is posted for this message: it is kept. */
static __attribute__((noinline)) void keep(struct process *process,
                                           const struct of_packet *packet)
{
    struct entry *entry = entry_allocate(process->number, ENTRY_UNEXPECTED);
    uint32_t payload = packet->process >> 8;

    note_message(entry, packet);
    if ((packet->kind & 0xFF) == OF_PACKET_KIND_REQUEST) {
        entry->peer = packet->sender;
        entry->flags = FLAG_RENDEZVOUS;
    } else if (payload) {
        if (payload > OF_EAGER_LIMIT)
            bad_packet(packet);
        entry->buffer = buffer_allocate(payload);
        if (!entry->buffer)
            panic(OF_PANIC_REASON_NO_BUFFER, process->number);
        entry->flags = FLAG_TAKING;
        dma_start(entry, OF_DMA_OPERATION_TAKE_TO_MEMORY, entry->buffer, 0, 0, payload);
    }
    list_add(&process->unexpected, entry);
    unit_note();
    if (process->watching)
        tell_news(process, entry);
}

/* EAGER and REQUEST. Words of the header are loaded again where they are needed, because registers
 * that outlive the search would have to be saved. */
static inline void message_arrives(const struct of_packet *packet, uint32_t kind)
{
    uint32_t index = kind >> 8 & 0xFF;
    struct process *process = &nic->processes[index];
    struct entry *entry = 0, *start;

    if (index >= OF_PROCESSES ||
        packet->process >> 8 != ((kind & 0xFF) == OF_PACKET_KIND_EAGER ? packet->length : 0))
        bad_packet(packet);
    start = queue_first(&process->posted);
    if (packet->bits_hi & OF_DELIVERED)
        entry = unit_answer(&nic->units[POSTED], &start);
    if (!entry)
        entry = search_posted(&process->posted, start, packet->bits_lo, packet->bits_hi & BITS_HI);
    if (entry != &process->posted.end)
        meet(process, entry, packet);
    else
        keep(process, packet);
}

/* The next bytes of a message by rendezvous. Who is told is told with the last ones. */
static __attribute__((noinline)) void data_arrive(const struct of_packet *packet, uint32_t kind)
{
    uint32_t bytes = packet->process >> 8, offset = packet->bits_lo, host_lo;
    struct entry *entry = entry_named(packet->receiver, ENTRY_RECEIVE);

    if (!entry || !(entry->flags & FLAG_CLEARED) || (entry->node & 0xFFFF) != kind >> 16 ||
        offset != entry->offset || !bytes || bytes > entry->room - offset)
        bad_packet(packet);
    offset += bytes;
    entry->offset = offset;
    host_lo = entry->host_lo + offset - bytes;
    dma_start(offset == entry->room ? entry : 0, OF_DMA_OPERATION_TAKE_TO_HOST, 0, host_lo,
              entry->host_hi + (host_lo < entry->host_lo), bytes);
}

/* Deals with the next header; 0: its payload has no room in the engine yet. What is needed of it is
 * copied, so that its place is free afterwards. */
static inline int take_header(void)
{
    const struct of_packet *packet =
        local_pointer(OF_ARRIVAL_BASE + nic->headers % OF_ARRIVAL_COUNT * OF_PACKET_SIZE);
    uint32_t kind;

    port_invalidate(packet);
    kind = packet->kind;
    if (packet->process >> 8 && !dma_has_room())
        return 0;
    io_write32(CONTEXT, packet->serial);
    switch (kind & 0xFF) {
    case OF_PACKET_KIND_EAGER:
    case OF_PACKET_KIND_REQUEST:
        message_arrives(packet, kind);
        break;
    case OF_PACKET_KIND_CLEAR:
        if (packet->process >> 8 || !send_clear_arrives(packet, kind))
            bad_packet(packet);
        break;
    case OF_PACKET_KIND_DATA:
        data_arrive(packet, kind);
        break;
    default:
        bad_packet(packet);
    }
    ++nic->headers;
    return 1;
}

void take_headers(uint32_t status)
{
    while ((uint8_t)(status - nic->headers) && take_header())
        continue;
    io_write32(OF_REGISTER_BASE + OF_REGISTER_TAKEN, nic->headers & 0xFF);
}

void take_header_waiting(void)
{
    const uint32_t next = nic->headers + 1;

    do {
        uint32_t status = io_read32(OF_REGISTER_BASE + OF_REGISTER_STATUS);

        retire(status);
        if ((uint8_t)(status - nic->headers))
            take_headers(next);
    } while (nic->headers != next);
}
