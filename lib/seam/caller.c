/* The function of MPI that a program waits in, as its symbols tell. */
#define _GNU_SOURCE
#include "rank.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define FRAMES 128
#define NAME_BYTES 64

/* True for the exported name of a function of MPI: in C, or of a Fortran compiler's (mpi_recv_). */
static bool is_mpi(const char *name)
{
    return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0 ||
           strncmp(name, "mpi_", 4) == 0;
}

/* The exported function that has this address. The nearest symbol before it may be that of another one,
 * which has ended before. */
static const char *function_at(const void *address)
{
    Dl_info found;
    void *symbol = NULL;
    if (!dladdr1(address, &found, &symbol, RTLD_DL_SYMENT) || !found.dli_sname || !symbol)
        return NULL;
    const size_t offset = (size_t)((const char *)address - (const char *)found.dli_saddr);
    return offset < ((const ElfW(Sym) *)symbol)->st_size ? found.dli_sname : NULL;
}

const char *rank_caller(void)
{
    static char told[NAME_BYTES];
    void *frames[FRAMES];
    const int count = backtrace(frames, FRAMES);
    for (int i = count - 1; i >= 0; i--) {
        /* The call stands before the address to which it returns. */
        const char *name = function_at((const char *)frames[i] - 1);
        if (name && is_mpi(name)) {
            snprintf(told, sizeof told, "%s", name);
            return told;
        }
    }
    return NULL;
}
