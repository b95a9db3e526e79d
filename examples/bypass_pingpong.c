/* Ping-pong over the bypass library: node 0 sends a message to node 1, which sends it back, and no system
 * call is between a process and its card.
 *
 *     node 0 ---- size bytes ---> node 1
 *     node 0 <--- size bytes ---- node 1
 *
 * Half of the round trip is the latency that is printed. Each byte that comes back is looked at.
 *
 *     sunstar run -n 2 --machine amata-bypass examples/bypass_pingpong.c [round trips]
 */
#include <bypass.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1500, 2048, BP_MESSAGE};
static const int size_count = sizeof sizes / sizeof sizes[0];

enum { PORT = 2, PLACES = 4 };
static const long long SECOND = 1000000000;

static struct bp_port *port;

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

static void send(const void *data, int size)
{
    check(bp_send(port, 1 - bp_node(port), PORT, data, size) == 0, "bp_send");
}

/* Waits for a message; that one's own are sent is noticed on the way. */
static struct bp_event receive(void)
{
    struct bp_event event;

    do {
        check(bp_wait(port, &event, SECOND), "no message within a second");
        if (event.error) {
            fprintf(stderr, "a message was not sent: %s\n", strerror(event.error));
            exit(1);
        }
    } while (event.kind != BP_RECEIVED);
    return event;
}

static void round_trip(unsigned char *out, int size, int trip)
{
    struct bp_event event;

    for (int i = 0; i < size; i++)
        out[i] = pattern(size, trip, i);
    send(out, size);
    event = receive();
    if (event.bytes != (size_t)size || memcmp(event.data, out, size) != 0) {
        fprintf(stderr, "a message of %d bytes came back with other bytes\n", size);
        exit(1);
    }
    check(bp_provide(port, event.data) == 0, "bp_provide");
}

/* Sends everything back from where it came, up to an empty message. */
static void answer(void)
{
    struct bp_event event;

    for (;;) {
        event = receive();
        send(event.data, event.bytes);
        if (event.bytes == 0)
            break;
        /* It is sent before the next one comes: who sends waits for it. */
        check(bp_provide(port, event.data) == 0, "bp_provide");
    }
    /* The answer is on its way until its event. */
    while (bp_wait(port, &event, SECOND) && event.kind != BP_SENT)
        ;
}

int main(int count, char **arguments)
{
    int trips = count > 1 ? atoi(arguments[1]) : 20;
    unsigned char *out;

    port = bp_open(PORT, (PLACES + 1) * BP_MESSAGE);
    check(port != NULL, "bp_open");
    if (bp_node(port) > 1)
        return 0;
    for (int i = 0; i < PLACES; i++) {
        void *place = bp_alloc(port, BP_MESSAGE);

        check(place != NULL && bp_provide(port, place) == 0, "bp_provide");
    }
    out = bp_alloc(port, BP_MESSAGE);
    check(out != NULL, "bp_alloc");
    if (bp_node(port) == 1) {
        answer();
    } else {
        printf("     bytes   one way (us)         MB/s\n");
        for (int i = 0; i < size_count; i++) {
            double start, us;

            round_trip(out, sizes[i], trips);
            start = now_us();
            for (int trip = 0; trip < trips; trip++)
                round_trip(out, sizes[i], trip);
            us = (now_us() - start) / trips / 2;
            printf("%10d %14.3f %12.2f\n", sizes[i], us, sizes[i] / us);
        }
        round_trip(out, 0, 0);
    }
    bp_close(port);
    return 0;
}
