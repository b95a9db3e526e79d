/* Prints what a rank finds around itself: each word on the command line is the name of a variable, or one of
 * "host", "uname", "folder" and "date". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static const char *found(const char *word)
{
    static char text[512];
    static struct utsname facts;
    if (strcmp(word, "host") == 0)
        return gethostname(text, sizeof text) == 0 ? text : "?";
    if (strcmp(word, "uname") == 0)
        return uname(&facts) == 0 ? facts.nodename : "?";
    if (strcmp(word, "folder") == 0)
        return getcwd(text, sizeof text);
    if (strcmp(word, "date") != 0)
        return getenv(word) ? getenv(word) : "-";
    /* All calendars agree, and no other clock counts from 1970. */
    struct timeval day;
    struct timespec real, steady;
    clock_gettime(CLOCK_REALTIME, &real);
    gettimeofday(&day, NULL);
    clock_gettime(CLOCK_MONOTONIC, &steady);
    const time_t now = time(NULL);
    strftime(text, sizeof text, "%F %H:%M", gmtime(&now));
    return now == real.tv_sec && now == day.tv_sec && steady.tv_sec < 60 ? text : "?";
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("%d", rank);
    for (int i = 1; i < argc; i++)
        printf(" %s", found(argv[i]));
    printf("\n");
    /* A limit that is a date is one of simulated time, too. */
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 2;
    const double before = MPI_Wtime();
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &limit, NULL);
    const double slept = MPI_Wtime() - before;
    MPI_Finalize();
    return slept > 1.9 && slept < 2.1 ? 0 : 3;
}
