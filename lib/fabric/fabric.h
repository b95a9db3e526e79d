/* The libfabric provider "sunstar": what its files share. All of it stands on Portals
 * (include/portals3.h); docs/libfabric.md says what it can do, docs/decisions/0160 why it is
 * made so. */
#ifndef SUNSTAR_FABRIC_H
#define SUNSTAR_FABRIC_H

#include "portals3.h"
#include "seam.h"

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- how much --- */

/* Bytes that may be injected, which copies them, and those that programs are told to inject if they
 * do not ask for more: a longer copy takes more time than a completion. */
#define INJECT_MAX 4096u
#define INJECT_GOOD 1024u
/* Messages of up to so many bytes are sent at once, and kept by the receiver if it has not asked
 * for them. */
#define EAGER_MAX 16384u
/* A request on the wire has 32 bits for its length. */
#define MESSAGE_MAX 0xFFFFFFFFu
/* Half of the descriptors of an interface on the card; receives have others. */
#define TX_SIZE 512u
#define RX_SIZE 1024u
#define CQ_SIZE 65536u
/* Endpoints of a process: four bits of each message say from which one it comes. */
#define SLOTS 16u
/* Long messages of a process that nobody has fetched yet. */
#define EXPOSED RANK_FABRIC_PLACES
/* Bytes that the hardware swaps in one step (max_getput_md). */
#define ATOMIC_MAX 64u

/* --- what stands where --- */

/* Portals of the process from the last one down: a program's own use of Portals begins at the
 * first. */
enum {
    PORTAL_REGIONS = 63, /* remote memory: match bits are keys */
    PORTAL_LONG = RANK_FABRIC_LONG, /* long messages that wait to be fetched */
    PORTAL_INBOXES = 61, /* two for each endpoint, downwards */
};

/* Match bits of messages: the sender's endpoint above the tag. */
#define SLOT_SHIFT 60
#define SLOT_BITS (UINT64_C(15) << SLOT_SHIFT)
#define TAG_FORMAT UINT64_C(0x0AAAAAAAAAAAAAAA)
/* Match bits of remote memory: a key of 7 bytes, and whether the owner is to be told. */
#define KEY_BYTES 7
#define KEY_TOLD (UINT64_C(1) << 63)
#define KEY_MAX (UINT64_C(1) << 8 * KEY_BYTES)
/* Match bits of the table of data words of long messages, behind the exposed ones. */
#define LONG_WORDS EXPOSED

/* The word that goes with each message (hdr_data). All: */
#define HEAD_LONG (UINT64_C(1) << 63)
#define HEAD_DATA (UINT64_C(1) << 62)
/* of a short one: the data word of 32 bits; with remote memory also both endpoints; */
#define HEAD_TO_SHIFT 32
#define HEAD_FROM_SHIFT 36
/* of a long one: length, as much of the data word as fits, where it waits, and whether the data
 * word has to be fetched. */
#define HEAD_WORD_SHIFT 32
#define HEAD_WORD_BITS 19
#define HEAD_PLACE_SHIFT RANK_FABRIC_PLACE_SHIFT
#define HEAD_FETCH (UINT64_C(1) << 61)

/* An endpoint's address as programs exchange it. */
struct address {
    uint32_t nid, pid, slot;
};

/* --- objects --- */

/* What a memory descriptor's user_ptr points to: it takes its events. */
struct handler {
    void (*event)(struct handler *handler, const ptl_event_t *event);
};

struct domain {
    struct fid_domain fid;
    bool tells; /* owners of memory are told of every access */
    unsigned users;
};

struct av {
    struct fid_av fid;
    struct domain *domain;
    struct address *list;
    unsigned *uses; /* how often each was inserted; 0: free */
    size_t used, room;
    fi_addr_t *hash; /* index + 1 */
    size_t hashed;
};

/* An entry of a completion queue; an error if err is not 0. */
struct completion {
    struct fi_cq_tagged_entry entry;
    fi_addr_t source;
    size_t olen;
    int err, why;
};

