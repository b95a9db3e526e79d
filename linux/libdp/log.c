/* The log of a judged run. The environment names its file (DP_LOG); without it nothing is kept. Lines stand
 * in memory until the process ends, so that a run goes on as without a judge until then:
 *
 *     begin PROCESS
 *     w PROCESS LOCAL NODE POINT BYTES SUM RESULT      written: done, failed
 *     r PROCESS LOCAL NODE POINT BYTES SUM RESULT      read: done, cut
 *     end PROCESS
 *
 * SUM is FNV-1a of 64 bits. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHANNELS = 1024, LINE = 96, ROOM = 1 << 18 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *path;
static struct {
    int open;
    struct dp_channel_id id;
} channels[CHANNELS];
static char *text;
static size_t used;

static uint64_t sum(const unsigned char *data, size_t bytes)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ data[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* A process whose lines are lost has no end in the file, and so the judge knows. */
static void flush(void)
{
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (file >= 0 && write(file, text, used) == (ssize_t)used)
        used = 0;
    if (file >= 0)
        close(file);
}

static void add(const char *line)
{
    size_t length = strlen(line);

    if (used + length > ROOM)
        flush();
    if (used + length <= ROOM) {
        memcpy(text + used, line, length);
        used += length;
    }
}

static void add_process(const char *what)
{
    char line[LINE];

    snprintf(line, sizeof(line), "%s %d\n", what, getpid());
    add(line);
}

static void end(void)
{
    int why = errno;

    add_process("end");
    flush();
    errno = why;
}

static void begin(void)
{
    add_process("begin");
    flush();
}

/* The parent's lines are not the child's. */
static void forked(void)
{
    used = 0;
    begin();
}

static int is_on(void)
{
    static int asked;

    if (!asked) {
        asked = 1;
        path = getenv("DP_LOG");
        text = path ? malloc(ROOM) : NULL;
        if (text) {
            begin();
            atexit(end);
            pthread_atfork(NULL, NULL, forked);
        }
    }
    return text != NULL;
}

void log_opened(int channel, const struct dp_channel_id *id)
{
    int why = errno;

    pthread_mutex_lock(&lock);
    if (is_on() && channel < CHANNELS) {
        channels[channel].open = 1;
        channels[channel].id = *id;
    }
    pthread_mutex_unlock(&lock);
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

    snprintf(line, sizeof(line), "%c %d %u %u %u %zu %016" PRIx64 " %s\n", what, getpid(),
             id->local, id->node, id->point, bytes, sum(data, bytes), end);
    add(line);
}

static int is_open(int channel)
{
    return text && channel >= 0 && channel < CHANNELS && channels[channel].open;
}

/* Other errors than these are of calls that did not get to the card. */
static int got_to_the_card(ssize_t result)
{
    return result >= 0 || errno == EHOSTUNREACH || errno == EIO || errno == ETIMEDOUT;
}

void log_written(int channel, const void *data, size_t bytes, ssize_t result)
{
    int why = errno;

    pthread_mutex_lock(&lock);
    if (is_open(channel) && got_to_the_card(result))
        add_packet('w', channel, data, bytes, result < 0 ? "failed" : "done");
    pthread_mutex_unlock(&lock);
    errno = why;
}

void log_read(int channel, const void *data, size_t room, ssize_t result)
{
    int why = errno, cut = (size_t)result == room && room < DP_PACKET_MAX;

    pthread_mutex_lock(&lock);
    if (is_open(channel) && result >= 0)
        add_packet('r', channel, data, result, cut ? "cut" : "done");
    pthread_mutex_unlock(&lock);
    errno = why;
}
