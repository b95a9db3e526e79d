/* Sockets between ranks: what the files about them share. */
#ifndef SUNSTAR_SOCKET_H
#define SUNSTAR_SOCKET_H

#include "rank.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))
/* The C library's function of this name, which is looked for once. */
#define ORIGINAL(name)                                                                             \
    ({                                                                                             \
        static __typeof__(&name) found_;                                                           \
        if (!found_)                                                                               \
            found_ = (__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name);                        \
        found_;                                                                                    \
    })

/* --- socket.c --- */

/* Descriptors that sockets may have. */
#define RANK_SOCKET_FILES 65536
/* Of each descriptor the number of its socket, and one more; 0: it is none of ours. */
extern uint32_t rank_sockets[RANK_SOCKET_FILES];
extern int rank_sockets_end; /* behind the last one that ever was one */

static inline uint32_t rank_socket_of(int file)
{
    return file >= 0 && file < rank_sockets_end && rank_is_rank() ? rank_sockets[file] : 0;
}
/* This descriptor is one of that socket. */
void rank_socket_put(int file, uint32_t socket);

/* Asks the simulator for a socket_call, and waits for so long at most. Words that it tells beside the result
 * are stored, if they are wanted. Comes back after one look if it shares its time with other waits. */
int64_t rank_socket_ask(uint64_t limit, bool shares, uint64_t *words, unsigned call,
                        const uint64_t *own, unsigned count);
#define ASK(limit, call, ...)                                                                      \
    ({                                                                                             \
        const uint64_t own_[] = {__VA_ARGS__};                                                     \
        rank_socket_ask(limit, false, NULL, call, own_, sizeof own_ / sizeof *own_);               \
    })
/* write(2). */
ssize_t rank_socket_send(int file, const void *data, size_t bytes);
/* Says once a process that something is not simulated; returns -1 with this error number. */
int rank_socket_refuse(int error, const char *what);

/* --- descriptor.c --- */

/* True if one of these descriptors is a simulated socket. */
bool rank_socket_among(const struct pollfd *files, nfds_t count);
/* poll(2), when one is; picoseconds, UINT64_MAX for ever. */
int rank_socket_poll(struct pollfd *files, nfds_t count, uint64_t limit, const sigset_t *mask);

/* --- names.c --- */

/* Where a node's address begins: 10.0.0.1 is the first node. */
#define RANK_ADDRESSES 0x0A000000u

/* The address of a node. */
static inline struct in_addr rank_address_of(uint32_t node)
{
    return (struct in_addr){htonl(RANK_ADDRESSES + node + 1)};
}

/* The node with this address; false if none has. */
bool rank_node_at(struct in_addr address, uint32_t *node);

#endif
