/* Arguments of random calls: what a parameter's type and name ask for, or anything else. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARGUMENTS_MAX = 13, POOL = 12, ROOM = 1 << 16, LIST = 64 };

typedef uint64_t (*any)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                        uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
struct function {
    const char *name;
    any call;
    const char *parameters; /* As declared. */
};
struct plan {
    uint64_t state;
};

static int own_rank, ranks;

/* A function of the program for a parameter of this type. */
uint64_t function_of(struct plan *plan, const char *type);

/* SplitMix64. */
static uint64_t next(struct plan *plan) {
    uint64_t z = plan->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static int below(struct plan *plan, int bound) { return (int)(next(plan) % (uint64_t)bound); }

/* Handles that calls have made and that calls use, and what was there at first. */
static const struct kind {
    const char *type;
    uint64_t known[8];
    int knowns;
} kinds[] = {
#define H(x) (uint64_t)(uintptr_t)(x)
    {"MPI_Comm", {H(MPI_COMM_WORLD), H(MPI_COMM_WORLD), H(MPI_COMM_SELF), H(MPI_COMM_NULL)}, 4},
    {"MPI_Datatype",
     {H(MPI_INT), H(MPI_DOUBLE), H(MPI_BYTE), H(MPI_DOUBLE_INT), H(MPI_LONG_DOUBLE),
      H(MPI_DATATYPE_NULL), H(MPI_PACKED), H(MPI_CHAR)},
     8},
    {"MPI_Op",
     {H(MPI_SUM), H(MPI_MAX), H(MPI_BAND), H(MPI_MINLOC), H(MPI_REPLACE), H(MPI_NO_OP),
      H(MPI_OP_NULL), H(MPI_SUM)},
     8},
    {"MPI_Request", {H(MPI_REQUEST_NULL)}, 1},
    {"MPI_Group", {H(MPI_GROUP_EMPTY), H(MPI_GROUP_NULL)}, 2},
    {"MPI_Info", {H(MPI_INFO_NULL), H(MPI_INFO_NULL), H(MPI_INFO_ENV)}, 3},
    {"MPI_Errhandler",
     {H(MPI_ERRORS_RETURN), H(MPI_ERRORS_RETURN), H(MPI_ERRORS_ARE_FATAL), H(MPI_ERRHANDLER_NULL)},
     4},
    {"MPI_Message", {H(MPI_MESSAGE_NULL), H(MPI_MESSAGE_NO_PROC)}, 2},
    {"MPI_Session", {H(MPI_SESSION_NULL)}, 1},
    {"MPI_File", {H(MPI_FILE_NULL)}, 1},
    {"MPI_Win", {H(MPI_WIN_NULL)}, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static uint64_t pools[KINDS][POOL];
static unsigned char *room; /* Memory that is there; behind it is none. */
static int keys[POOL];
static MPI_Status statuses[LIST];

static uint64_t known(struct plan *plan, int kind) {
    return kinds[kind].known[below(plan, kinds[kind].knowns)];
}

static void make_room(void) {
    struct plan plan = {99};

    room = mmap(NULL, ROOM + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(room + ROOM, 8192);
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < POOL; i++) pools[kind][i] = known(&plan, kind);
}

static uint64_t number(struct plan *plan, int wide) {
    switch (below(plan, wide ? 24 : 18)) {
    case 0: return (uint64_t)-1;
    case 1: return INT_MAX;
    case 2: return (uint64_t)INT_MIN;
    case 3: return (uint64_t)below(plan, 1 << 20);
    case 4: return (uint64_t)-below(plan, 3000);
    case 18: return INT64_MAX;
    case 19: return (uint64_t)INT64_MIN;
    case 20: return (uint64_t)1 << below(plan, 64);
    case 21: return next(plan);
    default: return (uint64_t)below(plan, 9);
    }
}

static uint64_t place(struct plan *plan) {
    switch (below(plan, 16)) {
    case 0: return 0;
    case 1: return H(MPI_IN_PLACE);
    case 2: return H(room) + ROOM - (uint64_t)below(plan, 64);
    case 3: return below(plan, 2) ? next(plan) : (uint64_t)-1 - (uint64_t)below(plan, 100);
    case 4: return H(function_of); /* Not to be written. */
    case 5: return H(MPI_BUFFER_AUTOMATIC);
    default: return H(room) + (uint64_t)below(plan, 4096) * 8;
    }
}

/* A list of numbers, filled anew. */
static uint64_t list(struct plan *plan, int wide, int hostile) {
    unsigned char *at = room + 32768 + 512 * below(plan, 32);

    for (int i = 0; i < 16; i++) {
        uint64_t value = below(plan, hostile) ? (uint64_t)below(plan, 4) : number(plan, wide);
        if (wide)
            memcpy(at + 8 * i, &value, 8);
        else
            memcpy(at + 4 * i, &value, 4);
    }
    return below(plan, 30) ? H(at) : place(plan);
}

static uint64_t integer(struct plan *plan, const char *name) {
    static const int odd[] = {MPI_ANY_SOURCE, MPI_PROC_NULL, MPI_ROOT, MPI_UNDEFINED,
                              INT_MAX,        INT_MIN,       -1,       -77};
    const int is_odd = below(plan, 8) == 0;

    if (!strcmp(name, "dest") || !strcmp(name, "source") || !strcmp(name, "root") ||
        strstr(name, "rank"))
        return (uint64_t)(is_odd ? odd[below(plan, 8)]
                                 : below(plan, ranks + (below(plan, 8) == 0)));
    if (strstr(name, "tag"))
        return !is_odd          ? (uint64_t)below(plan, 2)
               : below(plan, 2) ? (uint64_t)MPI_ANY_TAG
                                : number(plan, 0);
    if (strstr(name, "keyval"))
        return (uint64_t)(!is_odd ? keys[below(plan, POOL)] : below(plan, 700));
    return number(plan, 0);
}

static uint64_t text(struct plan *plan) {
    static const char *texts[] = {"", "a", "key", "command", "a rather long text \x01 \xff"};
    char *at = (char *)room + 60000;

    strcpy(at, texts[below(plan, 5)]);
    return below(plan, 12) ? H(at) : place(plan);
}

static uint64_t handle(struct plan *plan, int kind) {
    if (below(plan, 40) == 0) return next(plan) >> below(plan, 64);
    return below(plan, 3) ? pools[kind][below(plan, POOL)] : known(plan, kind);
}

/* The argument for "const int counts[]". */
static uint64_t argument(struct plan *plan, const char *parameter) {
    char copy[128], *name, *bracket;
    int is_list = 0, stars = 0;

    /* The program's library stores a request's handle by itself, and ends with it where it cannot. */
    const int is_request = strstr(parameter, "MPI_Request *") != NULL;

    if (!is_request && below(plan, 150) == 0) return below(plan, 2) ? 0 : next(plan);
    while (*parameter == ' ') parameter++;
    if (!strncmp(parameter, "const ", 6)) parameter += 6;
    strncpy(copy, parameter, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    while ((bracket = strrchr(copy, '['))) *bracket = 0, is_list = 1;
    for (char *c = copy; *c; c++) stars += *c == '*';
    name = copy + strlen(copy);
    while (name > copy && name[-1] != ' ' && name[-1] != '*') name--;
    if (strstr(copy, "_function")) return function_of(plan, copy);
    for (int kind = 0; kind < KINDS; kind++) {
        size_t length = strlen(kinds[kind].type);
        if (strncmp(copy, kinds[kind].type, length) || copy[length] != ' ') continue;
        if (!is_list && stars == 0) return handle(plan, kind);
        const uint64_t at = H(&pools[kind][below(plan, is_list ? POOL / 2 : POOL)]);
        return is_request || below(plan, 30) ? at : place(plan);
    }
    if (!strncmp(copy, "MPI_Status", 10))
        return below(plan, 6)   ? H(&statuses[below(plan, LIST / 2)])
               : below(plan, 4) ? 0
                                : place(plan);
    if (stars > 1) return 0;
    if (!strncmp(copy, "void", 4)) return place(plan);
    if (!strncmp(copy, "char", 4)) return text(plan);
    const int wide = !strncmp(copy, "MPI_Count", 9) || !strncmp(copy, "MPI_Aint", 8);
    if (stars && strstr(name, "keyval")) return H(&keys[below(plan, POOL)]);
    if (is_list || stars) return list(plan, wide, is_list ? 20 : 5);
    return wide ? number(plan, 1) : integer(plan, name);
}

#endif
