/* Messages that leave. Short ones are put at once; long ones wait until their receiver fetches
 * them. */
#include "fabric.h"

#include <stdlib.h>

/* Long messages that nobody has fetched yet, and the data words of those whose header has no
 * room for theirs. */
static struct op *exposed[EXPOSED];
static uint32_t words[EXPOSED];
static ptl_handle_me_t words_me, nothing_me;
/* Data words are waited for in a queue of their own, as handlers wait, too. */
static ptl_handle_eq_t words_eq;

static const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};

int long_open(void)
{
    ptl_handle_md_t md;
    ptl_md_t all = descriptor(words, sizeof words, PTL_MD_THRESH_INF,
                              PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, NULL);
    ptl_md_t nothing = descriptor(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_TRUNCATE,
                                  NULL);
    int code = PtlEQAlloc(interface_ni, 8, PTL_EQ_HANDLER_NONE, &words_eq);
    if (code == PTL_OK)
        code = PtlMEAttach(interface_ni, PORTAL_LONG, anybody, LONG_WORDS, 0, PTL_RETAIN,
                           PTL_INS_AFTER, &words_me);
    if (code == PTL_OK)
        code = PtlMDAttach(words_me, all, PTL_RETAIN, &md);
    /* Whoever fetches what was taken back gets no bytes. */
    if (code == PTL_OK)
        code = PtlMEAttach(interface_ni, PORTAL_LONG, anybody, 0, ~UINT64_C(0), PTL_RETAIN,
                           PTL_INS_AFTER, &nothing_me);
    if (code == PTL_OK)
        code = PtlMDAttach(nothing_me, nothing, PTL_RETAIN, &md);
    return fabric_error(code, "Portals");
}

static void withdraw(ptl_handle_me_t me)
{
    while (PtlMEUnlink(me) == PTL_ME_IN_USE)
        progress();
}

void long_close(void)
{
    withdraw(nothing_me);
    withdraw(words_me);
    PtlEQFree(words_eq);
}

uint32_t long_word(ptl_process_id_t from, unsigned place)
{
    uint32_t word = 0;
    ptl_event_t event;
    ptl_handle_md_t md;
    ptl_md_t one = descriptor(&word, sizeof word, 1, 0, NULL);
    one.eq_handle = words_eq;
    if (descriptor_bind(one, PTL_UNLINK, &md))
        return 0;
    if (PtlGet(md, from, PORTAL_LONG, 0, LONG_WORDS, place * sizeof word) != PTL_OK) {
        PtlMDUnlink(md);
        return 0;
    }
    do
        PtlEQWait(words_eq, &event);
    while (event.type != PTL_EVENT_UNLINK);
    return word;
}

static void damaged(struct op *op)
{
    op->err = FI_EIO;
    op->why = WHY_DAMAGED;
}

/* Events of a short message. One that is acknowledged ends then. */
static void sent(struct handler *handler, const ptl_event_t *event)
{
    struct op *op = (struct op *)handler;
    const bool failed = event->ni_fail_type != PTL_NI_OK;
    if (failed)
        damaged(op);
    if (event->type == PTL_EVENT_UNLINK) {
        op_end(op, op->ep->tx);
        op_free(op);
    } else if (event->type == PTL_EVENT_SEND_END && failed && op->whole) {
        /* Nobody will acknowledge it. */
        PtlMDUnlink(op->md);
        op_end(op, op->ep->tx);
        op_free(op);
    } else if (event->type == PTL_EVENT_ACK || !op->whole) {
        op_end(op, op->ep->tx);
    }
}

/* Events of a long message: it is fetched once. */
static void was_fetched(struct handler *handler, const ptl_event_t *event)
{
    struct op *op = (struct op *)handler;
    if (event->ni_fail_type != PTL_NI_OK)
        damaged(op);
    op_end(op, op->ep->tx);
    if (event->type == PTL_EVENT_UNLINK) {
        exposed[op->place] = NULL;
        op_free(op);
    }
}

