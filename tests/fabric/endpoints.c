/* Several endpoints in a process: each gets its own messages, knows its senders, and is told
 * apart by receives that are directed to it. Some come and go. */
#include "harness.h"

#define PARTIES 3

static struct party parties[PARTIES];

int main(void)
{
    static uint64_t words[PARTIES][64];
    meet();
    open_domain(FI_TAGGED | FI_MSG | FI_SOURCE | FI_DIRECTED_RECV);
    /* All addresses are in each vector: endpoint e of rank r is number e * size + r. */
    char names[PARTIES][RANKS_MAX * NAME_BYTES];
    size_t bytes = NAME_BYTES;
    for (int e = 0; e < PARTIES; e++) {
        char name[NAME_BYTES] = {0};
        parties[e] = open_party(0);
        OK(fi_enable(parties[e].ep));
        bytes = NAME_BYTES;
        OK(fi_getname(&parties[e].ep->fid, name, &bytes));
        exchange(name, names[e], NAME_BYTES);
    }
    for (int e = 0; e < PARTIES; e++)
        for (int of = 0; of < PARTIES; of++)
            for (int r = 0; r < size; r++) {
                fi_addr_t at;
                const char *name = names[of] + r * NAME_BYTES;
                CHECK(fi_av_insert(parties[e].av, name, 1, &at, 0, NULL) == 1);
                CHECK(at == (fi_addr_t)(of * size + r), "address %lu", (unsigned long)at);
            }
    barrier();
    /* Endpoint a of rank 0 to b of rank 1, all with the same tag. Each receiver wants them in
     * the opposite order. */
    if (rank == 0) {
        for (uint64_t a = 0; a < PARTIES; a++)
            for (uint64_t b = 0; b < PARTIES; b++) {
                const uint64_t word = 10 * a + b;
                OK(fi_tinject(parties[a].ep, &word, 8, b * (uint64_t)size + 1, 7));
                OK(fi_inject(parties[a].ep, &word, 8, b * (uint64_t)size + 1));
            }
        barrier();
    } else if (rank == 1) {
        for (int b = 0; b < PARTIES; b++)
            for (int a = PARTIES - 1; a >= 0; a--) {
                const fi_addr_t wanted = (fi_addr_t)(a * size);
                OK(fi_trecv(parties[b].ep, &words[b][a], 8, NULL, wanted, 7, 0, &words[b][a]));
                OK(fi_recv(parties[b].ep, &words[b][8 + a], 8, NULL, wanted, &words[b][8 + a]));
            }
        for (int b = 0; b < PARTIES; b++)
            for (int i = 0; i < 2 * PARTIES; i++) {
                fi_addr_t from;
                const struct fi_cq_tagged_entry entry = next_from(&parties[b], &from);
                const uint64_t *word = entry.op_context;
                const uint64_t a = (uint64_t)(word - words[b]) % 8;
                CHECK(*word == 10 * a + (uint64_t)b, "endpoint %d has message %lu", b,
                      (unsigned long)*word);
                CHECK(from == a * (uint64_t)size, "it is from %lu", (unsigned long)from);
            }
        barrier();
    } else {
        barrier();
    }
    /* One goes, the others stay; a new one gets nothing of what was sent to it. */
    close_party(&parties[1]);
    barrier();
    if (rank == 0) {
        uint64_t word = 99;
        OK(fi_tinject(parties[0].ep, &word, 8, (fi_addr_t)(size + 1), 7));
        OK(fi_tinject(parties[0].ep, &word, 8, (fi_addr_t)(2 * size + 1), 7));
    }
    parties[1] = open_party(0);
    OK(fi_enable(parties[1].ep));
    if (rank == 1) {
        OK(fi_trecv(parties[1].ep, &words[1][0], 8, NULL, FI_ADDR_UNSPEC, 0, ~UINT64_C(0), NULL));
        OK(fi_trecv(parties[2].ep, &words[2][0], 8, NULL, FI_ADDR_UNSPEC, 7, 0, NULL));
        next_from(&parties[2], NULL);
        CHECK(words[2][0] == 99);
        struct fi_cq_tagged_entry entry;
        CHECK(fi_cq_read(parties[1].cq, &entry, 1) == -FI_EAGAIN);
    }
    barrier();
    for (int e = 0; e < PARTIES; e++)
        close_party(&parties[e]);
    close_domain();
    if (rank == 0)
        puts("ok");
    return 0;
}
