/* The process's Portals interface: opened with the first endpoint or region; its queues, and
 * what they bring. */
#define _GNU_SOURCE
#include "fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* Events that a queue holds. A process that does not look for so many events loses messages, and
 * says so. */
#define EVENTS 65536u
/* Looks in vain after which atomic operations without an answer are asked about. */
#define PATIENCE 12u

ptl_handle_ni_t interface_ni;
ptl_handle_eq_t interface_eq, interface_arrivals;
ptl_process_id_t interface_id;
ptl_handle_md_t interface_nothing;
struct endpoint *interface_slots[SLOTS];

/* Looks in vain after which one waits (decision 0158). */
#define SPIN 4u

static bool served;
static unsigned users;
static bool in_progress;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void lock(void)
{
    pthread_mutex_lock(&mutex);
}

bool lock_now(void)
{
    return pthread_mutex_trylock(&mutex) == 0;
}

void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

int fabric_error(int code, const char *call)
{
    switch (code) {
    case PTL_OK:
        return 0;
    case PTL_NO_SPACE:
    case PTL_ME_LIST_TOO_LONG:
        return -FI_EAGAIN;
    case PTL_SEGV:
    case PTL_MD_ILLEGAL:
        return -FI_EFAULT;
    case PTL_PROCESS_INVALID:
        return -FI_EHOSTUNREACH;
    default:
        return refuse(-FI_EOTHER, "%s answers %s", call, PtlErrorStr(code));
    }
}

ptl_md_t descriptor(void *start, size_t length, int threshold, unsigned options,
                    struct handler *handler)
{
    return (ptl_md_t){
        .start = start,
        .length = length,
        .threshold = threshold,
        .options = options | PTL_MD_EVENT_START_DISABLE,
        .user_ptr = handler,
        .eq_handle = handler ? interface_eq : PTL_EQ_NONE,
    };
}

int descriptor_bind(ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle)
{
    return fabric_error(PtlMDBind(interface_ni, md, unlink, handle), "PtlMDBind");
}

static int open_all(void)
{
    int interfaces;
    ptl_ni_limits_t limits;
    int code = PtlInit(&interfaces);
    if (code == PTL_OK)
        code = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &interface_ni);
    if (code == PTL_OK)
        code = PtlGetId(interface_ni, &interface_id);
    if (code == PTL_OK)
        code = PtlEQAlloc(interface_ni, EVENTS, PTL_EQ_HANDLER_NONE, &interface_eq);
    if (code == PTL_OK)
        code = PtlEQAlloc(interface_ni, EVENTS, PTL_EQ_HANDLER_NONE, &interface_arrivals);
    if (code != PTL_OK)
        return refuse(-FI_ENODEV, "libfabric's provider cannot open the interface: %s",
                      PtlErrorStr(code));
    if (limits.max_pt_index < PORTAL_REGIONS)
        return refuse(-FI_ENODEV, "libfabric's provider needs %u portals, and there are %u",
                      PORTAL_REGIONS + 1, limits.max_pt_index + 1);
    int error = descriptor_bind(descriptor(NULL, 0, PTL_MD_THRESH_INF, 0, NULL), PTL_RETAIN,
                                &interface_nothing);
    if (!error)
        error = long_open();
    if (!error)
        error = regions_open();
    return error;
}

int interface_open(void)
{
    if (users == 0) {
        const int error = open_all();
        if (error)
            return error;
    }
    users++;
    return 0;
}

/* The program may use the interface, too: it stays, and goes with the process. */
void interface_close(void)
{
    if (users == 0 || --users > 0)
        return;
    regions_close();
    long_close();
    PtlMDUnlink(interface_nothing);
    PtlEQFree(interface_arrivals);
    PtlEQFree(interface_eq);
}

static void take(const ptl_event_t *event)
{
    struct handler *handler = event->md.user_ptr;
    handler->event(handler, event);
}

static unsigned drain(ptl_handle_eq_t queue)
{
    ptl_event_t event;
    unsigned taken = 0;
    int code;
    while ((code = PtlEQGet(queue, &event)) == PTL_OK) {
        take(&event);
        taken++;
    }
    if (code == PTL_EQ_DROPPED)
        give_up("a libfabric program did not look at its queues while %u events came: some are "
                "lost", EVENTS);
    return taken;
}

/* What waits for room goes on, now that events were taken. Nothing here is done twice at a time:
 * a handler, and what is called here, may call progress() for events alone. */
static void go_on(void)
{
    multi_settle();
    fetch_again();
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        struct endpoint *ep = interface_slots[slot];
        if (ep && ep->enabled) {
            receive_again(&ep->tags);
            receive_again(&ep->messages);
        }
    }
}

void interface_served(void)
{
    interface_in_vain = 0;
    served = true;
}

/* Of a program that has looked for events in vain so often the next look waits, as it seems to
 * spin. One that lives on what has come already does not, and another call begins a new count. */
static unsigned pump(void)
{
    static unsigned looks;
    if (served && looks + 2 > SPIN) {
        PtlGetId(interface_ni, &interface_id);
        looks = 0;
    }
    served = false;
    const unsigned taken = drain(interface_arrivals) + drain(interface_eq);
    looks = taken > 0 ? 0 : looks + 2;
    return taken;
}

unsigned interface_in_vain;

void progress(void)
{
    const unsigned taken = pump();
    if (in_progress)
        return;
    in_progress = true;
    if (taken > 0) {
        interface_in_vain = 0;
        go_on();
    } else if (++interface_in_vain >= PATIENCE && atomics_open > 0) {
        if (!progress_wait(1))
            atomic_probe();
        interface_in_vain = 0;
    }
    in_progress = false;
}

bool progress_wait(ptl_time_t limit)
{
    ptl_handle_eq_t queues[2] = {interface_arrivals, interface_eq};
    ptl_event_t event;
    int which;
    const int code = PtlEQPoll(queues, 2, limit, &event, &which);
    if (code == PTL_EQ_DROPPED)
        give_up("a libfabric program did not look at its queues while %u events came: some are "
                "lost", EVENTS);
    if (code != PTL_OK)
        return false;
    interface_in_vain = 0;
    take(&event);
    pump();
    const bool inner = in_progress;
    in_progress = true;
    if (!inner)
        go_on();
    in_progress = inner;
    return true;
}
