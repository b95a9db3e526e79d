/* Names and addresses of the run's nodes: nid00000 is 10.0.0.1, and so on. A rank knows no others. */
#define _GNU_SOURCE
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK 127u
#define NODES 0x00FFFFFFu
#define NAME_MAX_BYTES 32

bool rank_node_at(struct in_addr address, uint32_t *node)
{
    const uint32_t number = ntohl(address.s_addr);
    if (number == INADDR_ANY || number >> 24 == LOOPBACK)
        return rank_node(node);
    *node = (number & NODES) - 1;
    return (number & ~NODES) == RANK_ADDRESSES && (number & NODES) != 0;
}

static void name_of(uint32_t node, char *name)
{
    snprintf(name, NAME_MAX_BYTES, "nid%05u", node);
}

/* The address of what has this name; false if nothing in the run has. */
static bool find(const char *name, struct in_addr *address)
{
    uint32_t node;
    char own[NAME_MAX_BYTES];
    if (inet_aton(name, address))
        return true;
    if (strcasecmp(name, "localhost") == 0) {
        *address = (struct in_addr){htonl(INADDR_LOOPBACK)};
        return true;
    }
    /* node0 is short for nid00000. */
    const bool is_short = sscanf(name, "node%u", &node) == 1;
    if ((!is_short && sscanf(name, "nid%u", &node) != 1) || node >= NODES)
        return false;
    if (is_short)
        snprintf(own, sizeof own, "node%u", node);
    else
        name_of(node, own);
    *address = rank_address_of(node);
    return strcasecmp(name, own) == 0;
}

/* True in a rank, and before it in what may become it. */
static bool is_simulated(void)
{
    const struct rank_channel *channel = rank_attach();
    return channel && (rank_is_rank() || channel->owner == 0);
}

EXPORT int getaddrinfo(const char *restrict name, const char *restrict service,
                       const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
    struct in_addr address;
    if (!is_simulated())
        return ORIGINAL(getaddrinfo)(name, service, hints, found);
    if (name && !find(name, &address))
        return EAI_NONAME;
    /* The C library makes the list of what it need not look for. */
    char number[INET_ADDRSTRLEN] = "";
    if (name)
        inet_ntop(AF_INET, &address, number, sizeof number);
    struct addrinfo wanted = hints ? *hints : (struct addrinfo){0};
    const bool canonical = wanted.ai_flags & AI_CANONNAME;
    if (wanted.ai_family == AF_UNSPEC)
        wanted.ai_family = AF_INET;
    if (name)
        wanted.ai_flags |= AI_NUMERICHOST;
    wanted.ai_flags &= ~(AI_ADDRCONFIG | AI_V4MAPPED);
    const int code = ORIGINAL(getaddrinfo)(name ? number : NULL, service, &wanted, found);
    if (code == 0 && canonical && (*found)->ai_canonname) {
        free((*found)->ai_canonname);
        (*found)->ai_canonname = strdup(name);
    }
    return code;
}

EXPORT int getnameinfo(const struct sockaddr *restrict address, socklen_t size, char *restrict name,
                       socklen_t room, char *restrict service, socklen_t service_room, int flags)
{
    struct sockaddr_in in;
    const bool ours = is_simulated() && size >= sizeof in && address->sa_family == AF_INET;
    if (!ours)
        return ORIGINAL(getnameinfo)(address, size, name, room, service, service_room, flags);
    memcpy(&in, address, sizeof in);
    uint32_t node;
    char found[NAME_MAX_BYTES];
    const bool named = !(flags & NI_NUMERICHOST) && name && rank_node_at(in.sin_addr, &node);
    if (named) {
        name_of(node, found);
        if (strlen(found) >= room)
            return EAI_OVERFLOW;
        strcpy(name, found);
        name = NULL;
    }
    if (named && !service)
        return 0;
    return ORIGINAL(getnameinfo)(address, size, name, name ? room : 0, service, service_room,
                                 flags | NI_NUMERICHOST);
}

EXPORT int gethostbyname_r(const char *restrict name, struct hostent *restrict host,
                           char *restrict room, size_t bytes, struct hostent **restrict found,
                           int *restrict error)
{
    struct places {
        char *aliases[1], *addresses[2];
        struct in_addr address;
        char name[];
    } *places = (void *)(((uintptr_t)room + 7) & ~(uintptr_t)7);
    struct in_addr address;
    if (!is_simulated())
        return ORIGINAL(gethostbyname_r)(name, host, room, bytes, found, error);
    *found = NULL;
    if (bytes < sizeof *places + 7 + strlen(name) + 1)
        return ERANGE;
    if (!find(name, &address)) {
        *error = HOST_NOT_FOUND;
        return 0;
    }
    places->aliases[0] = NULL;
    places->addresses[0] = (char *)&places->address;
    places->addresses[1] = NULL;
    places->address = address;
    strcpy(places->name, name);
    *host = (struct hostent){places->name, places->aliases, AF_INET, sizeof address,
                             places->addresses};
    *found = host;
    return 0;
}

EXPORT struct hostent *gethostbyname(const char *name)
{
    static struct hostent host;
    static char room[512];
    struct hostent *found = NULL;
    int error = 0;
    if (!is_simulated())
        return ORIGINAL(gethostbyname)(name);
    if (gethostbyname_r(name, &host, room, sizeof room, &found, &error) != 0)
        error = NO_RECOVERY;
    h_errno = error;
    return found;
}

EXPORT struct hostent *gethostbyname2(const char *name, int family)
{
    return is_simulated() && family == AF_INET ? gethostbyname(name)
                                               : ORIGINAL(gethostbyname2)(name, family);
}

EXPORT struct hostent *gethostbyaddr(const void *address, socklen_t size, int family)
{
    struct in_addr in;
    uint32_t node;
    char name[NAME_MAX_BYTES];
    if (!is_simulated() || family != AF_INET || size != sizeof in)
        return ORIGINAL(gethostbyaddr)(address, size, family);
    memcpy(&in, address, sizeof in);
    if (!rank_node_at(in, &node)) {
        h_errno = HOST_NOT_FOUND;
        return NULL;
    }
    name_of(node, name);
    return gethostbyname(name);
}
