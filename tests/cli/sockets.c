/* What programs do with sockets beside MPI, all of it on as many ranks as there are: each rank connects to
 * each one above it and exchanges keys, waits for several by poll and select, sends more than a connection
 * holds, closes halves. Prints one line a rank. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define PORT 7000
#define LARGE 1000000
static int rank, size, wrongs;

static void check(int right, const char *what)
{
    if (!right)
        printf("rank %d: wrong: %s (%s)\n", rank, what, strerror(errno));
    wrongs += !right;
}

static struct sockaddr_in address_of(int other, int port)
{
    char name[32], service[16];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    snprintf(name, sizeof name, "nid%05d", other);
    snprintf(service, sizeof service, "%d", port);
    check(getaddrinfo(name, service, &hints, &found) == 0 && found, "getaddrinfo");
    struct sockaddr_in address = *(struct sockaddr_in *)found->ai_addr;
    freeaddrinfo(found);
    struct hostent *host = gethostbyname(name);
    check(host && memcmp(host->h_addr_list[0], &address.sin_addr, 4) == 0, "gethostbyname");
    return address;
}

static int listening(int port)
{
    const int file = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    check(bind(file, (struct sockaddr *)&own, sizeof own) == 0, "bind");
    check(listen(file, 16) == 0, "listen");
    return file;
}

static int connected(int other, int port)
{
    struct sockaddr_in address = address_of(other, port);
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(connect(file, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    return file;
}

/* Each rank connects to all above it, before some of these listen, and says who it is. */
static void exchange(void)
{
    int sum = 0, key;
    for (int other = rank + 1; other < size; other++) {
        const int file = connected(other, PORT);
        check(write(file, &rank, sizeof rank) == sizeof rank, "write");
        check(recv(file, &key, sizeof key, MSG_WAITALL) == sizeof key, "recv");
        check(key == 100 + other, "a key");
        check(read(file, &key, sizeof key) == 0, "the end of a connection");
        close(file);
    }
    usleep((unsigned)(rank * 3000));
    const int listener = listening(PORT);
    for (int i = 0; i < rank; i++) {
        struct sockaddr_in peer, told;
        socklen_t bytes = sizeof peer;
        const int file = accept(listener, (struct sockaddr *)&peer, &bytes);
        check(file >= 0 && bytes == sizeof peer, "accept");
        bytes = sizeof told;
        check(getpeername(file, (struct sockaddr *)&told, &bytes) == 0, "getpeername");
        check(memcmp(&told, &peer, sizeof peer) == 0, "the peer's name");
        check(read(file, &key, sizeof key) == sizeof key, "read");
        char name[64];
        check(getnameinfo((struct sockaddr *)&peer, bytes, name, sizeof name, NULL, 0, 0) == 0 &&
                  atoi(name + 3) == key,
              "the name of who has connected");
        sum += key;
        key = 100 + rank;
        check(write(file, &key, sizeof key) == sizeof key, "write");
        close(file);
    }
    check(sum == rank * (rank - 1) / 2, "keys");
    close(listener);
}

/* The first rank serves all others at once, without waiting for one of them. */
static void serve(void)
{
    if (rank > 0) {
        const int file = connected(0, PORT + 1);
        usleep((unsigned)((size - rank) * 500));
        dprintf(file, "%d\n", rank);
        check(shutdown(file, SHUT_WR) == 0, "shutdown");
        char text[16] = "";
        check(recv(file, text, sizeof text, MSG_WAITALL) > 0, "recv");
        check(atoi(text) == 2 * rank, "an answer");
        close(file);
        return;
    }
    struct pollfd files[64] = {{listening(PORT + 1), POLLIN, 0}};
    int used = 1, open_files = 0, served = 0, order = 0;
    fcntl(files[0].fd, F_SETFL, O_NONBLOCK);
    check(accept(files[0].fd, NULL, NULL) == -1 && errno == EAGAIN, "accept has waited");
    while (served < size - 1) {
        check(poll(files, (nfds_t)used, -1) > 0, "poll");
        if (files[0].revents & POLLIN) {
            files[used++] = (struct pollfd){accept(files[0].fd, NULL, NULL), POLLIN, 0};
            open_files++;
        }
        for (int i = 1; i < used; i++) {
            char text[16] = "";
            if (!(files[i].revents & POLLIN))
                continue;
            const ssize_t bytes = read(files[i].fd, text, sizeof text);
            if (bytes > 0) {
                order = order * 7 + atoi(text);
                dprintf(files[i].fd, "%d\n", 2 * atoi(text));
            } else {
                close(files[i].fd);
                files[i].fd = -1;
                served++;
            }
            files[i].revents = 0;
        }
    }
    printf("rank 0: served %d in order %d\n", open_files, order);
    close(files[0].fd);
}

