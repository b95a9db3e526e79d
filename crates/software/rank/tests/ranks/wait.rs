//! Waits with a limit, which is one of simulated time.

use crate::harness::{run, Program};
use rank::ExitStatus;
use std::time::{Duration, Instant};

/// Common parts of the waits of both programs.
const WAITS: &str = "
    #include <errno.h>
    #include <poll.h>
    #include <pthread.h>
    #include <semaphore.h>
    #include <sys/epoll.h>
    #include <sys/select.h>
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    static sem_t semaphore;
    static int ready;
    static struct timespec in(double seconds) {
        struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
        long ns = t.tv_nsec + (long)(seconds * 1e9);
        return (struct timespec){t.tv_sec + ns / 1000000000, ns % 1000000000};
    }
    static void *waker(void *unused) {
        usleep(1000);
        pthread_mutex_lock(&mutex); ready = 1; pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
        usleep(1000);
        sem_post(&semaphore);
        return NULL;
    }";

#[test]
fn what_comes_in_time_ends_a_wait_with_a_limit() {
    let program = Program::new(
        WAITS,
        "MPI_Init(0, 0);
         pthread_t thread;
         struct timespec limit = in(3600);
         pthread_mutex_lock(&mutex);
         pthread_create(&thread, 0, waker, 0);
         int code = 0;
         while (!ready && code == 0) code = pthread_cond_timedwait(&condition, &mutex, &limit);
         if (code != 0) return 1;
         if (sem_clockwait(&semaphore, CLOCK_MONOTONIC, &limit) != 0) return 2;
         pthread_join(thread, 0);
         if (MPI_Wtime() > 1) return 3;
         limit.tv_nsec = -1;
         if (pthread_mutex_timedlock(&mutex, &limit) != EINVAL) return 4;
         MPI_Finalize();",
    );
    assert_eq!(run(&program).1, ExitStatus::FINISHED);
}

/// A wait takes as much simulated time as the program was ready to wait.
#[test]
fn a_wait_that_ends_by_its_limit_has_taken_so_long() {
    let program = Program::new(
        WAITS,
        "MPI_Init(0, 0);
         double start;
         struct timespec t, span = {0, 20000000};
         struct timeval v = {3600, 0};
         struct epoll_event event;
         int pipes[2], set = epoll_create1(0);
         pipe(pipes);
         struct pollfd file = {pipes[0], POLLIN};
         fd_set files; FD_ZERO(&files); FD_SET(pipes[0], &files);
         #define TAKES(seconds, call) start = MPI_Wtime(); call; \
             if (MPI_Wtime() - start < seconds || MPI_Wtime() - start > seconds + 2e-4) \
                 return __LINE__ % 200;
         pthread_mutex_lock(&mutex);
         pthread_rwlock_wrlock(&rwlock);
         t = in(0.02); TAKES(0.0199,
             if (sem_timedwait(&semaphore, &t) == 0 || errno != ETIMEDOUT) return 1)
         t = in(0.02); TAKES(0.0199,
             if (pthread_cond_timedwait(&condition, &mutex, &t) != ETIMEDOUT) return 2)
         t = in(0.02); TAKES(0.0199,
             if (pthread_cond_clockwait(&condition, &mutex, CLOCK_REALTIME, &t) != ETIMEDOUT)
                 return 3)
         t = in(0.02); TAKES(0.0199, if (pthread_mutex_timedlock(&mutex, &t) != ETIMEDOUT) return 4)
         TAKES(0.02, if (poll(&file, 1, 20) != 0) return 6)
         struct timeval w = {0, 20000};
         TAKES(0.02, if (select(pipes[0] + 1, &files, 0, 0, &w) != 0) return 7)
         TAKES(0.02, if (epoll_wait(set, &event, 1, 20) != 0) return 8)
         /* Nothing can happen: no real time passes. */
         TAKES(3600, if (select(0, 0, 0, 0, &v) != 0 || v.tv_sec != 0) return 9)
         TAKES(3600, if (poll(0, 0, 3600000) != 0) return 10)
         TAKES(0.02, if (ppoll(0, 0, &span, 0) != 0) return 11)
         TAKES(0.02, if (pselect(0, 0, 0, 0, &span, 0) != 0) return 12)
         write(pipes[1], \"\", 1);
         TAKES(0, if (poll(&file, 1, 3600000) != 1) return 13)
         MPI_Finalize();",
    );
    let start = Instant::now();
    assert_eq!(run(&program).1, ExitStatus::FINISHED);
    assert!(start.elapsed() < Duration::from_secs(60));
}
