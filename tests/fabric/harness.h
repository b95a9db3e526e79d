/* What the tests of the libfabric provider share: ranks that exchange addresses by sockets, an
 * endpoint with all that belongs to it, and checks. A test is one program for all ranks, and
 * rank 0 says "ok" at its end. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RANKS_MAX 64
#define PORT "7711"
#define NAME_BYTES 32

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rank %d, %s:%d: %s:", rank, __FILE__, __LINE__, #condition);         \
            fprintf(stderr, " " __VA_ARGS__);                                                      \
            fprintf(stderr, "\n");                                                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
/* A call that returns 0. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        const long result_ = (long)(call);                                                         \
        CHECK(result_ == 0, "%s answers %ld (%s)", #call, result_, fi_strerror((int)-result_));    \
    } while (0)
/* A call that is repeated while there is no room. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        long result_;                                                                              \
        while ((result_ = (long)(call)) == -FI_EAGAIN)                                             \
            look();                                                                                \
        CHECK(result_ == 0, "%s answers %ld (%s)", #call, result_, fi_strerror((int)-result_));    \
    } while (0)

/* An endpoint with all that belongs to it. */
struct party {
    struct fid_ep *ep;
    struct fid_av *av;
    struct fid_cq *cq;
    fi_addr_t peers[RANKS_MAX];
};

static int rank, size;
static int sockets[RANKS_MAX];
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct party own; /* the one that most tests need */

/* --- ranks --- */

/* Who waits here looks at its queue, too: progress is manual. */
static inline void move(int file, void *bytes, size_t count, bool out)
{
    for (char *at = bytes; count > 0;) {
        const ssize_t moved = out ? write(file, at, count) : recv(file, at, count, MSG_DONTWAIT);
        if (moved < 0 && errno == EAGAIN) {
            if (own.cq)
                fi_cq_read(own.cq, NULL, 0);
            continue;
        }
        CHECK(moved > 0, "a socket fails");
        at += moved;
        count -= (size_t)moved;
    }
}

static inline void meet(void)
{
    const char *own = getenv("PMI_RANK"), *all = getenv("PMI_SIZE");
    rank = own ? atoi(own) : 0;
    size = all ? atoi(all) : 1;
    if (rank == 0) {
        const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(atoi(PORT))};
        const int listener = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(bind(listener, (const struct sockaddr *)&any, sizeof any) == 0, "bind");
        CHECK(listen(listener, RANKS_MAX) == 0, "listen");
        for (int i = 1; i < size; i++) {
            const int file = accept(listener, NULL, NULL);
            int peer;
            move(file, &peer, sizeof peer, false);
            sockets[peer] = file;
        }
        close(listener);
        return;
    }
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *at;
    CHECK(getaddrinfo("node0", PORT, &hints, &at) == 0, "getaddrinfo");
    while ((sockets[0] = socket(AF_INET, SOCK_STREAM, 0)) >= 0 &&
           connect(sockets[0], at->ai_addr, at->ai_addrlen) != 0) {
        close(sockets[0]);
        usleep(100);
    }
    freeaddrinfo(at);
    move(sockets[0], &rank, sizeof rank, true);
}

/* Everybody's bytes, in order of ranks. */
static inline void exchange(const void *own, void *all, size_t bytes)
{
    memcpy((char *)all + (size_t)rank * bytes, own, bytes);
    for (int peer = 1; rank == 0 && peer < size; peer++)
        move(sockets[peer], (char *)all + (size_t)peer * bytes, bytes, false);
    for (int peer = 1; rank == 0 && peer < size; peer++)
        move(sockets[peer], all, bytes * (size_t)size, true);
    if (rank != 0) {
        move(sockets[0], (char *)all + (size_t)rank * bytes, bytes, true);
        move(sockets[0], all, bytes * (size_t)size, false);
    }
}

/* Everybody has come here. */
static inline void barrier(void)
{
    char own = 0, all[RANKS_MAX];
    exchange(&own, all, 1);
}

/* --- an endpoint --- */

static inline void open_domain(uint64_t caps)
{
    struct fi_info *hints = fi_allocinfo();
    hints->caps = caps;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup("sunstar");
    OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    OK(fi_fabric(info->fabric_attr, &fabric, NULL));
    OK(fi_domain(fabric, info, &domain, NULL));
    fi_freeinfo(hints);
}

