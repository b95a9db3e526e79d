/* Descriptors of simulated sockets: closing and copying them, asking them, and waiting for several. */
#define _GNU_SOURCE
#include "random.h"
#include "socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* This descriptor is not the socket's any more; without any other it is closed. */
static void drop(int file)
{
    const uint32_t number = rank_sockets[file];
    const int error = errno;
    rank_sockets[file] = 0;
    bool last = true;
    for (int other = 0; other < rank_sockets_end; other++)
        last &= rank_sockets[other] != number;
    if (last)
        ASK(0, RANK_SOCKET_CALL_CLOSE, number - 1);
    errno = error;
}

EXPORT int close(int file)
{
    if (rank_is_random(file))
        rank_random_closed(file);
    if (rank_socket_of(file))
        drop(file);
    return ORIGINAL(close)(file);
}

/* The new descriptor is the old one's socket. */
static int twin(int file, int old)
{
    if (file != old && rank_is_random(file))
        rank_random_closed(file);
    if (file >= 0 && file != old && rank_socket_of(file))
        drop(file);
    if (file >= 0 && file < RANK_SOCKET_FILES && rank_socket_of(old))
        rank_socket_put(file, rank_sockets[old]);
    return file;
}

EXPORT int dup(int old)
{
    return twin(ORIGINAL(dup)(old), old);
}

EXPORT int dup2(int old, int file)
{
    return twin(ORIGINAL(dup2)(old, file), old);
}

EXPORT int dup3(int old, int file, int flags)
{
    return twin(ORIGINAL(dup3)(old, file, flags), old);
}

#define CONTROLS(name)                                                                             \
    EXPORT int name(int file, int command, ...)                                                    \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, command);                                                                   \
        void *argument = va_arg(rest, void *);                                                     \
        va_end(rest);                                                                              \
        const int code = ORIGINAL(name)(file, command, argument);                                  \
        const bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;                      \
        return copies ? twin(code, file) : code;                                                   \
    }
CONTROLS(fcntl)
CONTROLS(fcntl64)

EXPORT int ioctl(int file, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    const uint32_t number = request == FIONREAD ? rank_socket_of(file) : 0;
    if (!number)
        return ORIGINAL(ioctl)(file, request, argument);
    const int64_t bytes = ASK(0, RANK_SOCKET_CALL_AVAILABLE, number - 1);
    if (bytes < 0)
        return -1;
    *(int *)argument = (int)bytes;
    return 0;
}

EXPORT int getsockopt(int file, int level, int option, void *restrict value,
                      socklen_t *restrict size)
{
    const uint32_t number = level == SOL_SOCKET && option == SO_ERROR ? rank_socket_of(file) : 0;
    if (!number || *size < sizeof(int))
        return ORIGINAL(getsockopt)(file, level, option, value, size);
    *(int *)value = (int)ASK(0, RANK_SOCKET_CALL_ERROR, number - 1);
    *size = sizeof(int);
    return 0;
}

/* Streams read and write by the C library's own calls. */
static ssize_t stream_read(void *file, char *data, size_t bytes)
{
    return read((int)(intptr_t)file, data, bytes);
}

static ssize_t stream_write(void *file, const char *data, size_t bytes)
{
    return write((int)(intptr_t)file, data, bytes);
}

static int stream_close(void *file)
{
    return close((int)(intptr_t)file);
}

EXPORT FILE *fdopen(int file, const char *mode)
{
    if (!rank_socket_of(file))
        return ORIGINAL(fdopen)(file, mode);
    const cookie_io_functions_t calls = {stream_read, stream_write, NULL, stream_close};
    return fopencookie((void *)(intptr_t)file, mode, calls);
}

/* The C library's own writes do not pass by here. */
static int print(int file, const char *format, va_list arguments)
{
    char *text;
    const int bytes = vasprintf(&text, format, arguments);
    if (bytes < 0)
        return bytes;
    const ssize_t sent = rank_socket_send(file, text, (size_t)bytes);
    free(text);
    return sent < 0 ? -1 : bytes;
}

EXPORT int vdprintf(int file, const char *restrict format, va_list arguments)
{
    return rank_socket_of(file) ? print(file, format, arguments)
                           : ORIGINAL(vdprintf)(file, format, arguments);
}

EXPORT int dprintf(int file, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int bytes = vdprintf(file, format, arguments);
    va_end(arguments);
    return bytes;
}

int __dprintf_chk(int file, int checks, const char *format, ...);
int __vdprintf_chk(int file, int checks, const char *format, va_list arguments);

EXPORT int __vdprintf_chk(int file, int checks, const char *format, va_list arguments)
{
    return rank_socket_of(file) ? print(file, format, arguments)
                           : ORIGINAL(__vdprintf_chk)(file, checks, format, arguments);
}

