/* The card's memory in a process: what is written there is read by the device, and the other way round. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behind all regions but the receive buffer, whose upper end no packet reaches. */
enum { PLACE = 0x1f0000, PAGE = 4096, SRAM = 2 << 20, SPACE = 16 << 20 };

static void check(int good, const char *what)
{
    if (!good) {
        printf("wrong: %s (%s)\n", what, strerror(errno));
        exit(1);
    }
}

/* The card as its device reads it. */
static int has(int card, off_t at, const char *text)
{
    char bytes[64];
    size_t length = strlen(text);

    return pread(card, bytes, length, at) == (ssize_t)length && memcmp(bytes, text, length) == 0;
}

int main(void)
{
    int card = open("/dev/myrinet", O_RDWR), other = open("/dev/myrinet", O_RDWR);
    char *memory, *whole;
    int status;

    check(card >= 0 && other >= 0, "open");
    memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, card, PLACE);
    whole = mmap(NULL, SRAM, PROT_READ, MAP_SHARED, other, 0);
    check(memory != MAP_FAILED && whole != MAP_FAILED, "mmap");
    check(memcmp(whole + 0x50000, "MCP1", 4) == 0, "the control program's word");

    /* Both pages; not there before they are synchronised. */
    strcpy(memory, "hello");
    strcpy(memory + PAGE, "world");
    check(!has(card, PLACE, "hello"), "it is there too early");
    check(msync(memory, 2 * PAGE, MS_SYNC) == 0, "msync");
    check(has(card, PLACE, "hello") && has(card, PLACE + PAGE, "world"), "what was written");

    /* The card's own changes are seen behind the next synchronisation. */
    check(pwrite(card, "HELLO", 5, PLACE) == 5, "pwrite");
    check(strcmp(memory, "HELLO") == 0, "a page that was forgotten");
    check(pwrite(card, "again", 5, PLACE) == 5 && strcmp(memory, "HELLO") == 0, "a copy");
    check(msync(memory, PAGE, MS_SYNC) == 0 && strcmp(memory, "again") == 0, "what the card has");

    /* A process that ends leaves its changes. */
    pid_t child = fork();
    if (child == 0) {
        int own = open("/dev/myrinet", O_RDWR);
        char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, own, PLACE + PAGE);

        strcpy(page, "child");
        _exit(page == MAP_FAILED);
    }
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child");
    check(has(card, PLACE + PAGE, "child"), "what the child has written");

    /* Registers and private copies are refused. */
    check(mmap(NULL, SPACE, PROT_READ, MAP_SHARED, card, 0) == MAP_FAILED && errno == ENXIO, "all");
    check(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, card, SRAM) == MAP_FAILED, "registers");
    check(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, card, 0) == MAP_FAILED, "private");
    printf("content\n");
    return 0;
}
