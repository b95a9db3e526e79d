/* The bypass library: two rings in the port's page, which are written, and one of events in memory, which
 * is read. The card's numbers are big endian. */
#include "../../include/bypass.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include "../../firmware/lanai/include/abi_myrinet.h"
#include "../../linux/bypass/interface.h"

_Static_assert(BP_MESSAGE == MY_BYPASS_MESSAGE && BP_PORTS == MY_BYPASS_PORTS, "bypass.h");
_Static_assert(BP_SENDS == MY_BYPASS_SENDS && BP_PLACES == MY_BYPASS_PLACES, "bypass.h");

#define PAGE 4096
#define EVENTS_SIZE (MY_BYPASS_EVENTS * sizeof(struct my_bypass_event))

struct bp_port {
    int file, node;
    volatile uint64_t *page;
    char *memory;
    size_t bytes, used;
    /* All told. */
    uint32_t sends, places, events;
    /* Not over, or not used, yet. */
    uint32_t on_the_way, provided;
};

static void *give_up(struct bp_port *port)
{
    int why = errno;

    if (port->memory != MAP_FAILED)
        munmap(port->memory, port->bytes);
    if (port->file >= 0)
        close(port->file);
    free(port);
    errno = why;
    return NULL;
}

struct bp_port *bp_open(int number, size_t bytes)
{
    struct bypass_port wanted = {.port = (uint32_t)number};
    struct bp_port *port;
    void *page;

    if (number < 0 || number >= BP_PORTS || bytes > BYPASS_MEMORY_MAX - EVENTS_SIZE) {
        errno = EINVAL;
        return NULL;
    }
    port = calloc(1, sizeof(*port));
    if (port == NULL)
        return NULL;
    port->memory = MAP_FAILED;
    port->used = EVENTS_SIZE;
    port->bytes = (EVENTS_SIZE + bytes + PAGE - 1) / PAGE * PAGE;
    port->file = open(BYPASS_DEVICE, O_RDWR | O_CLOEXEC);
    if (port->file < 0)
        return give_up(port);
    wanted.bytes = (uint32_t)port->bytes;
    if (ioctl(port->file, BYPASS_OPEN, &wanted))
        return give_up(port);
    port->node = (int)wanted.node;
    port->memory = mmap(NULL, port->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, port->file, PAGE);
    if (port->memory == MAP_FAILED)
        return give_up(port);
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, port->file, 0);
    if (page == MAP_FAILED)
        return give_up(port);
    port->page = page;
    return port;
}

int bp_node(const struct bp_port *port)
{
    return port->node;
}

void *bp_alloc(struct bp_port *port, size_t bytes)
{
    size_t at = (port->used + 63) / 64 * 64;

    if (at > port->bytes || bytes > port->bytes - at) {
        errno = ENOMEM;
        return NULL;
    }
    port->used = at + bytes;
    return port->memory + at;
}

/* Where something is in the port's memory; -1 if it is not. */
static int64_t offset_of(const struct bp_port *port, const void *data, size_t bytes)
{
    size_t at = (size_t)((const char *)data - port->memory);

    if (at < EVENTS_SIZE || at > port->bytes || bytes > port->bytes - at) {
        errno = EFAULT;
        return -1;
    }
    return (int64_t)at;
}

/* Two words of the card in one store. */
static void put(struct bp_port *port, size_t at, uint32_t first, uint32_t second)
{
    port->page[at / 8] = htobe64((uint64_t)first << 32 | second);
}

int bp_send(struct bp_port *port, int node, int target, const void *data, size_t bytes)
{
    size_t at = port->sends % BP_SENDS * sizeof(struct my_bypass_send);
    int64_t offset = offset_of(port, data, bytes);

    if (offset < 0)
        return -1;
    if (bytes > BP_MESSAGE)
        errno = EMSGSIZE;
    else if (node < 0 || node > 0xffff || target < 0 || target >= BP_PORTS)
        errno = EINVAL;
    else if (port->on_the_way == BP_SENDS)
        errno = EAGAIN;
    else
        errno = 0;
    if (errno)
        return -1;
    port->sends++;
    port->on_the_way++;
    put(port, at, (uint32_t)node << 16 | (uint32_t)target, (uint32_t)offset);
    put(port, at + 8, (uint32_t)bytes, port->sends);
    return 0;
}

int bp_provide(struct bp_port *port, void *place)
{
    size_t places = BP_SENDS * sizeof(struct my_bypass_send);
    size_t at = places + port->places % BP_PLACES * sizeof(struct my_bypass_place);
    int64_t offset = offset_of(port, place, BP_MESSAGE);

    if (offset < 0)
        return -1;
    if (port->provided == BP_PLACES) {
        errno = EAGAIN;
        return -1;
    }
    port->places++;
    port->provided++;
    put(port, at, (uint32_t)offset, port->places);
    return 0;
}

static int error_of(uint32_t status)
{
    switch (status) {
    case MY_BYPASS_STATUS_DONE:
        return 0;
    case MY_BYPASS_STATUS_NO_ROUTE:
        return EHOSTUNREACH;
    case MY_BYPASS_STATUS_NO_PORT:
        return ECONNREFUSED;
    case MY_BYPASS_STATUS_NO_ANSWER:
        return ETIMEDOUT;
    default:
        return EFAULT;
    }
}

/* Where the next event will be. */
static volatile struct my_bypass_event *ring(const struct bp_port *port)
{
    size_t at = port->events % MY_BYPASS_EVENTS * sizeof(struct my_bypass_event);

    return (volatile void *)(port->memory + at);
}

static int look(struct bp_port *port, struct bp_event *event)
{
    volatile struct my_bypass_event *new = ring(port);

    if (be32toh(new->number) != port->events + 1)
        return 0;
    port->events++;
    event->kind = (enum bp_kind)be32toh(new->kind);
    event->error = error_of(be32toh(new->status));
    event->node = be16toh(new->node);
    event->port = be16toh(new->port);
    event->data = port->memory + be32toh(new->offset);
    event->bytes = be32toh(new->length);
    if (event->kind == BP_SENT)
        port->on_the_way--;
    else
        port->provided--;
    return 1;
}

/* RDTSC with a prefix that the processor ignores. It tells the bench that this loop watches a word until
 * it is no longer `seen`, or the counter has come to `end` (docs/guests.md). */
static unsigned long long counter_watching(const volatile uint32_t *word, uint32_t seen,
                                           unsigned long long end)
{
    uint32_t low, high;

    asm volatile(".byte 0xf3, 0x0f, 0x31"
                 : "=a"(low), "=d"(high)
                 : "D"(word), "S"(seen), "c"(end)
                 : "memory");
    return (unsigned long long)high << 32 | low;
}

/* Reading the counter takes time, in which the card's writes come. */
int bp_poll(struct bp_port *port, struct bp_event *event)
{
    if (look(port, event))
        return 1;
    (void)__rdtsc();
    return 0;
}

int bp_wait(struct bp_port *port, struct bp_event *event, long long ns)
{
    /* The counter counts nanoseconds. */
    unsigned long long now = __rdtsc(), end = now + (unsigned long long)ns;

    for (;;) {
        const volatile uint32_t *number = &ring(port)->number;
        uint32_t seen = *number;

        if (look(port, event))
            return 1;
        if (now >= end)
            return 0;
        now = counter_watching(number, seen, end);
    }
}

void bp_close(struct bp_port *port)
{
    munmap((void *)port->page, PAGE);
    munmap(port->memory, port->bytes);
    close(port->file);
    free(port);
}
