/* What programs and libibverbs share in memory on x86-64, as its ABI has it: only what this library reads or
 * writes has a name, all else is room. tests/verbs/layout.c holds each size and offset against the installed
 * header. */
#ifndef SUNSTAR_VERBS_LAYOUT_H
#define SUNSTAR_VERBS_LAYOUT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct device {
    void *ops[2];
    int32_t node_type, transport;
    char name[64], dev_name[64], dev_path[256], sysfs_path[256];
};

struct cq;
struct qp;
struct send;
struct completion;
struct context;
struct port;

/* The table behind a context; other places of it are empty. */
struct operations {
    void *before_poll[11];
    int (*poll_cq)(struct cq *cq, int most, struct completion *completions);
    int (*req_notify_cq)(struct cq *cq, int solicited);
    void *before_send[12];
    int (*post_send)(struct qp *qp, struct send *work, struct send **bad);
    int (*post_recv)(struct qp *qp, void *work, void **bad);
    void *behind[5];
};

struct context {
    struct device *device;
    struct operations ops;
    int32_t command_file, event_file, completion_vectors, unused;
    pthread_mutex_t mutex;
    void *extended; /* all ones: there is a struct extended around it */
};

/* Newer functions stand before the context, from its end on. */
struct extended {
    int (*query_port)(struct context *context, uint8_t number, struct port *port, size_t bytes);
    void *others[38];
    size_t bytes;
    struct context context;
};

struct device_facts {
    char firmware[64];
    uint64_t node_guid, system_guid, region_max, page_sizes;
    uint32_t vendor, part, revision;
    int32_t qps, qp_work;
    uint32_t flags;
    int32_t sges, sges_read, cqs, cq_entries, regions, pds;
    int32_t before_pkeys[20]; /* reads, atomics, windows, multicast, handles, shared queues */
    uint16_t pkeys;
    uint8_t ack_delay, ports;
    uint32_t unused;
};

struct port {
    int32_t state, mtu_max, mtu, gids;
    uint32_t flags, message_max, bad_pkeys, bad_qkeys;
    uint16_t pkeys, lid, manager_lid;
    uint8_t lmc, lanes_virtual, manager_level, timeout, init_reply;
    uint8_t width, speed, physical, link, more;
    uint16_t flags2, unused;
};

struct pd {
    struct context *context;
    uint32_t handle, unused;
};

struct mr {
    struct context *context;
    struct pd *pd;
    void *address;
    size_t bytes;
    uint32_t handle, lkey, rkey, unused;
};

struct channel_base {
    struct context *context;
    int32_t file, references;
};

struct cq_base {
    struct context *context;
    void *channel, *user;
    uint32_t handle;
    int32_t entries;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    uint32_t events[2];
};

struct qp_base {
    struct context *context;
    void *user;
    struct pd *pd;
    struct cq *send_cq, *receive_cq;
    void *srq;
    uint32_t handle, number;
    int32_t state, type;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    uint32_t events, unused;
};

struct capacity {
    uint32_t sends, receives, send_sges, receive_sges, inline_bytes;
};

struct qp_wanted {
    void *user;
    struct cq *send_cq, *receive_cq;
    void *srq;
    struct capacity capacity;
    int32_t type, signals_all, unused;
};

struct address {
    uint8_t grh[24];
    uint16_t lid;
    uint8_t level, path_bits, rate, is_global, port, unused;
};

struct qp_facts {
    int32_t state, current, mtu, migration;
    uint32_t qkey, receive_psn, send_psn, peer;
    int32_t access;
    struct capacity capacity;
    struct address address, alternate;
    uint8_t before_port[9];
    uint8_t port;
    uint8_t behind[14];
};

struct sge {
    uint64_t address;
    uint32_t bytes, lkey;
};

struct send {
    uint64_t id;
    struct send *next;
    struct sge *sges;
    int32_t sges_used, opcode;
    uint32_t flags, immediate;
    uint64_t remote_address;
    uint32_t rkey;
    uint8_t behind[76];
};

struct completion {
    uint64_t id;
    int32_t status, opcode;
    uint32_t vendor, bytes, immediate, qp, peer, flags;
    uint16_t pkey, lid;
    uint8_t level, path_bits, unused[2];
};

/* Values of the ABI. */
enum { NODE_CA = 1, TRANSPORT_IB = 0, PORT_ACTIVE = 4, PHYSICAL_UP = 5, LINK_IB = 1, MTU_4096 = 5 };
enum { WIDTH_1X = 1, WIDTH_4X = 2, WIDTH_2X = 16, SPEED_2_5 = 1 };
enum { TYPE_RC = 2, TYPE_UC = 3, TYPE_UD = 4 };
enum { STATE_RESET, STATE_INIT, STATE_RTR, STATE_RTS, STATE_SQD, STATE_SQE, STATE_ERROR };
enum { MASK_STATE = 1, MASK_ACCESS = 8, MASK_PORT = 0x20, MASK_ADDRESS = 0x80 };
enum { MASK_PEER = 0x100000 };
enum { OPCODE_WRITE, OPCODE_WRITE_IMMEDIATE, OPCODE_SEND };
enum { SEND_SIGNALED = 2, SEND_INLINE = 8 };
enum { STATUS_LENGTH = 1, STATUS_PROTECTION = 4, STATUS_FLUSHED = 5, STATUS_REMOTE_ACCESS = 10 };
enum { COMPLETED_WRITE = 1 };
enum { ACCESS_LOCAL_WRITE = 1, ACCESS_REMOTE_WRITE = 2, ACCESS_KNOWN = 3 };
/* A device that does not know these ignores them. */
enum { ACCESS_OPTIONAL = 0x3FF00000 };

#endif
