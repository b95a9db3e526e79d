/* The seam of Pico-MPI. Its functions in C are those of the library that asks the simulator
 * (lib/mpi), and call what calls.h says; here that leads to crates/software/pico, in this process. */
#define _GNU_SOURCE
#include "calls.h"

#include "../../include/dp.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* crates/software/pico/src/channels.rs, seam.rs */
struct pico_calls {
    int (*node)(void);
    int (*open)(int local, int node, int point);
    ssize_t (*write)(int channel, const void *data, size_t bytes);
    ssize_t (*read)(int channel, void *data, size_t bytes);
    void (*end)(int status);
};
void pico_begin(uint32_t rank, uint32_t ranks, uint32_t program, const struct pico_calls *calls);
int pico_call(uint32_t function, const uint64_t *arguments);

/* The ABI keeps handles below 4096 for itself. */
#define FIRST_REQUEST 0x10000u

static uint64_t next_request = FIRST_REQUEST;
static uint32_t state;
static pid_t own; /* the process that has begun MPI */

/* One thread at a time is in the library; a function that MPI has called may call it again. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* --- end --- */

static void end(int status)
{
    state |= RANK_STATE_FAULTED;
    fflush(NULL);
    _exit(status);
}

void rank_fail(const char *format, ...)
{
    va_list values;

    fprintf(stderr, "sunstar: ");
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fprintf(stderr, "\n");
    end(1);
    abort();
}

/* The other ranks would wait for ever; a run ends when a program ends with another status than 0. */
static void ended(int status, void *unused)
{
    (void)unused;
    if (getpid() != own || state & (RANK_STATE_FINALIZED | RANK_STATE_FAULTED))
        return;
    fprintf(stderr, "sunstar: rank %s ended without calling MPI_Finalize\n", getenv("PMI_RANK"));
    end(status ? status : 1);
}

/* --- beginning --- */

static uint32_t number(const char *name)
{
    const char *text = getenv(name);

    if (!text)
        rank_fail("%s is not set: programs with Pico-MPI are started by sunstar run", name);
    return (uint32_t)strtoul(text, NULL, 10);
}

static void begin(void)
{
    static const struct pico_calls calls = {dp_node, dp_open, dp_write, dp_read, end};

    own = getpid();
    on_exit(ended, NULL);
    pico_begin(number("PMI_RANK"), number("PMI_SIZE"), number("PMI_APPNUM"), &calls);
}

/* --- calls --- */

static int call(enum rank_function function, const uint64_t *arguments)
{
    pthread_mutex_lock(&lock);
    const int code = pico_call(function, arguments);
    pthread_mutex_unlock(&lock);
    return code;
}

int rank_call(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    const char *name = rank_facts[function].name;

    (void)count;
    if (!own && !rank_facts[function].any_time)
        rank_fail("%s was called before MPI_Init", name);
    if (state & RANK_STATE_FINALIZED && !rank_facts[function].any_time)
        rank_fail("%s was called after MPI_Finalize", name);
    return rank_call_any_time(function, count, arguments);
}

int rank_call_any_time(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    (void)count;
    pthread_mutex_lock(&lock);
    if (!own)
        begin();
    pthread_mutex_unlock(&lock);
    return call(function, arguments);
}

int rank_call_with(enum rank_function function, unsigned count, const uint64_t *arguments,
                   const void *read, size_t bytes)
{
    (void)read, (void)bytes;
    return rank_call(function, count, arguments);
}

int rank_post(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    return rank_call(function, count, arguments);
}

int rank_send(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    return rank_call(function, count, arguments);
}

uint64_t rank_new_request(void)
{
    return __atomic_fetch_add(&next_request, 1, __ATOMIC_RELAXED);
}

/* Nothing travels with a call. */
size_t rank_items(uint64_t count, uint64_t datatype)
{
    (void)count, (void)datatype;
    return 0;
}

size_t rank_handles(uint64_t count)
{
    (void)count;
    return 0;
}

/* --- for local.c --- */

bool rank_state_has(uint32_t bits)
{
    return (state & bits) == bits;
}

void rank_state_add(uint32_t bits)
{
    state |= bits;
}

void rank_flush(void)
{
    fflush(NULL);
}

void rank_counter_begin(void)
{
}

struct rank_channel *rank_require(const char *name)
{
    (void)name;
    return NULL;
}

/* The guest's clock, in picoseconds. */
uint64_t rank_clock(struct rank_channel *channel)
{
    struct timespec now;

    (void)channel;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * 1000u;
}
