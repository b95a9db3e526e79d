#include "send.h"

#include "complete.h"
#include "engine.h"
#include "panic.h"
#include "pool.h"

static void send_eager(struct process *process, uint32_t request, uint32_t bits_lo,
                       uint32_t bits_hi, uint32_t length, uint32_t serial, uint32_t target,
                       uint32_t host_lo, uint32_t host_hi)
{
    send_start(process, request,
               (struct packet_head){.kind = OF_PACKET_KIND_EAGER,
                                    .bits_lo = bits_lo,
                                    .bits_hi = bits_hi,
                                    .length = length,
                                    .serial = serial,
                                    .process = process->number,
                                    .target = target},
               host_lo, host_hi, length);
}

/* Asks the other side for room. */
static void send_request(struct entry *entry)
{
    send_start(0, 0,
               (struct packet_head){.kind = OF_PACKET_KIND_REQUEST,
                                    .bits_lo = entry->bits_lo,
                                    .bits_hi = entry->bits_hi,
                                    .length = entry->length,
                                    .sender = entry->number,
                                    .serial = entry->serial,
                                    .process = entry->process,
                                    .target = entry->node},
               0, 0, 0);
    entry->flags |= FLAG_WAITING;
}

/* Sends the next bytes; true: they were the last ones. */
static int send_data(struct entry *entry)
{
    uint32_t offset = entry->offset, left = entry->room - offset;
    uint32_t bytes = left < OF_CHUNK ? left : OF_CHUNK, host_lo = entry->host_lo + offset;

    send_start(bytes == left ? &nic->processes[entry->process] : 0, entry->request,
               (struct packet_head){.kind = OF_PACKET_KIND_DATA,
                                    .bits_lo = offset,
                                    .length = entry->length,
                                    .receiver = entry->peer,
                                    .serial = entry->serial,
                                    .process = entry->process,
                                    .target = entry->node},
               host_lo, entry->host_hi + (host_lo < entry->host_lo), bytes);
    entry->offset = offset + bytes;
    return bytes == left;
}

/* Messages leave in the order of their commands. Of a long one a packet at a time: then the next
 * send has its turn. Nobody names an entry any more once its last bytes are given to the engine. */
void send_advance(void)
{
    struct entry *entry;

    while ((entry = nic->sends.first) && send_has_room()) {
        fifo_remove(&nic->sends);
        if (entry->flags & FLAG_CLEARED) {
            if (send_data(entry))
                entry_free(entry);
            else
                fifo_append(&nic->sends, entry);
        } else if (entry->flags & FLAG_RENDEZVOUS) {
            send_request(entry);
        } else {
            send_eager(&nic->processes[entry->process], entry->request, entry->bits_lo,
                       entry->bits_hi, entry->length, entry->serial, entry->node, entry->host_lo,
                       entry->host_hi);
            entry_free(entry);
        }
    }
}

void send_command(struct process *process, const struct of_command *command, int synchronous)
{
    int rendezvous = synchronous || command->length > OF_EAGER_LIMIT;
    struct entry *entry;

    io_write32(OF_REGISTER_BASE + OF_REGISTER_CONTEXT, command->serial);
    if (!rendezvous && (!nic->sends.first || PLANTED(PLANT_OVERTAKES)) && send_has_room()) {
        send_eager(process, command->request, command->bits_lo, command->bits_hi & BITS_HI,
                   command->length, command->serial, command->target, command->host_lo,
                   command->host_hi);
        return;
    }
    entry = entry_allocate(process->number, ENTRY_SEND);
    entry->bits_lo = command->bits_lo;
    entry->bits_hi = command->bits_hi & BITS_HI;
    entry->request = command->request;
    entry->length = command->length;
    entry->serial = command->serial;
    entry->node = command->target;
    entry->host_lo = command->host_lo;
    entry->host_hi = command->host_hi;
    entry->flags = rendezvous ? FLAG_RENDEZVOUS : 0;
    fifo_append(&nic->sends, entry);
    send_advance();
}

int send_clear_arrives(const struct of_packet *packet, uint32_t kind)
{
    struct entry *entry = entry_named(packet->sender, ENTRY_SEND);

    if (!entry || !(entry->flags & FLAG_WAITING) || (entry->node & 0xFFFF) != kind >> 16 ||
        packet->length > entry->length)
        return 0;
    if (packet->length == 0) {
        complete(&nic->processes[entry->process], OF_COMPLETION_KIND_SENT, entry->request, 0, 0,
                 entry->length, 0, entry->serial);
        entry_free(entry);
        return 1;
    }
    entry->peer = packet->receiver;
    entry->room = packet->length;
    entry->flags = FLAG_RENDEZVOUS | FLAG_CLEARED;
    fifo_append(&nic->sends, entry);
    send_advance();
    return 1;
}
