/* Completion events. The card interrupts who receives, so the peer's kernel module is asked, behind what was
 * posted, for an interrupt here (docs/decisions/0107): the event comes when all that was posted to that node
 * before is over. */
#define _GNU_SOURCE
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOR_EVER UINT64_MAX
/* Picoseconds for which a thread waits, before another one has its turn. */
#define SHARED UINT64_C(1000000)

static struct cq *all;

/* Its event is there: the descriptor of its channel can be read. */
static void add(struct cq *cq)
{
    const struct channel_base *channel = cq->base.channel;
    const uint64_t one = 1;
    cq->asked = false;
    cq->events++;
    if (write(channel->file, &one, sizeof one) < 0)
        cq->events--; /* 2^64 of them are not taken */
}

/* Takes an event from the simulator, and waits for it as long at most. True if one has come. */
static bool take_event(uint64_t limit)
{
    uint64_t words[6];
    const uint64_t arguments[] = {limit};
    if (verbs_call(RANK_VERBS_CALL_EVENT, 1, arguments, words) < 0 || words[0] == 0)
        return false;
    for (struct cq *cq = all; cq; cq = cq->next)
        if (cq->serial == words[1])
            add(cq);
    return true;
}

static void arm(struct cq *cq, unsigned node)
{
    const uint64_t arguments[] = {node, cq->serial};
    cq->wanted = false;
    cq->asked = true;
    if (verbs_call(RANK_VERBS_CALL_ARM, 2, arguments, NULL) == 0)
        return;
    cq->asked = false;
    verbs_refuse(EOPNOTSUPP, "ibv_req_notify_cq: the peer has the request queue, so its kernel "
                             "module cannot ask the card for an interrupt here; poll");
}

void verbs_cq_begins(struct cq *cq, struct channel_base *channel)
{
    static uint64_t serial;
    cq->base.channel = channel;
    cq->serial = ++serial;
    cq->next = all;
    all = cq;
    if (channel)
        channel->references++;
}

void verbs_cq_ends(struct cq *cq)
{
    struct channel_base *channel = cq->base.channel;
    struct cq **link = &all;
    while (*link != cq)
        link = &(*link)->next;
    *link = cq->next;
    if (channel)
        channel->references--;
}

void verbs_cq_expects(struct cq *cq, unsigned node, bool failed)
{
    if (!cq->wanted)
        return;
    if (!failed)
        return arm(cq, node);
    cq->wanted = false;
    add(cq);
}

int verbs_req_notify_cq(struct cq *cq, int solicited)
{
    (void)solicited;
    if (!cq->base.channel || cq->wanted || cq->asked)
        return 0;
    cq->wanted = true;
    for (uint32_t i = 0; i < cq->used && cq->wanted; i++) {
        const struct expected *next = &cq->ring[(cq->first + i) % (uint32_t)cq->base.entries];
        if (next->qp && next->descriptors > verbs_over)
            arm(cq, next->qp->address.lid - 1u);
    }
    return 0;
}

VERBS_EXPORT struct channel_base *ibv_create_comp_channel(struct context *context)
{
    struct channel_base *channel = calloc(1, sizeof *channel);
    if (!channel)
        return NULL;
    const int file = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    if (file < 0 || !rank_events(file, true, take_event)) {
        if (file >= 0) {
            close(file);
            verbs_refuse(EMFILE, "ibv_create_comp_channel: a process has 64 of them at most");
        }
        free(channel);
        return NULL;
    }
    *channel = (struct channel_base){.context = context, .file = file};
    return channel;
}

VERBS_EXPORT int ibv_destroy_comp_channel(struct channel_base *channel)
{
    if (channel->references > 0)
        return EBUSY;
    rank_events(channel->file, false, take_event);
    close(channel->file);
    free(channel);
    return 0;
}

static struct cq *with_event(const struct channel_base *channel)
{
    for (struct cq *cq = all; cq; cq = cq->next)
        if (cq->base.channel == channel && cq->events > 0)
            return cq;
    return NULL;
}

VERBS_EXPORT int ibv_get_cq_event(struct channel_base *channel, struct cq **found, void **user)
{
    const bool waits = !(fcntl(channel->file, F_GETFL) & O_NONBLOCK);
    struct cq *cq;
    while (!(cq = with_event(channel))) {
        const bool shared = verbs_begin();
        const bool some = take_event(!waits ? 0 : shared ? SHARED : FOR_EVER);
        verbs_end();
        if (!some && !waits) {
            errno = EAGAIN;
            return -1;
        }
    }
    uint64_t one;
    if (read(channel->file, &one, sizeof one) < 0)
        return -1;
    cq->events--;
    *found = cq;
    *user = cq->base.user;
    return 0;
}

/* The card has none: a wait for one does not end. A thread of several sleeps, and the others go on. */
VERBS_EXPORT int ibv_get_async_event(struct context *context, void *event)
{
    (void)event;
    if (fcntl(context->event_file, F_GETFL) & O_NONBLOCK) {
        errno = EAGAIN;
        return -1;
    }
    for (;;) {
        uint64_t one;
        if (__libc_single_threaded)
            take_event(FOR_EVER);
        else if (syscall(SYS_read, context->event_file, &one, sizeof one) < 0 && errno != EINTR)
            return -1; /* the device was closed */
    }
}

VERBS_EXPORT void ibv_ack_async_event(void *event)
{
    (void)event;
}

VERBS_EXPORT void ibv_ack_cq_events(struct cq *cq, unsigned count)
{
    cq->base.events[0] += count;
}
