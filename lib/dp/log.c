/* The log of a judged run. The guest's kernel keeps it for the bench, by a system call that takes no time
 * (linux/kernel/ sunstar.c): so a run is the same with a judge and without one. Where nobody judges the call
 * says ENOSYS. Its lines:
 *
 *     begin PROCESS
 *     w PROCESS LOCAL NODE POINT BYTES SUM RESULT      written: done, failed
 *     r PROCESS LOCAL NODE POINT BYTES SUM RESULT      read: done, cut
 *     end PROCESS
 *
 * SUM is FNV-1a of 64 bits. */
#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHANNELS = 1024, LINE = 96 };

/* The bench's system call, and what it is to do. */
enum { SUNSTAR_CALL = 0x53554e, SUNSTAR_LOG = 1 };

static struct {
    int open;
    struct dp_channel_id id;
} channels[CHANNELS];
/* Whether somebody judges is asked when the first channel is opened. */
static enum { UNASKED, OFF, ON } state;
static pid_t process;

static uint64_t sum(const unsigned char *data, size_t bytes)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ data[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* False if nobody judges. */
static int add(const char *line)
{
    return syscall(SUNSTAR_CALL, SUNSTAR_LOG, line, strlen(line)) >= 0;
}

static int add_process(const char *what)
{
    char line[LINE];

    snprintf(line, sizeof(line), "%s %d\n", what, process);
    return add(line);
}

/* A process that was killed has no end in the file, and so the judge knows. */
static __attribute__((destructor)) void end(void)
{
    int why = errno;

    if (state == ON)
        add_process("end");
    errno = why;
}

static void forked(void)
{
    int why = errno;

    if (state == ON) {
        process = getpid();
        add_process("begin");
    }
    errno = why;
}

static __attribute__((constructor)) void prepare(void)
{
    process = getpid();
    pthread_atfork(NULL, NULL, forked);
}

static int is_on(void)
{
    if (state == UNASKED)
        state = add_process("begin") ? ON : OFF;
    return state == ON;
}

void log_opened(int channel, const struct dp_channel_id *id)
{
    int why = errno;

    if (is_on() && channel < CHANNELS) {
        channels[channel].open = 1;
        channels[channel].id = *id;
    }
    errno = why;
}

void log_closed(int channel)
{
    if (channel >= 0 && channel < CHANNELS)
        channels[channel].open = 0;
}

static void add_packet(char what, int channel, const void *data, size_t bytes, const char *end)
{
    const struct dp_channel_id *id = &channels[channel].id;
    char line[LINE];

    snprintf(line, sizeof(line), "%c %d %u %u %u %zu %016" PRIx64 " %s\n", what, process,
             id->local, id->node, id->point, bytes, sum(data, bytes), end);
    add(line);
}

static int is_open(int channel)
{
    return state == ON && channel >= 0 && channel < CHANNELS && channels[channel].open;
}

/* Other errors than these are of calls that did not get to the card. */
static int got_to_the_card(ssize_t result)
{
    return result >= 0 || errno == EHOSTUNREACH || errno == EIO || errno == ETIMEDOUT;
}

void log_written(int channel, const void *data, size_t bytes, ssize_t result)
{
    int why = errno;

    if (is_open(channel) && got_to_the_card(result))
        add_packet('w', channel, data, bytes, result < 0 ? "failed" : "done");
    errno = why;
}

void log_read(int channel, const void *data, size_t room, ssize_t result)
{
    int why = errno, cut = (size_t)result == room && room < DP_PACKET_MAX;

    if (is_open(channel) && result >= 0)
        add_packet('r', channel, data, result, cut ? "cut" : "done");
    errno = why;
}
