#include "match.h"

#include "command.h"
#include "plant.h"

#define LISTED SS_ENTRY_FLAG_AFTER           /* Of an entry: it stands in a list. */
#define DESCRIBED SS_ENTRY_FLAG_CONDITIONAL  /* It has a descriptor. */
#define FULL SS_ENTRY_FLAG_DESCRIPTOR        /* Whose buffer is full. */
#define KEPT (SS_ENTRY_FLAG_UNLINK_ENTRY | SS_ENTRY_FLAG_ANY_NID | SS_ENTRY_FLAG_ANY_PID)
#define NO_LIMIT 0xFFFFFFFFu

_Static_assert(sizeof(match_entry_t) == 64, "two lines of the data cache");
_Static_assert(offsetof(match_entry_t, addr_lo) == 32, "a search needs the first half only");
_Static_assert((SS_ACCELERATED_DESCRIPTORS & (SS_ACCELERATED_DESCRIPTORS - 1)) == 0, "masked");
_Static_assert((SS_ACCELERATED_QUEUES & (SS_ACCELERATED_QUEUES - 1)) == 0, "masked");
_Static_assert(offsetof(struct ss_portals_header, pt_index) == 2, "word 0");
_Static_assert(offsetof(struct ss_portals_header, ac_index) == 3, "word 0");
_Static_assert(offsetof(struct ss_portals_header, match_bits) == 16, "words 4 and 5");
_Static_assert(offsetof(struct ss_portals_header, remote_offset) == 32, "words 8 and 9");
_Static_assert(offsetof(struct ss_portals_header, uid) == 44, "word 11");

__attribute__((cold)) void match_init(struct match_lists *lists)
{
    static const match_entry_t blank;
    static const struct match_access closed;

    for (uint32_t i = 0; i < SS_ACCELERATED_ENTRIES; i++)
        lists->entries[i] = blank;
    for (uint32_t i = 0; i < SS_ACCELERATED_PORTALS; i++)
        lists->heads[i] = lists->tails[i] = SS_ENTRY_NONE;
    for (uint32_t i = 0; i < SS_ACCELERATED_DESCRIPTORS; i++)
        lists->described[i] = SS_ENTRY_NONE;
    for (uint32_t i = 0; i < SS_ACCELERATED_QUEUES; i++)
        lists->posted[i] = 0;
    for (uint32_t i = 0; i < SS_ACCELERATED_ACCESS; i++)
        lists->access[i] = closed;
    lists->acks = 0;
    /* Access control entry 0 admits everybody (Portals 3.3 s3.12). */
    lists->access[0].flags =
        SS_ENTRY_FLAG_ANY_NID | SS_ENTRY_FLAG_ANY_PID | SS_ENTRY_FLAG_CONDITIONAL;
    lists->access[0].portal = 0xFF;
    lists->access[0].open = 1;
}

/* Whether a pattern of node and process, with wildcards, admits an initiator. */
static inline int initiator_admitted(uint32_t pattern, uint32_t flags, uint32_t initiator)
{
    uint32_t differ = pattern ^ initiator;

    if (flags & SS_ENTRY_FLAG_ANY_NID)
        differ &= 0xFFFF0000u;
    if (flags & SS_ENTRY_FLAG_ANY_PID)
        differ &= 0x0000FFFFu;
    return differ == 0;
}

/* Whether access control entry `access` lets the sender of `header` use a portal, which both exist. */
static inline int access_granted(const struct match_access *access, const uint32_t *header,
                                 uint32_t portal)
{
    return access->open && initiator_admitted(access->initiator, access->flags, header[1]) &&
           ((access->flags & SS_ENTRY_FLAG_CONDITIONAL) || access->uid == header[11]) &&
           (access->portal == 0xFF || access->portal == portal);
}

/* The same of one that admits everybody everywhere, as number 0 does from the start. */
static inline int access_is_free(const struct match_access *access)
{
    const uint8_t all = SS_ENTRY_FLAG_ANY_NID | SS_ENTRY_FLAG_ANY_PID | SS_ENTRY_FLAG_CONDITIONAL;

    return access->flags == all && access->portal == 0xFF && access->open;
}

static inline int descriptor_active(const match_entry_t *entry)
{
    return entry->threshold != 0 && !(entry->flags & FULL);
}

