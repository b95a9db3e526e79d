// Round trips between two nodes by their bells: rounds NODE TIMES. Node 0 begins.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void ring(int bell, uint32_t value)
{
    if (write(bell, &value, sizeof value) != sizeof value)
        fail("ring");
}

static uint32_t hear(int bell)
{
    uint32_t value;

    if (read(bell, &value, sizeof value) != sizeof value)
        fail("hear");
    return value;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    int first = atoi(arguments[1]) == 0, bell = open("/dev/bell", O_RDWR);
    uint32_t times = atoi(arguments[2]);

    if (bell < 0)
        fail("/dev/bell");
    int64_t start = now();
    for (uint32_t i = 1; i <= times; i++) {
        if (first)
            ring(bell, i);
        uint32_t heard = hear(bell);
        if (heard != i) {
            fprintf(stderr, "heard %u, not %u\n", heard, i);
            return 1;
        }
        if (!first)
            ring(bell, i);
    }
    if (first)
        printf("%u round trips, %lld ns each\n", times, (long long)(now() - start) / times);
    return 0;
}
