/* Spans of time as C has them and as the simulator counts them. */
#ifndef SUNSTAR_CLOCK_H
#define SUNSTAR_CLOCK_H

#include "generated/abi_rank.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define PS_PER_NS 1000ull
#define PS_PER_MS 1000000000ull
#define PS_PER_S 1000000000000ull
#define NS_PER_S 1000000000ull

static inline struct timespec split(uint64_t picoseconds)
{
    return (struct timespec){
        .tv_sec = (time_t)(picoseconds / PS_PER_S),
        .tv_nsec = (long)(picoseconds % PS_PER_S / PS_PER_NS),
    };
}

static inline bool is_span(const struct timespec *span)
{
    return span->tv_sec >= 0 && span->tv_nsec >= 0 && span->tv_nsec < (long)NS_PER_S;
}

/* Of a span that is one; the longest that can be counted if it is longer. */
static inline uint64_t join(const struct timespec *span)
{
    if ((uint64_t)span->tv_sec >= UINT64_MAX / PS_PER_S)
        return UINT64_MAX;
    return ((uint64_t)span->tv_sec * NS_PER_S + (uint64_t)span->tv_nsec) * PS_PER_NS;
}

/* True of clocks that count from 1970. */
static inline bool is_calendar(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

/* A time of a clock in picoseconds since the start of the machine; 0 if that was before. */
static inline uint64_t since_start(const struct rank_channel *channel, clockid_t clock,
                                   const struct timespec *time)
{
    struct timespec since = *time;
    if (is_calendar(clock))
        since.tv_sec -= (time_t)channel->date;
    return since.tv_sec < 0 ? 0 : join(&since);
}

#endif
