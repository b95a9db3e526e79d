/* An endpoint is closed, and a program ends, with all under way that there can be: it gets where it has
 * to go, and nothing is touched that has been freed. */
#include "harness.h"

#define KEY 5
#define BYTES 20000
#define MOST 1024

static char memory[MOST][BYTES];

static void write_all(struct party *party, char *local, unsigned seed)
{
    fill(local, BYTES, seed);
    for (size_t i = 0; i < info->tx_attr->size; i++)
        OK(fi_write(party->ep, local, BYTES, NULL, party->peers[1], i * BYTES, KEY, NULL));
}

static void check_all(unsigned seed)
{
    for (size_t i = 0; i < info->tx_attr->size; i++)
        CHECK(is_filled(memory[i], BYTES, seed), "bytes of write %zu are wrong", i);
}

int main(void)
{
    struct fid_mr *region;
    static char local[BYTES];
    begin(FI_MSG | FI_RMA, 0);
    CHECK(info->tx_attr->size <= MOST);
    OK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_WRITE, 0, KEY, 0, &region, NULL));
    struct party other = open_party(0);
    join(&other);
    barrier();
    if (rank == 0)
        write_all(&other, local, 1);
    close_party(&other);
    barrier();
    if (rank == 1)
        check_all(1);
    barrier();
    if (rank == 0) {
        write_all(&own, local, 2);
        puts("ok");
        exit(0);
    }
    /* The one that has left closes its socket when all has been written. */
    char byte;
    while (recv(sockets[0], &byte, 1, MSG_DONTWAIT) < 0)
        look();
    check_all(2);
    return 0;
}