EXPORT int __dprintf_chk(int file, int checks, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int bytes = __vdprintf_chk(file, checks, format, arguments);
    va_end(arguments);
    return bytes;
}

/* --- waiting for several --- */

#define EVENT_FILES 64
static int event_files[EVENT_FILES];
static unsigned event_files_used;
static bool (*look_at_events)(uint64_t limit);

bool rank_events(int file, bool there, bool (*look)(uint64_t limit))
{
    if (there && event_files_used == EVENT_FILES)
        return false;
    look_at_events = look;
    if (there)
        event_files[event_files_used++] = file;
    for (unsigned i = 0; !there && i < event_files_used; i++)
        if (event_files[i] == file)
            event_files[i--] = event_files[--event_files_used];
    return true;
}

static bool is_event_file(int file)
{
    for (unsigned i = 0; i < event_files_used; i++)
        if (event_files[i] == file)
            return true;
    return false;
}

bool rank_socket_among(const struct pollfd *files, nfds_t count)
{
    for (nfds_t i = 0; rank_sockets_end + event_files_used > 0 && i < count; i++)
        if (rank_socket_of(files[i].fd) || is_event_file(files[i].fd))
            return true;
    return false;
}

/* Events make their descriptors readable. If nothing else is waited for, this waits; true if it has done so
 * for as long as it may. */
static bool await_events(const struct pollfd *files, nfds_t count, uint64_t limit)
{
    bool any = false, only = true;
    for (nfds_t i = 0; i < count; i++) {
        any |= is_event_file(files[i].fd);
        only &= files[i].fd < 0 || is_event_file(files[i].fd);
    }
    if (!any || !only) {
        if (any)
            look_at_events(0);
        return false;
    }
    /* Not if one is there already. */
    struct pollfd *mine = malloc(count * sizeof *files);
    if (!mine)
        return true;
    memcpy(mine, files, count * sizeof *files);
    while (ORIGINAL(poll)(mine, count, 0) == 0 && look_at_events(limit))
        ; /* one of another channel */
    free(mine);
    return true;
}

/* Looks at those that are not simulated; they are ready at once or not. */
static int look_at_others(struct pollfd *files, nfds_t count, const sigset_t *mask, bool *any)
{
    struct pollfd *others = malloc(count * sizeof *files);
    if (!others)
        return 0;
    *any = false;
    for (nfds_t i = 0; i < count; i++) {
        others[i] = files[i];
        if (rank_socket_of(files[i].fd))
            others[i].fd = -1;
        *any |= others[i].fd >= 0;
    }
    const struct timespec none = {0};
    const int ready = *any || mask ? ORIGINAL(ppoll)(others, count, &none, mask) : 0;
    for (nfds_t i = 0; i < count; i++)
        files[i].revents = others[i].revents;
    free(others);
    return ready;
}

int rank_socket_poll(struct pollfd *files, nfds_t count, uint64_t limit, const sigset_t *mask)
{
    struct rank_poll *rows = malloc(count * sizeof *rows);
    uint64_t waited = 0;
    int ready;
    for (bool any = false;;) {
        const bool over = await_events(files, count, limit);
        ready = look_at_others(files, count, mask, &any);
        if (over)
            break;
        nfds_t sockets = 0;
        for (nfds_t i = 0; rows && i < count; i++)
            if (rank_socket_of(files[i].fd))
                rows[sockets++] = (struct rank_poll){rank_sockets[files[i].fd] - 1,
                                                     (uint16_t)files[i].events, 0};
        uint64_t own[RANK_SOCKET_WAITED + 1] = {POINTER(rows), sockets}, words[6];
        own[RANK_SOCKET_WAITED] = waited;
        /* If others are waited for, too, they are looked at in between. */
        const int64_t found = rank_socket_ask(ready ? 0 : limit, any, words,
                                              RANK_SOCKET_CALL_POLL, own, RANK_SOCKET_WAITED + 1);
        waited = words[5];
        if (found > 0)
            for (nfds_t i = 0, at = 0; i < count; i++)
                if (rank_socket_of(files[i].fd))
                    files[i].revents = (short)rows[at++].found;
        if (found < 0 && errno != EAGAIN)
            ready = -1;
        if (found > 0 && ready >= 0)
            ready += (int)found;
        if (ready != 0 || waited >= limit)
            break;
    }
    free(rows);
    return ready;
}

EXPORT int epoll_ctl(int set, int operation, int file, struct epoll_event *event)
{
    if (rank_socket_of(file) && operation == EPOLL_CTL_ADD)
        return rank_socket_refuse(EPERM, "epoll does not know simulated sockets; poll and "
                                         "select do");
    return ORIGINAL(epoll_ctl)(set, operation, file, event);
}
