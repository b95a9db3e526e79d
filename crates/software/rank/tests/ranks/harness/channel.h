/* The channel as a program sees that looks for it. Offsets: abi/rank/channel.toml. */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
enum { STATE = 64, HEAD = 68, TURN = 128, TAIL = 192, MOVED = 136, WAY = 276, RUNS = 280,
       RECORDS = 0x1000, ALL = 0x9000, AREA = 0x50000 };
static char *area; /* what runs are moved through, at a lower address */
static char *find(void)
{
    char line[256], *found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        if (!strstr(line, "sunstar-rank")) continue;
        area = found;
        found = (char *)strtoul(line, 0, 16);
    }
    fclose(maps);
    return found;
}
static volatile uint32_t *word(char *channel, int at)
{
    return (volatile uint32_t *)(channel + at);
}
static void put(char *channel, int kind, int function)
{
    const uint32_t head = *word(channel, HEAD);
    *word(channel, RECORDS + (int)(head % 256) * 128) = (uint32_t)(kind << 16 | function);
    *word(channel, HEAD) = head + 1;
}
static char *shared;
static void *meddle(void *value)
{
    /* Once a call is with the simulator: before, it might never see that it has the turn. The library's own
     * sleep would go through the channel. */
    const struct timespec while_it_has_it = {0, 20000000};
    syscall(SYS_nanosleep, &while_it_has_it, 0);
    for (;;) { *word(shared, TURN) = (uint32_t)(uintptr_t)value; syscall(SYS_sched_yield); }
}
static void map_over(void)
{
    static char copy[ALL];
    memcpy(copy, shared, ALL);
    mmap(shared, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(shared, copy, ALL);
}
static void meddle_with(uintptr_t value)
{
    pthread_t thread;
    pthread_create(&thread, 0, meddle, (void *)value);
}
