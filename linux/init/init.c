// The first program of a guest: prepares its file system, runs one program and tells the bench how it ended.
//
// The bench names its folder of this guest in the environment (SUNSTAR); there `program` has, each with a
// byte 0 behind it: the guest's number, how many guests there are, the time of its clock in ns at which
// the program begins, the working folder, the folder that stands at LIBRARIES (or nothing), the kind of
// standard input (nothing; all: it is the file `stdin`; terminal), rows and columns of the terminal, the
// number of arguments, the arguments, the number of variables, the variables; then what is to be done
// before the program: the number of words that follow, modules, each with its options, and the same of
// files to be written, each with its contents; the number of files that are kept at the end, and these
// (`kept.0` and so on, behind a line with the time). What the program writes goes to `stdout` and `stderr`
// there.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The bench's system call of a process that pays for what it does (linux/kernel/sunstar.c). This program pays
// for nothing: what it does depends on the bench's folder, on paths, and on what is kept.
#define SUNSTAR_CALL 0x53554e
#define SUNSTAR_PAID 2

// Where libraries of the bench's stand, wherever it is installed.
#define LIBRARIES "/run/lib"

// In the upper bytes of what the bench is told: an end of the program, whose wait status stands below.
#define ENDED (UINT64_C(0x454e4400) << 32)
// All is ready for the program.
#define READY (UINT64_C(0x52454144) << 32)
// No program began: the number of the error stands below.
#define FAILED (UINT64_C(0x4641494c) << 32)

static void say(uint64_t what)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%#llx", (unsigned long long)what);
    int file = open("/sys/kernel/um-ext-time/bc-message", O_WRONLY);

    if (file < 0 || write(file, text, length) != length)
        perror("sunstar: the bench cannot be told");
    if (file >= 0)
        close(file);
}

// The last that is said: the bench needs nothing more of this guest.
static void tell(uint64_t what)
{
    say(what);
    reboot(RB_POWER_OFF);
    _exit(1);
}

static void fail(const char *what)
{
    uint64_t number = errno;

    fprintf(stderr, "sunstar: %s: %s\n", what, strerror(errno));
    tell(FAILED | number);
}

static void put(const char *kind, const char *at, const char *options)
{
    if (mount(kind, at, kind, 0, options))
        fail(at);
}

// A private layer in memory over the host's files, which stay as they are.
static void layer(void)
{
    put("tmpfs", "/mnt", "mode=755");
    mkdir("/mnt/upper", 0755);
    mkdir("/mnt/work", 0755);
    mkdir("/mnt/root", 0755);
    const char *layers = "lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work";
    if (mount("overlay", "/mnt/root", "overlay", 0, layers))
        fail("the private layer over the host's files");
    if (chdir("/mnt/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot("."))
        fail("the root");
    put("proc", "/proc", NULL);
    put("sysfs", "/sys", NULL);
    put("devtmpfs", "/dev", "mode=755");
    mkdir("/dev/pts", 0755);
    put("devpts", "/dev/pts", "mode=620,ptmxmode=666");
    mkdir("/dev/shm", 01777);
    put("tmpfs", "/dev/shm", "mode=1777");
    put("tmpfs", "/run", "mode=755");
    symlink("/proc/self/fd", "/dev/fd");
    symlink("/proc/self/fd/0", "/dev/stdin");
    symlink("/proc/self/fd/1", "/dev/stdout");
    symlink("/proc/self/fd/2", "/dev/stderr");
}

// A guest's address: 10.0.0.1 of node0 and so on.
static uint32_t address(unsigned number)
{
    return 10u << 24 | (number + 1);
}

static void set(int s, struct ifreq *request, int what, uint32_t value)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(value)};

    memcpy(&request->ifr_addr, &in, sizeof in);
    if (ioctl(s, what, request))
        fail(request->ifr_name);
}

// Lets an interface work, with this address unless it is 0.
static void up(const char *name, uint32_t own)
{
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq request = {};

    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (own) {
        set(s, &request, SIOCSIFADDR, own);
        set(s, &request, SIOCSIFNETMASK, 0xffff0000);
    }
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (s < 0 || ioctl(s, SIOCSIFFLAGS, &request))
        fail(name);
    close(s);
}

// Guests know one another by name.
static void names(unsigned guests)
{
    FILE *file = fopen("/etc/hosts", "w");

    if (!file)
        fail("/etc/hosts");
    fprintf(file, "127.0.0.1 localhost\n");
    for (unsigned number = 0; number < guests; number++) {
        uint32_t own = address(number);

        fprintf(file, "%u.%u.%u.%u ", own >> 24, own >> 16 & 255, own >> 8 & 255, own & 255);
        fprintf(file, "node%u\n", number);
    }
    if (fclose(file))
        fail("/etc/hosts");
}

static char *next(char **at)
{
    char *field = *at;

    *at += strlen(field) + 1;
    return field;
}

static char **list(char **at)
{
    int count = atoi(next(at));
    char **fields = calloc(count + 1, sizeof *fields);

    for (int i = 0; i < count; i++)
        fields[i] = next(at);
    return fields;
}

// Lets the kernel have a module.
static void load(const char *path, const char *options)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0 || syscall(SYS_finit_module, file, options, 0))
        fail(path);
    close(file);
}

static void fill(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    size_t length = strlen(text);

    if (file < 0 || write(file, text, length) != (ssize_t)length)
        fail(path);
    close(file);
}

static int output(const char *folder, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_APPEND | O_SYNC | O_CLOEXEC);
    if (file < 0)
        fail(path);
    return file;
}

