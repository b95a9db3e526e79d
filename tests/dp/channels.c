/* Channels of Directed Point between two nodes: what each takes, what is lost and counted, and refused. */
#include <dp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Packets that a channel keeps for its reader (linux/dp/service.h). */
enum { KEPT = 32, MORE = 8 };
enum { CONTROL = 1, SHARED = 2, OTHER = 3, FULL = 4, NOWHERE = 5 };

static int node;

static void fail(int line, const char *condition)
{
    fprintf(stderr, "node %d, line %d: %s (errno %d)\n", node, line, condition, errno);
    exit(1);
}

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

static int is_there(int dp, int ms)
{
    struct pollfd file = {.fd = dp, .events = POLLIN};

    return poll(&file, 1, ms) == 1;
}

/* Both nodes come here. The peer's channel may not be open yet: packets for it are lost until it is. */
static void meet(int control)
{
    char byte = 'm';

    do
        CHECK(dp_write(control, &byte, 1) == 1);
    while (!is_there(control, 1));
    CHECK(dp_read(control, &byte, 1) == 1);
    /* It has come: the peer needs this one if its own was lost. */
    CHECK(dp_write(control, &byte, 1) == 1);
    while (is_there(control, 5))
        CHECK(dp_read(control, &byte, 1) == 1);
}

static long count(const char *name)
{
    FILE *file = fopen("/proc/net/dp", "r");
    char found[64];
    long value = -1;

    CHECK(file);
    while (fscanf(file, "%63s %ld", found, &value) == 2 && strcmp(found, name) != 0)
        value = -1;
    fclose(file);
    return value;
}

static void refuses_what_is_wrong(int shared)
{
    static char packet[DP_MAX + 1];
    int strayed;

    CHECK(dp_open(70000, 0, 0) < 0 && errno == EINVAL);
    CHECK(dp_open(SHARED, 1 - node, SHARED) < 0 && errno == EADDRINUSE);
    CHECK(dp_write(shared, packet, 0) < 0 && errno == EMSGSIZE);
    CHECK(dp_write(shared, packet, DP_MAX + 1) < 0 && errno == EMSGSIZE);
    strayed = dp_open(SHARED, 9, SHARED);
    CHECK(strayed >= 0 && dp_write(strayed, packet, 1) < 0 && errno == EHOSTUNREACH);
    CHECK(dp_close(strayed) == 0);
    CHECK(fcntl(shared, F_SETFL, O_NONBLOCK) == 0);
    CHECK(dp_read(shared, packet, 1) < 0 && errno == EAGAIN);
    CHECK(fcntl(shared, F_SETFL, 0) == 0);
}

/* Two channels of one point, from two points of the peer. */
static void tells_channels_apart(int control, int shared, int other)
{
    char packet[DP_MAX];

    if (node == 0) {
        int from_other = dp_open(OTHER, 1, SHARED);

        CHECK(from_other >= 0);
        memset(packet, 'o', sizeof packet);
        CHECK(dp_write(from_other, packet, DP_MAX) == DP_MAX);
        CHECK(dp_write(shared, "shared", 6) == 6);
        CHECK(dp_close(from_other) == 0);
    } else {
        CHECK(is_there(shared, 1000) && is_there(other, 1000));
        CHECK(dp_read(shared, packet, sizeof packet) == 6 && memcmp(packet, "shared", 6) == 0);
        /* What is longer than there is room for is cut. */
        CHECK(dp_read(other, packet, 3) == 3 && memcmp(packet, "ooo", 3) == 0);
        CHECK(!is_there(shared, 1) && !is_there(other, 1));
    }
    meet(control);
}

static void loses_what_has_no_channel_or_no_room(int control)
{
    int full = dp_open(FULL, 1 - node, FULL);
    long no_channel = count("lost_no_channel"), no_room = count("lost_no_room");

    CHECK(full >= 0);
    meet(control);
    if (node == 0) {
        int nowhere = dp_open(NOWHERE, 1, NOWHERE);

        CHECK(nowhere >= 0 && dp_write(nowhere, "x", 1) == 1);
        for (int i = 0; i < KEPT + MORE; i++)
            CHECK(dp_write(full, &i, sizeof i) == sizeof i);
        meet(control);
    } else {
        meet(control);
        CHECK(count("lost_no_channel") == no_channel + 1);
        CHECK(count("lost_no_room") == no_room + MORE);
        for (int i = 0; i < KEPT; i++) {
            int got;

            CHECK(dp_read(full, &got, sizeof got) == sizeof got && got == i);
        }
        CHECK(!is_there(full, 1));
    }
}

/* A node's route leads to itself, too. */
static void sends_to_itself(void)
{
    int own = dp_open(SHARED, node, OTHER), back = dp_open(OTHER, node, SHARED);
    char packet[16];

    CHECK(own >= 0 && back >= 0 && dp_write(own, "self", 4) == 4);
    CHECK(dp_read(back, packet, sizeof packet) == 4 && memcmp(packet, "self", 4) == 0);
}

int main(void)
{
    int control, shared, other;

    node = dp_node();
    CHECK(node == 0 || node == 1);
    control = dp_open(CONTROL, 1 - node, CONTROL);
    shared = dp_open(SHARED, 1 - node, SHARED);
    other = dp_open(SHARED, 1 - node, OTHER);
    CHECK(control >= 0 && shared >= 0 && other >= 0);
    meet(control);
    refuses_what_is_wrong(shared);
    tells_channels_apart(control, shared, other);
    loses_what_has_no_channel_or_no_room(control);
    sends_to_itself();
    meet(control);
    printf("node %d is content\n", node);
    return 0;
}
