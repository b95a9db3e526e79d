/* Three messages by each kind of store, of one byte to 16, also of equal values: stores [FIRST KIND].
 * What is refused: stores - NAME. */
#include <errno.h>
#include <forth.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Alignas(4096) uint64_t memory[3][512];

static void bytes(volatile void *slot, const void *descriptor)
{
    for (int i = 0; i < 16; i++)
        ((volatile uint8_t *)slot)[i] = ((const uint8_t *)descriptor)[i];
}

static void halves(volatile void *slot, const void *descriptor)
{
    for (int i = 0; i < 8; i++)
        ((volatile uint16_t *)slot)[i] = ((const uint16_t *)descriptor)[i];
}

static void words(volatile void *slot, const void *descriptor)
{
    for (int i = 0; i < 4; i++)
        ((volatile uint32_t *)slot)[i] = ((const uint32_t *)descriptor)[i];
}

static void doubles(volatile void *slot, const void *descriptor)
{
    for (int i = 0; i < 2; i++)
        ((volatile uint64_t *)slot)[i] = ((const uint64_t *)descriptor)[i];
}

static void vector(volatile void *slot, const void *descriptor)
{
    const __m128i all = _mm_loadu_si128((const __m128i *)descriptor);
    _mm_storeu_si128((__m128i *)(uintptr_t)slot, all);
}

static void streamed(volatile void *slot, const void *descriptor)
{
    _mm_stream_si128((__m128i *)(uintptr_t)slot, _mm_loadu_si128((const __m128i *)descriptor));
}

static void single(volatile void *slot, const void *descriptor)
{
    for (int i = 0; i < 4; i++)
        _mm_stream_si32((int *)(uintptr_t)slot + i, ((const int *)descriptor)[i]);
}

static void copied(volatile void *slot, const void *descriptor)
{
    memcpy((void *)(uintptr_t)slot, descriptor, 16);
}

static void repeated(volatile void *slot, const void *descriptor)
{
    size_t count = 2;
    void *to = (void *)(uintptr_t)slot;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(descriptor), "+c"(count) : : "memory");
}

static const struct {
    const char *name;
    void (*store)(volatile void *, const void *);
} kinds[] = {{"bytes", bytes},       {"halves", halves},     {"words", words},
             {"doubles", doubles},   {"vector", vector},     {"streamed", streamed},
             {"single", single},     {"copied", copied},     {"repeated", repeated}};
#define KINDS (sizeof kinds / sizeof *kinds)

static void refused(struct forth *forth, const char *what)
{
    uint64_t at;
    if (!strcmp(what, "errors")) {
        struct forth again;
        printf("open again: %s\n", strerror(-forth_open(&again)));
        printf("no bytes: %s\n", strerror((int)-forth_register(memory, 0, 1)));
        printf("no memory: %s\n", strerror((int)-forth_register((void *)0x10000, 8, 1)));
        printf("no key: %s\n", strerror(-forth_unregister(9, memory, 8)));
        printf("no region: %s\n", strerror((int)-forth_where(1, 9, 0, &at)));
        printf("beyond it: %s\n", strerror((int)-forth_where(0, 1, sizeof memory, &at)));
        printf("no node: %s\n", strerror((int)-forth_where(7, 1, 0, &at)));
        int64_t code;
        while ((code = forth_where(1, 2, 0, &at)) == -ENOENT)
            ; /* not yet registered */
        printf("read-only: %s\n", strerror((int)-code));
        printf("too much: %s\n", strerror((int)-forth_register(&again, 1u << 30, 0)));
    }
    if (!strcmp(what, "nowhere")) { /* waits for credits of a node that does not exist */
        forth_post(forth, 0, 0, forth_control(1, 9, FORTH_CONTROL_NOTIFY));
        forth_fence(forth);
        forth_await(forth, 1);
    }
    if (!strcmp(what, "add"))
        __asm__ volatile("addl $1, %0" : "+m"(*(volatile uint32_t *)forth->region));
    if (!strcmp(what, "limits"))
        forth->region[FORTH_TABLE_LIMITS / 8] = 1;
    if (!strcmp(what, "part"))
        *(volatile uint32_t *)&forth->region[FORTH_REGISTER_STATUS / 8] = 1;
    if (!strcmp(what, "descriptor")) { /* of no words: the card drops it, and says so */
        forth_post(forth, 0, 0, forth_control(0, 1, 0));
        forth_fence(forth);
        printf("status %" PRIx64 "\n", forth_read(forth, FORTH_REGISTER_STATUS));
    }
}

int main(int argc, char **argv)
{
    struct forth forth;
    if (!forth_open || forth_open(&forth) < 0)
        return 3;
    if (forth_register(memory, sizeof memory, 1) != 1)
        return 4;
    if (argc > 2) {
        if (forth.node == 0)
            refused(&forth, argv[2]);
        else if (forth_register(memory, sizeof memory, 0) == 2)
            usleep(1000); /* a region ends with its program */
        return 0;
    }
    uint64_t from, to;
    if (forth_where(forth.node, 1, 0, &from) < 0)
        return 5;
    while (forth_where(1 - forth.node, 1, 4096, &to) < 0)
        ;
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        if (argc > 1 && kind < (uint64_t)atoi(argv[1]))
            continue; /* without write combining the card ignores parts of words of 4 bytes */
        if (forth.node == 1) {
            while (*(volatile uint64_t *)&memory[1][kind] != kind + 1)
                ;
            printf("%s\n", kinds[kind].name);
            continue;
        }
        /* The third is stored where the first was, and most of it is equal. */
        for (int time = 0; time < 3; time++) {
            memory[0][kind] = time == 2 ? kind + 1 : 0;
            const struct {
                uint64_t from;
                uint32_t to, control;
            } descriptor = {from + 8 * kind, (uint32_t)to + 8 * (uint32_t)kind,
                            forth_control(1, 1, FORTH_CONTROL_NOTIFY)};
            kinds[kind].store(forth.region, &descriptor);
            forth_fence(&forth);
            static uint64_t posted;
            forth_await(&forth, ++posted);
        }
    }
    return 0;
}
