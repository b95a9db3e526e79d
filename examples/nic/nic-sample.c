/* Throughput and back-pressure over time, as the RDMA NIC's sampling memory has them:
 * nic-sample [PERIOD [SAMPLES [MESSAGES [BYTES]]]]
 *
 *     gcc -Iinclude examples/nic/nic-sample.c examples/nic/traffic.c -libverbs -o nic-sample
 *     sunstar run -m forth -n 2 ./nic-sample 500 40 20 4096
 *
 * PERIOD is cycles of the link's clock of 12.8 ns. A word is 8 bytes. */
#include "traffic.h"
#include <sunstar_nic.h>
#include <stdio.h>
#include <stdlib.h>

#define CYCLE_NS 12.8

static unsigned number(int argc, char **argv, int place, unsigned otherwise)
{
    return argc > place ? (unsigned)atoi(argv[place]) : otherwise;
}

static double mib(uint64_t words, unsigned cycles)
{
    return 8.0 * (double)words / (cycles * CYCLE_NS * 1e-9) / (1 << 20);
}

int main(int argc, char **argv)
{
    const unsigned period = number(argc, argv, 1, 1000), samples = number(argc, argv, 2, 100);
    volatile uint64_t *nic = sunstar_nic_map ? sunstar_nic_map() : NULL;
    if (period == 0 || samples == 0 || samples > FORTH_TRACE_DEPTH) {
        fputs("nic-sample: PERIOD is 1 or more, SAMPLES 1 to 2048\n", stderr);
        return 1;
    }
    if (nic)
        nic_write(nic, FORTH_REGISTER_SAMPLE_CONTROL, (uint64_t)samples << 32 | period);
    if (!nic || !traffic(number(argc, argv, 3, 20), number(argc, argv, 4, 4096))) {
        fputs("there is no RDMA NIC here: run it with `sunstar run -m forth -n 2`\n", stderr);
        return 1;
    }
    const uint64_t count = nic_read(nic, FORTH_REGISTER_SAMPLE_COUNT);
    uint64_t before[3] = {0};
    puts("     time ns   sent MiB/s  received MiB/s  back-pressure cycles");
    for (uint64_t i = 0; i < count; i++) {
        nic_write(nic, FORTH_REGISTER_SAMPLE_INDEX, i);
        const uint64_t now[] = {nic_read(nic, FORTH_REGISTER_SAMPLE_SENT),
                                nic_read(nic, FORTH_REGISTER_SAMPLE_RECEIVED),
                                nic_read(nic, FORTH_REGISTER_SAMPLE_PRESSURE)};
        if (i > 0)
            printf("%12.1f %12.1f %15.1f %21llu\n", (double)i * period * CYCLE_NS,
                   mib(now[0] - before[0], period), mib(now[1] - before[1], period),
                   (unsigned long long)(now[2] - before[2]));
        for (unsigned n = 0; n < 3; n++)
            before[n] = now[n];
    }
    return 0;
}
