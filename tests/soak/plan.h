/* What the ranks of a random program have in common: numbers that depend on a seed and on what they
 * are for, and lines that rank 0 prints in the order of ranks. */
#ifndef PLAN_H
#define PLAN_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

static int rank, size, round_number;
static MPI_Comm plain; /* For what is said. */
static char text[1 << 17];
static int length;

/* SplitMix64. */
static uint64_t mix(uint64_t seed, uint64_t by) {
    uint64_t z = seed + (by + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(uint64_t *state, int bound) {
    *state = mix(*state, 0);
    return (int)((*state >> 8) % (uint64_t)bound);
}

static int pick(uint64_t seed, uint64_t by, int bound) {
    return (int)(mix(seed, by) % (uint64_t)bound);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    va_list arguments;

    length += snprintf(text + length, sizeof text - length, "%d.%d ", round_number, rank);
    va_start(arguments, format);
    length += vsnprintf(text + length, sizeof text - length - 1, format, arguments);
    va_end(arguments);
    text[length++] = '\n';
}

static void say_ints(const char *what, const int *list, int count) {
    char line[600];
    int end = 0;

    for (int i = 0; i < count; i++) end += snprintf(line + end, sizeof line - end, " %d", list[i]);
    say("%s:%.*s", what, end, line);
}

/* Rank 0 prints what all have said. */
static void tell(void) {
    for (int from = 0; rank == 0 && from < size; from++) {
        MPI_Status status;
        if (from > 0) {
            MPI_Recv(text, sizeof text, MPI_CHAR, from, 1, plain, &status);
            MPI_Get_count(&status, MPI_CHAR, &length);
        }
        fwrite(text, 1, length, stdout);
    }
    fflush(stdout);
    if (rank > 0) MPI_Send(text, length, MPI_CHAR, 0, 1, plain);
    length = 0;
}

#endif