/* Whether the descriptor of `entry` takes `length` bytes of a request, where, and how many of them
 * (Portals 3.3 s3.10.1). */
static inline int descriptor_accepts(const match_entry_t *entry, const uint32_t *header,
                                     uint32_t option, uint32_t length, uint32_t *place,
                                     uint32_t *taken)
{
    uint32_t options = entry->options;
    uint32_t offset = entry->local_offset;
    uint32_t size = entry->length;

    if (!(entry->flags & DESCRIBED) || !descriptor_active(entry) || (options & option) != option)
        return 0;
    if (options & SS_DESCRIPTOR_OPTION_MANAGE_REMOTE) {
        if (header[9])
            return 0;
        offset = header[8];
    }
    if (offset > size)
        return 0;
    if (length > size - offset && !PLANTED(PLANT_TAKES_TOO_LONG)) {
        /* A number is never truncated. */
        if ((header[0] & 0xFF) > SS_PORTALS_OP_GETPUT ||
            !(options & SS_DESCRIPTOR_OPTION_TRUNCATE))
            return 0;
        length = size - offset;
    }
    *place = offset;
    *taken = length;
    return 1;
}

void match_posts(struct match_lists *lists, const match_entry_t *entry)
{
    if (entry->eq < SS_ACCELERATED_QUEUES)
        ++lists->posted[entry->eq];
}

static void descriptor_count(match_entry_t *entry)
{
    if (entry->threshold != NO_LIMIT && entry->threshold != 0 &&
        !(PLANTED(PLANT_COUNTS_TOO_LATE) && entry->pending == 0 && entry->length > 40))
        --entry->threshold;
    ++entry->pending;
}

/* Takes note that `entry` has accepted bytes. */
static void descriptor_consume(match_entry_t *entry, uint32_t mlength)
{
    uint32_t end = entry->local_offset + mlength;

    descriptor_count(entry);
    if (!PLANTED(PLANT_OFFSET_STAYS))
        entry->local_offset = end < mlength ? 0xFFFFFFFFu : end;
    if (entry->options & SS_DESCRIPTOR_OPTION_MAX_SIZE) {
        uint32_t used = entry->local_offset;
        uint32_t left = used < entry->length ? entry->length - used : 0;

        if (left < entry->max_size)
            entry->flags |= FULL;
    }
}

/* The usual request: the first entry of the list takes it, at its own offset, whole. Its test is that of
 * match_request. Returns 0, and has done nothing, if it does not take it, or is no such entry. */
static inline int head_takes(struct match_lists *lists, uint32_t number, const uint32_t *header,
                             uint32_t option, struct match_found *found)
{
    match_entry_t *entry = &lists->entries[number];
    uint32_t lo = ((uint32_t)entry->match_bits ^ header[4]) & ~(uint32_t)entry->ignore_bits;
    uint32_t hi = ((uint32_t)(entry->match_bits >> 32) ^ header[5]) &
                  ~(uint32_t)(entry->ignore_bits >> 32);
    uint32_t options = entry->options, flags = entry->flags, threshold = entry->threshold;
    uint32_t differ = entry->initiator ^ header[1], length = header[3], eq = entry->eq;
    uint32_t place = entry->local_offset, size = entry->length, under_way = entry->pending;
    uint32_t posted = lists->posted[eq & (SS_ACCELERATED_QUEUES - 1)];

    if (flags & SS_ENTRY_FLAG_ANY_NID)
        differ &= 0xFFFF0000u;
    if (flags & SS_ENTRY_FLAG_ANY_PID)
        differ &= 0x0000FFFFu;
    if ((lo | hi | differ) || (flags & (DESCRIBED | FULL)) != DESCRIBED || !threshold ||
        (options & (option | SS_DESCRIPTOR_OPTION_MANAGE_REMOTE)) != option || place > size ||
        length > size - place)
        return 0;
    if ((options & SS_DESCRIPTOR_OPTION_MAX_SIZE) && size - place - length < entry->max_size)
        entry->flags = (uint8_t)(flags | FULL);
    entry->threshold = threshold - (threshold != NO_LIMIT);
    entry->local_offset = place + length;
    entry->pending = (uint16_t)(under_way + 1);
    if (eq < SS_ACCELERATED_QUEUES)
        lists->posted[eq] = (uint16_t)(posted + 1);
    found->entry = entry;
    found->visits = 1;
    found->mlength = length;
    found->offset = place;
    return 1;
}

