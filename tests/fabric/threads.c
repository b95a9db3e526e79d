/* Threads that share an endpoint, and threads with one each (FI_THREAD_SAFE). */
#include "harness.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS 30

static struct party parties[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One of the threads that share an endpoint: ping-pong with its counterpart by tags, and
 * completions that may be another thread's. */
static bool done[THREADS][2];

static void wait_mine(int number, int kind)
{
    for (;;) {
        struct fi_cq_tagged_entry entry;
        pthread_mutex_lock(&lock);
        const bool mine = done[number][kind];
        if (mine)
            done[number][kind] = false;
        pthread_mutex_unlock(&lock);
        if (mine)
            return;
        const ssize_t read = fi_cq_read(own.cq, &entry, 1);
        CHECK(read == 1 || read == -FI_EAGAIN);
        if (read == 1) {
            pthread_mutex_lock(&lock);
            *(bool *)entry.op_context = true;
            pthread_mutex_unlock(&lock);
        } else {
            sched_yield();
        }
    }
}

static void *shares(void *argument)
{
    const int number = (int)(intptr_t)argument;
    static char out[THREADS][30000], in[THREADS][30000];
    for (unsigned i = 0; i < ROUNDS; i++) {
        const size_t length = i % 5 == 4 ? 30000 : 100 + i;
        const uint64_t tag = (uint64_t)number;
        ssize_t sent;
        fill(out[number], length, i + (unsigned)number);
        OK(fi_trecv(own.ep, in[number], 30000, NULL, FI_ADDR_UNSPEC, tag, 0, &done[number][0]));
        while ((sent = fi_tsend(own.ep, out[number], length, NULL, own.peers[1 - rank], tag,
                                &done[number][1])) == -FI_EAGAIN)
            sched_yield();
        OK(sent);
        wait_mine(number, 0);
        wait_mine(number, 1);
        CHECK(is_filled(in[number], length, i + (unsigned)number), "thread %d, round %u", number,
              i);
    }
    return NULL;
}

static void *alone(void *argument)
{
    struct party *party = argument;
    char out[200], in[200];
    for (unsigned i = 0; i < ROUNDS; i++) {
        int sent, got;
        fill(out, 200, i);
        OK(fi_recv(party->ep, in, 200, NULL, FI_ADDR_UNSPEC, &got));
        OK(fi_send(party->ep, out, 200, NULL, party->peers[1 - rank], &sent));
        next_from(party, NULL);
        next_from(party, NULL);
        CHECK(is_filled(in, 200, i));
    }
    return NULL;
}

static void all(void *(*work)(void *), bool own_party)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work,
                             own_party ? (void *)&parties[i] : (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    begin(FI_MSG | FI_TAGGED, 0);
    CHECK(info->domain_attr->threading == FI_THREAD_SAFE);
    all(shares, false);
    for (int i = 0; i < THREADS; i++) {
        parties[i] = open_party(0);
        join(&parties[i]);
    }
    barrier();
    all(alone, true);
    barrier();
    for (int i = 0; i < THREADS; i++)
        close_party(&parties[i]);
    end();
    return 0;
}
