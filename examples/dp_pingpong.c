/* Ping-pong over Directed Point: node 0 sends a packet to node 1, which sends it back.
 *
 *     node 0 ---- size bytes ---> node 1
 *     node 0 <--- size bytes ---- node 1
 *
 * Half of the round trip is the latency that is printed, as in Table 1 of vorakosit2001. Each byte that comes
 * back is looked at.
 *
 *     sunstar run -n 2 --machine amata examples/dp_pingpong.c [round trips]
 */
#include <dp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, DP_MAX};
static const int size_count = sizeof sizes / sizeof sizes[0];

/* Both nodes use the same point. */
enum { POINT = 7 };

static void check(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static unsigned char pattern(int size, int trip, int i)
{
    return (unsigned char)(31 * i + size + 7 * trip + (i >> 8));
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

/* Packets for which there is no channel yet are lost: asks until there is an answer. */
static void meet(int dp)
{
    struct pollfd answer = {.fd = dp, .events = POLLIN};
    char byte = 0;

    do
        check(dp_write(dp, &byte, 1) == 1, "dp_write");
    while (poll(&answer, 1, 1) == 0);
    check(dp_read(dp, &byte, 1) == 1, "dp_read");
}

static void round_trip(int dp, int size, int trip)
{
    unsigned char out[DP_MAX], in[DP_MAX];

    for (int i = 0; i < size; i++)
        out[i] = pattern(size, trip, i);
    check(dp_write(dp, out, size) == size, "dp_write");
    check(dp_read(dp, in, sizeof in) == size, "dp_read");
    if (memcmp(in, out, size) != 0) {
        fprintf(stderr, "a packet of %d bytes came back with other bytes\n", size);
        exit(1);
    }
}

/* Sends everything back, up to a packet of two bytes less than 1,500, which is the last. */
static void answer(int dp)
{
    unsigned char packet[DP_MAX];
    ssize_t size;

    do {
        size = dp_read(dp, packet, sizeof packet);
        check(size > 0, "dp_read");
        check(dp_write(dp, packet, size) == size, "dp_write");
    } while (size != DP_MAX - 2);
}

int main(int count, char **arguments)
{
    int node = dp_node(), trips = count > 1 ? atoi(arguments[1]) : 20;
    int dp;

    check(node >= 0, "/dev/dp");
    if (node > 1)
        return 0;
    dp = dp_open(POINT, 1 - node, POINT);
    check(dp >= 0, "dp_open");
    if (node == 1) {
        answer(dp);
        return dp_close(dp);
    }
    meet(dp);
    printf("     bytes   one way (us)         MB/s\n");
    for (int i = 0; i < size_count; i++) {
        double start, us;

        round_trip(dp, sizes[i], trips);
        start = now_us();
        for (int trip = 0; trip < trips; trip++)
            round_trip(dp, sizes[i], trip);
        us = (now_us() - start) / trips / 2;
        printf("%10d %14.3f %12.2f\n", sizes[i], us, sizes[i] / us);
    }
    round_trip(dp, DP_MAX - 2, 0);
    return dp_close(dp);
}