void match_request(struct match_lists *lists, const uint32_t *header, uint32_t option,
                   struct match_found *found)
{
    uint32_t portal = header[0] >> 16 & 0xFF, access = header[0] >> 24;
    uint32_t initiator = header[1], length = header[3];
    uint32_t bits_lo = header[4], bits_hi = header[5];
    uint32_t number = SS_ENTRY_NONE, visits = 0, place = 0, taken = 0;
    match_entry_t *entry = 0;

    if (access < SS_ACCELERATED_ACCESS && portal < SS_ACCELERATED_PORTALS &&
        (access_is_free(&lists->access[access]) ||
         access_granted(&lists->access[access], header, portal)))
        number = lists->heads[portal];
    if (!OPT_PLANTED && number != SS_ENTRY_NONE && head_takes(lists, number, header, option, found))
        return;
    for (; number != SS_ENTRY_NONE; number = entry->next, entry = 0) {
        uint32_t lo, hi;

        entry = &lists->entries[number];
        lo = ((uint32_t)entry->match_bits ^ bits_lo) & ~(uint32_t)entry->ignore_bits;
        hi = ((uint32_t)(entry->match_bits >> 32) ^ bits_hi) &
             ~(uint32_t)(entry->ignore_bits >> 32);
        ++visits;
        if (PLANTED(PLANT_HALF_THE_BITS))
            hi = 0;
        if (!(lo | hi) && initiator_admitted(entry->initiator, entry->flags, initiator) &&
            descriptor_accepts(entry, header, option, length, &place, &taken)) {
            descriptor_consume(entry, taken);
            match_posts(lists, entry);
            break;
        }
    }
    found->entry = entry;
    found->visits = visits;
    found->mlength = taken;
    found->offset = place;
}

match_entry_t *match_answer(struct match_lists *lists, uint32_t handle)
{
    uint32_t number = lists->described[handle & (SS_ACCELERATED_DESCRIPTORS - 1)];
    match_entry_t *entry;

    if (number == SS_ENTRY_NONE)
        return 0;
    entry = &lists->entries[number];
    if (entry->handle != handle || !descriptor_active(entry))
        return 0;
    descriptor_count(entry);
    return entry;
}

/* Takes an entry out of its list. */
static void list_remove(struct match_lists *lists, match_entry_t *entry)
{
    if (!(entry->flags & LISTED))
        return;
    if (entry->previous == SS_ENTRY_NONE)
        lists->heads[entry->portal] = entry->next;
    else
        lists->entries[entry->previous].next = entry->next;
    if (entry->next == SS_ENTRY_NONE)
        lists->tails[entry->portal] = entry->previous;
    else
        lists->entries[entry->next].previous = entry->previous;
    entry->flags = 0;
}

static void descriptor_remove(struct match_lists *lists, match_entry_t *entry)
{
    if (!(entry->flags & DESCRIBED))
        return;
    if (lists->described[entry->handle & (SS_ACCELERATED_DESCRIPTORS - 1)] ==
        match_number(lists, entry))
        lists->described[entry->handle & (SS_ACCELERATED_DESCRIPTORS - 1)] = SS_ENTRY_NONE;
    entry->flags &= (uint8_t)~(DESCRIBED | FULL | SS_ENTRY_FLAG_UNLINK);
}

void match_end(struct match_lists *lists, match_entry_t *entry)
{
    --entry->pending;
    if (entry->pending || !(entry->flags & SS_ENTRY_FLAG_UNLINK) || descriptor_active(entry))
        return;
    if (PLANTED(PLANT_LOSES_UNLINK) && entry->length > 40) {
        entry->threshold = 1;
        return;
    }
    descriptor_remove(lists, entry);
    if (entry->flags & SS_ENTRY_FLAG_UNLINK_ENTRY)
        list_remove(lists, entry);
}