/* More than a connection holds, both ways, without waiting and with select. */
static void stream(void)
{
    static unsigned char data[LARGE];
    if (rank > 1)
        return;
    int file;
    if (rank == 0) {
        const int listener = listening(PORT + 2);
        fd_set set;
        FD_ZERO(&set);
        FD_SET(listener, &set);
        struct timeval limit = {0, 100};
        check(select(listener + 1, &set, NULL, NULL, &limit) == 0, "select ends by its limit");
        FD_SET(listener, &set);
        check(select(listener + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(listener, &set),
              "select");
        file = accept(listener, NULL, NULL);
        close(listener);
        for (size_t i = 0; i < LARGE; i++)
            data[i] = (unsigned char)(i * 7 >> 3);
        struct iovec pieces[] = {{data, 1000}, {data + 1000, LARGE - 1000}};
        const double began = MPI_Wtime();
        check(writev(file, pieces, 2) == LARGE, "writev");
        const double rate = LARGE / (MPI_Wtime() - began) / 1e6;
        check(rate > 60 && rate < 160, "the rate of a stream");
    } else {
        struct sockaddr_in address = address_of(0, PORT + 2);
        file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        usleep(2000);
        check(connect(file, (struct sockaddr *)&address, sizeof address) == -1 &&
                  errno == EINPROGRESS,
              "connect has waited");
        struct pollfd one = {file, POLLOUT, 0};
        int error = 1;
        socklen_t bytes = sizeof error;
        check(poll(&one, 1, 1000) == 1 && one.revents == POLLOUT, "poll for a connection");
        check(getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0, "error");
        size_t received = 0;
        while (received < LARGE) {
            int there = 0;
            const ssize_t more = recv(file, data + received, LARGE - received, 0);
            if (more < 0) {
                check(errno == EAGAIN, "recv has nothing");
                one.events = POLLIN;
                check(poll(&one, 1, -1) == 1, "poll for data");
                check(ioctl(file, FIONREAD, &there) == 0 && there > 0, "FIONREAD");
            } else {
                received += (size_t)more;
            }
        }
        int same = 1;
        for (size_t i = 0; i < LARGE; i++)
            same &= data[i] == (unsigned char)(i * 7 >> 3);
        check(same, "data of a stream");
        const int twin = dup(file);
        close(file);
        check(write(twin, "x", 1) == 1, "a descriptor's twin");
        file = twin;
    }
    if (rank == 0) {
        char end;
        check(read(file, &end, 1) == 1 && end == 'x' && read(file, &end, 1) == 0, "the last byte");
        signal(SIGPIPE, SIG_IGN);
        usleep(1000);
        check(write(file, "x", 1) == -1 && errno == EPIPE, "nobody receives");
    }
    close(file);
}

/* What there is not is said, and fails. */
static void refuse(void)
{
    struct sockaddr_in away = {.sin_family = AF_INET, .sin_port = htons(80)};
    inet_aton("192.0.2.1", &away.sin_addr);
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(file, (struct sockaddr *)&away, sizeof away) == -1 && errno == ENETUNREACH,
          "an address outside");
    close(file);
    check(socket(AF_INET, SOCK_DGRAM, 0) == -1 && errno == EPROTONOSUPPORT, "UDP");
    check(socket(AF_INET6, SOCK_STREAM, 0) == -1 && errno == EAFNOSUPPORT, "IPv6");
    check(gethostbyname("www.example.org") == NULL, "a name outside");
    int pair[2];
    char byte = 0;
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && write(pair[0], "y", 1) == 1 &&
              read(pair[1], &byte, 1) == 1 && byte == 'y',
          "sockets of the system's own");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "never") == 0) { /* nobody ever connects */
        if (rank == 0)
            accept(listening(PORT), NULL, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (argc > 1 && strcmp(argv[1], "dies") == 0) { /* who is connected to dies, or ends */
        if (rank == 0)
            read(connected(1, PORT), &wrongs, sizeof wrongs);
        else if (accept(listening(PORT), NULL, NULL) >= 0)
            abort();
    }
    if (argc > 1 && strcmp(argv[1], "left") == 0) { /* who would have listened has ended */
        MPI_Finalize();
        if (rank == 0) {
            struct sockaddr_in address = address_of(1, PORT);
            const int file = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(file, (struct sockaddr *)&address, sizeof address) == -1)
                puts(errno == ECONNREFUSED ? "rank 0: refused" : "rank 0: another error");
        }
        return 0;
    }
    exchange();
    serve();
    if (size > 1)
        stream();
    refuse();
    const double time = MPI_Wtime();
    printf("rank %d: %s after %.9f\n", rank, wrongs ? "wrong" : "right", time);
    MPI_Finalize();
    return wrongs != 0;
}
