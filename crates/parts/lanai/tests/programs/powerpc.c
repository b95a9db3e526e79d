/* Around the same program on QEMU's PowerPC: the checksum is printed. */
#include <stddef.h>
#include <stdint.h>

int main(void);
void report(uint32_t checksum);
void start_c(void);
void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

static void system_call(long number, long a, const void *b, long c)
{
    register long r0 __asm__("r0") = number;
    register long r3 __asm__("r3") = a;
    register long r4 __asm__("r4") = (long)b;
    register long r5 __asm__("r5") = c;

    __asm__ volatile("sc"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5)
                     :
                     : "memory", "cr0", "ctr", "r6", "r7", "r8", "r9", "r10", "r11", "r12");
}

void report(uint32_t checksum)
{
    char text[8];

    for (int i = 0; i < 8; i++)
        text[i] = "0123456789abcdef"[checksum >> (28 - 4 * i) & 15];
    system_call(4, 1, text, 8); /* write */
    system_call(1, 0, NULL, 0); /* exit */
    for (;;)
        ;
}

void start_c(void)
{
    report((uint32_t)main());
}

__asm__(".globl _start\n_start: bl start_c\n");

void *memcpy(void *to, const void *from, size_t bytes)
{
    volatile char *t = to;
    const char *f = from;

    while (bytes-- > 0)
        *t++ = *f++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    volatile char *t = to;

    while (bytes-- > 0)
        *t++ = (char)value;
    return to;
}
