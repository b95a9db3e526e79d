/* Match lists of accelerated processes: match entries, each with at most one memory descriptor, in
 * the lists of their portals (Portals 3.3 s2.2, s3.9, s3.10). What the kernel's library does for
 * generic processes. Nothing here knows of messages or pendings. */
#ifndef SEASTAR_MATCH_H
#define SEASTAR_MATCH_H

#include "limits.h"

typedef struct ss_match_entry match_entry_t;

/* Whom an access control entry admits. */
struct match_access {
    uint32_t initiator; /* As word 1 of a header. */
    uint32_t uid;
    uint8_t flags;      /* SS_ENTRY_FLAG_ANY_NID, ANY_PID; CONDITIONAL: any user. */
    uint8_t portal;     /* 0xff: any. */
    uint8_t open;       /* Set at all. */
};

struct match_lists {
    match_entry_t entries[SS_ACCELERATED_ENTRIES];
    uint16_t heads[SS_ACCELERATED_PORTALS];
    uint16_t tails[SS_ACCELERATED_PORTALS];
    struct match_access access[SS_ACCELERATED_ACCESS];
    uint16_t described[SS_ACCELERATED_DESCRIPTORS]; /* The entry of each descriptor's handle. */
    uint16_t posted[SS_ACCELERATED_QUEUES]; /* Messages for each event queue so far. */
    uint16_t acks; /* Acknowledgements so far; whose queue they are for only the host knows. */
};

/* What a search has found. */
struct match_found {
    match_entry_t *entry; /* 0: nobody takes it. */
    uint32_t visits;
    uint32_t mlength;
    uint32_t offset;
};

void match_init(struct match_lists *lists);

/* Finds the first entry that takes a request and counts the request on its descriptor. `option` is
 * SS_DESCRIPTOR_OPTION_PUT, GET or, for an atomic operation, both. */
void match_request(struct match_lists *lists, const uint32_t *header, uint32_t option,
                   struct match_found *found);

/* Takes note of a message for the event queue of an entry's descriptor. */
void match_posts(struct match_lists *lists, const match_entry_t *entry);

/* Finds the descriptor of an answer, if it takes part in operations, and counts the answer. */
match_entry_t *match_answer(struct match_lists *lists, uint32_t handle);

/* An operation on the entry's descriptor has ended. Takes a descriptor away that is used up. */
void match_end(struct match_lists *lists, match_entry_t *entry);

/* Commands; `words` is a copy of an entry_command. Return 0 or a negative enum command_error. */
int match_attach(struct match_lists *lists, const uint32_t *words);
int match_describe(struct match_lists *lists, const uint32_t *words);
int match_post(struct match_lists *lists, const uint32_t *words);
int match_admit(struct match_lists *lists, const uint32_t *words);

/* The same with a result: SS_ENTRY_RESULT_*. */
int match_update(struct match_lists *lists, const uint32_t *words);
int match_unlink(struct match_lists *lists, const uint32_t *words);
int match_count(struct match_lists *lists, const uint32_t *words);

/* The number of an entry. */
static inline uint32_t match_number(const struct match_lists *lists, const match_entry_t *entry)
{
    return (uint32_t)(entry - lists->entries);
}

#endif
