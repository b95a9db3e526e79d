#include "process.h"

#include "accel.h"
#include "command.h"
#include "relay.h"

process_t processes[SS_MAILBOX_COUNT];
pending_t lower_pendings[LOWER_PENDINGS] PORT_NOINIT;

static uint32_t pendings_taken; /* Lower pendings given to processes so far. */
uint32_t accelerated_alive;

void process_init(void)
{
    static const process_t blank;

    for (uint32_t i = 0; i < SS_MAILBOX_COUNT; i++) {
        processes[i] = blank;
        processes[i].index = (uint8_t)i;
    }
    pendings_taken = 0;
    accelerated_alive = 0;
}

/* Whether a table of the host's lies in one window that the firmware maps. Window 0 is not
 * mapped, so that a null pointer in the firmware traps. */
static int in_window(uint32_t local, uint32_t size)
{
    uint32_t window = local / SS_WINDOW_SIZE;

    return window >= 1 && window < SS_WINDOW_COUNT &&
           (local % SS_WINDOW_SIZE) + size <= SS_WINDOW_SIZE;
}

/* Bytes of host memory for each pending of a process: behind the upper pendings of an accelerated one are
 * operands and answers of atomic operations. */
static uint32_t table_entry(uint32_t index)
{
    uint32_t size = sizeof(struct ss_upper_pending);

    return OPT_ACCELERATED && index != SS_GENERIC_PROCESS ? size + SS_ATOMIC_MAX : size;
}

static void pendings_init(process_t *p)
{
    p->rx_free = 0;
#if OPT_OVERFLOW
    p->rx_count = 0;
    p->rx_answers = OPT_ACCELERATED ? (p->num_pendings - p->tx_limit + 3) / 4 : 0;
#endif
    for (uint32_t i = p->num_pendings; i-- > 0;) {
        pending_t *lower = &p->pendings[i];

        lower->source = 0;
        lower->index = (uint16_t)i;
        lower->process_index = p->index;
        lower->state = PENDING_IDLE;
        lower->next = 0;
        if (i >= p->tx_limit) {
            pending_link(lower, p->rx_free);
            p->rx_free = lower;
            RX_COUNT(p, 1);
        }
    }
}

_Static_assert(offsetof(struct ss_init_process_command, process_index) == 1, "word 0");
_Static_assert(offsetof(struct ss_init_process_command, pid) == 2, "word 0");
_Static_assert(offsetof(struct ss_init_process_command, jid) == 4, "word 1");
_Static_assert(offsetof(struct ss_init_process_command, uid) == 8, "word 2");
_Static_assert(offsetof(struct ss_init_process_command, num_pendings) == 12, "word 3");
_Static_assert(offsetof(struct ss_init_process_command, pending_tx_limit) == 14, "word 3");
_Static_assert(offsetof(struct ss_init_process_command, upper_pending_lo) == 16, "word 4");
_Static_assert(offsetof(struct ss_init_process_command, upper_pending_hi) == 20, "word 5");
_Static_assert(offsetof(struct ss_init_process_command, upper_pending_local) == 24, "word 6");

int process_setup(const volatile uint32_t *words)
{
    uint32_t index = (words[0] >> 8) & 0xFF;
    uint32_t num_pendings = words[3] & 0xFFFF;
    uint32_t tx_limit = words[3] >> 16;
    uint32_t lo = words[4];
    uint32_t hi = words[5];
    uint32_t local = words[6];
    process_t *p;

    if (index >= SS_MAILBOX_COUNT || processes[index].initialised)
        return COMMAND_BAD;
    if (num_pendings == 0 || tx_limit > num_pendings)
        return COMMAND_BAD;
    if (OPT_ACCELERATED && processes[index].pendings) {
        /* A process was here before: the next one gets its pool. */
        if (num_pendings != processes[index].num_pendings)
            return COMMAND_BAD;
    } else if (num_pendings > LOWER_PENDINGS - pendings_taken) {
        return COMMAND_BAD;
    }
    if (OPT_NUMBERED && index == 0)
        return COMMAND_BAD; /* The control class has its mailbox. */
    if (OPT_OVERFLOW && OPT_ACCELERATED && num_pendings < tx_limit + 2)
        return COMMAND_BAD; /* One for requests, and one for answers. */
    if (OPT_ACCELERATED && index != SS_GENERIC_PROCESS &&
        (index < ACCELERATED_FIRST || num_pendings > SS_ACCELERATED_PENDINGS))
        return COMMAND_BAD;
    if (lo % sizeof(struct ss_upper_pending) != 0 || hi > 0xFF || local % 4 != 0 ||
        !in_window(local, num_pendings * table_entry(index)))
        return COMMAND_BAD;

    p = &processes[index];
    p->pid = words[0] >> 16;
    p->jid = words[1];
    p->uid = words[2];
    p->num_pendings = num_pendings;
    p->tx_limit = tx_limit;
    p->upper_lo = lo;
    p->upper_hi = hi;
    p->upper_local = local;
    if (!OPT_ACCELERATED || !p->pendings) {
        p->pendings = &lower_pendings[pendings_taken];
        pendings_taken += num_pendings;
    }
    pendings_init(p);
    p->initialised = 1;
    return 0;
}