_Static_assert(offsetof(struct ss_entry_command, entry) == 2, "word 0");
_Static_assert(offsetof(struct ss_entry_command, base) == 4, "word 1");
_Static_assert(offsetof(struct ss_entry_command, portal) == 6, "word 1");
_Static_assert(offsetof(struct ss_entry_command, flags) == 7, "word 1");
_Static_assert(offsetof(struct ss_entry_command, match_bits) == 8, "words 2 and 3");
_Static_assert(offsetof(struct ss_entry_command, ignore_bits) == 16, "words 4 and 5");
_Static_assert(offsetof(struct ss_entry_command, nid) == 24, "word 6");
_Static_assert(offsetof(struct ss_entry_command, options) == 28, "word 7");
_Static_assert(offsetof(struct ss_entry_command, eq) == 30, "word 7");
_Static_assert(offsetof(struct ss_entry_command, test) == 31, "word 7");
_Static_assert(offsetof(struct ss_entry_command, threshold) == 32, "word 8");
_Static_assert(offsetof(struct ss_entry_command, addr_lo) == 36, "word 9");
_Static_assert(offsetof(struct ss_entry_command, length) == 40, "word 10");
_Static_assert(offsetof(struct ss_entry_command, max_size) == 44, "word 11");
_Static_assert(offsetof(struct ss_entry_command, addr_hi) == 48, "word 12");
_Static_assert(offsetof(struct ss_entry_command, seen) == 50, "word 12");
_Static_assert(offsetof(struct ss_entry_command, handle) == 52, "word 13");

static match_entry_t *command_entry(struct match_lists *lists, const uint32_t *words)
{
    uint32_t number = words[0] >> 16;

    return number < SS_ACCELERATED_ENTRIES ? &lists->entries[number] : 0;
}

int match_attach(struct match_lists *lists, const uint32_t *words)
{
    match_entry_t *entry = command_entry(lists, words);
    uint32_t word1 = words[1];
    uint32_t base = word1 & 0xFFFF;
    uint32_t portal = (word1 >> 16) & 0xFF;
    uint32_t flags = word1 >> 24;
    uint32_t number, previous, next;
    int after = (flags & SS_ENTRY_FLAG_AFTER) != 0;

    if (!entry || (entry->flags & (LISTED | DESCRIBED)) || portal >= SS_ACCELERATED_PORTALS)
        return COMMAND_BAD;
    number = match_number(lists, entry);
    if (PLANTED(PLANT_HEAD_IS_TAIL))
        after = 1;
    if (base == SS_ENTRY_NONE) {
        previous = after ? lists->tails[portal] : SS_ENTRY_NONE;
        next = after ? SS_ENTRY_NONE : lists->heads[portal];
    } else {
        if (base >= SS_ACCELERATED_ENTRIES || !(lists->entries[base].flags & LISTED) ||
            lists->entries[base].portal != portal)
            return COMMAND_BAD;
        previous = after ? base : lists->entries[base].previous;
        next = after ? lists->entries[base].next : base;
    }
    entry->match_bits = (uint64_t)words[3] << 32 | words[2];
    entry->ignore_bits = (uint64_t)words[5] << 32 | words[4];
    entry->initiator = words[6];
    entry->portal = (uint8_t)portal;
    entry->flags = (uint8_t)((flags & KEPT) | LISTED);
    entry->pending = 0;
    entry->previous = (uint16_t)previous;
    entry->next = (uint16_t)next;
    if (previous == SS_ENTRY_NONE)
        lists->heads[portal] = (uint16_t)number;
    else
        lists->entries[previous].next = (uint16_t)number;
    if (next == SS_ENTRY_NONE)
        lists->tails[portal] = (uint16_t)number;
    else
        lists->entries[next].previous = (uint16_t)number;
    return 0;
}

/* Sets the description of an entry's descriptor. */
static int descriptor_set(struct match_lists *lists, match_entry_t *entry,
                          const uint32_t *words)
{
    uint32_t word7 = words[7];
    uint32_t word12 = words[12];
    uint32_t handle = words[13];

    if ((word12 & 0xFFFF) > 0xFF)
        return COMMAND_BAD;
    entry->options = (uint16_t)word7;
    entry->eq = (uint8_t)(word7 >> 16);
    entry->threshold = words[8];
    entry->addr_lo = words[9];
    entry->length = words[10];
    entry->max_size = words[11];
    entry->addr_hi = (uint16_t)word12;
    entry->local_offset = 0;
    entry->handle = handle;
    entry->flags = (uint8_t)((entry->flags & (KEPT | LISTED)) | DESCRIBED |
                             ((words[1] >> 24) & SS_ENTRY_FLAG_UNLINK));
    lists->described[handle & (SS_ACCELERATED_DESCRIPTORS - 1)] =
        (uint16_t)match_number(lists, entry);
    return 0;
}