struct cq {
    struct fid_cq fid;
    struct domain *domain;
    enum fi_cq_format format;
    struct completion *ring;
    size_t first, used, room; /* room is a power of two, and grows */
    size_t size;              /* as asked for: new operations wait when so many are not read */
    bool signalled;
    unsigned users;
};

struct cntr {
    struct fid_cntr fid;
    struct domain *domain;
    uint64_t value, errors;
    uint64_t told; /* value and errors together, when the program looked last */
    unsigned users;
};

/* Why an operation failed (prov_errno). */
enum why {
    WHY_NOTHING,
    WHY_TRUNCATED,
    WHY_CANCELLED,
    WHY_NO_MESSAGE,
    WHY_REFUSED,
    WHY_LOST,
    WHY_DAMAGED,
    WHY_WITHDRAWN,
    WHY_MEMORY,
};

struct endpoint;
struct inbox;
struct part;

/* An operation under way. Its memory is freed when no event can name it any more. */
struct op {
    struct handler handler;
    struct endpoint *ep;
    struct op *next, *previous; /* posted receives of an inbox, or operations of an endpoint */
    struct op *later;           /* of those that go on at the next progress */
    void *context;
    char *buffer;
    size_t length;
    uint64_t flags; /* of its completion */
    uint64_t data, tag;
    fi_addr_t source;
    bool wants; /* a completion entry; counters count anyway */
    struct cntr *cntr;
    void *bounce;
    ptl_handle_me_t me;
    ptl_handle_md_t md;
    size_t moved;      /* bytes */
    size_t whole;      /* bytes of the message, of which length are wanted */
    int err, why;      /* what its completion will be */
    bool ended;        /* told */
    unsigned place;    /* among the exposed long messages */
    /* receives */
    struct inbox *box;
    ptl_process_id_t from;
    uint64_t bits, ignore;
    uint64_t head;
    bool queued; /* the match list has no room for it */
    /* buffers for several messages */
    struct part *part, *longs; /* what is fetched into one; those that have no place yet */
    size_t start;      /* where the descriptor begins in the buffer */
    size_t used, least;
    unsigned busy; /* messages that are not told yet */
    bool multi, gone, full, settling;
    /* atomic operations */
    struct op *probe, *parent; /* of an operation, and back */
    bool answered; /* the probe */
    ptl_process_id_t peer;
    uint64_t key, offset;
    char operand[ATOMIC_MAX], result[ATOMIC_MAX];
};

/* A message that came before it was asked for. */
struct arrival {
    struct arrival *next;
    ptl_process_id_t from;
    uint64_t bits, head;
    size_t length, stored; /* of the message; of what is here */
    char *data;
    ptl_seq_t number;    /* of the event that told of it, until it is complete */
    struct block *block; /* that the data are in, or null: they are freed with the arrival */
    void *claimed;       /* context of who has claimed it */
    bool is_claimed;
};

/* Memory for messages that nobody has asked for. */
struct block {
    struct handler handler;
    struct inbox *box;
    char *memory;
    ptl_handle_me_t me;
    ptl_handle_md_t md;
    bool there;
};

#define BLOCKS 4u

/* Where messages of a kind come in: a match list of receives, then blocks, then what tells of
 * lost messages. */
struct inbox {
    struct endpoint *ep;
    bool tagged;
    ptl_pt_index_t portal;
    struct op *first, *last;
    unsigned waiting; /* receives for which the list had no room */
    struct arrival *arrivals, **end;
    struct part *parts; /* messages in buffers for several, in their order */
    struct arrival *coming; /* not complete, or behind one that is not */
    struct block blocks[BLOCKS];
    struct block *order[BLOCKS]; /* as they stand in the match list */
    struct handler beyond;
    ptl_handle_me_t beyond_me;
};