_Static_assert(offsetof(struct ss_init_eqcb_command, process_index) == 1, "word 0");
_Static_assert(offsetof(struct ss_init_eqcb_command, count) == 4, "word 1");
_Static_assert(offsetof(struct ss_init_eqcb_command, base_local) == 8, "word 2");

/* Bytes of a slot of a process's event ring. */
static uint32_t event_size(uint32_t index)
{
    return OPT_ACCELERATED && index != SS_GENERIC_PROCESS ? sizeof(struct ss_event_line) : 4;
}

/* Slots that its ring has at least. */
static uint32_t events_min(const process_t *p)
{
    if (OPT_ACCELERATED && p->index != SS_GENERIC_PROCESS)
        return p->num_pendings + EVENTS_KEPT + 2;
    return EVENTS_MIN;
}

int process_setup_events(const volatile uint32_t *words)
{
    uint32_t index = (words[0] >> 8) & 0xFF;
    uint32_t count = words[1];
    uint32_t local = words[2];
    uint32_t slot = event_size(index);
    process_t *p;

    if (index >= SS_MAILBOX_COUNT || !processes[index].initialised)
        return COMMAND_NO_PROCESS;
    p = &processes[index];
    /* A pending has at most one event that the host has not taken, so a ring with a slot for each
     * cannot overflow; the firmware never reads host memory to check. Of an accelerated process it counts. */
    if (count < events_min(p) || count < p->num_pendings ||
        (count & (count - 1)) != 0)
        return COMMAND_BAD;
#if OPT_RELAY
    /* Beside them stand those about control and refusals, as many as the host has said that it took. */
    if (index != SS_GENERIC_PROCESS || count < p->num_pendings + EVENTS_BESIDE)
        return COMMAND_BAD;
    relay_events(count - p->num_pendings);
#endif
    if (count > SS_WINDOW_SIZE / slot || local % slot != 0 || !in_window(local, count * slot))
        return COMMAND_BAD;
    p->event_local = local;
    p->event_mask = count - 1;
    p->event_next = 0;
#if OPT_ACCELERATED
    p->event_room = process_events(p);
#endif
    p->has_events = 1;
    return 0;
}

_Static_assert(offsetof(struct ss_mark_alive_command, process_index) == 1, "word 0");

int process_mark_alive(const volatile uint32_t *words)
{
    uint32_t index = (words[0] >> 8) & 0xFF;

    if (index >= SS_MAILBOX_COUNT || !processes[index].initialised)
        return COMMAND_NO_PROCESS;
    if (!processes[index].has_events || processes[index].alive)
        return COMMAND_BAD;
    processes[index].alive = 1;
    if (OPT_ACCELERATED && index != SS_GENERIC_PROCESS)
        accel_begin(index);
    if (index != SS_GENERIC_PROCESS)
        ++accelerated_alive;
    return 0;
}

process_t *process_find(uint32_t pid)
{
    if (OPT_ACCELERATED) {
        for (uint32_t i = ACCELERATED_FIRST; i < ACCELERATED_FIRST + SS_ACCELERATED_MAX; i++) {
            if (processes[i].alive && processes[i].pid == pid)
                return &processes[i];
        }
    } else if (accelerated_alive) {
        for (uint32_t i = 0; i < SS_MAILBOX_COUNT; i++) {
            if (i != SS_GENERIC_PROCESS && processes[i].alive && processes[i].pid == pid)
                return &processes[i];
        }
    }
    return &processes[SS_GENERIC_PROCESS];
}
