/* The card in a process: memory and registers, by every kind of instruction that may touch them. The
 * device's own read and write are the oracle. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behind all regions but the receive buffer, whose upper end no packet reaches. */
enum { PLACE = 0x1f0000, PAGE = 4096, SRAM = 2 << 20, SPACE = 16 << 20 };
/* A special register: the light (docs/reference/myrinet.md). */
enum { LIGHT = 0x804000 + 0x140 };

static int card;
static volatile unsigned char *space;
static const char *doing;

static void check(int good, const char *what)
{
    if (!good) {
        printf("wrong: %s: %s (%s)\n", doing ? doing : "", what, strerror(errno));
        exit(1);
    }
}

static void has(off_t at, const void *bytes, size_t count)
{
    unsigned char found[64];

    check(pread(card, found, count, at) == (ssize_t)count, "pread");
    for (size_t i = 0; i < count; i++)
        if (found[i] != ((const unsigned char *)bytes)[i]) {
            printf("wrong: %s: byte %zu is %02x\n", doing, i, found[i]);
            exit(1);
        }
}

static unsigned char pattern[64], was[64];

/* Fills the place by the device, before a load or a store there. */
static void prepare(const char *what)
{
    static unsigned int seed = 1;

    doing = what;
    for (int i = 0; i < 64; i++) {
        seed = seed * 1103515245 + 12345;
        pattern[i] = seed >> 16;
        was[i] = ~pattern[i];
    }
    check(pwrite(card, was, 64, PLACE) == 64, "pwrite");
}

/* The first bytes were stored, and no others. */
static void stored(size_t count)
{
    unsigned char want[64];

    memcpy(want, was, 64);
    memcpy(want, pattern, count);
    has(PLACE, want, 64);
}

#define PLACE_AT (space + PLACE)

#define STORE(type, text, constraint)                                                          \
    do {                                                                                       \
        type value;                                                                            \
        prepare(text);                                                                         \
        memcpy(&value, pattern, sizeof(value));                                                \
        asm volatile(text : : "r"(PLACE_AT), constraint(value) : "memory");                    \
        stored(sizeof(value));                                                                 \
    } while (0)

#define LOAD(type, from, text)                                                                 \
    do {                                                                                       \
        from narrow;                                                                           \
        type value = 0, want = 0;                                                              \
        prepare(text);                                                                         \
        memcpy(&narrow, was, sizeof(narrow));                                                  \
        if (sizeof(type) > sizeof(from))                                                       \
            want = (type)narrow;                                                               \
        else                                                                                   \
            memcpy(&want, &narrow, sizeof(narrow));                                            \
        asm volatile(text : "=r"(value) : "r"(PLACE_AT) : "memory");                           \
        check(value == want, "the value");                                                     \
    } while (0)

static void moves(void)
{
    unsigned long value;

    STORE(uint8_t, "movb %1, (%0)", "q");
    STORE(uint16_t, "movw %1, (%0)", "r");
    STORE(uint32_t, "movl %1, (%0)", "r");
    STORE(uint64_t, "movq %1, (%0)", "r");
    STORE(uint32_t, "movnti %1, (%0)", "r");
    LOAD(uint32_t, uint32_t, "movl (%1), %0");
    LOAD(uint64_t, uint64_t, "movq (%1), %0");
    LOAD(uint32_t, uint8_t, "movzbl (%1), %0");
    LOAD(uint32_t, uint16_t, "movzwl (%1), %0");
    LOAD(int32_t, int8_t, "movsbl (%1), %0");
    LOAD(int64_t, int16_t, "movswq (%1), %0");
    LOAD(int64_t, int32_t, "movslq (%1), %0");

    /* Upper bytes: cleared by four bytes, left by fewer. */
    prepare("movl clears");
    asm volatile("mov $-1, %0; movl (%1), %k0" : "=&r"(value) : "r"(PLACE_AT));
    check(value >> 32 == 0, "the upper half");
    prepare("movb leaves");
    asm volatile("mov $-1, %0; movb (%1), %b0" : "=&q"(value) : "r"(PLACE_AT));
    check(value >> 8 == 0xffffffffffffff && (value & 0xff) == was[0], "the rest");
    prepare("movb, second byte");
    asm volatile("mov $-1, %0; movb (%1), %h0" : "=&Q"(value) : "r"(PLACE_AT));
    check((value | 0xff00) == ~0ul && (value >> 8 & 0xff) == was[0], "the rest");

    /* Constants, and addresses with an index and a distance. */
    prepare("movl $");
    asm volatile("movl $0x44332211, -8(%0, %1, 4)" : : "r"(PLACE_AT), "r"(2l) : "memory");
    has(PLACE, "\x11\x22\x33\x44", 4);
    prepare("movq $");
    asm volatile("movq $-2, 0x100(%0)" : : "r"(PLACE_AT - 0x100) : "memory");
    has(PLACE, "\xfe\xff\xff\xff\xff\xff\xff\xff", 8);
    prepare("movb $");
    asm volatile("movb $0x7f, (%0)" : : "r"(PLACE_AT) : "memory");
    has(PLACE, "\x7f", 1);
    prepare("movw $");
    asm volatile("movw $0x1234, (%0)" : : "r"(PLACE_AT) : "memory");
    has(PLACE, "\x34\x12", 2);
}

