/* Waits with a limit. That is one of simulated time, which the kernel does not know: it gets one that is as
 * far away on its own clock. If the wait ends by that, simulated time comes to the limit, too. Elsewhere (a
 * child that the rank started) these functions are the C library's. */
#define _GNU_SOURCE
#include "clock.h"
#include "socket.h"
#include "turns.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>


/* Real time after which a wait for descriptors looks whether a sleeping thread says that it is over. */
#define PIECE_MS 2

/* --- until a time --- */

/* The kernel's monotonic time when as much of it will have passed as is left until a simulated time. What the
 * program was told last is now: it has made the limit of that. */
static struct timespec on_kernel_clock(struct rank_channel *channel, clockid_t clock,
                                       const struct timespec *limit)
{
    if (!is_span(limit))
        return *limit; /* the C library says what is wrong with it */
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    const uint64_t until = since_start(channel, clock, limit);
    const uint64_t told = rank_told(channel);
    const struct timespec left = split(until > told ? until - told : 0);
    const long nanoseconds = now.tv_nsec + left.tv_nsec;
    return (struct timespec){
        .tv_sec = now.tv_sec + left.tv_sec + nanoseconds / (long)NS_PER_S,
        .tv_nsec = nanoseconds % (long)NS_PER_S,
    };
}

/* The limit is reached: simulated time comes there. */
__attribute__((noinline)) static void come_to(struct rank_channel *channel, clockid_t clock,
                                              const struct timespec *limit)
{
    const uint64_t now = rank_clock(channel), until = since_start(channel, clock, limit);
    if (until > now)
        rank_pass(channel, until - now);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  clockid_t clock, const struct timespec *limit)
{
    struct rank_channel *channel = rank_attach();
    if (!channel)
        return ORIGINAL(pthread_cond_clockwait)(condition, mutex, clock, limit);
    const struct timespec until = on_kernel_clock(channel, clock, limit);
    struct rank_turn *turn = rank_turn_begin(since_start(channel, clock, limit), condition);
    int code;
    pthread_cleanup_push(rank_turn_end, turn);
    code = ORIGINAL(pthread_cond_clockwait)(condition, mutex, CLOCK_MONOTONIC, &until);
    if (code == 0 && rank_turn_due(turn))
        code = ETIMEDOUT; /* a sleeping thread has woken it for that */
    if (code == ETIMEDOUT)
        come_to(channel, clock, limit);
    pthread_cleanup_pop(1);
    return code;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *limit)
{
    const struct rank_channel *channel = rank_attach();
    if (!channel)
        return ORIGINAL(pthread_cond_timedwait)(condition, mutex, limit);
    /* Which clock the condition has is not told, but a time before the calendar begins is no date. */
    const bool is_date = limit->tv_sec >= (time_t)channel->date;
    return pthread_cond_clockwait(condition, mutex, is_date ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                                  limit);
}

/* Functions that wait for one thing, by their names with and without a clock. */
#define WAITS(name, with_clock, thing, timed_out)                                                  \
    EXPORT int with_clock(thing *it, clockid_t clock, const struct timespec *limit)                \
    {                                                                                              \
        struct rank_channel *channel = rank_attach();                                              \
        if (!channel)                                                                              \
            return ORIGINAL(with_clock)(it, clock, limit);                                         \
        const struct timespec until = on_kernel_clock(channel, clock, limit);                      \
        struct rank_turn *turn = rank_turn_begin(since_start(channel, clock, limit), NULL);        \
        int code, error;                                                                           \
        pthread_cleanup_push(rank_turn_end, turn);                                                 \
        do {                                                                                       \
            const struct timespec piece = rank_turn_piece(turn, &until);                           \
            code = ORIGINAL(with_clock)(it, CLOCK_MONOTONIC, &piece);                              \
        } while ((timed_out) && !rank_turn_over(turn, &until));                                    \
        if (timed_out)                                                                             \
            come_to(channel, clock, limit);                                                        \
        error = (timed_out) ? ETIMEDOUT : errno;                                                   \
        pthread_cleanup_pop(1);                                                                    \
        errno = error;                                                                             \
        return code;                                                                               \
    }                                                                                              \
    EXPORT int name(thing *it, const struct timespec *limit)                                       \
    {                                                                                              \
        if (!rank_attach())                                                                        \
            return ORIGINAL(name)(it, limit);                                                      \
        return with_clock(it, CLOCK_REALTIME, limit);                                              \
    }

