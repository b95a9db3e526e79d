/* Messages by the request queue of the RDMA NIC itself: mapped_queue [plain|line|none] [MESSAGES [WORDS]]
 *
 *     sunstar run -m forth -n 2 examples/rdma/mapped_queue.c plain 100 64
 *
 * Rank 0 posts descriptors by stores of 8 bytes (plain) or 16 bytes (line), and waits until the card has
 * read each source; rank 1 looks at its memory. With none the fence after a descriptor is left out, so that
 * four of them leave together. */
#include <forth.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Alignas(4096) uint64_t memory[512];

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int send(struct forth *forth, const char *how, uint64_t messages, unsigned words)
{
    uint64_t from, to;
    while (forth_where(1, 1, 0, &to) < 0)
        ; /* rank 1 has not registered it yet */
    if (forth_where(0, 1, 0, &from) < 0)
        return 1;
    const uint32_t control = forth_control(words, 1, FORTH_CONTROL_NOTIFY);
    const double begun = now_us();
    for (uint64_t i = 1; i <= messages; i++) {
        const int fenced = strcmp(how, "none") || i % 4 == 0 || i == messages;
        memory[words - 1] = i;
        if (strcmp(how, "line"))
            forth_post(forth, from, (uint32_t)to, control);
        else
            forth_post_line(forth, from, (uint32_t)to, control);
        if (fenced) {
            forth_fence(forth);
            forth_await(forth, i);
        }
    }
    printf("%.3f us a message\n", (now_us() - begun) / (double)messages);
    printf("the card has sent %" PRIu64 " words\n", forth_read(forth, FORTH_REGISTER_SENT_WORDS));
    return 0;
}

static int receive(const struct forth *forth, uint64_t messages, unsigned words)
{
    const volatile uint64_t *last = &memory[words - 1];
    while (*last < messages)
        ;
    /* Without fences the card may read a source that is newer than its descriptor. */
    while (forth_read(forth, FORTH_REGISTER_RECEIVED_MESSAGES) < messages)
        ;
    printf("message %" PRIu64 " is here; the card has received %" PRIu64 " words\n", *last,
           forth_read(forth, FORTH_REGISTER_RECEIVED_WORDS));
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    const uint64_t messages = argc > 2 ? strtoull(argv[2], NULL, 0) : 100;
    const unsigned words = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    struct forth forth;
    if (!forth_open || forth_open(&forth) < 0 || forth.nodes < 2) {
        fputs("there is no RDMA NIC here: run it with `sunstar run -m forth -n 2`\n", stderr);
        return 1;
    }
    if (words < 1 || words > FORTH_WORDS_MAX || forth_register(memory, sizeof memory, 1) != 1)
        return 1;
    if (forth.node == 0)
        return send(&forth, how, messages, words);
    return receive(&forth, messages, words);
}
