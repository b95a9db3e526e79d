/* Descriptors of the system's random numbers. */
#ifndef SUNSTAR_RANDOM_H
#define SUNSTAR_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define RANK_RANDOM_FILES 1024

/* A bit for each descriptor that is one. */
extern uint64_t rank_random_files[RANK_RANDOM_FILES / 64];

static inline bool rank_is_random(int file)
{
    return file >= 0 && file < RANK_RANDOM_FILES && rank_random_files[file / 64] >> file % 64 & 1;
}
/* This path was opened as that descriptor. */
void rank_random_opened(const char *path, int file);
/* This descriptor is something else from now on. */
void rank_random_closed(int file);
/* As read(2), of such a descriptor. */
ssize_t rank_random_read(int file, void *data, size_t bytes);
/* A stream of such numbers, if the path is of their file, and this process has numbers of its own. */
FILE *rank_random_stream(const char *path, const char *mode);
/* This process has numbers of its own from now on. */
void rank_random_begin(void);

#endif
