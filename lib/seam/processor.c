/* The processor of the simulated host, as the system's files tell of it: a program that reads the time-stamp
 * counter looks there how fast it counts. What is left out is not simulated. */
#define _GNU_SOURCE
#include "random.h"
#include "rank.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), cold))
#define ORIGINAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

#define FACTS "/proc/cpuinfo"
#define FOLDER "/sys/devices/system/cpu/cpu"
/* Instructions that every processor of this kind has, and a counter that never stops. */
#define FLAGS                                                                                      \
    "fpu tsc msr cx8 cmov mmx fxsr sse sse2 syscall nx rdtscp lm constant_tsc nonstop_tsc"

static void tell_core(FILE *file, unsigned core, const struct rank_channel *channel)
{
    const double megahertz = (double)channel->frequency / 1e6;
    fprintf(file, "processor\t: %u\nvendor_id\t: Sunstar\nmodel name\t: simulated host\n", core);
    fprintf(file, "cpu MHz\t\t: %.3f\nphysical id\t: 0\nsiblings\t: %u\n", megahertz,
            channel->cores);
    fprintf(file, "core id\t\t: %u\ncpu cores\t: %u\nflags\t\t: %s\n\n", core, channel->cores,
            FLAGS);
}

/* True of the files under a core's folder that tell how fast it is: it has one speed. */
static bool tells_speed(const char *path)
{
    static const char *const names[] = {
        "cpufreq/cpuinfo_min_freq", "cpufreq/cpuinfo_max_freq", "cpufreq/cpuinfo_cur_freq",
        "cpufreq/scaling_min_freq", "cpufreq/scaling_max_freq", "cpufreq/scaling_cur_freq",
        "cpufreq/base_frequency",   "tsc_freq_khz",
    };
    if (strncmp(path, FOLDER, strlen(FOLDER)) != 0)
        return false;
    char *name;
    strtoul(path + strlen(FOLDER), &name, 10);
    if (*name++ != '/')
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* A file with what `path` tells in the simulated host; -1 if it is none of these. */
static int facts(const char *path)
{
    if (!path || (path[0] != '/' || (path[1] != 'p' && path[1] != 's')))
        return -1;
    const bool speed = tells_speed(path);
    const struct rank_channel *channel =
        speed || strcmp(path, FACTS) == 0 ? rank_channel_of_run() : NULL;
    if (!channel)
        return -1;
    char *text = NULL;
    size_t bytes = 0;
    FILE *told = open_memstream(&text, &bytes);
    if (!told)
        return -1;
    if (speed)
        fprintf(told, "%llu\n", (unsigned long long)(channel->frequency / 1000));
    for (unsigned core = 0; !speed && core < channel->cores; core++)
        tell_core(told, core, channel);
    fclose(told);
    const int file = memfd_create("cpuinfo", MFD_CLOEXEC);
    if (file >= 0 && (write(file, text, bytes) != (ssize_t)bytes || lseek(file, 0, SEEK_SET) != 0))
        ftruncate(file, 0);
    free(text);
    return file;
}

/* --- functions that open files --- */

static bool reads(int flags)
{
    return (flags & O_ACCMODE) == O_RDONLY;
}

#define MODE(flags)                                                                                \
    ({                                                                                             \
        mode_t mode_ = 0;                                                                          \
        if ((flags) & (O_CREAT | O_TMPFILE)) {                                                     \
            va_list rest;                                                                          \
            va_start(rest, flags);                                                                 \
            mode_ = va_arg(rest, mode_t);                                                          \
            va_end(rest);                                                                          \
        }                                                                                          \
        mode_;                                                                                     \
    })

#define OPENS(name, at, path, flags, ...)                                                          \
    EXPORT int name(__VA_ARGS__, ...)                                                              \
    {                                                                                              \
        const mode_t mode = MODE(flags);                                                           \
        int file = reads(flags) ? facts(path) : -1;                                                \
        if (file < 0) {                                                                            \
            file = ORIGINAL(name)(at path, flags, mode);                                           \
            rank_random_opened(path, file);                                                        \
        }                                                                                          \
        return file;                                                                               \
    }
#define NOWHERE
#define AT folder,

OPENS(open, NOWHERE, path, flags, const char *path, int flags)
OPENS(open64, NOWHERE, path, flags, const char *path, int flags)
OPENS(openat, AT, path, flags, int folder, const char *path, int flags)
OPENS(openat64, AT, path, flags, int folder, const char *path, int flags)

/* What compilers make of them that check more. */
#define CHECKED(name)                                                                              \
    int name(const char *path, int flags);                                                         \
    EXPORT int name(const char *path, int flags)                                                   \
    {                                                                                              \
        int file = reads(flags) ? facts(path) : -1;                                                \
        if (file < 0) {                                                                            \
            file = ORIGINAL(name)(path, flags);                                                    \
            rank_random_opened(path, file);                                                        \
        }                                                                                          \
        return file;                                                                               \
    }
CHECKED(__open_2)
CHECKED(__open64_2)

#define OPENS_STREAM(name)                                                                         \
    EXPORT FILE *name(const char *restrict path, const char *restrict mode)                        \
    {                                                                                              \
        const bool only_read = mode && mode[0] == 'r' && !strchr(mode, '+');                       \
        FILE *random = only_read ? rank_random_stream(path, mode) : NULL;                          \
        if (random)                                                                                \
            return random;                                                                         \
        const int file = only_read ? facts(path) : -1;                                             \
        return file >= 0 ? fdopen(file, mode) : ORIGINAL(name)(path, mode);                        \
    }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)