int match_describe(struct match_lists *lists, const uint32_t *words)
{
    match_entry_t *entry = command_entry(lists, words);

    if (!entry || entry->pending)
        return COMMAND_BAD;
    /* An entry in no list is for the answers to gets, one descriptor after another. */
    if ((entry->flags & DESCRIBED) && (entry->flags & LISTED))
        return COMMAND_BAD;
    descriptor_remove(lists, entry);
    return descriptor_set(lists, entry, words);
}

/* Whether queue `test` has had what the host has taken of it, and no acknowledgement is unknown. */
static int queue_quiet(const struct match_lists *lists, const uint32_t *words)
{
    uint32_t test = words[7] >> 24;
    uint32_t had = lists->acks;

    if (test < SS_ACCELERATED_QUEUES)
        had += lists->posted[test];
    return (uint16_t)had == (uint16_t)(words[12] >> 16);
}

int match_post(struct match_lists *lists, const uint32_t *words)
{
    int status;

    if (!queue_quiet(lists, words) || (PLANTED(PLANT_FORGETS_POST) && words[10] == 20))
        return 0; /* The host learns it from the message that came between. */
    status = match_attach(lists, words);
    return status < 0 ? status : match_describe(lists, words);
}

int match_update(struct match_lists *lists, const uint32_t *words)
{
    match_entry_t *entry = command_entry(lists, words);

    if (!entry)
        return COMMAND_BAD;
    if (!(entry->flags & DESCRIBED) || entry->handle != words[13])
        return SS_ENTRY_RESULT_GONE;
    if ((words[1] >> 24) & SS_ENTRY_FLAG_CONDITIONAL) {
        if (entry->pending)
            return SS_ENTRY_RESULT_IN_USE;
        if (!queue_quiet(lists, words))
            return SS_ENTRY_RESULT_REFUSED;
    }
    return descriptor_set(lists, entry, words); /* 0 is SS_ENTRY_RESULT_DONE. */
}

int match_unlink(struct match_lists *lists, const uint32_t *words)
{
    match_entry_t *entry = command_entry(lists, words);
    int whole = !((words[1] >> 24) & SS_ENTRY_FLAG_DESCRIPTOR);

    if (!entry)
        return COMMAND_BAD;
    if (!(entry->flags & (whole ? LISTED | DESCRIBED : DESCRIBED)))
        return SS_ENTRY_RESULT_GONE;
    if (entry->pending)
        return SS_ENTRY_RESULT_IN_USE;
    descriptor_remove(lists, entry);
    if (whole || (entry->flags & SS_ENTRY_FLAG_UNLINK_ENTRY))
        list_remove(lists, entry);
    return SS_ENTRY_RESULT_DONE;
}

int match_count(struct match_lists *lists, const uint32_t *words)
{
    match_entry_t *entry = command_entry(lists, words);

    if (!entry)
        return COMMAND_BAD;
    if (!(entry->flags & DESCRIBED) || entry->handle != words[13] || !descriptor_active(entry))
        return SS_ENTRY_RESULT_GONE;
    descriptor_count(entry);
    return SS_ENTRY_RESULT_DONE;
}

int match_admit(struct match_lists *lists, const uint32_t *words)
{
    uint32_t number = words[0] >> 16;
    uint32_t word1 = words[1];
    struct match_access *access;

    if (number == SS_ENTRY_NONE) {
        /* The process leaves: nobody is admitted any more. */
        for (uint32_t i = 0; i < SS_ACCELERATED_ACCESS; i++)
            lists->access[i].open = 0;
        return 0;
    }
    if (number >= SS_ACCELERATED_ACCESS)
        return COMMAND_BAD;
    access = &lists->access[number];
    access->initiator = words[6];
    access->uid = words[2];
    access->flags = (uint8_t)(word1 >> 24);
    access->portal = (uint8_t)(word1 >> 16);
    access->open = 1;
    return 0;
}
