#include "source.h"

#include "niccb.h"
#include "panic.h"
#include "trace.h"

source_t sources[OPT_SOURCES] PORT_NOINIT;

static source_t *buckets[SOURCE_BUCKETS];
static source_t *free_head;
#if OPT_NUMBERED
uint32_t sources_idle;
#endif
static uint32_t clock_hand; /* Where the search for an unused source goes on. */

static source_t **bucket_of(uint32_t nid)
{
    return &buckets[nid & (SOURCE_BUCKETS - 1)];
}

void source_init(void)
{
    for (uint32_t i = 0; i < SOURCE_BUCKETS; i++)
        buckets[i] = 0;
    free_head = 0;
    clock_hand = 0;
#if OPT_NUMBERED
    sources_idle = OPT_SOURCES;
#endif
    for (uint32_t i = OPT_SOURCES; i-- > 0;) {
        sources[i].hash_next = free_head;
        sources[i].refs = 0;
        free_head = &sources[i];
    }
    cached_niccb.source_freelist = local_address(free_head);
}

static void bucket_remove(source_t *victim)
{
    source_t **link = bucket_of(victim->nid);

    while (*link != victim)
        link = &(*link)->hash_next;
    *link = victim->hash_next;
}

/* Takes a source without references out of the table: a slow path, for nodes with more peers than
 * structures. Sources are not freed at once, because a peer seldom sends one message only. */
static source_t *source_reclaim(void)
{
    for (uint32_t i = 0; i < OPT_SOURCES; i++) {
        source_t *s = &sources[clock_hand];

        clock_hand = (clock_hand + 1) % OPT_SOURCES;
        if (s->refs == 0) {
            bucket_remove(s);
            return s;
        }
    }
    return 0;
}

static source_t *source_alloc(uint32_t nid)
{
    source_t *s = free_head;

    if (s) {
        free_head = s->hash_next;
        cached_niccb.source_freelist = local_address(free_head);
    } else {
        s = source_reclaim();
        if (!s)
            panic(SS_PANIC_REASON_NO_SOURCE, nid);
    }
    s->nid = (uint16_t)nid;
    s->stall_next = 0;
    s->rx_head = 0;
    s->rx_tail = 0;
#if OPT_OVERFLOW
    s->kept = 0;
    s->number = 0;
    s->taken = 0;
    s->flying = 0;
    s->peer = 0;
#else
    s->serial = 0;
    s->heard = 0;
#endif
    s->stalled = 0;
    s->hash_next = *bucket_of(nid);
    *bucket_of(nid) = s;
    return s;
}

source_t *source_get(uint32_t nid)
{
    source_t *s = *bucket_of(nid);

    trace();
    while (s && s->nid != nid)
        s = s->hash_next;
    if (!s)
        s = source_alloc(nid);
#if OPT_NUMBERED
    if (!s->refs)
        --sources_idle;
#endif
    ++s->refs;
    return s;
}

#if OPT_NUMBERED
source_t *source_find(uint32_t nid)
{
    source_t *s = *bucket_of(nid);

    while (s && s->nid != nid)
        s = s->hash_next;
    return s;
}
#endif