WAITS(pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_t, code == ETIMEDOUT)
WAITS(pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock, pthread_rwlock_t, code == ETIMEDOUT)
WAITS(pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock, pthread_rwlock_t, code == ETIMEDOUT)
WAITS(sem_timedwait, sem_clockwait, sem_t, code != 0 && errno == ETIMEDOUT)

/* --- for a span of time --- */

/* Milliseconds of the next piece of such a wait, of which so many are left; 0 when it is over. */
static int piece_of(const struct rank_turn *turn, int left)
{
    return !turn ? left : rank_turn_due(turn) ? 0 : left > PIECE_MS ? PIECE_MS : left;
}

/* Nothing has happened while so much of the kernel's time has passed, or nothing can: so much of simulated
 * time passes. */
__attribute__((noinline)) static int passed(struct rank_channel *channel, int ready,
                                            uint64_t picoseconds)
{
    if (channel && ready == 0 && picoseconds > 0)
        rank_pass(channel, picoseconds);
    return ready;
}

/* What is left of a span until its end, if threads have slept meanwhile: at most all of it. */
static uint64_t left_of(const struct rank_channel *channel, uint64_t end, uint64_t span)
{
    const uint64_t now = rank_told(channel), left = end > now ? end - now : 0;
    return left < span ? left : span;
}

/* There is nothing to wait for. */
static int slept(struct rank_channel *channel, uint64_t picoseconds)
{
    if (picoseconds > 0)
        rank_sleep(channel, picoseconds);
    return 0;
}

EXPORT int poll(struct pollfd *files, nfds_t count, int milliseconds)
{
    struct rank_channel *channel = rank_attach();
    const uint64_t span = milliseconds > 0 ? (uint64_t)milliseconds * PS_PER_MS : 0;
    const bool sleeps = channel && count == 0 && milliseconds >= 0;
    if (rank_socket_among(files, count))
        return rank_socket_poll(files, count, milliseconds < 0 ? UINT64_MAX : span, NULL);
    if (sleeps || !channel || span == 0)
        return sleeps ? slept(channel, span) : ORIGINAL(poll)(files, count, milliseconds);
    const uint64_t begun = rank_told(channel);
    struct rank_turn *turn = rank_turn_begin(begun + span, NULL);
    int ready, left = milliseconds;
    pthread_cleanup_push(rank_turn_end, turn);
    do {
        const int piece = piece_of(turn, left);
        ready = ORIGINAL(poll)(files, count, piece);
        left -= piece;
        if (rank_turn_due(turn))
            left = 0;
    } while (ready == 0 && left > 0);
    ready = passed(channel, ready, left_of(channel, begun + span, span));
    pthread_cleanup_pop(1);
    return ready;
}

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit,
                 const sigset_t *mask)
{
    struct rank_channel *channel = rank_attach();
    const uint64_t span = limit && is_span(limit) ? join(limit) : 0;
    const bool sleeps = channel && count == 0 && span > 0 && !mask;
    if (rank_socket_among(files, count))
        return rank_socket_poll(files, count, limit ? span : UINT64_MAX, mask);
    return sleeps ? slept(channel, span)
                  : passed(channel, ORIGINAL(ppoll)(files, count, limit, mask), span);
}

