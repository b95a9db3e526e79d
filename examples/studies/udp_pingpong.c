/* Ping-pong over UDP between Linux guests: node 0 sends a datagram to node 1, which sends it back. Half of
 * the round trip is printed, as in Table 1 of vorakosit2001: over the Myrinet card on machine amata, over
 * Fast Ethernet on machine ethernet. Each byte that comes back is looked at.
 *
 *     sunstar run -n 2 --machine amata examples/studies/udp_pingpong.c [round trips]
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
static const int size_count = sizeof sizes / sizeof sizes[0];

enum { PORT = 7000, LONGEST = 1472, LAST = LONGEST };

static void check(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

/* A socket at this node's port, with the other node as its peer. */
static int join(int node)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)}, peer = own;
    int s = socket(AF_INET, SOCK_DGRAM, 0);

    own.sin_addr.s_addr = htonl(0x0a000001 + (unsigned)node);
    peer.sin_addr.s_addr = htonl(0x0a000002 - (unsigned)node);
    check(s >= 0, "socket");
    check(bind(s, (struct sockaddr *)&own, sizeof own) == 0, "bind");
    check(connect(s, (struct sockaddr *)&peer, sizeof peer) == 0, "connect");
    return s;
}

static void round_trip(int s, int size, int trip)
{
    unsigned char out[LONGEST], in[LONGEST];

    memset(out, size + trip, sizeof out);
    check(send(s, out, size, 0) == size, "send");
    check(recv(s, in, sizeof in, 0) == size, "recv");
    if (memcmp(in, out, size) != 0) {
        fprintf(stderr, "a datagram of %d bytes came back with other bytes\n", size);
        exit(1);
    }
}

/* Datagrams for which there is no socket yet are refused: asks until there is an answer. */
static void meet(int s)
{
    struct pollfd answer = {.fd = s, .events = POLLIN};
    char byte = 0;

    for (;;) {
        send(s, &byte, 1, 0);
        if (poll(&answer, 1, 10) == 1 && recv(s, &byte, 1, 0) == 1)
            return;
    }
}

static void answer(int s)
{
    unsigned char datagram[LONGEST];
    ssize_t size;

    do {
        size = recv(s, datagram, sizeof datagram, 0);
        if (size > 0)
            check(send(s, datagram, size, 0) == size, "send");
    } while (size != LAST);
}

int main(int count, char **arguments)
{
    int trips = count > 1 ? atoi(arguments[1]) : 20, node, s;
    char name[64];

    check(gethostname(name, sizeof name) == 0, "gethostname");
    node = atoi(name + strlen("node"));
    s = join(node);
    if (node == 1) {
        answer(s);
        return 0;
    }
    meet(s);
    printf("     bytes   one way (us)         MB/s\n");
    for (int i = 0; i < size_count; i++) {
        double start, us;

        round_trip(s, sizes[i], trips);
        start = now_us();
        for (int trip = 0; trip < trips; trip++)
            round_trip(s, sizes[i], trip);
        us = (now_us() - start) / trips / 2;
        printf("%10d %14.3f %12.2f\n", sizes[i], us, sizes[i] / us);
    }
    round_trip(s, LAST, 0);
    return 0;
}
