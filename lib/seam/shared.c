/* Memory that processes share by a name (shm_overview(7)) is shared within a run: names that libraries draw by
 * the seed are the same in each run, and two may be under way at a time. */
#define _GNU_SOURCE
#include "socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

/* The name that it has on this computer: with the run's number. False if that is too long. */
static bool name_of(const struct rank_channel *channel, const char *name, char *own)
{
    const char *plain = name + (*name == '/');
    const int length = snprintf(own, NAME_MAX + 1, "/sunstar-%u-%s", channel->run, plain);
    if (length <= NAME_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

EXPORT int shm_open(const char *name, int flags, mode_t mode)
{
    const struct rank_channel *channel = rank_channel_of_run();
    char own[NAME_MAX + 1];
    if (!channel)
        return ORIGINAL(shm_open)(name, flags, mode);
    return name_of(channel, name, own) ? ORIGINAL(shm_open)(own, flags, mode) : -1;
}

EXPORT int shm_unlink(const char *name)
{
    const struct rank_channel *channel = rank_channel_of_run();
    char own[NAME_MAX + 1];
    if (!channel)
        return ORIGINAL(shm_unlink)(name);
    return name_of(channel, name, own) ? ORIGINAL(shm_unlink)(own) : -1;
}
