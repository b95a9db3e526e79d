/* The seam: ring of calls, hand-over, callbacks. Layout and rules: abi/rank/channel.toml. */
#define _GNU_SOURCE
#include "clock.h"
#include "rank.h"
#include "turns.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Where the frame of this function is. */
#define HERE ((uintptr_t)__builtin_frame_address(0))

/* Where this thread is. It says so before it waits for the lock and after it has given it back: for a signal
   handler in between the lock is neither free nor this thread's. A callback may enter again. */
static __thread volatile enum { OUTSIDE, INSIDE, CALLED_BACK } place;
/* Callbacks of this thread that have not returned: where on its stack they stand, the last one lowest. Not on
 * the stack itself, which a program that leaves a callback uses again. The simulator allows fewer. */
#define LEVELS_MAX 80
static __thread uintptr_t levels[LEVELS_MAX];
static __thread unsigned depth;
/* A call that was answered last, and in vain: what it asks for has not come. */
static struct {
    uint64_t arguments[5];
    unsigned function; /* 0: there is none */
} in_vain;
static bool looks_at_clock; /* the record put last does nothing else */
uint32_t rank_vain_looks;
static uint64_t told; /* by the library itself, last, since the process went on */
static uint64_t time_before; /* picoseconds that have passed here without a rank */
/* Looks at a clock meanwhile, and when they began. From the first number on each takes a part of the time
 * that all have taken, at most so many picoseconds, or a smaller part if that is more. */
static uint64_t spins, spins_since;
#define SPIN_LOOKS 64u
#define SPIN_PART 16u
#define SPIN_MAX 10000000u
#define SPIN_LATER_PART 256u
static uint64_t computing_since; /* processor time at which the program went on; 0: it has made no call yet */

bool rank_state_has(uint32_t bits)
{
    const struct rank_channel *channel = rank_attach();
    return rank_is_rank() && (channel->state & bits) == bits;
}

void rank_state_add(uint32_t bits)
{
    struct rank_channel *channel = rank_attach();
    __atomic_store_n(&channel->state, channel->state | bits, __ATOMIC_RELEASE);
}

/* --- ring and hand-over; the lock is held --- */

