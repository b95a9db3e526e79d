/* Numbers of the verbs in words, and rates: what programs print. */
#include "verbs.h"

static const char *named(const char *const *names, unsigned count, int number)
{
    return number >= 0 && (unsigned)number < count && names[number] ? names[number] : "unknown";
}

#define NAMED(names, number) named(names, sizeof(names) / sizeof *(names), number)

VERBS_EXPORT const char *ibv_wc_status_str(int status)
{
    static const char *const names[] = {
        "success",
        "local length error",
        "local QP operation error",
        "local EE context operation error",
        "local protection error",
        "work request flushed",
        "memory window bind error",
        "bad response",
        "local access error",
        "remote invalid request",
        "remote access error",
        "remote operation error",
        "transport retries exceeded",
        "receiver-not-ready retries exceeded",
    };
    return NAMED(names, status);
}

VERBS_EXPORT const char *ibv_node_type_str(int type)
{
    static const char *const names[] = {
        [NODE_CA] = "InfiniBand channel adapter", "InfiniBand switch", "InfiniBand router"};
    return NAMED(names, type);
}

VERBS_EXPORT const char *ibv_port_state_str(int state)
{
    static const char *const names[] = {"no state change", "down",   "init",
                                        "armed",           "active", "active, deferred"};
    return NAMED(names, state);
}

/* The card tells of no event. */
VERBS_EXPORT const char *ibv_event_type_str(int event)
{
    (void)event;
    return "unknown";
}

/* Rates of links that are multiples of 2.5 Gb/s, by their number in the ABI. The card has 2.5 Gb/s a lane. */
static const struct {
    int number, multiple;
} rates[] = {{2, 1}, {5, 2}, {3, 4}, {6, 8}, {4, 12}, {7, 16}, {8, 24}, {9, 32}, {10, 48}};

VERBS_EXPORT int ibv_rate_to_mult(int rate)
{
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].number == rate)
            return rates[i].multiple;
    return -1;
}

VERBS_EXPORT int mult_to_ibv_rate(int multiple)
{
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].multiple == multiple)
            return rates[i].number;
    return 0;
}

VERBS_EXPORT int ibv_rate_to_mbps(int rate)
{
    const int multiple = ibv_rate_to_mult(rate);
    return multiple < 0 ? -1 : multiple * 2500;
}

VERBS_EXPORT int mbps_to_ibv_rate(int mbps)
{
    return mbps % 2500 ? 0 : mult_to_ibv_rate(mbps / 2500);
}
