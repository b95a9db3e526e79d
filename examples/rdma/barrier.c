/* A barrier by memory that is polled: barrier [TIMES]
 *
 *     sunstar run -m forth-switch -n 8 examples/rdma/barrier.c 20
 *
 * Each node tells one other in each round that it is there, by a word that the card writes into the other's
 * memory, and spins on its own memory until it was told: after round r it knows of 2^(r+1) nodes. */
#include <forth.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 3 }; /* for 8 nodes */

/* One word a round: `there` is written by others, `mine` is read by the card. */
static _Alignas(4096) struct words {
    volatile uint64_t there[ROUNDS];
    uint64_t mine[ROUNDS];
} shared;

static uint64_t from[ROUNDS], to[ROUNDS];
static uint32_t control[ROUNDS];

/* Asks once where the words are: those of another node as soon as it has registered them. */
static void find(const struct forth *forth)
{
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const uint32_t other = (forth->node + (1u << r)) % forth->nodes;
        forth_where(forth->node, 1, offsetof(struct words, mine[r]), &from[r]);
        while (other != forth->node && forth_where(other, 1, 8 * r, &to[r]) < 0)
            ;
        control[r] = forth_control(1, other, 0);
    }
}

/* Counts up, so nobody has to clear a word. */
static void barrier(struct forth *forth, uint64_t count)
{
    for (unsigned r = 0; 1u << r < forth->nodes; r++) {
        shared.mine[r] = count;
        forth_post(forth, from[r], (uint32_t)to[r], control[r]);
        forth_fence(forth);
        while (shared.there[r] < count)
            ;
    }
}

int main(int argc, char **argv)
{
    const uint64_t times = argc > 1 ? strtoull(argv[1], NULL, 0) : 20;
    struct forth forth;
    if (!forth_open || forth_open(&forth) < 0 || forth.nodes > 1u << ROUNDS || times < 1) {
        fputs("this needs RDMA NICs: run it with `sunstar run -m forth-switch -n 8`\n", stderr);
        return 1;
    }
    if (forth_register(&shared, sizeof shared, 1) != 1)
        return 1;
    find(&forth);
    barrier(&forth, 1);
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (uint64_t i = 0; i < times; i++)
        barrier(&forth, i + 2);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    const double us = (double)(ended.tv_sec - begun.tv_sec) * 1e6 +
                      (double)(ended.tv_nsec - begun.tv_nsec) / 1e3;
    if (forth.node == 0)
        printf("%u nodes: %.3f us a barrier\n", forth.nodes, us / (double)times);
    usleep(1000); /* others may still wait for words that the card has not sent */
    return 0;
}
