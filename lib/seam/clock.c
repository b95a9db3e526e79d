/* Clocks. Within a run every clock of the program tells simulated time, counted from the start of the
 * machine, at which the calendar stands at a date of the run's, and sleeping lets simulated time pass.
 * Elsewhere (a child that the rank started) these functions are the kernel's. */
#define _GNU_SOURCE
#include "clock.h"
#include "seam.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

/* Seconds: a million of them fit in 64 bits of picoseconds. */
#define COMPUTE_MAX 1e6
#define EXPORT __attribute__((visibility("default")))

EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
    struct rank_channel *channel = rank_attach();
    if (!channel)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = split(rank_clock(channel));
    if (is_calendar(clock))
        now->tv_sec += (time_t)channel->date;
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct rank_channel *channel = rank_attach();
    if (!channel)
        return (int)syscall(SYS_gettimeofday, now, zone);
    const struct timespec time = split(rank_clock(channel));
    *now = (struct timeval){time.tv_sec + (time_t)channel->date, time.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *copy)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (copy)
        *copy = now.tv_sec;
    return now.tv_sec;
}

EXPORT int timespec_get(struct timespec *now, int base)
{
    if (base != TIME_UTC)
        return 0;
    clock_gettime(CLOCK_REALTIME, now);
    return base;
}

EXPORT clock_t clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (clock_t)(join(&now) / (PS_PER_S / CLOCKS_PER_SEC));
}

EXPORT clock_t times(struct tms *spent)
{
    struct rank_channel *channel = rank_attach();
    if (!channel)
        return (clock_t)syscall(SYS_times, spent);
    const clock_t ticks = (clock_t)(rank_clock(channel) / (PS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)));
    if (spent)
        *spent = (struct tms){.tms_utime = ticks};
    return ticks;
}

EXPORT int getrusage(__rusage_who_t who, struct rusage *usage)
{
    struct rank_channel *channel = rank_attach();
    const int code = (int)syscall(SYS_getrusage, who, usage);
    if (!channel || code != 0)
        return code;
    const struct timespec time = split(rank_clock(channel));
    usage->ru_utime = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    usage->ru_stime = (struct timeval){0};
    return 0;
}

EXPORT int nanosleep(const struct timespec *span, struct timespec *left)
{
    struct rank_channel *channel = rank_attach();
    if (!channel)
        return (int)syscall(SYS_nanosleep, span, left);
    if (!is_span(span)) {
        errno = EINVAL;
        return -1;
    }
    rank_sleep(channel, join(span));
    return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span,
                           struct timespec *left)
{
    struct rank_channel *channel = rank_attach();
    if (!channel)
        return syscall(SYS_clock_nanosleep, clock, flags, span, left) == 0 ? 0 : errno;
    if (!is_span(span))
        return EINVAL;
    const uint64_t now = flags & TIMER_ABSTIME ? rank_clock(channel) : 0;
    const uint64_t until = flags & TIMER_ABSTIME ? since_start(channel, clock, span) : join(span);
    if (until > now)
        rank_sleep(channel, until - now);
    return 0;
}

EXPORT int usleep(useconds_t microseconds)
{
    const struct timespec span = {microseconds / 1000000, microseconds % 1000000 * 1000L};
    return nanosleep(&span, NULL);
}

EXPORT unsigned sleep(unsigned seconds)
{
    const struct timespec span = {seconds, 0};
    return nanosleep(&span, NULL) == 0 ? 0 : seconds;
}

/* include/sunstar.h. */
EXPORT void sunstar_compute_seconds(double seconds)
{
    struct rank_channel *channel = rank_attach();
    if (!channel)
        return;
    if (!(seconds >= 0 && seconds <= COMPUTE_MAX))
        rank_fail("sunstar_compute takes 0 to %g seconds, not %g", COMPUTE_MAX, seconds);
    rank_compute(channel, (uint64_t)(seconds * (double)PS_PER_S + 0.5));
}
