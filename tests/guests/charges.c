// What the guest's kernel charges: each line has a primitive and the time in ns of TIMES of it, or of BYTES.
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 1000, BYTES = 1 << 20 };

static uint64_t now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static void check(int good)
{
    if (!good) {
        perror("charges");
        exit(1);
    }
}

static void system_calls(void)
{
    for (int i = 0; i < TIMES; i++)
        syscall(SYS_getppid);
}

static void clocks(void)
{
    for (int i = 0; i < TIMES; i++)
        now();
}

// A timer's interrupt each.
static void interrupts(void)
{
    struct timespec pause = {.tv_nsec = 1000000};

    for (int i = 0; i < TIMES; i++)
        check(nanosleep(&pause, NULL) == 0);
}

static int there[2], back[2];

// To the other process and back: TIMES switches.
static void switches(void)
{
    char byte = 0;

    for (int i = 0; i < TIMES / 2; i++)
        check(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
}

static int socket_of;

// Out and in by the loopback interface: TIMES packets.
static void packets(void)
{
    char bytes[8] = "";

    for (int i = 0; i < TIMES / 2; i++) {
        check(send(socket_of, bytes, sizeof bytes, 0) == sizeof bytes);
        check(recv(socket_of, bytes, sizeof bytes, 0) == sizeof bytes);
    }
}

static char text[BYTES];
static int file;

static void copies(void)
{
    check(pread(file, text, BYTES, 0) == BYTES);
}

static void take(const char *name, void act(void))
{
    act();
    uint64_t start = now();
    act();
    printf("%s %llu\n", name, (unsigned long long)(now() - start));
}

int main(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    char byte;

    check(pipe(there) == 0 && pipe(back) == 0);
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1)
            check(write(back[1], &byte, 1) == 1);
        return 0;
    }
    socket_of = socket(AF_INET, SOCK_DGRAM, 0);
    check(bind(socket_of, (void *)&own, size) == 0);
    check(getsockname(socket_of, (void *)&own, &size) == 0);
    check(connect(socket_of, (void *)&own, size) == 0);
    file = memfd_create("text", 0);
    check(file >= 0 && write(file, text, BYTES) == BYTES);
    take("system_call", system_calls);
    take("clock", clocks);
    take("interrupt", interrupts);
    take("switch", switches);
    take("packet", packets);
    take("copy", copies);
    close(there[1]);
    return waitpid(child, NULL, 0) == child ? 0 : 1;
}
