/* What the bypass library refuses, and what becomes of messages that nobody takes. One node. */
#include <bypass.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int good, const char *what)
{
    if (!good) {
        printf("wrong: %s (%s)\n", what, strerror(errno));
        exit(1);
    }
}

static int error_of(struct bp_port *port, int node, int target, const void *data, size_t bytes)
{
    struct bp_event event;

    check(bp_send(port, node, target, data, bytes) == 0, "bp_send");
    check(bp_wait(port, &event, 1000000000), "no event");
    check(event.kind == BP_SENT, "the kind");
    return event.error;
}

int main(void)
{
    struct bp_port *port = bp_open(3, 8 * BP_MESSAGE), *other;
    struct bp_event event;
    char *data, *place;
    int status;

    check(port != NULL, "bp_open");
    data = bp_alloc(port, BP_MESSAGE);
    place = bp_alloc(port, BP_MESSAGE);
    check(data != NULL && place != NULL, "bp_alloc");

    check(bp_open(3, BP_MESSAGE) == NULL && errno == EADDRINUSE, "a port that is taken");
    check(bp_open(BP_PORTS, BP_MESSAGE) == NULL && errno == EINVAL, "a port that there is not");
    check(bp_open(1, 2 << 20) == NULL && errno == EINVAL, "too much memory");
    check(bp_alloc(port, 7 * BP_MESSAGE) == NULL && errno == ENOMEM, "memory that there is not");
    check(bp_send(port, 1, 3, &status, 4) == -1 && errno == EFAULT, "other memory");
    check(bp_send(port, 1, 3, data, BP_MESSAGE + 1) == -1 && errno == EMSGSIZE, "too long");
    check(bp_send(port, 1, BP_PORTS, data, 4) == -1 && errno == EINVAL, "no such port");
    check(bp_provide(port, data + 8 * BP_MESSAGE) == -1 && errno == EFAULT, "a place outside");
    for (int i = 0; i < BP_PLACES; i++)
        check(bp_provide(port, place) == 0, "bp_provide");
    check(bp_provide(port, place) == -1 && errno == EAGAIN, "too many places");
    check(!bp_poll(port, &event), "an event of nothing");
    check(!bp_wait(port, &event, 10000), "an event of nothing");

    /* What only the card knows. */
    check(error_of(port, 900, 3, data, 4) == EHOSTUNREACH, "no route");
    check(error_of(port, 2000, 3, data, 4) == EHOSTUNREACH, "no node");
    check(error_of(port, 1, 6, data, 4) == ECONNREFUSED, "nobody has that port");
    check(error_of(port, 1, 6, data, 0) == ECONNREFUSED, "nor that");
    check(error_of(port, 900, 3, data, 4) == EHOSTUNREACH, "no route, again");

    /* As many as there may be, to a node that is not there and one that does not answer. */
    for (int i = 0; i < BP_SENDS; i++)
        check(bp_send(port, i % 2 ? 900 : 1, 6, data, 16) == 0, "bp_send");
    check(bp_send(port, 1, 6, data, 16) == -1 && errno == EAGAIN, "too many messages");
    for (int i = 0; i < BP_SENDS; i++) {
        check(bp_wait(port, &event, 1000000000), "an event each");
        check(event.error == (i % 2 ? EHOSTUNREACH : ECONNREFUSED), "in their order");
    }

    /* Ports of a process that ends are free again, and another's memory is untouched. */
    memset(data, 7, BP_MESSAGE);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();

        if (child == 0) {
            other = bp_open(5, 4 * BP_MESSAGE);
            check(other != NULL, "bp_open in a child");
            _exit(error_of(other, 1, 6, bp_alloc(other, 64), 64) != ECONNREFUSED);
        }
        check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child");
    }
    for (int i = 0; i < BP_MESSAGE; i++)
        check(data[i] == 7, "the memory");
    bp_close(port);
    port = bp_open(3, BP_MESSAGE);
    check(port != NULL, "bp_open again");
    bp_close(port);
    printf("content\n");
    return 0;
}
