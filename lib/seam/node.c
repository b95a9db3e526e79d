/* The rank's node is the machine on which the program runs: it tells its name, as MPI_Get_processor_name. */
#define _GNU_SOURCE
#include "rank.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), cold))

EXPORT int uname(struct utsname *facts)
{
    uint32_t node;
    const int code = (int)syscall(SYS_uname, facts);
    if (code == 0 && rank_node(&node))
        snprintf(facts->nodename, sizeof facts->nodename, "nid%05u", node);
    return code;
}

EXPORT int gethostname(char *name, size_t size)
{
    struct utsname facts;
    if (uname(&facts) != 0)
        return -1;
    const size_t bytes = strlen(facts.nodename) + 1;
    memcpy(name, facts.nodename, bytes < size ? bytes : size);
    if (bytes <= size)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}
