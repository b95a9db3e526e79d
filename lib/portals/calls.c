/* Functions that do more than hand their call over. */
#include "portals.h"

#include <stdio.h>

/* Both libraries and the simulator must be made of the same data. */
__attribute__((constructor(102))) static void check(void)
{
    const struct rank_channel *channel = rank_attach();
    if (channel && channel->fingerprint != PORTALS_FINGERPRINT)
        rank_fail("libportals.so belongs to another version of the simulator; build both again");
}

PORTALS_EXPORT int PtlInit(int *max_interfaces)
{
    const uint64_t args[] = {POINTER(max_interfaces)};
    const int code = rank_call_portals(FN_PtlInit, "PtlInit", 1, args);
    if (code == PTL_OK)
        rank_state_add(RANK_STATE_PORTALS);
    return code;
}

/* A program may end without PtlFini, but its memory must stay while messages still use it. */
__attribute__((destructor)) static void leave(void)
{
    const struct rank_channel *channel = rank_attach();
    if (channel && channel->state & RANK_STATE_PORTALS && rank_may_call())
        PtlFini();
}

/* --- event queues: the simulator tells whether a function of the program shall see the event --- */

/* Behind its arguments is where the simulator puts the address of that function, and for a look, which does
 * not wait for an event, whether it may let time pass all the same (abi/portals/words.toml). */
static int take(enum portals_function function, const char *name, unsigned count, uint64_t *args,
                ptl_event_t *event, rank_note *look)
{
    uint64_t handler = 0;
    args[count++] = POINTER(&handler);
    args[count++] = look && portals_look_waits();
    const int code = rank_call_noting(function, name, count, args, event, look);
    if (handler != 0)
        ((ptl_eq_handler_t)(uintptr_t)handler)(event);
    return code;
}

PORTALS_EXPORT int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count,
                              ptl_eq_handler_t eq_handler, ptl_handle_eq_t *eq_handle)
{
    const uint64_t args[] = {ni_handle, count, POINTER(eq_handler), POINTER(eq_handle)};
    return rank_call_portals(FN_PtlEQAlloc, "PtlEQAlloc", 4, args);
}

PORTALS_EXPORT int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event)
{
    uint64_t args[4] = {eq_handle, POINTER(event)};
    if (portals_look_alone(args))
        return PTL_EQ_EMPTY;
    return take(FN_PtlEQGet, "PtlEQGet", 2, args, event, portals_note_look_at_one);
}

PORTALS_EXPORT int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event)
{
    uint64_t args[4] = {eq_handle, POINTER(event)};
    return take(FN_PtlEQWait, "PtlEQWait", 2, args, event, NULL);
}

PORTALS_EXPORT int PtlEQWait_timeout(ptl_handle_eq_t eq_handle, ptl_event_t *event_out)
{
    uint64_t args[4] = {eq_handle, POINTER(event_out)};
    return take(FN_PtlEQWait_timeout, "PtlEQWait_timeout", 2, args, event_out, NULL);
}

PORTALS_EXPORT int PtlEQPoll(ptl_handle_eq_t *eq_handles, int size, ptl_time_t timeout,
                             ptl_event_t *event, int *which_eq)
{
    uint64_t args[7] = {POINTER(eq_handles), INTEGER(size), timeout, POINTER(event),
                        POINTER(which_eq)};
    return take(FN_PtlEQPoll, "PtlEQPoll", 5, args, event, timeout == 0 ? portals_note_look : NULL);
}

/* The simulator tells of one queue after the other: handle, slots, events that wait. */
PORTALS_EXPORT int PtlNIEqDump(ptl_handle_ni_t ni_handle)
{
    for (uint64_t index = 0;; index++) {
        uint64_t queue[3] = {0};
        const uint64_t args[] = {ni_handle, index, POINTER(queue)};
        const int code = rank_call_portals(FN_PtlNIEqDump, "PtlNIEqDump", 3, args);
        if (code == PTL_EQ_EMPTY)
            return PTL_OK;
        if (code != PTL_OK)
            return code;
        fprintf(stderr, "event queue 0x%08llx: %llu slots, %llu events\n",
                (unsigned long long)queue[0], (unsigned long long)queue[1],
                (unsigned long long)queue[2]);
    }
}

/* --- names --- */

static const char *const codes[] = {PORTALS_CODE_NAMES};
static const char *const events[] = {PORTALS_EVENT_NAMES};
static const char *const fails[] = {PORTALS_FAIL_NAMES};

#define NAME_OF(names, value) ((size_t)(value) < sizeof(names) / sizeof *(names) ? (names)[value] : "unknown")

PORTALS_EXPORT const char *PtlErrorStr(int code)
{
    return NAME_OF(codes, code);
}

PORTALS_EXPORT const char *PtlEventKindStr(ptl_event_kind_t kind)
{
    return NAME_OF(events, kind);
}

PORTALS_EXPORT const char *PtlNIFailStr(ptl_handle_ni_t ni_handle, ptl_ni_fail_t fail)
{
    (void)ni_handle;
    return NAME_OF(fails, fail);
}
