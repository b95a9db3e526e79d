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

/* Real time between looks, and the most looks for a thread that does not come to rest: one that spins. */
#define NAP_NS 200000L
#define LOOKS_MAX 100u
static unsigned looks_max = LOOKS_MAX;
/* Real time of a piece of a wait. */
#define PIECE_NS 2000000L

static uint32_t own_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static struct rank_turn *take(uint64_t until, pthread_cond_t *condition, bool sleeps)
{
    struct rank_turn *free_one = NULL;
    pthread_mutex_lock(&lock);
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
    pthread_mutex_lock(&lock);
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

/* True if every thread but those that sleep here waits for something. The lock is held. */
static bool all_wait(void)
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
static bool is_next(const struct rank_turn *own, bool tired)
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
        return first == own && all_wait();
    for (unsigned i = 0; i < TURNS; i++)
        if (turns[i].thread != 0 && turns[i].sleeps && is_first(&turns[i], own))
            return false; /* that one tells it */
    if (!all_wait())
        return false;
    __atomic_store_n(&first->due, true, __ATOMIC_RELEASE);
    if (first->condition)
        pthread_cond_broadcast(first->condition);
    return false;
}

bool rank_turn_sleep(struct rank_channel *channel, uint64_t picoseconds)
{
    if (__libc_single_threaded)
        return false;
    struct rank_turn *own = take(rank_told(channel) + picoseconds, NULL, true);
    if (!own)
        return false;
    for (unsigned looks = 0;; looks++) {
        const bool tired = looks >= __atomic_load_n(&looks_max, __ATOMIC_RELAXED);
        pthread_mutex_lock(&lock);
        const bool next = is_next(own, tired);
        pthread_mutex_unlock(&lock);
        if (next) {
            /* Whoever is asked in vain once is asked for less long. */
            const unsigned most = tired ? looks_max / 2 + 1 : LOOKS_MAX;
            __atomic_store_n(&looks_max, most, __ATOMIC_RELAXED);
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
