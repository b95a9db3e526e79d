/* TCP sockets between ranks, over the administration network of the simulated cluster. The simulator carries
 * them out; here stand the descriptors. Each is one of a real socket that is never connected, so that all
 * else that a program does with descriptors (flags, options, closing on exec) is the system's
 * (docs/decisions/0061). */
#define _GNU_SOURCE
#include "random.h"
#include "socket.h"
#include "clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define FOR_EVER UINT64_MAX

uint32_t rank_sockets[RANK_SOCKET_FILES];
int rank_sockets_end;

void rank_socket_put(int file, uint32_t socket)
{
    rank_sockets[file] = socket;
    if (file >= rank_sockets_end)
        rank_sockets_end = file + 1;
}

int rank_socket_refuse(int error, const char *what)
{
    static const char *told[8];
    size_t at = 0;
    while (at < sizeof told / sizeof *told && told[at] && told[at] != what)
        at++;
    if (at < sizeof told / sizeof *told && !told[at]) {
        told[at] = what;
        const struct rank_channel *channel = rank_channel_of_run();
        fprintf(stderr, "sunstar: rank %u: %s\n", channel ? channel->rank : 0, what);
    }
    errno = error;
    return -1;
}

/* --- asking the simulator --- */

int64_t rank_socket_ask(uint64_t limit, bool shares, uint64_t *words, unsigned call,
                          const uint64_t *own, unsigned count)
{
    uint64_t arguments[RANK_SOCKET_ARGUMENTS] = {0}, answers[6];
    memcpy(arguments, own, count * sizeof *own);
    arguments[RANK_SOCKET_LIMIT] = limit;
    for (;;) {
        arguments[RANK_SOCKET_SHARES] = shares || !__libc_single_threaded;
        const int code = rank_call_socket(call, arguments, answers);
        const uint64_t waited = answers[5];
        if (words)
            memcpy(words, answers, sizeof answers);
        if (code >= 0)
            return code;
        if (code != -EAGAIN || waited >= limit || shares) {
            errno = -code;
            return -1;
        }
        arguments[RANK_SOCKET_WAITED] = waited;
        sched_yield(); /* another thread may want to call */
    }
}

/* How long a call may wait: not at all if the descriptor says so, or as long as the option does. */
static uint64_t patience(int file, int flags, int option)
{
    if (flags & MSG_DONTWAIT || ORIGINAL(fcntl)(file, F_GETFL) & O_NONBLOCK)
        return 0;
    struct timeval limit = {0};
    socklen_t size = sizeof limit;
    if (ORIGINAL(getsockopt)(file, SOL_SOCKET, option, &limit, &size) != 0)
        return FOR_EVER;
    const struct timespec span = {limit.tv_sec, limit.tv_usec * 1000};
    return span.tv_sec == 0 && span.tv_nsec == 0 ? FOR_EVER : join(&span);
}

/* --- making and connecting --- */

/* The run in which this process may have sockets; NULL outside, or if another process is the rank. */
static struct rank_channel *run_of_ours(void)
{
    struct rank_channel *channel = rank_attach();
    if (!channel || rank_is_rank())
        return channel;
    return channel->owner == 0 ? rank_require("socket") : NULL;
}

EXPORT int socket(int domain, int type, int protocol)
{
    const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    const bool internet = domain == AF_INET || domain == AF_INET6;
    if (!internet || !run_of_ours())
        return ORIGINAL(socket)(domain, type, protocol);
    if (domain == AF_INET6)
        return rank_socket_refuse(EAFNOSUPPORT, "sockets of IPv6 are not simulated, those of "
                                                "TCP over IPv4 are");
    if (kind != SOCK_STREAM)
        return rank_socket_refuse(EPROTONOSUPPORT, "sockets of UDP and raw ones are not "
                                                   "simulated, those of TCP over IPv4 are");
    const int file = ORIGINAL(socket)(domain, type, protocol);
    if (file < 0)
        return file;
    const int64_t number = file < RANK_SOCKET_FILES ? ASK(0, RANK_SOCKET_CALL_OPEN, 0) : -1;
    if (number < 0) {
        ORIGINAL(close)(file);
        errno = EMFILE;
        return -1;
    }
    rank_socket_put(file, (uint32_t)number + 1);
    return file;
}