/* Its addresses are exchanged by join(). */
static inline struct party open_party(uint64_t flags)
{
    struct party party;
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .size = 4096};
    OK(fi_endpoint(domain, info, &party.ep, NULL));
    OK(fi_av_open(domain, &av, &party.av, NULL));
    OK(fi_cq_open(domain, &cq, &party.cq, NULL));
    OK(fi_ep_bind(party.ep, &party.av->fid, 0));
    OK(fi_ep_bind(party.ep, &party.cq->fid, FI_TRANSMIT | FI_RECV | flags));
    return party;
}

static inline void join(struct party *party)
{
    char name[NAME_BYTES] = {0}, all[RANKS_MAX * NAME_BYTES], packed[RANKS_MAX * NAME_BYTES];
    size_t bytes = sizeof name;
    OK(fi_enable(party->ep));
    OK(fi_getname(&party->ep->fid, name, &bytes));
    exchange(name, all, sizeof name);
    for (int i = 0; i < size; i++)
        memcpy(packed + (size_t)i * bytes, all + i * NAME_BYTES, bytes);
    const int inserted = fi_av_insert(party->av, packed, (size_t)size, party->peers, 0, NULL);
    CHECK(inserted == size, "%d addresses are inserted", inserted);
}

static inline void close_party(struct party *party)
{
    OK(fi_close(&party->ep->fid));
    OK(fi_close(&party->cq->fid));
    OK(fi_close(&party->av->fid));
    party->cq = NULL;
}

static inline void close_domain(void)
{
    OK(fi_close(&domain->fid));
    OK(fi_close(&fabric->fid));
    fi_freeinfo(info);
}

static inline void begin(uint64_t caps, uint64_t flags)
{
    meet();
    open_domain(caps);
    own = open_party(flags);
    join(&own);
    barrier();
}

static inline void end(void)
{
    barrier();
    close_party(&own);
    close_domain();
    if (rank == 0)
        puts("ok");
}

/* --- completions --- */

static struct fi_cq_tagged_entry kept[4096];
static unsigned keeps, taken;

/* Lets what is under way go on. What completes is kept for wait_for(). */
static inline void look(void)
{
    struct fi_cq_tagged_entry entry;
    const ssize_t got = fi_cq_read(own.cq, &entry, 1);
    CHECK(got == 1 || got == -FI_EAGAIN, "fi_cq_read answers %zd (%s)", got,
          fi_strerror((int)-got));
    if (got == 1)
        kept[keeps++ % 4096] = entry;
}

/* The next completion, and whose message it is. */
static inline struct fi_cq_tagged_entry next_from(struct party *party, fi_addr_t *from)
{
    struct fi_cq_tagged_entry entry;
    fi_addr_t unwanted;
    ssize_t got;
    if (party == &own && taken < keeps)
        return kept[taken++ % 4096];
    while ((got = fi_cq_readfrom(party->cq, &entry, 1, from ? from : &unwanted)) == -FI_EAGAIN)
        ;
    if (got == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {0};
        CHECK(fi_cq_readerr(party->cq, &error, 0) == 1);
        CHECK(false, "an operation has failed: %s (%s)", fi_strerror(error.err),
              fi_cq_strerror(party->cq, error.prov_errno, error.err_data, NULL, 0));
    }
    CHECK(got == 1, "fi_cq_readfrom answers %zd", got);
    return entry;
}

static inline struct fi_cq_tagged_entry next(void)
{
    return next_from(&own, NULL);
}

/* The completion with this context; others may come before it, and are kept. */
static inline struct fi_cq_tagged_entry wait_for(void *context)
{
    for (unsigned i = taken;; i++) {
        while (i == keeps)
            look();
        const struct fi_cq_tagged_entry found = kept[i % 4096];
        if (found.op_context != context)
            continue;
        for (; i > taken; i--)
            kept[i % 4096] = kept[(i - 1) % 4096];
        taken++;
        return found;
    }
}

/* The next error. */
static inline struct fi_cq_err_entry next_error(void)
{
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t got;
    while ((got = fi_cq_read(own.cq, &entry, 1)) == -FI_EAGAIN)
        ;
    CHECK(got == -FI_EAVAIL, "fi_cq_read answers %zd and not an error", got);
    CHECK(fi_cq_readerr(own.cq, &error, 0) == 1);
    return error;
}

static inline void fill(void *memory, size_t bytes, unsigned seed)
{
    unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(seed * 31 + i * 7 + (i >> 8));
}

static inline bool is_filled(const void *memory, size_t bytes, unsigned seed)
{
    const unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != (unsigned char)(seed * 31 + i * 7 + (i >> 8)))
            return false;
    return true;
}
