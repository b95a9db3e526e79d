/* A client of PMI-1, as MPICH has one. */
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

static int server = -1;
static FILE *notes;
static char unread[4096];
static size_t there;

static void note(const char *line)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(notes, "%ld.%09ld %s\n", (long)now.tv_sec, now.tv_nsec, line);
    fflush(notes);
}

/* The next line of the launcher's. */
static char *answer(void)
{
    static char line[4096];
    char *end;
    while (!(end = memchr(unread, '\n', there))) {
        const ssize_t more = read(server, unread + there, sizeof unread - there);
        if (more <= 0)
            exit(40);
        there += (size_t)more;
    }
    const size_t bytes = (size_t)(end - unread);
    memcpy(line, unread, bytes);
    line[bytes] = 0;
    there -= bytes + 1;
    memmove(unread, end + 1, there);
    note(line);
    return line;
}

static char *ask(const char *line)
{
    if (write(server, line, strlen(line)) != (ssize_t)strlen(line))
        exit(41);
    return answer();
}

/* Connects to PMI_PORT as PMI_ID; the rank. */
static int join(void)
{
    char *port = strdup(getenv("PMI_PORT")), line[64];
    char *behind = strchr(port, ':');
    *behind = 0;
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(port, behind + 1, &wanted, &found) != 0)
        exit(42);
    server = socket(found->ai_family, found->ai_socktype, 0);
    if (connect(server, found->ai_addr, found->ai_addrlen) != 0)
        exit(43);
    note("connected");
    snprintf(line, sizeof line, "cmd=initack pmiid=%s\n", getenv("PMI_ID"));
    ask(line);
    answer();
    const int rank = atoi(strstr(answer(), "rank=") + 5);
    answer();
    ask("cmd=init pmi_version=1 pmi_subversion=1\n");
    return rank;
}
