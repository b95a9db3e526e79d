#include "accel_state.h"
#include "event.h"
#include "fifo.h"
#include "niccb.h"
#include "plant.h"
#include "recover.h"
#include "tx.h"

/* Headers that the transmit engine takes from here: one for each entry of its FIFO, so that a slot
 * is free again when its command is. */
volatile uint32_t tx_headers[SS_DMA_FIFO_DEPTH][SS_RX_HEADER_SIZE / 4] PORT_UNCACHED;

static uint32_t ack_serial;
static uint32_t reply_serial;

void answer_init(void)
{
    ack_serial = 0;
    reply_serial = 0;
}

void answer_send(void)
{
    pending->state = PENDING_TX_HEADER;
    pending->next = 0;
    pending->dma_count = 0;
#if OPT_OVERFLOW
    recover_tell_taken(); /* Before the answer, its sender hears that the request was taken. */
    tx_enter(WAY_ANSWERS);
#else
    tx_append();
#endif
}

void accel_push_header(uint32_t flags)
{
    const struct answer *answer = &own()->answers[pending->index];
    /* An answer with payload in its header has it where others have the initiator's offset. */
    int whole = ((answer->word0 >> 8) & SS_HEADER_FLAG_INLINE) && answer->length;
    volatile uint32_t *header = tx_headers[fifo_own_index(SS_TX_TAIL, tx_fifo_tail)];

    header[0] = answer->word0;
    header[1] = cached_niccb.local_nid | process->pid << 16;
    header[2] = answer->target;
    header[3] = answer->length;
    header[4] = answer->bits_lo;
    header[5] = answer->bits_hi;
    header[6] = whole ? 0 : answer->local_lo;
    header[7] = whole ? 0 : answer->local_hi;
    header[8] = answer->offset;
    header[9] = 0;
    header[10] = answer->handle;
    header[11] = process->uid;
    header[12] = answer->serial;
    header[13] = whole ? answer->local_lo : 0;
    header[14] = whole ? answer->local_hi : 0;
    header[15] = 0;
    io_order();
    tx_fifo_push(DMA_WORD0(SS_DMA_OP_LOCAL_HEADER, flags, pending->peer),
                 DMA_WORD1(pending_tag(pending), 0), local_address(header),
                 TX_HEADER_LENGTH);
}

void answer_refer(void)
{
#if !OPT_OVERFLOW
    pending->source = local_address(source);
    ++source->refs;
#endif
}

void answer_acknowledge(void)
{
    struct answer *answer = &own()->answers[pending->index];

    if (PLANTED(PLANT_LOSES_ACK)) {
        accel_give();
        return;
    }
    answer->serial = SS_SERIAL_ACK << SS_SERIAL_SPACE_SHIFT | (++ack_serial & 0x0FFFFFFF);
    pending->length = 0;
    answer_refer();
    answer_send();
}

void answer_note(const uint32_t *header, uint32_t op, const struct match_found *found)
{
    struct answer *answer = &own()->answers[pending->index];
    uint32_t flags = op == SS_PORTALS_OP_REPLY && found->mlength ? 0 : SS_HEADER_FLAG_INLINE;

    answer->word0 = op | flags << 8 | (header[0] & 0xFFFF0000u);
    answer->target = header[1];
    answer->length = found->mlength;
    answer->bits_lo = header[4];
    answer->bits_hi = header[5];
    answer->local_lo = op == SS_PORTALS_OP_REPLY ? header[6] : 0;
    answer->local_hi = op == SS_PORTALS_OP_REPLY ? header[7] : 0;
    answer->offset = found->offset;
    answer->handle = header[10];
    if (op == SS_PORTALS_OP_REPLY)
        answer->serial = SS_SERIAL_REPLY << SS_SERIAL_SPACE_SHIFT | (++reply_serial & 0x0FFFFFFF);
}

void accel_sent(uint32_t word)
{
    uint32_t type = word & SS_DONE_ERROR ? SS_EVENT_TYPE_ERR_TX : SS_EVENT_TYPE_TX_COMPLETE;
    struct answer *answer;
    uint32_t op;

    if (pending->index < process->tx_limit) {
        /* What the host sent from a descriptor that is here. */
        if (pending->extra) {
            match_end(&own()->lists, &own()->lists.entries[pending->extra - 1]);
            pending->extra = 0;
        }
        event_end(process, type, pending->index);
        return;
    }
    answer = &own()->answers[pending->index];
    op = answer->word0 & 0xFF;
    answer->word0 = 0;
    if (op == SS_PORTALS_OP_REPLY) {
        match_end(&own()->lists, answer->entry);
        answer->entry = 0;
        event_end(process, type, pending->index);
    }
    accel_give();
}