struct endpoint {
    struct fid_ep fid;
    struct domain *domain;
    struct av *av;
    struct cq *tx, *rx;
    struct cntr *sends, *receives, *reads, *writes, *remote_writes;
    uint64_t tx_flags, rx_flags; /* of operations without flags of their own */
    bool tx_selective, rx_selective, enabled;
    unsigned slot;
    size_t least; /* FI_OPT_MIN_MULTI_RECV */
    struct inbox tags, messages;
    struct op *under_way; /* operations that the interface is still to end */
    unsigned open;        /* of them, those that programs have asked for */
};

/* --- call.c --- */
/* A function of the program's begins, and ends with the block (fabric_call of abi/rank/channel.toml). */
#define CALL(name)                                                                                 \
    __attribute__((cleanup(call_end))) const struct call call_of_program =                        \
        call_begin(RANK_FABRIC_CALL_##name)
struct call {
    unsigned number;
};
struct call call_begin(unsigned number);
void call_end(const struct call *call);
/* It gives the program so many completions; it is a look that finds nothing. */
void call_completes(size_t completions);
void call_in_vain(void);
/* Something happens to a queue (fabric_note). */
void call_notes(unsigned note, uint64_t number);
/* Copies from memory to memory, which takes time. */
void copy(void *to, const void *from, size_t bytes);
/* --- provider.c --- */
/* Says why something is refused, each sentence once; the error as functions return it. */
int refuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A state that cannot be mended ends the program. */
void give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *need(size_t count, size_t bytes);
struct fi_info *info_new(void);
uint32_t library_version(void);
/* --- info.c --- */
int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
            const struct fi_info *hints, struct fi_info **info);
/* --- absent.c --- */
extern struct fi_ops_collective absent_collective;
int no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int no_control(struct fid *fid, int command, void *argument);
int no_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int no_string(const struct fid *fid, char *buffer, size_t bytes);
int no_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context);
extern struct fi_ops_cm ep_cm;
/* --- domain.c --- */
int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
/* --- interface.c --- */
extern ptl_handle_ni_t interface_ni;
extern ptl_handle_eq_t interface_eq, interface_arrivals;
extern ptl_process_id_t interface_id;
extern ptl_handle_md_t interface_nothing; /* a descriptor of no bytes, without events */
extern struct endpoint *interface_slots[SLOTS];
/* Looks one after the other that found nothing. */
extern unsigned interface_in_vain;
/* The program got something without a look. */
void interface_served(void);
int interface_open(void);
void interface_close(void);
void lock(void);
bool lock_now(void);
void unlock(void);
/* Takes what has come; more than events alone, unless that is under way already. */
void progress(void);
/* The same, and waits for an event for so many milliseconds at most; true if one has come. */
bool progress_wait(ptl_time_t limit);
/* Time of the program in microseconds, of which only differences mean something. */
uint64_t now(void);
/* A return code of Portals as libfabric has it. */
int fabric_error(int code, const char *call);
int descriptor_bind(ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle);
ptl_md_t descriptor(void *start, size_t length, int threshold, unsigned options,
                    struct handler *handler);
/* --- op.c --- */
struct op *op_new(struct endpoint *ep, void (*event)(struct handler *, const ptl_event_t *));
/* It is under way, and belongs to the endpoint's until op_free. */
void op_begin(struct op *op);
void op_free(struct op *op);
/* Its completion, once. */
void op_end(struct op *op, struct cq *cq);
/* True if another one may begin. */
bool op_room(struct endpoint *ep, struct cq *cq, bool wants);
/* --- av.c --- */
int av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);
bool av_peer(struct av *av, fi_addr_t at, struct address *address);
fi_addr_t av_find(struct av *av, ptl_process_id_t process, unsigned slot);
/* --- cq.c --- */
int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
void cq_add(struct cq *cq, const struct completion *completion);
bool cq_full(const struct cq *cq);
/* --- cntr.c --- */
int cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
              void *context);
