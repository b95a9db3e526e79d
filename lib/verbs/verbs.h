/* The thin verbs library: what its files share. Regions and transfers are the simulator's; protection
 * domains, queue pairs and completion queues are kept here. */
#ifndef SUNSTAR_VERBS_H
#define SUNSTAR_VERBS_H

#include "layout.h"
#include "seam.h"

/* Another MPI library may have been loaded first under the name of ours: then there is no run, and no device. */
#pragma weak rank_attach
#pragma weak rank_call_verbs
#pragma weak rank_events
#pragma weak rank_guard
#pragma weak rank_state_add
#pragma weak rank_gate_enter
#pragma weak rank_gate_leave
#pragma weak rank_unguard

#include <stdbool.h>

#define VERBS_EXPORT __attribute__((visibility("default")))

#define VERBS_INLINE_MAX 256u
#define VERBS_WORK_MAX 4096u
#define VERBS_CQ_MAX 65536u
/* Bytes of a transfer; longer ones are not cut in pieces by anybody. */
#define VERBS_MESSAGE_MAX (16u << 20)

/* A completion that is expected: the transfer is over when so many descriptors are. */
struct expected {
    uint64_t descriptors;
    struct completion completion;
    struct qp *qp;
};

struct cq {
    struct cq_base base;
    struct expected *ring;
    uint32_t first, used;
    bool in_vain; /* the last look found nothing */
    bool wanted;  /* the next completion is to be an event */
    bool asked;   /* one is on its way */
    unsigned events;
    uint64_t serial;
    struct cq *next; /* of all */
};

struct qp {
    struct qp_base base;
    struct capacity capacity;
    struct address address;
    uint32_t peer;
    int access;
    uint32_t outstanding; /* signalled work without its completion */
    bool signals_all;
};

/* What the device said when it was opened. */
struct verbs_facts {
    uint64_t node, nodes, lanes, pages;
};
extern struct verbs_facts verbs_facts;

/* Calls of a thread that belong together. True if other threads wait for their turn: a wait for the card
 * would hold them up. */
bool verbs_begin(void);
void verbs_end(void);
/* Asks the simulator: a call of enum verbs_call. What it tells stands in words, if that is not null. */
int verbs_call(unsigned call, unsigned count, const uint64_t *arguments, uint64_t words[6]);
/* Says in a line why something is refused, each once; the error number. */
int verbs_refuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- events.c --- */
void verbs_cq_begins(struct cq *cq, struct channel_base *channel);
void verbs_cq_ends(struct cq *cq);
/* Signalled work for that node was posted; it is complete at once if it has failed. */
void verbs_cq_expects(struct cq *cq, unsigned node, bool failed);
/* Descriptors of this process that are over, as was told last. */
extern uint64_t verbs_over;

int verbs_poll_cq(struct cq *cq, int most, struct completion *completions);
int verbs_req_notify_cq(struct cq *cq, int solicited);
int verbs_post_send(struct qp *qp, struct send *work, struct send **bad);
int verbs_post_recv(struct qp *qp, void *work, void **bad);

#endif
