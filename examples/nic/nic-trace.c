/* The four tracing memories of the RDMA NIC: nic-trace [MESSAGES [BYTES [LINES]]]
 *
 *     gcc -Iinclude examples/nic/nic-trace.c examples/nic/traffic.c -libverbs -o nic-trace
 *     sunstar run -m forth -n 2 ./nic-trace 2 24
 *
 * Rank 0 sends while all memories take samples; each rank then prints the last LINES of each, oldest
 * first. */
#include "traffic.h"
#include <registers_forth.h>
#include <sunstar_nic.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const points[] = {"into the sending FIFO", "out of the sending FIFO",
                                     "into the receive FIFO", "out of the receive FIFO"};

static void decode(uint64_t data, unsigned tag)
{
    printf("  +%-3u ", (unsigned)forth_register_trace_tag_get_gap(tag));
    switch (forth_register_trace_tag_get_kind(tag)) {
    case FORTH_TRACE_TAG_DATA:
        printf("data   %016llx\n", (unsigned long long)data);
        break;
    case FORTH_TRACE_TAG_HEADER:
        printf("header %u words to %#x, flow %u from %u%s\n", (unsigned)(data >> 32) & 0x3FF,
               (unsigned)data, (unsigned)(data >> 42) & 0x7F, (unsigned)(data >> 49) & 0xFF,
               data >> 57 & 1 ? ", interrupt" : "");
        break;
    case FORTH_TRACE_TAG_END_GOOD:
        printf("end    %016llx\n", (unsigned long long)data);
        break;
    default:
        puts("end, whose CRC is wrong");
    }
}

static void print(volatile uint64_t *nic, unsigned point, uint64_t lines)
{
    nic_write(nic, FORTH_REGISTER_TRACE_INDEX, point << 16);
    const uint64_t count = nic_read(nic, FORTH_REGISTER_TRACE_COUNT);
    uint64_t first = count > FORTH_TRACE_DEPTH ? count - FORTH_TRACE_DEPTH : 0;
    if (count > lines && count - lines > first)
        first = count - lines;
    printf("%s: %llu samples\n", points[point], (unsigned long long)count);
    for (uint64_t i = first; i < count; i++) {
        nic_write(nic, FORTH_REGISTER_TRACE_INDEX, point << 16 | i % FORTH_TRACE_DEPTH);
        const uint64_t data = nic_read(nic, FORTH_REGISTER_TRACE_DATA);
        decode(data, (unsigned)nic_read(nic, FORTH_REGISTER_TRACE_TAG));
    }
}

int main(int argc, char **argv)
{
    const unsigned messages = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    const unsigned bytes = argc > 2 ? (unsigned)atoi(argv[2]) : 24;
    const uint64_t lines = argc > 3 ? (uint64_t)atoi(argv[3]) : 16;
    volatile uint64_t *nic = sunstar_nic_map ? sunstar_nic_map() : NULL;
    if (nic)
        nic_write(nic, FORTH_REGISTER_TRACE_CONTROL, FORTH_TRACE_BIT_CLEAR | FORTH_TRACE_BIT_ON);
    if (!nic || !traffic(messages, bytes)) {
        fputs("there is no RDMA NIC here: run it with `sunstar run -m forth -n 2`\n", stderr);
        return 1;
    }
    nic_write(nic, FORTH_REGISTER_TRACE_CONTROL, 0);
    for (unsigned point = 0; point < 4; point++)
        print(nic, point, lines);
    return 0;
}
