/* The device: found, opened, asked for what it is. */
#define _GNU_SOURCE
#include "verbs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NAME "forth0"
/* The card's numbers in its configuration space (crates/models/model-rdma). */
#define VENDOR 0x10EE
#define PART 0x0300
#define PAGE 4096u

struct verbs_facts verbs_facts;

int verbs_refuse(int error, const char *format, ...)
{
    static const char *said[64];
    static unsigned used;
    errno = error;
    for (unsigned i = 0; i < used; i++)
        if (said[i] == format)
            return error;
    if (used < sizeof said / sizeof *said)
        said[used++] = format;
    va_list arguments;
    va_start(arguments, format);
    fputs("sunstar: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    return error;
}

int verbs_call(unsigned call, unsigned count, const uint64_t *arguments, uint64_t words[6])
{
    uint64_t unwanted[6];
    return rank_call_verbs(call, "a function of libibverbs", count, arguments,
                           words ? words : unwanted);
}

bool verbs_begin(void)
{
    return rank_gate_enter && rank_gate_enter();
}

void verbs_end(void)
{
    if (rank_gate_leave)
        rank_gate_leave();
}

/* The number that a card would have on its sticker: big-endian, from the node's number. */
static uint64_t guid(void)
{
    return __builtin_bswap64(UINT64_C(0x53554E0300000000) | verbs_facts.node);
}

VERBS_EXPORT struct device **ibv_get_device_list(int *count)
{
    /* Outside of a run there is none. */
    const bool there = rank_attach && rank_attach() != NULL;
    struct device **list = calloc(2, sizeof *list);
    if (list && there) {
        uint64_t words[6];
        if (verbs_call(RANK_VERBS_CALL_DEVICE, 0, NULL, words) == 0) {
            rank_state_add(RANK_STATE_VERBS);
            verbs_facts = (struct verbs_facts){words[0], words[1], words[2], words[3]};
            list[0] = calloc(1, sizeof **list);
        }
    }
    if (list && list[0]) {
        struct device *device = list[0];
        device->node_type = NODE_CA;
        device->transport = TRANSPORT_IB;
        strcpy(device->name, NAME);
        strcpy(device->dev_name, "uverbs0");
        strcpy(device->dev_path, "/sys/class/infiniband_verbs/uverbs0");
        strcpy(device->sysfs_path, "/sys/class/infiniband/" NAME);
    }
    if (count)
        *count = list && list[0] ? 1 : 0;
    return list;
}

/* Devices stay: a program may free the list while it has one open. */
VERBS_EXPORT void ibv_free_device_list(struct device **list)
{
    free(list);
}

VERBS_EXPORT const char *ibv_get_device_name(struct device *device)
{
    return device->name;
}

VERBS_EXPORT uint64_t ibv_get_device_guid(struct device *device)
{
    (void)device;
    return guid();
}

VERBS_EXPORT int ibv_get_device_index(struct device *device)
{
    (void)device;
    return 0;
}

static int query_port(struct context *context, uint8_t number, struct port *port, size_t bytes)
{
    (void)context;
    if (number != 1)
        return EINVAL;
    const struct port facts = {
        .state = PORT_ACTIVE,
        .mtu_max = MTU_4096,
        .mtu = MTU_4096,
        .gids = 1,
        .message_max = VERBS_MESSAGE_MAX,
        .pkeys = 1,
        .lid = (uint16_t)(verbs_facts.node + 1),
        .manager_lid = 1,
        .lanes_virtual = 1,
        .width = verbs_facts.lanes == 4 ? WIDTH_4X : verbs_facts.lanes == 2 ? WIDTH_2X : WIDTH_1X,
        .speed = SPEED_2_5,
        .physical = PHYSICAL_UP,
        .link = LINK_IB,
    };
    memset(port, 0, bytes);
    memcpy(port, &facts, bytes < sizeof facts ? bytes : sizeof facts);
    return 0;
}

/* Callers of this one know no more than what stands before flags2. */
VERBS_EXPORT int ibv_query_port(struct context *context, uint8_t number, struct port *port)
{
    return query_port(context, number, port, offsetof(struct port, flags2));
}

VERBS_EXPORT int ibv_query_device(struct context *context, struct device_facts *facts)
{
    (void)context;
    *facts = (struct device_facts){
        .firmware = "none",
        .node_guid = guid(),
        .system_guid = guid(),
        .region_max = verbs_facts.pages * PAGE,
        .page_sizes = PAGE,
        .vendor = VENDOR,
        .part = PART,
        .qps = 256,
        .qp_work = VERBS_WORK_MAX,
        .sges = 1,
        .cqs = 256,
        .cq_entries = VERBS_CQ_MAX,
        .regions = 1 << 15,
        .pds = 1 << 15,
        .pkeys = 1,
        .ports = 1,
    };
    return 0;
}

VERBS_EXPORT int ibv_query_gid(struct context *context, uint8_t port, int index, uint64_t gid[2])
{
    (void)context;
    if (port != 1 || index != 0) {
        errno = EINVAL;
        return -1;
    }
    gid[0] = __builtin_bswap64(UINT64_C(0xFE80000000000000));
    gid[1] = guid();
    return 0;
}

VERBS_EXPORT int ibv_query_gid_type(struct context *context, uint8_t port, unsigned index,
                                    int *type)
{
    (void)context, (void)port, (void)index;
    *type = 0; /* InfiniBand */
    return 0;
}

VERBS_EXPORT int ibv_query_pkey(struct context *context, uint8_t port, int index, uint16_t *pkey)
{
    (void)context;
    if (port != 1 || index != 0) {
        errno = EINVAL;
        return -1;
    }
    *pkey = 0xFFFF;
    return 0;
}

/* There is nothing of the device in the system's files. */
VERBS_EXPORT int ibv_read_sysfs_file(const char *folder, const char *file, char *text, size_t bytes)
{
    (void)folder, (void)file, (void)text, (void)bytes;
    return -1;
}

VERBS_EXPORT const char *ibv_get_sysfs_path(void)
{
    return "/sys";
}

VERBS_EXPORT struct context *ibv_open_device(struct device *device)
{
    struct extended *extended = calloc(1, sizeof *extended);
    if (!extended)
        return NULL;
    extended->query_port = query_port;
    extended->bytes = sizeof *extended;
    struct context *context = &extended->context;
    context->device = device;
    context->ops.poll_cq = verbs_poll_cq;
    context->ops.req_notify_cq = verbs_req_notify_cq;
    context->ops.post_send = verbs_post_send;
    context->ops.post_recv = verbs_post_recv;
    context->command_file = -1;
    context->event_file = eventfd(0, EFD_CLOEXEC);
    context->completion_vectors = 1;
    pthread_mutex_init(&context->mutex, NULL);
    context->extended = (void *)UINTPTR_MAX;
    return context;
}

VERBS_EXPORT int ibv_close_device(struct context *context)
{
    close(context->event_file);
    free((char *)context - offsetof(struct extended, context));
    return 0;
}

/* A forked child has copies of all pages, as after any fork. */
VERBS_EXPORT int ibv_fork_init(void)
{
    return 0;
}

/* 2: nothing is needed, as with kernels that copy pinned pages at once. */
VERBS_EXPORT int ibv_is_fork_initialized(void)
{
    return 2;
}