static void strings(void)
{
    unsigned char bytes[64];
    void *to;
    const void *from;
    long count;

    for (int width = 1; width <= 8; width *= 2) {
        prepare("rep movs to the card");
        to = (void *)PLACE_AT, from = pattern, count = 32 / width;
        if (width == 1)
            asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        else if (width == 2)
            asm volatile("rep movsw" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        else if (width == 4)
            asm volatile("rep movsl" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        else
            asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        check(count == 0 && to == PLACE_AT + 32 && from == pattern + 32, "the registers");
        stored(32);
    }
    prepare("rep movs from the card");
    to = bytes, from = (void *)PLACE_AT, count = 8;
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    check(memcmp(bytes, was, 64) == 0, "the bytes");
    prepare("rep stos");
    to = (void *)PLACE_AT, count = 5;
    memcpy(&count, pattern, 0);
    asm volatile("rep stosl" : "+D"(to), "+c"(count) : "a"(*(uint32_t *)pattern) : "memory");
    for (int i = 4; i < 20; i++)
        pattern[i] = pattern[i - 4];
    stored(20);
    prepare("std");
    to = (void *)(PLACE_AT + 28), from = pattern + 28, count = 8;
    asm volatile("std; rep movsl; cld" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    stored(32);
    /* Memory that the process has not touched before. */
    to = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    prepare("movs to a new page");
    from = (void *)PLACE_AT;
    asm volatile("movsq" : "+D"(to), "+S"(from) : : "memory");
    check(memcmp((char *)to - 8, was, 8) == 0, "the bytes");
}

static unsigned long flags_of(unsigned long a, unsigned long b)
{
    unsigned long flags;

    asm("cmpl %k2, %k1; pushfq; pop %0" : "=r"(flags) : "r"(a), "r"(b) : "cc", "memory");
    return flags & 0x8d5;
}

static void comparisons(void)
{
    const uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678};
    unsigned long flags;

    doing = "comparisons";
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            check(pwrite(card, &values[i], 4, PLACE) == 4, "pwrite");
            asm volatile("cmpl %k2, (%1); pushfq; pop %0"
                         : "=r"(flags)
                         : "r"(PLACE_AT), "r"(values[j])
                         : "cc", "memory");
            check((flags & 0x8d5) == flags_of(values[i], values[j]), "memory first");
            asm volatile("cmpl (%1), %k2; pushfq; pop %0"
                         : "=r"(flags)
                         : "r"(PLACE_AT), "r"(values[j])
                         : "cc", "memory");
            check((flags & 0x8d5) == flags_of(values[j], values[i]), "register first");
            asm volatile("testl %k2, (%1); pushfq; pop %0"
                         : "=r"(flags)
                         : "r"(PLACE_AT), "r"(values[j])
                         : "cc", "memory");
            check(!(flags & 0x40) == !!(values[i] & values[j]), "test");
        }
    asm volatile("cmpb $0x78, (%1); sete %b0" : "=q"(flags) : "r"(PLACE_AT) : "cc", "memory");
    check((flags & 1) == 1, "cmpb $");
    asm volatile("cmpl $0x12345678, (%1); sete %b0" : "=q"(flags) : "r"(PLACE_AT) : "cc", "memory");
    check((flags & 1) == 1, "cmpl $");
    asm volatile("cmpl $1, (%1); seta %b0" : "=q"(flags) : "r"(PLACE_AT) : "cc", "memory");
    check((flags & 1) == 1, "cmpl $, one byte");
    asm volatile("testb $8, (%1); setne %b0" : "=q"(flags) : "r"(PLACE_AT) : "cc", "memory");
    check((flags & 1) == 1, "testb $");
}

static void vectors(void)
{
    unsigned char bytes[64] __attribute__((aligned(32)));

#define VECTOR(count, to_card, from_card)                                                      \
    prepare(to_card);                                                                          \
    asm volatile("movups (%1), %%xmm9; " to_card                                               \
                 : : "r"(PLACE_AT), "r"(pattern) : "memory", "xmm9");                          \
    stored(count);                                                                             \
    prepare(from_card);                                                                        \
    asm volatile(from_card "; movups %%xmm9, (%1)"                                             \
                 : : "r"(PLACE_AT), "r"(bytes) : "memory", "xmm9");                            \
    check(memcmp(bytes, was, count) == 0, "the bytes")

    VECTOR(16, "movups %%xmm9, (%0)", "movups (%0), %%xmm9");
    VECTOR(16, "movaps %%xmm9, (%0)", "movaps (%0), %%xmm9");
    VECTOR(16, "movdqu %%xmm9, (%0)", "movdqu (%0), %%xmm9");
    VECTOR(16, "movdqa %%xmm9, (%0)", "movdqa (%0), %%xmm9");
    VECTOR(16, "movntdq %%xmm9, (%0)", "movupd (%0), %%xmm9");
    VECTOR(8, "movq %%xmm9, (%0)", "movq (%0), %%xmm9");
    VECTOR(4, "movd %%xmm9, (%0)", "movd (%0), %%xmm9");
    VECTOR(8, "movsd %%xmm9, (%0)", "movsd (%0), %%xmm9");
    VECTOR(4, "movss %%xmm9, (%0)", "movss (%0), %%xmm9");
    if (__builtin_cpu_supports("avx2")) {
        VECTOR(16, "vmovdqu %%xmm9, (%0)", "vmovdqu (%0), %%xmm9");
        prepare("vmovdqu, 32 bytes");
        asm volatile("vmovdqu (%1), %%ymm9; vmovdqu %%ymm9, (%0); vzeroupper"
                     : : "r"(PLACE_AT), "r"(pattern) : "memory", "xmm9");
        stored(32);
        prepare("vmovdqu from the card");
        asm volatile("vmovdqu (%0), %%ymm9; vmovdqu %%ymm9, (%1); vzeroupper"
                     : : "r"(PLACE_AT), "r"(bytes) : "memory", "xmm9");
        check(memcmp(bytes, was, 32) == 0, "the bytes");
        prepare("vmovdqu clears");
        asm volatile("vpcmpeqd %%ymm9, %%ymm9, %%ymm9; vmovdqu (%0), %%xmm9;"
                     "vmovdqu %%ymm9, (%1); vzeroupper"
                     : : "r"(PLACE_AT), "r"(bytes) : "memory", "xmm9");
        for (int i = 16; i < 32; i++)
            check(bytes[i] == 0, "the upper half");
    }
    /* The C library's own, whatever it is. */
    prepare("memcpy");
    memcpy((void *)PLACE_AT, pattern, 61);
    stored(61);
}

static void registers(void)
{
    volatile uint32_t *light = (volatile uint32_t *)(space + LIGHT);
    volatile uint32_t *clock = (volatile uint32_t *)(space + 0x804000 + 0x68);
    uint32_t first;

    doing = "registers";
    *light = 0x78563412;
    has(LIGHT, "\x12\x34\x56\x78", 4);
    check(*light == 0x78563412, "what was written");
    /* Half a microsecond a tick, and each look takes the bus's time. */
    first = __builtin_bswap32(*clock);
    for (int i = 0; i < 100; i++)
        (void)*clock;
    check(__builtin_bswap32(*clock) - first > 20, "time does not pass");
}

static sigjmp_buf away;
static volatile sig_atomic_t got;

static void caught(int signal)
{
    got = signal;
    siglongjmp(away, 1);
}

#define SIGNALS(which, statement)                                                              \
    do {                                                                                       \
        got = 0;                                                                               \
        if (sigsetjmp(away, 1) == 0)                                                           \
            statement;                                                                         \
        check(got == (which), #statement);                                                     \
    } while (0)

static void refusals(void)
{
    const volatile unsigned char *looks = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, card, PLACE);

    doing = "refusals";
    check(looks != MAP_FAILED && looks[0] == space[PLACE], "a page to be read");
    signal(SIGBUS, caught);
    signal(SIGSEGV, caught);
    /* Another instruction; over the end of a page; a store where there may be none; gone. */
    SIGNALS(SIGBUS, asm volatile("lock addl $1, (%0)" : : "r"(PLACE_AT) : "memory"));
    SIGNALS(SIGBUS,
            asm volatile("movl (%0), %%eax" : : "r"(PLACE_AT + PAGE - 2) : "eax", "memory"));
    SIGNALS(SIGSEGV, *(volatile unsigned char *)looks = 1);
    check(looks[0] == space[PLACE], "the page is still there");
    munmap((void *)looks, PAGE);
    SIGNALS(SIGSEGV, (void)*looks);
    /* The system's calls find no memory there. */
    check(write(1, (const void *)PLACE_AT, 4) < 0 && errno == EFAULT, "write");
    check(read(card, (void *)PLACE_AT, 4) < 0 && errno == EFAULT, "read");
    check(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, card, 0) == MAP_FAILED, "private");
    check(errno == EINVAL, "private");
    check(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, card, SPACE - PAGE) == MAP_FAILED, "long");
}

static void processes(void)
{
    int status;
    pid_t child;

    doing = "processes";
    prepare("a child");
    child = fork();
    if (child == 0) {
        memcpy((void *)PLACE_AT, pattern, 8);
        _exit(0);
    }
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child");
    stored(8);
}

int main(void)
{
    card = open("/dev/myrinet", O_RDWR);
    check(card >= 0, "open");
    space = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_SHARED, card, 0);
    check(space != MAP_FAILED, "mmap");
    check(memcmp((const void *)(space + 0x50000), "MCP1", 4) == 0, "the control program's word");
    moves();
    strings();
    comparisons();
    vectors();
    registers();
    refusals();
    processes();
    printf("content\n");
    return 0;
}