/* Node and port of an address; false if it is none of the run's. */
static bool place(const struct sockaddr *address, socklen_t size, uint32_t *node, uint16_t *port)
{
    struct sockaddr_in in;
    if (!address || size < sizeof in || address->sa_family != AF_INET) {
        errno = EAFNOSUPPORT;
        return false;
    }
    memcpy(&in, address, sizeof in);
    *port = ntohs(in.sin_port);
    if (rank_node_at(in.sin_addr, node))
        return true;
    errno = ENETUNREACH;
    return false;
}

EXPORT int bind(int file, const struct sockaddr *address, socklen_t size)
{
    const uint32_t number = rank_socket_of(file);
    if (!number)
        return ORIGINAL(bind)(file, address, size);
    uint32_t node, own = 0;
    uint16_t port;
    if (!place(address, size, &node, &port) || !rank_node(&own) || node != own) {
        errno = errno == EAFNOSUPPORT ? errno : EADDRNOTAVAIL;
        return -1;
    }
    return (int)ASK(0, RANK_SOCKET_CALL_BIND, number - 1, port);
}

EXPORT int listen(int file, int backlog)
{
    const uint32_t number = rank_socket_of(file);
    if (!number)
        return ORIGINAL(listen)(file, backlog);
    return (int)ASK(0, RANK_SOCKET_CALL_LISTEN, number - 1);
}

EXPORT int connect(int file, const struct sockaddr *address, socklen_t size)
{
    const uint32_t number = rank_socket_of(file);
    if (!number)
        return ORIGINAL(connect)(file, address, size);
    uint32_t node;
    uint16_t port;
    if (!place(address, size, &node, &port)) {
        if (errno == ENETUNREACH)
            rank_socket_refuse(errno, "connect fails with ENETUNREACH: sockets reach the nodes of "
                                      "the run (nid00000 is 10.0.0.1) and nothing else");
        return -1;
    }
    const uint64_t limit = patience(file, 0, SO_SNDTIMEO);
    const int code = (int)ASK(limit, RANK_SOCKET_CALL_CONNECT, number - 1, node, port);
    if (code < 0 && errno == EAGAIN)
        errno = EINPROGRESS;
    return code;
}

static void tell(uint32_t node, uint16_t port, struct sockaddr *address, socklen_t *size)
{
    if (!address || !size)
        return;
    const struct sockaddr_in in = {AF_INET, htons(port), rank_address_of(node), {0}};
    memcpy(address, &in, *size < sizeof in ? *size : sizeof in);
    *size = sizeof in;
}

/* Stores the name of a socket, or that of its peer. */
static int name(int file, bool peers, struct sockaddr *address, socklen_t *size)
{
    const uint64_t own[] = {rank_sockets[file] - 1, peers};
    uint64_t words[6];
    if (rank_socket_ask(0, false, words, RANK_SOCKET_CALL_NAMES, own, 2) < 0)
        return -1;
    const uint64_t *told = words + (peers ? 2 : 0);
    tell((uint32_t)told[0], (uint16_t)told[1], address, size);
    return 0;
}

EXPORT int getsockname(int file, struct sockaddr *restrict address, socklen_t *restrict size)
{
    return rank_socket_of(file) ? name(file, false, address, size)
                           : ORIGINAL(getsockname)(file, address, size);
}

EXPORT int getpeername(int file, struct sockaddr *restrict address, socklen_t *restrict size)
{
    return rank_socket_of(file) ? name(file, true, address, size)
                           : ORIGINAL(getpeername)(file, address, size);
}

