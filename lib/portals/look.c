/* Looks at event queues: those that find nothing again without the simulator, and those that wait
 * (docs/decisions/0158). */
#include "portals.h"

#include <sys/single_threaded.h>

/* Event queues that PtlEQGet has found empty, and where their events would go: as many of them as the channel
 * says are empty still if nothing happens, in the simulator's order. Under the lock of calls. */
static struct {
    uint64_t queue, event;
} empty[RANK_QUEUES_MAX];
static unsigned empties;

bool portals_look_waits(void)
{
    const struct rank_channel *c = rank_attach();
    return c && c->looks_max > 0 && rank_vain_looks >= c->looks_max && __libc_single_threaded;
}

static uint32_t find(const struct rank_channel *c, const uint64_t *arguments)
{
    for (unsigned i = 0; i < empties && i < c->empties && c->repeat_cost > 0; i++)
        if (empty[i].queue == arguments[0] && empty[i].event == arguments[1])
            return RANK_DEED_LOOK + i;
    return RANK_DEED_TELL;
}

bool portals_look_alone(const uint64_t *arguments)
{
    struct rank_channel *c = rank_attach();
    if (!c || c->empties == 0 || portals_look_waits())
        return false;
    return rank_do_alone(c, RANK_DEED_TELL, c->repeat_cost, find, arguments);
}

/* Any look. */
bool portals_note_look(const struct rank_channel *c, const uint64_t *arguments, int code)
{
    (void)c, (void)arguments;
    return code == PTL_EQ_EMPTY;
}

/* A look at one queue, which is the last of the empty ones if it was not among them. */
bool portals_note_look_at_one(const struct rank_channel *c, const uint64_t *arguments, int code)
{
    unsigned i = 0;
    if (code != PTL_EQ_EMPTY)
        return false;
    if (c->empties <= 1)
        empties = 0;
    while (i < empties && empty[i].queue != arguments[0])
        i++;
    if (i < c->empties && i < RANK_QUEUES_MAX) {
        empty[i].queue = arguments[0];
        empty[i].event = arguments[1];
        empties = i < empties ? empties : i + 1;
    }
    return true;
}
