/* Turns of threads. A sleep takes no real time: a thread that slept would pass all others of its rank that
 * wait with a limit, and those that sleep for a shorter time. So those who wait for a time are listed here
 * with it, and time passes for one after the other, in the order of their times, when no thread has anything
 * else to do. Which threads have, the system says (/proc/self/task): one that runs may wake another, or begin
 * to wait. */
#define _GNU_SOURCE
#include "turns.h"
#include "clock.h"
#include "rank.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rank_turn {
    uint64_t until; /* picoseconds of simulated time */
    pthread_cond_t *condition;
    uint32_t thread; /* 0: the place is free */
    uint32_t number; /* of those with the same time the first is first */
    bool sleeps;
    bool due; /* its limit is reached */
};

#define TURNS 64
static struct rank_turn turns[TURNS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t number;

/* Real time between looks. */
#define NAP_NS 200000L
/* Processor time that the other threads may use before a sleep goes on all the same: one of them spins, or
 * computes for long. Not real time: on a busy workstation a thread may wait for a processor. */
#define PATIENCE_NS 20000000ull
static uint64_t patience = PATIENCE_NS;
/* Looks after which nobody waits any more, whatever the others do: ten seconds. */
#define LOOKS_MAX 50000u
/* Real time of a piece of a wait. */
#define PIECE_NS 2000000L

/* A thread that wants to enter itself must not seem to be blocked: it does not sleep for the lock. */
static void hold(void)
{
    while (pthread_mutex_trylock(&lock) != 0)
        sched_yield();
}

static uint32_t own_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static struct rank_turn *take(uint64_t until, pthread_cond_t *condition, bool sleeps)
{
    struct rank_turn *free_one = NULL;
    hold();
    for (unsigned i = 0; i < TURNS && !free_one; i++)
        if (turns[i].thread == 0)
            free_one = &turns[i];
    if (free_one)
        *free_one = (struct rank_turn){until, condition, own_thread(), number++, sleeps, false};
    pthread_mutex_unlock(&lock);
    return free_one;
}

struct rank_turn *rank_turn_begin(uint64_t until, pthread_cond_t *condition)
{
    return __libc_single_threaded ? NULL : take(until, condition, false);
}

void rank_turn_end(void *turn)
{
    struct rank_turn *own = turn;
    if (!own)
        return;
    hold();
    own->thread = 0;
    pthread_mutex_unlock(&lock);
}

bool rank_turn_due(const struct rank_turn *turn)
{
    return turn && __atomic_load_n(&turn->due, __ATOMIC_ACQUIRE);
}

static struct timespec kernel_clock(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now;
}

static bool is_before(const struct timespec *one, const struct timespec *other)
{
    if (one->tv_sec != other->tv_sec)
        return one->tv_sec < other->tv_sec;
    return one->tv_nsec < other->tv_nsec;
}

struct timespec rank_turn_piece(const struct rank_turn *turn, const struct timespec *until)
{
    struct timespec end = kernel_clock();
    end.tv_nsec += PIECE_NS;
    if (end.tv_nsec >= (long)NS_PER_S) {
        end.tv_nsec -= (long)NS_PER_S;
        end.tv_sec++;
    }
    return turn && is_span(until) && is_before(&end, until) ? end : *until;
}

bool rank_turn_over(const struct rank_turn *turn, const struct timespec *until)
{
    const struct timespec now = kernel_clock();
    return !turn || rank_turn_due(turn) || !is_before(&now, until);
}

/* --- what the other threads do --- */

/* The letter by which the system says what a thread does (proc(5)); 0 if there is no such thread. */
static char state_of(const char *thread)
{
    char text[256], name[64] = "/proc/self/task/";
    strncat(name, thread, 16);
    strcat(name, "/stat");
    const int file = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
    const long length = file < 0 ? 0 : syscall(SYS_read, file, text, sizeof text - 1);
    if (file >= 0)
        syscall(SYS_close, file);
    text[length > 0 ? length : 0] = 0;
    const char *end = strrchr(text, ')'); /* the name before it may hold anything */
    return end && end[1] ? end[2] : 0;
}

/* The lock is held. */
static bool sleeps_here(uint32_t thread)
{
    for (unsigned i = 0; i < TURNS; i++)
        if (turns[i].thread == thread && turns[i].sleeps)
            return true;
    return false;
}

struct entry { /* getdents64(2) */
    uint64_t number;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

/* True if every thread but those that sleep here is blocked in the kernel. The lock is held. */
static bool all_blocked(void)
{
    char names[2048] __attribute__((aligned(8)));
    bool wait = true;
    const int folder = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
                                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return true;
    long length;
    while (wait && (length = syscall(SYS_getdents64, folder, names, sizeof names)) > 0) {
        for (long at = 0; wait && at < length;) {
            const struct entry *entry = (const struct entry *)(names + at);
            const uint32_t thread = (uint32_t)strtoul(entry->name, NULL, 10);
            at += entry->length;
            if (thread == 0 || sleeps_here(thread))
                continue;
            const char state = state_of(entry->name);
            wait = state != 'R' && state != 'D';
        }
    }
    syscall(SYS_close, folder);
    return wait;
}

/* The same, and none of them is in a call, where the simulator is about to answer; nor was it meanwhile. */
static bool all_wait(const struct rank_channel *channel)
{
    const uint32_t calls = __atomic_load_n(&channel->head, __ATOMIC_ACQUIRE);
    const bool is_rank = rank_is_rank();
    return (!is_rank || rank_may_call()) && all_blocked() && (!is_rank || rank_may_call()) &&
           calls == __atomic_load_n(&channel->head, __ATOMIC_ACQUIRE);
}

/* --- whose turn it is --- */

static bool is_first(const struct rank_turn *one, const struct rank_turn *other)
{
    if (one->until != other->until)
        return one->until < other->until;
    if (one->sleeps != other->sleeps)
        return other->sleeps;
    return (int32_t)(one->number - other->number) < 0;
}

/* True if the sleep is over next. Else a wait that is over before it is told so, if nothing else can happen;
 * in `tired` those are forgotten that were told and did not end. */
static bool is_next(const struct rank_channel *channel, const struct rank_turn *own, bool tired)
{
    struct rank_turn *first = NULL;
    for (unsigned i = 0; i < TURNS; i++) {
        struct rank_turn *turn = &turns[i];
        if (turn->thread != 0 && turn->due && tired)
            turn->thread = 0;
        if (turn->thread != 0 && turn->due)
            return false; /* it is about to end */
        if (turn->thread != 0 && (!first || is_first(turn, first)))
            first = turn;
    }
    if (tired)
        return true;
    if (first->sleeps)
        return first == own && all_wait(channel);
    for (unsigned i = 0; i < TURNS; i++)
        if (turns[i].thread != 0 && turns[i].sleeps && is_first(&turns[i], own))
            return false; /* that one tells it */
    if (!all_wait(channel))
        return false;
    __atomic_store_n(&first->due, true, __ATOMIC_RELEASE);
    if (first->condition)
        pthread_cond_broadcast(first->condition);
    return false;
}

/* Processor time of all threads but this one, in nanoseconds. */
static uint64_t used_by_others(void)
{
    struct timespec all, own;
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &all);
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &own);
    return (join(&all) - join(&own)) / PS_PER_NS;
}

bool rank_turn_sleep(struct rank_channel *channel, uint64_t picoseconds)
{
    if (__libc_single_threaded)
        return false;
    struct rank_turn *own = take(rank_told(channel) + picoseconds, NULL, true);
    if (!own)
        return false;
    const uint64_t begun = used_by_others();
    for (unsigned looks = 0;; looks++) {
        const uint64_t most = __atomic_load_n(&patience, __ATOMIC_RELAXED);
        /* The two clocks are not read at once: it may be less than at the beginning. */
        const int64_t used = (int64_t)(used_by_others() - begun);
        const bool tired = looks >= LOOKS_MAX || used >= (int64_t)most;
        hold();
        const bool next = is_next(channel, own, tired);
        pthread_mutex_unlock(&lock);
        if (next) {
            /* Whoever was waited for in vain is waited for less long. */
            __atomic_store_n(&patience, tired ? most / 2 + 1 : PATIENCE_NS, __ATOMIC_RELAXED);
            break;
        }
        const struct timespec nap = {0, NAP_NS};
        syscall(SYS_nanosleep, &nap, NULL);
    }
    const uint64_t now = rank_told(channel);
    if (own->until > now)
        rank_pass(channel, own->until - now);
    rank_turn_end(own);
    return true;
}