EXPORT int accept4(int file, struct sockaddr *restrict address, socklen_t *restrict size, int flags)
{
    const uint32_t number = rank_socket_of(file);
    if (!number)
        return ORIGINAL(accept4)(file, address, size, flags);
    const uint64_t limit = patience(file, 0, SO_RCVTIMEO);
    const int own = ORIGINAL(socket)(AF_INET, SOCK_STREAM | flags, 0);
    if (own < 0)
        return own;
    const bool fits = own < RANK_SOCKET_FILES;
    const int64_t other = fits ? ASK(limit, RANK_SOCKET_CALL_ACCEPT, number - 1) : -1;
    if (other < 0) {
        const int error = fits ? errno : EMFILE;
        ORIGINAL(close)(own);
        errno = error;
        return -1;
    }
    rank_socket_put(own, (uint32_t)other + 1);
    if (address && size)
        name(own, true, address, size);
    return own;
}

EXPORT int accept(int file, struct sockaddr *restrict address, socklen_t *restrict size)
{
    return rank_socket_of(file) ? accept4(file, address, size, 0)
                           : ORIGINAL(accept)(file, address, size);
}

EXPORT int shutdown(int file, int how)
{
    const uint32_t number = rank_socket_of(file);
    if (!number)
        return ORIGINAL(shutdown)(file, how);
    return (int)ASK(0, RANK_SOCKET_CALL_SHUTDOWN, number - 1, (uint64_t)how);
}

/* --- sending and receiving --- */

/* Sends it, all if it may wait. */
static ssize_t send_all(int file, const void *data, size_t bytes, int flags)
{
    const uint64_t limit = patience(file, flags, SO_SNDTIMEO);
    size_t sent = 0;
    do {
        const int64_t more = ASK(limit, RANK_SOCKET_CALL_SEND, rank_sockets[file] - 1,
                                 POINTER((const char *)data + sent), bytes - sent);
        if (more < 0) {
            if (errno == EPIPE && !(flags & MSG_NOSIGNAL))
                raise(SIGPIPE);
            return sent > 0 ? (ssize_t)sent : -1;
        }
        sent += (size_t)more;
    } while (sent < bytes && limit > 0);
    return (ssize_t)sent;
}

/* Receives what is there, or all. */
static ssize_t receive(int file, void *data, size_t bytes, int flags)
{
    const uint64_t limit = patience(file, flags, SO_RCVTIMEO);
    const bool stay = flags & MSG_PEEK, all = flags & MSG_WAITALL && !stay;
    size_t received = 0;
    do {
        const int64_t more = ASK(limit, RANK_SOCKET_CALL_RECEIVE, rank_sockets[file] - 1,
                                 POINTER((char *)data + received), bytes - received, stay);
        if (more <= 0)
            return received > 0 ? (ssize_t)received : (ssize_t)more;
        received += (size_t)more;
    } while (all && received < bytes);
    return (ssize_t)received;
}

EXPORT ssize_t send(int file, const void *data, size_t bytes, int flags)
{
    return rank_socket_of(file) ? send_all(file, data, bytes, flags)
                           : ORIGINAL(send)(file, data, bytes, flags);
}

EXPORT ssize_t sendto(int file, const void *data, size_t bytes, int flags,
                      const struct sockaddr *address, socklen_t size)
{
    return rank_socket_of(file) ? send_all(file, data, bytes, flags)
                           : ORIGINAL(sendto)(file, data, bytes, flags, address, size);
}

ssize_t rank_socket_send(int file, const void *data, size_t bytes)
{
    return send_all(file, data, bytes, 0);
}

EXPORT ssize_t write(int file, const void *data, size_t bytes)
{
    return rank_socket_of(file) ? send_all(file, data, bytes, 0)
                                : ORIGINAL(write)(file, data, bytes);
}

EXPORT ssize_t recv(int file, void *data, size_t bytes, int flags)
{
    return rank_socket_of(file) ? receive(file, data, bytes, flags)
                           : ORIGINAL(recv)(file, data, bytes, flags);
}