/* select(2) by poll(2), if one of the descriptors is a simulated socket; -1 if none is. */
static int select_sockets(int count, fd_set *sets[3], uint64_t limit, const sigset_t *mask,
                          int *ready)
{
    /* In the order of the sets. What poll tells without being asked counts as readable. */
    static const short asked[] = {POLLIN, POLLOUT, POLLPRI};
    static const short told[] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};
    struct pollfd files[FD_SETSIZE];
    nfds_t used = 0;
    for (int file = 0; file < count && file < FD_SETSIZE; file++) {
        short events = 0;
        for (int set = 0; set < 3; set++)
            events |= sets[set] && FD_ISSET(file, sets[set]) ? asked[set] : 0;
        if (events)
            files[used++] = (struct pollfd){file, events, 0};
    }
    if (used == 0 || !rank_socket_among(files, used))
        return -1;
    *ready = rank_socket_poll(files, used, limit, mask);
    for (nfds_t i = 0; *ready >= 0 && i < used; i++)
        for (int set = 0; set < 3; set++)
            if (!(files[i].events & asked[set]) || !(files[i].revents & told[set])) {
                if (sets[set])
                    FD_CLR(files[i].fd, sets[set]);
            }
    if (*ready > 0) { /* it counts each set */
        *ready = 0;
        for (nfds_t i = 0; i < used; i++)
            for (int set = 0; set < 3; set++)
                *ready += sets[set] && FD_ISSET(files[i].fd, sets[set]);
    }
    return 0;
}

EXPORT int select(int count, fd_set *restrict readable, fd_set *restrict writable,
                  fd_set *restrict failed, struct timeval *restrict limit)
{
    struct rank_channel *channel = rank_attach();
    struct timespec time = {0};
    if (limit) {
        time.tv_sec = limit->tv_sec + limit->tv_usec / 1000000;
        time.tv_nsec = limit->tv_usec % 1000000 * 1000;
    }
    const uint64_t span = is_span(&time) ? join(&time) : 0;
    fd_set *sets[] = {readable, writable, failed};
    int ready;
    if (select_sockets(count, sets, limit ? span : UINT64_MAX, NULL, &ready) == 0)
        return ready;
    if (!channel || count != 0 || span == 0)
        return passed(channel, ORIGINAL(select)(count, readable, writable, failed, limit), span);
    *limit = (struct timeval){0}; /* Linux stores what is left */
    return slept(channel, span);
}

EXPORT int pselect(int count, fd_set *restrict readable, fd_set *restrict writable,
                   fd_set *restrict failed, const struct timespec *restrict limit,
                   const sigset_t *restrict mask)
{
    struct rank_channel *channel = rank_attach();
    const uint64_t span = limit && is_span(limit) ? join(limit) : 0;
    const bool sleeps = channel && count == 0 && span > 0 && !mask;
    fd_set *sets[] = {readable, writable, failed};
    int ready;
    if (select_sockets(count, sets, limit ? span : UINT64_MAX, mask, &ready) == 0)
        return ready;
    if (sleeps)
        return slept(channel, span);
    return passed(channel, ORIGINAL(pselect)(count, readable, writable, failed, limit, mask), span);
}

/* Without descriptors nobody calls these. */
EXPORT int epoll_pwait(int set, struct epoll_event *events, int most, int milliseconds,
                       const sigset_t *mask)
{
    struct rank_channel *channel = rank_attach();
    const uint64_t span = milliseconds > 0 ? (uint64_t)milliseconds * PS_PER_MS : 0;
    if (!channel || span == 0)
        return ORIGINAL(epoll_pwait)(set, events, most, milliseconds, mask);
    const uint64_t begun = rank_told(channel);
    struct rank_turn *turn = rank_turn_begin(begun + span, NULL);
    int ready, left = milliseconds;
    pthread_cleanup_push(rank_turn_end, turn);
    do {
        const int piece = piece_of(turn, left);
        ready = ORIGINAL(epoll_pwait)(set, events, most, piece, mask);
        left -= piece;
        if (rank_turn_due(turn))
            left = 0;
    } while (ready == 0 && left > 0);
    ready = passed(channel, ready, left_of(channel, begun + span, span));
    pthread_cleanup_pop(1);
    return ready;
}

EXPORT int epoll_wait(int set, struct epoll_event *events, int most, int milliseconds)
{
    return epoll_pwait(set, events, most, milliseconds, NULL);
}
