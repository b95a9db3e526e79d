/* Threads of a program with verbs: one runs at a time, and who is next follows from the program alone.
 *
 * Whoever wants to call, or looks at memory that a card writes to, waits at a gate. It opens when each other
 * thread waits there, too, or sleeps in the kernel, and none has run in between: then nothing can change any
 * more who is there, and the first behind the one that had its turn last is let in. The gate stays closed
 * while that one runs on, to its next call. So the order of calls is the same in each run, as long as threads
 * wake each other by the kernel (docs/decisions/0132). Other programs have the lock alone. */
#define _GNU_SOURCE
#include "rank.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Threads that wait at a time; more wait for the lock alone. */
#define THREADS 256
/* Nanoseconds between looks of one that waits, if nobody comes; and after which a thread that neither calls
 * nor sleeps is not waited for until it does: it may wait for another one without the kernel. */
#define MOMENT 200000
#define PATIENCE 2000000000u

/* One thread at a time is in the library. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int busy; /* what follows is used: who wants it does not sleep, as that would tell */
static pid_t waiting[THREADS];
static unsigned waiters;
static uint32_t come; /* how often somebody has come to the gate */
static pid_t apart[THREADS]; /* are not waited for */
static unsigned aparts;
static pid_t inside, last;
static __thread unsigned held;

/* The number of this thread. */
static pid_t number(void)
{
    static __thread pid_t own;
    if (own == 0)
        own = (pid_t)syscall(SYS_gettid);
    return own;
}

static void hold(void)
{
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void release(void)
{
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static void strike(pid_t *list, unsigned *used, pid_t thread)
{
    for (unsigned i = 0; i < *used; i++)
        if (list[i] == thread)
            list[i--] = list[--*used];
}

static bool has(const pid_t *list, unsigned used, pid_t thread)
{
    for (unsigned i = 0; i < used; i++)
        if (list[i] == thread)
            return true;
    return false;
}

/* Whose turn is next: numbers grow with the order in which threads were made. */
static pid_t next(void)
{
    pid_t first = 0, behind = 0;
    for (unsigned i = 0; i < waiters; i++) {
        const pid_t one = waiting[i];
        if (first == 0 || one < first)
            first = one;
        if (one > last && (behind == 0 || one < behind))
            behind = one;
    }
    return behind ? behind : first;
}

/* --- what the kernel says of other threads; nothing here asks for memory, as a handler may be here --- */

struct entry { /* of a folder */
    uint64_t number;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

static size_t text_of(const char *thread, const char *name, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.16s/%s", thread, name);
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    const long got = file < 0 ? 0 : syscall(SYS_read, file, text, bytes - 1);
    if (file >= 0)
        syscall(SYS_close, file);
    text[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

/* Adds to a sum how often a thread has run, if it sleeps; false if it does not. One that is gone sleeps. */
static bool sleeps(const char *thread, uint64_t *sum)
{
    char text[512];
    if (text_of(thread, "stat", text, sizeof text) == 0)
        return true;
    const char *state = strrchr(text, ')'); /* the name may have any bytes */
    if (!state || !strchr("SZX", state[2]))
        return false;
    text_of(thread, "schedstat", text, sizeof text);
    const char *times = strrchr(text, ' ');
    for (const char *at = times ? times + 1 : ""; *at >= '0' && *at <= '9'; at++)
        *sum = *sum * 10 + (uint64_t)(*at - '0');
    return true;
}

/* The same of all that do not wait here; who does not sleep is told. */
static bool all_sleep(uint64_t *sum, pid_t *awake)
{
    _Alignas(struct entry) char list[2048];
    const int folder =
        (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool all = folder >= 0;
    long bytes;
    while (all && (bytes = syscall(SYS_getdents64, folder, list, sizeof list)) > 0)
        for (long at = 0; at < bytes && all; at += ((struct entry *)(list + at))->bytes) {
            const char *name = ((struct entry *)(list + at))->name;
            pid_t thread = 0;
            for (const char *digit = name; *digit >= '0' && *digit <= '9'; digit++)
                thread = thread * 10 + (*digit - '0');
            if (thread == 0 || has(waiting, waiters, thread) || has(apart, aparts, thread))
                continue;
            all = sleeps(name, sum);
            *awake = thread;
        }
    if (folder >= 0)
        syscall(SYS_close, folder);
    return all;
}

static bool nobody_runs(pid_t *awake)
{
    uint64_t before = 0, after = 0;
    return all_sleep(&before, awake) && all_sleep(&after, awake) && before == after;
}

/* --- the gate --- */

static uint64_t real_time(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A thread that waits looks whether it may go in; since when it is the next. */
static bool goes_in(pid_t self, uint64_t *since)
{
    pid_t awake = 0;
    hold();
    const bool is_next = inside == 0 && next() == self;
    const bool goes = is_next && nobody_runs(&awake);
    if (!is_next)
        *since = 0;
    else if (*since == 0)
        *since = real_time();
    else if (!goes && awake != 0 && real_time() - *since > PATIENCE && aparts < THREADS)
        apart[aparts++] = awake;
    if (goes) {
        strike(waiting, &waiters, self);
        inside = last = self;
    }
    release();
    return goes;
}

static void enter(void)
{
    if (held > 0) {
        held++;
        return;
    }
    if (__libc_single_threaded || !rank_state_has(RANK_STATE_VERBS))
        return;
    const pid_t self = number();
    uint64_t since = 0;
    hold();
    const bool fits = waiters < THREADS;
    if (fits) {
        strike(apart, &aparts, self);
        waiting[waiters++] = self;
    }
    uint32_t known = __atomic_add_fetch(&come, 1, __ATOMIC_RELEASE);
    release();
    syscall(SYS_futex, &come, FUTEX_WAKE_PRIVATE, THREADS, NULL, NULL, 0);
    while (fits && !goes_in(self, &since)) {
        const struct timespec moment = {.tv_nsec = MOMENT};
        syscall(SYS_futex, &come, FUTEX_WAIT_PRIVATE, known, &moment, NULL, 0);
        known = __atomic_load_n(&come, __ATOMIC_ACQUIRE);
    }
    held = fits;
}

static void leave(void)
{
    if (held == 0 || --held > 0)
        return;
    hold();
    inside = 0;
    release();
}

/* Nobody gets a turn while the one that had it last runs on. */
void rank_gate_pass(void)
{
    if (held > 0 || last == number())
        return;
    enter();
    leave();
}

bool rank_gate_enter(void)
{
    enter();
    hold();
    const bool shared = waiters > 0;
    release();
    return shared;
}

void rank_gate_leave(void)
{
    leave();
}

/* --- the lock --- */

void rank_lock(void)
{
    enter();
    pthread_mutex_lock(&lock);
}

bool rank_is_locked(void)
{
    const bool locked = pthread_mutex_trylock(&lock) != 0;
    if (!locked)
        pthread_mutex_unlock(&lock);
    return locked;
}

void rank_unlock(void)
{
    pthread_mutex_unlock(&lock);
    leave();
}