void cntr_count(struct cntr *cntr, bool failed);
/* --- mr.c --- */
extern struct fi_ops_mr mr_ops;
int regions_open(void);
void regions_close(void);
/* --- endpoint.c --- */
int endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                  void *context);
/* --- send.c --- */
struct message {
    const void *buffer;
    size_t length;
    fi_addr_t to;
    bool tagged, quiet; /* quiet: no completion, whatever the flags say */
    uint64_t tag, data, flags;
    void *context;
    void *kept; /* a copy of the bytes, which is the operation's if that begins */
};
ssize_t send_message(struct endpoint *ep, const struct message *message);
int long_open(void);
void long_close(void);
uint32_t long_word(ptl_process_id_t from, unsigned place);
/* Takes back what nobody has fetched. */
void long_withdraw(struct endpoint *ep);
/* --- fetch.c --- */
void fetched(struct handler *handler, const ptl_event_t *event);
/* Fetches the long message that op->place at that process names into op's buffer, and ends op. */
void fetch(struct op *op, ptl_process_id_t from, uint64_t head);
void fetch_again(void);
void fetch_drop(struct endpoint *ep);
/* The message is not wanted, but its sender waits. */
void fetch_refuse(struct endpoint *ep, ptl_process_id_t from, uint64_t head);
/* --- inbox.c --- */
int inbox_open(struct inbox *box, struct endpoint *ep, bool tagged, ptl_pt_index_t portal);
void inbox_close(struct inbox *box);
ptl_handle_me_t inbox_base(struct inbox *box);
/* The first message that the receive takes. */
struct arrival *inbox_find(struct inbox *box, const struct op *op);
bool op_matches(const struct op *op, ptl_process_id_t from, uint64_t bits);
void arrival_unlink(struct inbox *box, struct arrival *arrival);
void arrival_free(struct arrival *arrival);
void inbox_front(struct inbox *box, struct arrival *arrival);
/* --- receive.c --- */
struct wanted {
    void *buffer;
    size_t length;
    fi_addr_t from;
    bool tagged;
    uint64_t tag, ignore, flags;
    void *context;
};
ssize_t receive_post(struct endpoint *ep, const struct wanted *wanted);
ssize_t receive_peek(struct endpoint *ep, const struct wanted *wanted);
ssize_t receive_cancel(struct endpoint *ep, void *context);
/* A message is op's. */
void receive_take(struct op *op, struct arrival *arrival);
struct op *receive_new(struct endpoint *ep, const struct wanted *wanted);
void receive_link(struct op *op);
void receive_unlink(struct op *op);
/* Puts it into the match list: PTL_MD_NO_UPDATE and PTL_ME_INVALID if something has come. */
int receive_list(struct op *op);
/* Receives that wait for room in the match list, as far as there is some. */
void receive_again(struct inbox *box);
void receive_drop(struct inbox *box);
uint64_t arrival_flags(const struct inbox *box, uint64_t head);
uint64_t arrival_data(ptl_process_id_t from, uint64_t head);
size_t arrival_length(uint64_t head, size_t length);
/* --- multi.c --- */
ssize_t multi_post(struct endpoint *ep, const struct wanted *wanted);
/* A message has come that the buffer takes at the next progress. */
void multi_wake(struct op *op);
void multi_settle(void);
void multi_fetched(struct part *part, const struct op *get);
void multi_drop(struct op *op);
bool multi_cancel(struct op *op);
/* --- rma.c, atomic.c, msg.c --- */
extern struct fi_ops_rma rma_ops;
extern struct fi_ops_atomic atomic_ops;
extern struct fi_ops_msg msg_ops;
extern struct fi_ops_tagged tagged_ops;
int atomic_query(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
                 struct fi_atomic_attr *attr, uint64_t flags);
/* For a while nothing has come: asks what has become of atomic operations that nobody answers. */
void atomic_probe(void);
extern unsigned atomics_open;

/* Flags of an operation without flags of its own. */
#define TX_FLAGS(ep) ((ep)->tx_flags)
/* Whether an operation with these flags has a completion entry. */
#define TX_WANTS(ep, flags) (!(ep)->tx_selective || (flags) & FI_COMPLETION)
#define RX_WANTS(ep, flags) (!(ep)->rx_selective || (flags) & FI_COMPLETION)
#define EP(fid) ((struct endpoint *)(fid))

#endif
