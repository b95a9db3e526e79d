/* Random numbers of the system, by each way; then those of a child. A line each, without the rank. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *what, const void *data, size_t bytes)
{
    const unsigned char *byte = data;

    printf("%s ", what);
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", byte[i]);
    printf("\n");
}

int main(void)
{
    unsigned char data[64];
    const int small = open("/dev/urandom", O_RDONLY), blocking = open("/dev/random", O_RDONLY);

    if (getrandom(data, 40, 0) == 40)
        tell("getrandom", data, 40);
    if (syscall(SYS_getrandom, data, 8, GRND_NONBLOCK) == 8)
        tell("syscall", data, 8);
    if (getentropy(data, 16) == 0)
        tell("getentropy", data, 16);
    for (int i = 0; i < 3; i++)
        if (read(i < 2 ? small : blocking, data, 5) == 5)
            tell("file", data, 5);
    close(small);
    FILE *stream = fopen("/dev/urandom", "r");
    if (stream && fread(data, 1, 9, stream) == 9)
        tell("stream", data, 9);
    /* What was closed is another file now. */
    if (stream)
        fclose(stream);
    const int zeros = open("/dev/zero", O_RDONLY);
    if (zeros == small && read(zeros, data, 4) == 4)
        tell("zeros", data, 4);
    tell("start", (const void *)(uintptr_t)getauxval(AT_RANDOM), 16);
    uint32_t word = arc4random();
    tell("arc4random", &word, 4);
    fflush(stdout);
    if (fork() == 0) {
        if (getrandom(data, 8, 0) == 8)
            tell("child", data, 8);
        exit(0);
    }
    wait(NULL);
    return 0;
}
