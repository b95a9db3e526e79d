/* The console's program: takes the counters of the crossbar again and again, and prints the flows that
 * have moved since, a line each (marazakis2006 s3.7). The serial port is the slow part: what passes
 * meanwhile is in the next numbers. */
#include "abi_console.h"
#include <stdint.h>

int main(void);

static volatile uint32_t *device(uint32_t offset)
{
    return (volatile uint32_t *)(XC_DEVICE_BASE + offset);
}

static uint32_t flow_register(uint32_t first, uint32_t flow)
{
    return *device(first + 4 * flow);
}

static void put(char byte)
{
    while (!*device(XC_REGISTER_SERIAL))
        ;
    *device(XC_REGISTER_SERIAL) = (uint8_t)byte;
}

static void put_text(const char *text)
{
    while (*text)
        put(*text++);
}

/* A number, right-aligned in `width` places at least. */
static void put_number(uint32_t number, int width)
{
    char digits[10];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (; width > count; width--)
        put(' ');
    while (count)
        put(digits[--count]);
}

static void put_errors(uint32_t reg, const char *what, uint32_t *before)
{
    uint32_t now = *device(reg);
    if (now == *before)
        return;
    *before = now;
    put_text("  ");
    put_text(what);
    put_number(now, 1);
}

static uint32_t words_before[XC_PORTS_MAX * XC_PORTS_MAX];
static uint32_t errors_before[3];

/* A flow's line: words in all and since its last line, words held now, cycles of a packet on average
 * and at most. */
static void put_flow(uint32_t input, uint32_t output, uint32_t words, uint32_t before)
{
    uint32_t flow = XC_PORTS_MAX * input + output;
    uint32_t packets = flow_register(XC_REGISTER_PACKETS, flow);
    put_number(input, 1);
    put_text(">");
    put_number(output, 1);
    put_text(" words");
    put_number(words, 9);
    put_text(" +");
    put_number(words - before, 1);
    put_text(", held ");
    put_number(flow_register(XC_REGISTER_HELD, flow), 1);
    if (packets) {
        put_text(", cycles ");
        put_number(flow_register(XC_REGISTER_FORWARDING, flow) / packets, 1);
        put_text(" to ");
        put_number(flow_register(XC_REGISTER_SLOWEST, flow), 1);
    }
    put_text("\n");
}

int main(void)
{
    uint32_t ports = *device(XC_REGISTER_PORTS);
    for (;;) {
        int told = 0;
        *device(XC_REGISTER_LATCH) = 1;
        for (uint32_t input = 0; input < ports; input++) {
            for (uint32_t output = 0; output < ports; output++) {
                uint32_t flow = XC_PORTS_MAX * input + output;
                uint32_t words = flow_register(XC_REGISTER_WORDS, flow);
                uint32_t before = words_before[flow];
                if (words == before)
                    continue;
                if (!told++) {
                    put_text("cycle ");
                    put_number(*device(XC_REGISTER_CYCLES), 1);
                    put_errors(XC_REGISTER_HEADER_ERRORS, "headers wrong ", &errors_before[0]);
                    put_errors(XC_REGISTER_CREDIT_ERRORS, "credits wrong ", &errors_before[1]);
                    put_errors(XC_REGISTER_OVERFLOWS, "words lost ", &errors_before[2]);
                    put_text("\n");
                }
                words_before[flow] = words;
                put_flow(input, output, words, before);
            }
        }
    }
}