// Standard input of the program: nothing, or all that there is.
static int input(const char *kind)
{
    const char *path = strcmp(kind, "all") == 0 ? "/run/sunstar/stdin" : "/dev/null";
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        fail(path);
    return file;
}

// A terminal: its end here, and the name of the program's.
static int terminal(unsigned rows, unsigned columns, char *name, size_t bytes)
{
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    int file = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    if (file < 0 || unlockpt(file) || ptsname_r(file, name, bytes) ||
        ioctl(file, TIOCSWINSZ, &size))
        fail("a terminal");
    return file;
}

// What was typed is in files with numbers; the next one's, if it is there.
static ssize_t typed(unsigned *number, char *bytes, size_t room)
{
    char path[64];

    snprintf(path, sizeof path, "/run/sunstar/typed.%u", *number);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, bytes, room);
    close(file);
    unlink(path);
    (*number)++;
    return length;
}

// Carries what is typed to the program, and what it writes to the bench, until it ends: its wait status.
static int serve(int at, pid_t child, int out)
{
    static char in[4096], text[4096];
    ssize_t length = 0, done = 0, got;
    unsigned number = 0;
    int status;

    for (;;) {
        struct pollfd screen = {.fd = at, .events = POLLIN};
        pid_t ended = waitpid(-1, &status, WNOHANG);

        // All that it has written before its end is there.
        while ((got = read(at, text, sizeof text)) > 0)
            if (write(out, text, got) != got)
                fail("standard output");
        if (ended == child)
            return status;
        if (done == length) {
            done = 0;
            length = typed(&number, in, sizeof in);
        }
        got = length > done ? write(at, in + done, length - done) : 0;
        if (got > 0)
            done += got;
        // While nobody has the terminal open its state is POLLHUP at once.
        if (poll(&screen, 1, 1) > 0 && !(screen.revents & POLLIN))
            usleep(1000);
    }
}

// Leaves a file for the bench; what does not exist is left out.
static void keep(const char *path, unsigned number, const struct timespec *now)
{
    static char text[1 << 16];
    char name[64];
    int from = open(path, O_RDONLY | O_CLOEXEC);

    if (from < 0)
        return;
    ssize_t length = read(from, text, sizeof text);
    close(from);
    snprintf(name, sizeof name, "/run/sunstar/kept.%u", number);
    int to = open(name, O_WRONLY | O_CREAT | O_SYNC | O_CLOEXEC, 0644);
    if (length < 0 || to < 0 ||
        dprintf(to, "%lld\n", now->tv_sec * 1000000000LL + now->tv_nsec) < 0 ||
        write(to, text, length) != length)
        fail(path);
    close(to);
}

int main(void)
{
    static char fields[1 << 20];
    const char *folder = getenv("SUNSTAR");

    if (!folder)
        return 1;
    layer();
    // The bench's folder itself, not the private layer over it.
    mkdir("/run/sunstar", 0755);
    if (mount("none", "/run/sunstar", "hostfs", 0, folder))
        fail("the bench's folder");

    int file = open("/run/sunstar/program", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, fields, sizeof fields - 1) <= 0)
        fail("the program's name");
    close(file);
    char *at = fields;
    unsigned number = strtoul(next(&at), NULL, 10), guests = strtoul(next(&at), NULL, 10);
    uint64_t begins = strtoull(next(&at), NULL, 10);
    char *home = next(&at), *libraries = next(&at);
    char *kind = next(&at), screen[64] = "";
    unsigned rows = strtoul(next(&at), NULL, 10), columns = strtoul(next(&at), NULL, 10);
    char **arguments = list(&at);
    char **variables = list(&at), **modules = list(&at), **files = list(&at);
    char **kept = list(&at);

    char name[32];
    int length = snprintf(name, sizeof name, "node%u", number);
    if (sethostname(name, length))
        fail("the guest's name");
    names(guests);
    if (*libraries && (mkdir(LIBRARIES, 0755) || mount(libraries, LIBRARIES, NULL, MS_BIND, NULL)))
        fail(libraries);
    for (; *modules; modules += 2)
        load(modules[0], modules[1]);
    for (; *files; files += 2)
        fill(files[0], files[1]);
    up("lo", 0);
    // The node's card, whichever it is.
    if (if_nametoindex("eth0"))
        up("eth0", address(number));
    if (if_nametoindex("myri0"))
        up("myri0", address(number));
    int out = output("/run/sunstar", "stdout"), err = output("/run/sunstar", "stderr");

    int in = input(kind), master = -1;
    if (strcmp(kind, "terminal") == 0)
        master = terminal(rows, columns, screen, sizeof screen);

    say(READY);
    struct timespec start = {.tv_sec = begins / 1000000000, .tv_nsec = begins % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);

    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        setsid();
        // The first terminal that a session opens is its own.
        if (master >= 0)
            in = out = err = open(screen, O_RDWR | O_CLOEXEC);
        dup2(in, 0);
        dup2(out, 1);
        dup2(err, 2);
        if (chdir(home) && chdir("/"))
            _exit(127);
        environ = variables;
        syscall(SUNSTAR_CALL, SUNSTAR_PAID);
        execvp(arguments[0], arguments);
        fprintf(stderr, "sunstar: %s: %s\n", arguments[0], strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
    }
    int status;
    if (master >= 0)
        status = serve(master, child, out);
    else
        while (wait(&status) != child)
            ;
    // The program's end is the guest's, whatever is kept of it.
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (unsigned i = 0; kept[i]; i++)
        keep(kept[i], i, &now);
    tell(ENDED | (uint32_t)status);
}
