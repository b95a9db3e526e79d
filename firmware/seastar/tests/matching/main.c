/* Match lists under the sanitizers, for whoever holds them against the specification
 * (crates/spec/tests/matching): obeys records that come on its standard input, and answers each.
 *
 * A batch is a number and as many records of 64 bytes: entry_commands, and those of `enum act`. The
 * answers follow together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "match.h"

/* Entries that a world may use, descriptors that it may have, and how deep its states nest. */
enum { ENTRIES = 4, DESCRIPTORS = 32, DEPTH = 64, BATCH = 256, WORDS = 16 };

/* What is no command; each has its arguments in words 1 and up. */
enum act {
    BEGIN = 0x80, /* A new process. */
    SAVE,         /* Keeps the state ... */
    RESTORE,      /* ... which comes back. */
    REQUEST,      /* A struct request, in its order. */
    END,          /* The operation on an entry has ended. */
    ACK,          /* An acknowledgement for a descriptor. */
};

/* What a message asks for. */
struct request {
    uint32_t initiator;
    uint32_t uid;
    uint32_t bits_lo, bits_hi;
    uint32_t offset_lo, offset_hi;
    uint32_t length;
    uint32_t option;
    uint32_t whole; /* It is a number, which is never truncated. */
    uint32_t portal;
    uint32_t access;
};

struct answer {
    uint32_t result; /* Of a command; of others 1: somebody takes it. */
    uint32_t entry, mlength, offset, visits, handle;
    uint32_t listed, described; /* A bit an entry. */
    uint32_t thresholds[ENTRIES];
};

/* What differs between states: no world uses other entries. */
struct state {
    match_entry_t entries[ENTRIES];
    uint16_t heads[SS_ACCELERATED_PORTALS], tails[SS_ACCELERATED_PORTALS];
    struct match_access access[SS_ACCELERATED_ACCESS];
    uint16_t described[DESCRIPTORS];
    uint16_t posted[SS_ACCELERATED_QUEUES];
    uint16_t acks;
};

static struct match_lists lists, fresh;
static struct state kept[DEPTH];
static unsigned depth;

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

#define COPY(to, from, member) memcpy((to)->member, (from)->member, sizeof(kept->member))
#define MOVE(to, from)                                                                             \
    do {                                                                                           \
        COPY(to, from, entries);                                                                   \
        COPY(to, from, heads);                                                                     \
        COPY(to, from, tails);                                                                     \
        COPY(to, from, access);                                                                    \
        COPY(to, from, described);                                                                 \
        COPY(to, from, posted);                                                                    \
        (to)->acks = (from)->acks;                                                                 \
    } while (0)

/* What no world uses is as it was. */
static void rest_is_fresh(void)
{
    if (memcmp(lists.entries + ENTRIES, fresh.entries + ENTRIES,
               sizeof(lists.entries) - sizeof(kept->entries)) ||
        memcmp(lists.described + DESCRIPTORS, fresh.described + DESCRIPTORS,
               sizeof(lists.described) - sizeof(kept->described)))
        fail("an entry or descriptor changed that nobody has");
}

static void obey(const uint32_t *words, struct answer *answer)
{
    match_entry_t *entry;

    switch (words[0] & 0xFF) {
    case BEGIN:
        if (depth)
            fail("states are kept");
        rest_is_fresh();
        match_init(&lists);
        break;
    case SAVE:
        if (depth == DEPTH)
            fail("too many states");
        MOVE(&kept[depth], &lists);
        ++depth;
        break;
    case RESTORE:
        --depth;
        MOVE(&lists, &kept[depth]);
        break;
    case REQUEST: {
        struct request request;
        struct match_found found;
        uint32_t header[SS_RX_HEADER_SIZE / 4] = {0};

        memcpy(&request, words + 1, sizeof(request));
        header[0] = (request.whole ? SS_PORTALS_OP_GETADD : SS_PORTALS_OP_PUT) |
                    request.portal << 16 | request.access << 24;
        header[1] = request.initiator;
        header[3] = request.length;
        header[4] = request.bits_lo;
        header[5] = request.bits_hi;
        header[8] = request.offset_lo;
        header[9] = request.offset_hi;
        header[11] = request.uid;
        match_request(&lists, header, request.option, &found);
        answer->visits = found.visits;
        if (found.entry) {
            answer->result = 1;
            answer->entry = match_number(&lists, found.entry);
            answer->handle = found.entry->handle;
            answer->mlength = found.mlength;
            answer->offset = found.offset;
        }
        break;
    }
    case END:
        match_end(&lists, &lists.entries[words[1]]);
        break;
    case ACK:
        entry = match_answer(&lists, words[1]);
        ++lists.acks;
        answer->result = entry != 0;
        if (entry)
            match_end(&lists, entry);
        break;
    case SS_COMMAND_OP_ATTACH:
        answer->result = (uint32_t)match_attach(&lists, words);
        break;
    case SS_COMMAND_OP_DESCRIBE:
        answer->result = (uint32_t)match_describe(&lists, words);
        break;
    case SS_COMMAND_OP_POST:
        answer->result = (uint32_t)match_post(&lists, words);
        break;
    case SS_COMMAND_OP_UPDATE:
        answer->result = (uint32_t)match_update(&lists, words);
        break;
    case SS_COMMAND_OP_UNLINK:
        answer->result = (uint32_t)match_unlink(&lists, words);
        break;
    case SS_COMMAND_OP_COUNT:
        answer->result = (uint32_t)match_count(&lists, words);
        break;
    case SS_COMMAND_OP_ADMIT:
        answer->result = (uint32_t)match_admit(&lists, words);
        break;
    default:
        fail("no such record");
    }
}

/* The lists' links lead forwards and backwards over the same entries. Returns a bit for each. */
static uint32_t listed(void)
{
    uint32_t bits = 0;

    for (uint32_t portal = 0; portal < SS_ACCELERATED_PORTALS; portal++) {
        uint32_t previous = SS_ENTRY_NONE, number = lists.heads[portal];

        while (number != SS_ENTRY_NONE) {
            const match_entry_t *entry = &lists.entries[number];

            if (number >= ENTRIES || entry->portal != portal || entry->previous != previous ||
                bits & 1u << number)
                fail("a list's links are wrong");
            bits |= 1u << number;
            previous = number;
            number = entry->next;
        }
        if (lists.tails[portal] != previous)
            fail("a list's tail is wrong");
    }
    return bits;
}

static void look(struct answer *answer)
{
    answer->listed = listed();
    for (uint32_t i = 0; i < DESCRIPTORS; i++) {
        uint32_t number = lists.described[i];

        if (number == SS_ENTRY_NONE)
            continue;
        if (number >= ENTRIES || answer->described & 1u << number)
            fail("a descriptor has the wrong entry");
        answer->described |= 1u << number;
        answer->thresholds[number] = lists.entries[number].threshold;
    }
}

int main(void)
{
    static uint32_t records[BATCH][WORDS];
    static struct answer answers[BATCH];
    uint32_t count;

    match_init(&lists);
    match_init(&fresh);
    while (fread(&count, sizeof(count), 1, stdin) == 1) {
        if (count > BATCH || fread(records, sizeof(records[0]), count, stdin) != count)
            fail("a batch is not whole");
        for (uint32_t i = 0; i < count; i++) {
            answers[i] = (struct answer){.entry = SS_ENTRY_NONE};
            obey(records[i], &answers[i]);
            look(&answers[i]);
        }
        fwrite(answers, sizeof(answers[0]), count, stdout);
        fflush(stdout);
    }
    rest_is_fresh();
    return 0;
}