static ssize_t send_long(struct op *op, const struct message *message, const struct address *to,
                         ptl_pt_index_t portal, uint64_t bits)
{
    static unsigned next;
    unsigned place = next;
    while (exposed[place])
        if ((place = (place + 1) % EXPOSED) == next)
            return -FI_EAGAIN;
    const ptl_process_id_t process = {to->nid, to->pid};
    ptl_md_t md = descriptor((void *)message->buffer, message->length, 1,
                             PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, &op->handler);
    op->handler.event = was_fetched;
    op->place = place;
    int error = fabric_error(PtlMEAttach(interface_ni, PORTAL_LONG, process, place, 0, PTL_UNLINK,
                                         PTL_INS_BEFORE, &op->me),
                             "PtlMEAttach");
    if (error)
        return error;
    uint64_t head = HEAD_LONG | (uint64_t)place << HEAD_PLACE_SHIFT | message->length;
    if (message->flags & FI_REMOTE_CQ_DATA) {
        head |= HEAD_DATA;
        words[place] = (uint32_t)message->data;
        if (words[place] >> HEAD_WORD_BITS)
            head |= HEAD_FETCH;
        else
            head |= (uint64_t)words[place] << HEAD_WORD_SHIFT;
    }
    error = fabric_error(PtlMDAttach(op->me, md, PTL_UNLINK, &op->md), "PtlMDAttach");
    if (!error)
        error = fabric_error(PtlPut(interface_nothing, PTL_NOACK_REQ, process, portal, 0, bits, 0,
                                    head),
                             "PtlPut");
    if (error) {
        PtlMEUnlink(op->me);
        return error;
    }
    exposed[place] = op;
    next = (place + 1) % EXPOSED;
    return 0;
}

static ssize_t send_short(struct op *op, const struct message *message, const struct address *to,
                          ptl_pt_index_t portal, uint64_t bits)
{
    const ptl_process_id_t process = {to->nid, to->pid};
    const void *bytes = message->buffer;
    uint64_t head = 0;
    if (message->flags & FI_REMOTE_CQ_DATA)
        head = HEAD_DATA | (uint32_t)message->data;
    if (message->flags & FI_INJECT && message->length > 0 && !message->kept) {
        op->bounce = need(1, message->length);
        copy(op->bounce, message->buffer, message->length);
        bytes = op->bounce;
    }
    /* whole says here that an acknowledgement is waited for. */
    op->whole = !!(message->flags & FI_DELIVERY_COMPLETE);
    int error = descriptor_bind(descriptor((void *)bytes, message->length, op->whole ? 2 : 1, 0,
                                           &op->handler),
                                PTL_UNLINK, &op->md);
    if (error)
        return error;
    error = fabric_error(PtlPut(op->md, op->whole ? PTL_ACK_REQ : PTL_NOACK_REQ, process, portal,
                                0, bits, 0, head),
                         "PtlPut");
    if (error)
        PtlMDUnlink(op->md);
    return error;
}

static ssize_t start(struct endpoint *ep, const struct message *message)
{
    struct address to;
    if (!ep->enabled)
        return refuse(-FI_EOPBADSTATE, "a message is sent by an endpoint that is not enabled");
    if (!av_peer(ep->av, message->to, &to))
        return refuse(-FI_EINVAL, "a message is sent to an address that is not in the endpoint's "
                                  "address vector");
    if (message->length > (message->flags & FI_INJECT ? INJECT_MAX : MESSAGE_MAX))
        return refuse(-FI_EMSGSIZE, "a message of %zu bytes is longer than the limit",
                      message->length);
    if (message->tag >> SLOT_SHIFT)
        return refuse(-FI_EINVAL, "a tag has more than the %d bits of mem_tag_format", SLOT_SHIFT);
    const bool wants = !message->quiet && TX_WANTS(ep, message->flags);
    if (!op_room(ep, ep->tx, wants))
        return -FI_EAGAIN;
    struct op *op = op_new(ep, sent);
    op_begin(op);
    op->context = message->context;
    op->flags = FI_SEND | (message->tagged ? FI_TAGGED : FI_MSG);
    op->wants = wants;
    op->cntr = ep->sends;
    op->bounce = message->kept;
    const uint64_t bits = (uint64_t)ep->slot << SLOT_SHIFT | message->tag;
    const ptl_pt_index_t portal = PORTAL_INBOXES - 2 * to.slot - !message->tagged;
    const ssize_t result = message->length > EAGER_MAX
                               ? send_long(op, message, &to, portal, bits)
                               : send_short(op, message, &to, portal, bits);
    if (result) {
        if (message->kept)
            op->bounce = NULL;
        op_free(op);
        if (result == -FI_EAGAIN)
            progress();
    }
    return result;
}

ssize_t send_message(struct endpoint *ep, const struct message *message)
{
    lock();
    const ssize_t result = start(ep, message);
    unlock();
    return result;
}

void long_withdraw(struct endpoint *ep)
{
    for (unsigned place = 0; place < EXPOSED; place++) {
        struct op *op = exposed[place];
        if (!op || op->ep != ep)
            continue;
        int code;
        while ((code = PtlMEUnlink(op->me)) == PTL_ME_IN_USE)
            progress();
        if (code == PTL_OK && exposed[place] == op) {
            exposed[place] = NULL;
            op_free(op);
        }
    }
}
