/* Counters of the RDMA NIC, as its registers have them: nic-counters [MESSAGES [BYTES]]
 *
 *     gcc -Iinclude examples/nic/nic-counters.c examples/nic/traffic.c -libverbs -o nic-counters
 *     sunstar run -m forth -n 2 ./nic-counters 20 4096
 *
 * Rank 0 sends, and each rank prints what its card has counted, and in what states it is. */
#include "traffic.h"
#include <registers_forth.h>
#include <sunstar_nic.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name;
    unsigned offset;
} counters[] = {
    {"descriptors", FORTH_REGISTER_DESCRIPTORS},
    {"sent_messages", FORTH_REGISTER_SENT_MESSAGES},
    {"sent_words", FORTH_REGISTER_SENT_WORDS},
    {"received_messages", FORTH_REGISTER_RECEIVED_MESSAGES},
    {"received_words", FORTH_REGISTER_RECEIVED_WORDS},
    {"back_pressure", FORTH_REGISTER_BACK_PRESSURE},
    {"header_errors", FORTH_REGISTER_HEADER_ERRORS},
    {"payload_errors", FORTH_REGISTER_PAYLOAD_ERRORS},
    {"credit_errors", FORTH_REGISTER_CREDIT_ERRORS},
    {"bond_errors", FORTH_REGISTER_BOND_ERRORS},
    {"overflows", FORTH_REGISTER_OVERFLOWS},
    {"interrupts", FORTH_REGISTER_INTERRUPTS},
    {"interrupts_wanted", FORTH_REGISTER_INTERRUPTS_WANTED},
    {"fetch_cycles", FORTH_REGISTER_FETCH_CYCLES},
    {"fetch_words", FORTH_REGISTER_FETCH_WORDS},
    {"deposit_cycles", FORTH_REGISTER_DEPOSIT_CYCLES},
    {"disconnects", FORTH_REGISTER_DISCONNECTS},
    {"receive_level", FORTH_REGISTER_RECEIVE_LEVEL},
    {"credits_in", FORTH_REGISTER_CREDITS_IN},
    {"credits_out", FORTH_REGISTER_CREDITS_OUT},
};

static void states(volatile uint64_t *nic)
{
    static const char *const owners[] = {"nobody", "a read", "a packet to memory",
                                         "the notification"};
    static const char *const sends[] = {"nothing", "header", "header", "payload", "trailer", "gap"};
    static const char *const parses[] = {"between packets", "header", "header", "payload",
                                         "trailer", "made up"};
    const uint64_t word = nic_read(nic, FORTH_REGISTER_STATES);
    printf("  the bus is used for %s; reads open: %u; descriptors queued: %u\n",
           owners[forth_register_states_get_bus_owner(word) % 4],
           (unsigned)forth_register_states_get_reads(word),
           (unsigned)forth_register_states_get_queue(word));
    printf("  sends %s, receives %s%s\n", sends[forth_register_states_get_send(word) % 6],
           parses[forth_register_states_get_parse(word) % 6],
           forth_register_states_get_frozen(word) ? "; frozen by an error" : "");
}

static void lanes(volatile uint64_t *nic)
{
    for (unsigned lane = 0; lane < 2; lane++) {
        nic_write(nic, FORTH_REGISTER_DEBUG_SELECT, lane << 8);
        nic_read(nic, FORTH_REGISTER_DEBUG_SELECT); /* so the write is there, and seen */
        const uint64_t word = nic_read(nic, FORTH_REGISTER_LANES);
        printf("  lane %u: %s, %u bytes late; fullest synchronisation FIFO %u; buffer errors %u, "
               "corrections %u\n",
               lane, forth_register_lanes_get_comma(word) ? "aligned" : "not aligned",
               (unsigned)forth_register_lanes_get_shift(word),
               (unsigned)forth_register_lanes_get_sync_level(word),
               (unsigned)forth_register_lanes_get_buffer_errors(word),
               (unsigned)forth_register_lanes_get_corrections(word));
    }
}

int main(int argc, char **argv)
{
    volatile uint64_t *nic = sunstar_nic_map ? sunstar_nic_map() : NULL;
    const unsigned messages = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    const unsigned bytes = argc > 2 ? (unsigned)atoi(argv[2]) : 4096;
    if (!nic || !traffic(messages, bytes)) {
        fputs("there is no RDMA NIC here: run it with `sunstar run -m forth -n 2`\n", stderr);
        return 1;
    }
    for (unsigned i = 0; i < sizeof counters / sizeof *counters; i++)
        printf("%-18s %12llu\n", counters[i].name,
               (unsigned long long)nic_read(nic, counters[i].offset));
    states(nic);
    lanes(nic);
    return 0;
}
