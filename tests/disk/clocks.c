/* Waits in each way that a program has, and tells by each clock how long that took. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static int64_t ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct timespec after(clockid_t clock, int64_t time)
{
    const int64_t at = ns(clock) + time;
    return (struct timespec){at / 1000000000, at % 1000000000};
}

static int64_t begun, cycles;

static void begin(void)
{
    begun = ns(CLOCK_MONOTONIC);
    cycles = (int64_t)__rdtsc();
}

static void end(const char *what, long result)
{
    const int64_t took = ns(CLOCK_MONOTONIC) - begun;
    printf("%s %ld: %lld ns, %lld cycles\n", what, result, (long long)took,
           (long long)((int64_t)__rdtsc() - cycles));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *wakes(void *nothing)
{
    usleep(250);
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(int count, char **arguments)
{
    if (count > 1) /* A time that nobody there can tell. */
        return arguments[1][0] + (int)alarm(1);
    begin();
    end("nanosleep", nanosleep(&(struct timespec){0, 5000}, 0));
    struct timespec at = after(CLOCK_REALTIME, 7000);
    end("clock_nanosleep", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, 0));

    int ends[2];
    if (pipe(ends))
        return 1;
    struct pollfd poller = {ends[0], POLLIN, 1};
    begin();
    end("poll", poll(&poller, 1, 3) + poller.revents);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    begin();
    const int found = select(ends[0] + 1, &set, 0, 0, &(struct timeval){0, 20});
    end("select", found + FD_ISSET(ends[0], &set));

    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(timer, 0, &(struct itimerspec){{0, 2000}, {0, 1000}}, 0);
    uint64_t times = 0;
    begin();
    for (int turn = 0; turn < 3; turn++)
        if (read(timer, &times, sizeof times) != sizeof times)
            return 1;
    end("timerfd", (long)times);
    timerfd_settime(timer, 0, &(struct itimerspec){{0, 0}, {0, 0}}, 0);

    pthread_t other;
    pthread_mutex_lock(&mutex);
    at = after(CLOCK_REALTIME, 90000);
    begin();
    end("timed out", pthread_cond_timedwait(&condition, &mutex, &at));
    pthread_create(&other, 0, wakes, 0);
    at = after(CLOCK_REALTIME, 90000000);
    begin();
    end("woken", pthread_cond_timedwait(&condition, &mutex, &at));
    pthread_mutex_unlock(&mutex);
    begin();
    pthread_join(other, 0);
    end("joined", 0);

    const time_t date = time(0);
    printf("%d\n", gmtime(&date)->tm_year + 1900);
    /* A loop that waits for a time to come. */
    begin();
    while (ns(CLOCK_MONOTONIC) < begun + 1000000) {
    }
    end("loop", 0);
    return 0;
}