EXPORT ssize_t recvfrom(int file, void *restrict data, size_t bytes, int flags,
                        struct sockaddr *restrict address, socklen_t *restrict size)
{
    if (!rank_socket_of(file))
        return ORIGINAL(recvfrom)(file, data, bytes, flags, address, size);
    if (size)
        *size = 0; /* a connection's peer is known */
    return receive(file, data, bytes, flags);
}

EXPORT ssize_t read(int file, void *data, size_t bytes)
{
    if (rank_is_random(file))
        return rank_random_read(file, data, bytes);
    return rank_socket_of(file) ? receive(file, data, bytes, 0) : ORIGINAL(read)(file, data, bytes);
}

/* In one piece after the other: the first may wait. */
static ssize_t move(int file, const struct iovec *pieces, size_t count, int flags, bool sends)
{
    ssize_t moved = 0;
    for (size_t i = 0; i < count; i++) {
        const struct iovec *piece = &pieces[i];
        if (piece->iov_len == 0)
            continue;
        const bool has_some = !sends && moved > 0 && !(flags & MSG_WAITALL);
        const int how = has_some ? flags | MSG_DONTWAIT : flags;
        const ssize_t more = sends ? send_all(file, piece->iov_base, piece->iov_len, how)
                                   : receive(file, piece->iov_base, piece->iov_len, how);
        if (more < 0)
            return moved > 0 ? moved : -1;
        moved += more;
        if ((size_t)more < piece->iov_len)
            break;
    }
    return moved;
}

EXPORT ssize_t sendmsg(int file, const struct msghdr *message, int flags)
{
    return rank_socket_of(file) ? move(file, message->msg_iov, message->msg_iovlen, flags, true)
                           : ORIGINAL(sendmsg)(file, message, flags);
}

EXPORT ssize_t recvmsg(int file, struct msghdr *message, int flags)
{
    if (!rank_socket_of(file))
        return ORIGINAL(recvmsg)(file, message, flags);
    message->msg_flags = 0;
    message->msg_controllen = message->msg_namelen = 0;
    return move(file, message->msg_iov, message->msg_iovlen, flags, false);
}

EXPORT ssize_t writev(int file, const struct iovec *pieces, int count)
{
    return rank_socket_of(file) ? move(file, pieces, (size_t)count, 0, true)
                           : ORIGINAL(writev)(file, pieces, count);
}

EXPORT ssize_t readv(int file, const struct iovec *pieces, int count)
{
    return rank_socket_of(file) ? move(file, pieces, (size_t)count, 0, false)
                           : ORIGINAL(readv)(file, pieces, count);
}

/* What compilers make of them that check more. */
ssize_t __read_chk(int file, void *data, size_t bytes, size_t room);
ssize_t __recv_chk(int file, void *data, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int file, void *data, size_t bytes, size_t room, int flags,
                       struct sockaddr *address, socklen_t *size);

EXPORT ssize_t __read_chk(int file, void *data, size_t bytes, size_t room)
{
    if (rank_is_random(file) && bytes <= room)
        return rank_random_read(file, data, bytes);
    return rank_socket_of(file) && bytes <= room ? receive(file, data, bytes, 0)
                                            : ORIGINAL(__read_chk)(file, data, bytes, room);
}

EXPORT ssize_t __recv_chk(int file, void *data, size_t bytes, size_t room, int flags)
{
    return rank_socket_of(file) && bytes <= room ? receive(file, data, bytes, flags)
                                            : ORIGINAL(__recv_chk)(file, data, bytes, room, flags);
}

EXPORT ssize_t __recvfrom_chk(int file, void *data, size_t bytes, size_t room, int flags,
                              struct sockaddr *address, socklen_t *size)
{
    if (rank_socket_of(file) && bytes <= room)
        return recvfrom(file, data, bytes, flags, address, size);
    return ORIGINAL(__recvfrom_chk)(file, data, bytes, room, flags, address, size);
}
