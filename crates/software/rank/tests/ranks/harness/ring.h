/* What a random rank does: a function of its seed. It writes into the channel as a program might, with its
 * other thread at the same time, and calls MPI in between. */
static uint64_t state;
static uint64_t next(void)
{
    uint64_t z = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static unsigned below(unsigned bound) { return (unsigned)(next() % bound); }
static char place[4096];
static void called(void *in, void *inout, int *count, MPI_Datatype *type)
{
    if (below(3) == 0) MPI_Barrier(MPI_COMM_WORLD);
}
static uint64_t argument(void)
{
    switch (below(7)) {
    case 0: return next();
    case 1: return below(8);
    case 2: return (uint64_t)-1 - below(3);
    case 3: return (uint64_t)(uintptr_t)shared + below(ALL);
    case 4: return (uint64_t)1 << below(64);
    default: return (uint64_t)(uintptr_t)place + below(sizeof place);
    }
}
static void record(void)
{
    const uint32_t head = *word(shared, HEAD);
    char *at = shared + RECORDS + head % 256 * 128;
    *word(at, 0) = below(11) << 16 | (below(8) ? below(670) : below(65536));
    for (int i = 0; i < 14; i++) ((volatile uint64_t *)(at + 16))[i] = argument();
    *word(shared, HEAD) = head + (below(16) ? 1 : below(600));
}
static void act(int rarely)
{
    static const int fields[] = {0,   4,   8,   12,  16,  64,  68,  72,  80, 88, 128, 128, 192,
                                 196, 200, 204, 208, 216, 272, 276, 512, 1024, 1032, 1040,
                                 2048, 2056, MOVED, WAY, RUNS};
    switch (below(rarely ? 13 : 10)) {
    case 0: *word(shared, (int)(below(ALL) & ~3u)) = (uint32_t)argument(); break;
    case 1: *word(shared, fields[below(29)]) = (uint32_t)argument(); break;
    case 2: *word(shared, fields[below(29)]) = below(4); break;
    case 3: case 4: record(); break;
    case 5: *word(shared, TURN) = below(5); break;
    case 6: *word(shared, STATE) = below(16); break;
    case 7: memset(shared + below(ALL - 64), (int)below(256), 64); break;
    case 9: memset(area + below(AREA - 64), (int)below(256), 64); break;
    case 8: usleep(below(200)); break; /* through the channel */
    default: break;
    }
}
static void *other(void *unused)
{
    for (unsigned left = 1 + below(30); left > 0; left--) { act(0); sched_yield(); }
    return 0;
}
static void call(void)
{
    MPI_Request request;
    MPI_Op op;
    switch (below(6)) {
    case 0: MPI_Barrier(MPI_COMM_WORLD); break;
    case 1: MPI_Isend(place, (int)below(300), MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request); break;
    case 2: MPI_Send(place, (int)below(60), MPI_CHAR, 1, 2, MPI_COMM_WORLD); break;
    case 3: MPI_Wtime(); break;
    case 4: MPI_Op_create(called, 1, &op); break;
    default: MPI_Recv(place, (int)below(99), MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void run(const char *seed)
{
    pthread_t thread;
    freopen("/dev/null", "w", stderr); /* it may say anything */
    state = strtoull(seed, 0, 10);
    alarm(20); /* it ends at some time, whatever it waits for */
    if (below(2)) pthread_create(&thread, 0, other, 0);
    for (unsigned left = 1 + below(40); left > 0; left--) {
        if (below(1000) == 0) map_over();
        if (below(400) == 0) munmap(shared, 0x1000 * (1 + below(9)));
        if (below(400) == 0) munmap(area, 0x1000 * (1 + below(80)));
        if (below(3)) act(1); else call();
    }
    MPI_Finalize();
}
