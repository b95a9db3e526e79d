/* Threads that sleep and wait with limits: what is over first in simulated time comes first. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int ends[2];

static struct timespec after(long milliseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void *sleeps(void *unused)
{
    usleep(500000);
    printf(" slept");
    return unused;
}

static void *sleeps_and_wakes(void *unused)
{
    usleep(50000);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&condition);
    return unused;
}

/* Waits for a tenth of a second in a way of its own; what it was told. */
static int waits(int way)
{
    const struct timespec limit = after(100);
    struct pollfd file = {ends[0], POLLIN, 0};
    int code = 0;
    switch (way) {
    case 0:
        pthread_mutex_lock(&mutex);
        code = pthread_cond_timedwait(&condition, &mutex, &limit);
        pthread_mutex_unlock(&mutex);
        break;
    case 1:
        code = sem_timedwait(&semaphore, &limit) == 0 ? 0 : errno;
        break;
    case 2:
        code = pthread_mutex_timedlock(&held, &limit);
        break;
    case 3:
        code = pthread_rwlock_timedrdlock(&written, &limit);
        break;
    case 4:
        code = poll(&file, 1, 100) == 0 ? ETIMEDOUT : 0;
        break;
    default:
        usleep(100000);
        code = ETIMEDOUT;
    }
    return code;
}

static void *holds(void *unused)
{
    pthread_mutex_lock(&held);
    pthread_rwlock_wrlock(&written);
    pthread_mutex_lock(&mutex); /* so that it stays until both are locked */
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    sem_init(&semaphore, 0, 0);
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, NULL, holds, NULL);
    pthread_join(thread, NULL);
    for (int way = 0; way < 6; way++) {
        const double begun = MPI_Wtime();
        pthread_create(&thread, NULL, sleeps, NULL);
        printf(waits(way) == ETIMEDOUT ? " waited" : " woken");
        printf(" %.1f", MPI_Wtime() - begun);
        pthread_join(thread, NULL);
        printf(" %.1f\n", MPI_Wtime() - begun);
    }
    /* One that is woken before its limit is not over. */
    const double begun = MPI_Wtime();
    pthread_create(&thread, NULL, sleeps_and_wakes, NULL);
    printf(waits(0) == 0 ? " woken" : " waited");
    printf(" %.2f\n", MPI_Wtime() - begun);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