static void give_turn(struct rank_channel *c)
{
    /* Mostly it does not sleep: it was about to when this process took the processor from it. */
    if (__atomic_exchange_n(&c->turn, RANK_TURN_SIMULATOR, __ATOMIC_ACQ_REL) == RANK_TURN_AWAITED)
        syscall(SYS_futex, &c->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    while (__atomic_load_n(&c->turn, __ATOMIC_ACQUIRE) == RANK_TURN_SIMULATOR)
        syscall(SYS_futex, &c->turn, FUTEX_WAIT_BITSET, RANK_TURN_SIMULATOR, NULL, NULL,
                RANK_SLEEP_MARK);
}

static void hand_over(struct rank_channel *c)
{
    told = 0;
    rank_memory_leave(c);
    rank_guard_leave(looks_at_clock);
    give_turn(c);
    while (c->way != RANK_WAY_NONE) {
        rank_move(c);
        give_turn(c);
    }
    rank_memory_return(c);
    rank_guard_close();
}

/* The record that is put next. */
static struct rank_record *next_record(struct rank_channel *c)
{
    const uint32_t head = c->head;
    if (head - __atomic_load_n(&c->tail, __ATOMIC_ACQUIRE) == RANK_RECORD_COUNT)
        hand_over(c); /* full: the simulator empties it and gives the turn back */
    struct rank_record *ring = (struct rank_record *)((char *)c + RANK_RECORDS);
    return &ring[head % RANK_RECORD_COUNT];
}

static void put(struct rank_channel *c, uint16_t kind, unsigned function, unsigned count,
                const uint64_t *arguments)
{
    struct rank_record *record = next_record(c);
    looks_at_clock = kind == RANK_RECORD_KIND_CLOCK;
    if (!looks_at_clock)
        in_vain.function = 0;
    if (!looks_at_clock && kind != RANK_RECORD_KIND_COMPUTED)
        rank_vain_looks = 0;
    if (!rank_fabric.inside && !looks_at_clock && kind != RANK_RECORD_KIND_FABRIC)
        rank_fabric.looks = 0;
    record->function = (uint16_t)function;
    record->kind = kind;
    record->inside = rank_fabric.inside;
    if (count > 0)
        memcpy(record->arguments, arguments, count * sizeof *arguments);
    __atomic_store_n(&c->head, c->head + 1, __ATOMIC_RELEASE);
}

/* --- computation that takes simulated time, if it is measured --- */

/* Processor time of the process in nanoseconds, from the kernel: the library's own clocks are simulated. */
static uint64_t processor_time(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Says how long the program has computed since it went on. */
static void account(struct rank_channel *c)
{
    if (!c->compute || !computing_since)
        return;
    const uint64_t nanoseconds = processor_time() - computing_since;
    const uint64_t picoseconds = (uint64_t)((double)nanoseconds * (double)c->compute / 1000);
    if (picoseconds > 0)
        put(c, RANK_RECORD_KIND_COMPUTED, 0, 1, &picoseconds);
}

/* Results come back in a register whatever their type, and surplus arguments do no harm. Called as a function
 * with an ellipsis because error handlers are declared so. */
typedef uint64_t (*callback)(uint64_t, ...);

__attribute__((noinline)) static uint64_t run(uintptr_t *level, uint64_t function,
                                              const uint64_t *a)
{
    *level = HERE;
    if (function == RANK_SERVICE_ALLOCATE)
        return POINTER(malloc(a[0]));
    if (function == RANK_SERVICE_RELEASE) {
        free((void *)(uintptr_t)a[0]);
        return 0;
    }
    if (function == RANK_SERVICE_FLUSH) {
        rank_flush();
        return 0;
    }
    if (function == RANK_SERVICE_CALLER)
        return POINTER(rank_caller());
    return ((callback)(uintptr_t)function)(a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Runs the function that the answer names. It may call MPI again, so nothing stays in the channel. */
static void run_callback(struct rank_channel *c)
{
    const uint64_t function = c->function;
    const uint32_t indirect = c->indirect;
    uint64_t words[6], passed[6], report[7];
    memcpy(words, c->arguments, sizeof words);
    for (int i = 0; i < 6; i++)
        passed[i] = indirect >> i & 1 ? POINTER(&words[i]) : words[i];
    if (c->compute)
        computing_since = processor_time();
    const unsigned level = depth;
    if (level == LEVELS_MAX)
        rank_fail("more than %d functions that MPI has called are under way", LEVELS_MAX);
    depth++;
    place = CALLED_BACK;
    report[0] = run(&levels[level], function, passed);
    place = INSIDE;
    if (depth != level + 1)
        rank_fail("a function that MPI had called returned after the program had left it");
    depth = level;
    account(c);
    memcpy(&report[1], words, sizeof words);
    put(c, RANK_RECORD_KIND_RETURNED, 0, 7, report);
}

/* Hands over until the record put last has its final answer. */
static int await_answer(struct rank_channel *c)
{
    hand_over(c);
    while (c->answer == RANK_ANSWER_CALLBACK) {
        run_callback(c);
        hand_over(c);
    }
    return (int)c->code;
}

int rank_forked(struct rank_channel *c, int64_t child)
{
    const uint64_t arguments[] = {(uint64_t)child};
    put(c, RANK_RECORD_KIND_FORKED, 0, 1, arguments);
    return await_answer(c);
}

/* --- what is done without the simulator, as long as nothing else happens on the node --- */

bool rank_do_alone(struct rank_channel *c, uint32_t deed, uint64_t cost, rank_find *find,
                   const uint64_t *arguments)
{
    const uint64_t now = rank_told(c);
    if (place != OUTSIDE || !rank_is_rank() || now + cost >= c->lease)
        return false;
    place = INSIDE;
    rank_lock();
    deed = find ? find(c, arguments) : deed;
    cost = find ? c->repeat_cost : cost;
    uint32_t rows = c->deed_rows;
    const uint32_t next = rows > 0 ? c->deeds[rows - 1] + 1 : 0;
    const bool same = rows > 0 && next >> RANK_DEED_SHIFT == deed;
    const bool alone = rank_told(c) == now && now + cost < c->lease && c->head == c->tail &&
                       (same || rows < RANK_DEED_ROWS) && (!find || deed != RANK_DEED_TELL);
    if (alone) {
        if (!same)
            rows++;
        c->deeds[rows - 1] = same ? next : (deed << RANK_DEED_SHIFT) + 1;
        c->deed_rows = rows;
        told = now + cost;
        if (deed != RANK_DEED_TELL)
            rank_vain_looks = deed == RANK_DEED_REPEAT ? 0 : rank_vain_looks + 1;
    }
    rank_unlock();
    place = OUTSIDE;
    return alone;
}

/* --- calls --- */

/* Where the stack of this thread began; 0 if that is unknown. */
static uintptr_t stack_end(void)
{
    static __thread uintptr_t end;
    pthread_attr_t attributes;
    void *begin;
    size_t size;
    if (end == 0 && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &begin, &size) == 0)
            end = (uintptr_t)begin + size;
        pthread_attr_destroy(&attributes);
    }
    return end;
}

/* True if the program has left a callback by longjmp or an exception: its part of the stack is gone. Who is
 * called on another stack (a signal handler, a coroutine) has not. */
static bool is_left(uintptr_t level, uintptr_t here)
{
    return here > level && here < stack_end();
}

/* The library begins to work for a function of its own with this frame; false if a signal handler has
 * interrupted it. */
static bool take(struct rank_channel *c, uintptr_t here)
{
    const bool ours = place == CALLED_BACK;
    if (place == INSIDE)
        return false;
    place = INSIDE;
    if (!ours)
        rank_lock();
    account(c);
    while (depth > 0 && is_left(levels[depth - 1], here)) {
        depth--;
        put(c, RANK_RECORD_KIND_LEFT, 0, 0, NULL);
    }
    return true;
}

/* The program goes on. */
static void leave(struct rank_channel *c)
{
    if (c->compute)
        computing_since = processor_time();
    if (depth > 0) {
        place = CALLED_BACK;
        return;
    }
    rank_unlock();
    place = OUTSIDE;
}

static void begin(struct rank_channel *c, const char *name, uintptr_t here)
{
    if (!take(c, here))
        rank_fail("%s was called by a signal handler that interrupted another call", name);
}

/* The call that was in vain is made again, and is in vain again. */
static bool repeat(const struct rank_call *call)
{
    struct rank_channel *c = rank_attach();
    if (call->function != in_vain.function || !rank_is_rank() || c->repeat_cost == 0)
        return false;
    if (memcmp(in_vain.arguments, call->arguments, call->count * sizeof *call->arguments) != 0)
        return false;
    if (call->request && *call->request != c->request)
        return false;
    return rank_do_alone(c, RANK_DEED_REPEAT, c->repeat_cost, NULL, NULL);
}

int rank_call_mpi(const struct rank_call *call)
{
    if (call->flag && repeat(call)) {
        *call->flag = 0;
        return 0;
    }
    struct rank_channel *c = rank_require(call->name);
    begin(c, call->name, HERE);
    const uint64_t request = call->flag && call->request ? *call->request : 0;
    put(c, RANK_RECORD_KIND_CALL, call->function, call->count, call->arguments);
    rank_memory_carry(c, call->read, call->bytes);
    const int code = await_answer(c);
    if (call->flag && code == 0 && !*call->flag) {
        in_vain.function = call->function;
        c->request = request;
        memcpy(in_vain.arguments, call->arguments, call->count * sizeof *call->arguments);
    }
    leave(c);
    return code;
}

void rank_post_mpi(const struct rank_call *call)
{
    struct rank_channel *c = rank_require(call->name);
    begin(c, call->name, HERE);
    /* The simulator has done with a record's payload before it takes the next record, and the process
     * runs on only when all are taken. */
    uint64_t passed[sizeof((struct rank_record){0}.arguments) / sizeof(uint64_t)];
    const struct rank_record *record = next_record(c);
    memcpy(passed, call->arguments, call->count * sizeof *call->arguments);
    if (call->bytes > 0)
        memcpy(&passed[call->count], call->read, call->bytes);
    if (call->read)
        passed[0] = POINTER(&record->arguments[call->count]);
    const unsigned words = call->count + (unsigned)((call->bytes + 7) / 8);
    put(c, RANK_RECORD_KIND_POSTED, call->function, words, passed);
    leave(c);
}

bool rank_may_call(void)
{
    if (!rank_is_rank())
        return false;
    if (place != OUTSIDE)
        return place == CALLED_BACK;
    place = INSIDE;
    const bool may = !rank_is_locked();
    place = OUTSIDE;
    return may;
}

int rank_call_noting(unsigned function, const char *name, unsigned count, const uint64_t *arguments,
                     const void *event, rank_note *note)
{
    struct rank_channel *c = rank_require(name);
    begin(c, name, HERE);
    const uint32_t looks = rank_vain_looks;
    put(c, RANK_RECORD_KIND_PORTALS, function, count, arguments);
    rank_memory_carry(c, event, event ? 1 : 0);
    const int code = await_answer(c);
    if (note)
        rank_vain_looks = note(c, arguments, code) ? looks + 1 : 0;
    leave(c);
    return code;
}

void rank_say(struct rank_channel *c, uint16_t kind, unsigned function, uint64_t argument)
{
    if (!take(c, HERE))
        return;
    put(c, kind, function, 1, &argument);
    leave(c);
}

int rank_call_verbs(unsigned call, const char *name, unsigned count, const uint64_t *arguments,
                    uint64_t *words)
{
    struct rank_channel *c = rank_require(name);
    begin(c, name, HERE);
    put(c, RANK_RECORD_KIND_VERBS, call, count, arguments);
    const int code = await_answer(c);
    memcpy(words, c->arguments, sizeof c->arguments);
    leave(c);
    return code;
}

int rank_call_socket(unsigned call, const uint64_t *arguments, uint64_t *words)
{
    struct rank_channel *c = rank_require("socket");
    begin(c, "a function of sockets", HERE);
    put(c, RANK_RECORD_KIND_SOCKET, call, RANK_SOCKET_ARGUMENTS, arguments);
    const int code = await_answer(c);
    memcpy(words, c->arguments, sizeof c->arguments);
    leave(c);
    return code;
}

/* --- time: a process before the rank, such as a launcher, has time of its own --- */

uint64_t rank_told(const struct rank_channel *c)
{
    const uint64_t before = rank_is_rank() ? 0 : __atomic_load_n(&time_before, __ATOMIC_RELAXED);
    return (told > c->time ? told : c->time) + before;
}

/* What a look at a clock takes before there is a rank, where it takes ever longer: as the simulator's agent
 * has it for ranks, but that only sleeps begin anew. */
static uint64_t spin_cost(const struct rank_channel *c)
{
    const uint64_t all = __atomic_load_n(&time_before, __ATOMIC_RELAXED) - spins_since;
    const uint64_t part = all / SPIN_PART < SPIN_MAX ? all / SPIN_PART : SPIN_MAX;
    const uint64_t cost = part > all / SPIN_LATER_PART ? part : all / SPIN_LATER_PART;
    if (__atomic_fetch_add(&spins, 1, __ATOMIC_RELAXED) < SPIN_LOOKS || cost < c->clock_cost)
        return c->clock_cost;
    return cost;
}

uint64_t rank_clock(struct rank_channel *c)
{
    if (!rank_is_rank()) {
        const uint64_t cost = c->asks_clock ? spin_cost(c) : c->clock_cost;
        return c->time + __atomic_add_fetch(&time_before, cost, __ATOMIC_RELAXED);
    }
    if (c->clock_cost > 0 && !c->asks_clock &&
        rank_do_alone(c, RANK_DEED_TELL, c->clock_cost, NULL, NULL))
        return told;
    /* A signal handler interrupted a call: the last known time is the time. */
    if (!take(c, HERE))
        return rank_told(c);
    put(c, RANK_RECORD_KIND_CLOCK, 0, 0, NULL);
    await_answer(c);
    const uint64_t time = c->time;
    leave(c);
    return time;
}

void rank_pass(struct rank_channel *c, uint64_t picoseconds)
{
    if (!rank_is_rank()) {
        spins_since = __atomic_add_fetch(&time_before, picoseconds, __ATOMIC_RELAXED);
        spins = 0;
        return;
    }
    if (!take(c, HERE))
        return;
    put(c, RANK_RECORD_KIND_SLEEP, 0, 1, &picoseconds);
    await_answer(c);
    leave(c);
}

void rank_sleep(struct rank_channel *c, uint64_t picoseconds)
{
    /* There is a rank, and this process waits beside it. */
    const struct timespec span = split(picoseconds);
    if (!rank_is_rank() && c->owner != 0)
        syscall(SYS_nanosleep, &span, NULL);
    if (!rank_turn_sleep(c, picoseconds))
        rank_pass(c, picoseconds);
}

void rank_compute(struct rank_channel *c, uint64_t picoseconds)
{
    if (!rank_is_rank() || !take(c, HERE))
        return;
    rank_vain_looks = 0;
    if (picoseconds > 0)
        put(c, RANK_RECORD_KIND_COMPUTED, 0, 1, &picoseconds);
    leave(c);
}

void rank_begin(struct rank_channel *c)
{
    if (time_before > 0)
        rank_compute(c, time_before);
}
