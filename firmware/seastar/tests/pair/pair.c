/* Two cores of an image that recovers, and every order in which a small world can go on: firmware turns,
 * messages and packets of the control class arrive, streams end, hosts tell of events read. Whatever runs
 * out, each message is taken once and in order, its sender hears of it afterwards, and no world stops before
 * that.
 *
 * The firmware's globals are one core's at a time; the other's are kept aside. A state that was met before is
 * not gone on from again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

enum { PATH_LENGTH_MAX = 8000 };
static const char letters[] = "tacsr"; /* Of what can happen; those of the second core are large. */

struct world world;
struct around around[CORES];
static char path[PATH_LENGTH_MAX];
static unsigned depth;

void fail(const char *what)
{
    printf("FAIL: native pair: %s; test-pair %u %u %u %u %u %u %u: %.*s\n", what, world.messages[0],
           world.messages[1], world.receives, world.transmits, world.streams, world.acks,
           world.prompt, (int)depth, path);
    exit(1);
}

static uint64_t hash(const void *bytes, size_t size, uint64_t h)
{
    const uint8_t *at = bytes;

    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;

        memcpy(&word, at, 8);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    for (; size; at++, size--)
        h = (h ^ *at) * 0x100000001B3u;
    return h;
}

/* --- The search. --- */

#define SEEN (1u << 22)
static uint64_t *seen;
static unsigned seen_count, states, world_states, worlds, ends;

/* True if it is new. */
static int see(uint64_t key)
{
    unsigned at = (unsigned)(key % SEEN);

    key |= 1;
    for (; seen[at]; at = (at + 1) % SEEN)
        if (seen[at] == key)
            return 0;
    CHECK(++seen_count < SEEN / 2, "the world is too large");
    seen[at] = key;
    return 1;
}

struct state {
    struct around around[CORES];
    uint64_t keys[CORES];
    uint8_t *images[CORES];
};

static uint64_t state_key(const struct state *s)
{
    return hash(s->keys, sizeof(s->keys), hash(s->around, sizeof(s->around), 2 + worlds));
}

static void check_end(const struct state *s)
{
    ++ends;
    for (unsigned core = 0; core < CORES; core++) {
        const struct around *a = &s->around[core];

        CHECK(a->ended == world.messages[core] && a->got == world.messages[!core],
              "nothing can happen, and messages are missing");
        CHECK(a->acked == (world.acks ? world.messages[core] : 0), "answers are missing");
        image_load(s->images[core]);
        CHECK(processes[USER].rx_count == world.receives && !waiting && !cached_niccb.cam_in_use,
              "at the end not all is free");
        CHECK(processes[USER].event_room == 2 * world.receives && !processes[USER].slots_held,
              "at the end the ring or the mailbox is not free");
        for (uint32_t i = 0; i < PENDINGS; i++)
            CHECK(i >= world.transmits + world.receives ||
                      processes[USER].pendings[i].state == PENDING_IDLE,
                  "at the end a pending is in use");
        CHECK(sources_idle == OPT_SOURCES, "at the end a source is in use");
    }
}

/* What comes after a state, `level` steps from the beginning, and room for the image of who acts. */
static struct after {
    struct state state;
    uint8_t *image;
} *after(unsigned level)
{
    static struct after *all[PATH_LENGTH_MAX];

    CHECK(level < PATH_LENGTH_MAX, "a world goes on for ever");
    if (!all[level]) {
        all[level] = malloc(sizeof(struct after));
        all[level]->image = malloc(image_size);
    }
    return all[level];
}

static void explore(const struct state *from)
{
    uint64_t own = state_key(from);
    int moved = 0;

    ++states;
    for (unsigned core = 0; core < CORES; core++) {
        for (int action = 0; action < ACTIONS; action++) {
            struct after *next = after(depth);
            struct state *to = &next->state;
            uint64_t key;

            image_load(from->images[core]);
            memcpy(around, from->around, sizeof(around));
            path[depth++] = (char)(letters[action] - (core ? 'a' - 'A' : 0));
            if (act(core, action)) {
                image_forget(&around[core]);
                image_save(next->image);
                memcpy(to->around, around, sizeof(around));
                to->images[core] = next->image;
                to->images[!core] = from->images[!core];
                to->keys[core] = hash(next->image, image_size, 1);
                to->keys[!core] = from->keys[!core];
                key = state_key(to);
                moved |= key != own;
                if (key != own && see(key))
                    explore(to);
            }
            --depth;
        }
    }
    if (!moved)
        check_end(from);
}

/* --- Boot. --- */

static void halted(void)
{
    fail("the firmware stops");
}

static void start_process(uint32_t index, uint32_t pendings, uint32_t transmits)
{
    uint32_t at = (index - SS_GENERIC_PROCESS) * PROCESS_STRIDE;
    struct ss_init_process_command init = {
        .op = SS_COMMAND_OP_INIT_PROCESS, .process_index = (uint8_t)index,
        .pid = index == USER ? PID : 0, .num_pendings = (uint16_t)pendings,
        .pending_tx_limit = (uint16_t)transmits, .upper_pending_lo = (uint32_t)HOST_PHYS + at,
        .upper_pending_hi = (uint32_t)(HOST_PHYS >> 32), .upper_pending_local = HOST_LOCAL + at};
    struct ss_init_eqcb_command eqcb = {
        .op = SS_COMMAND_OP_INIT_EQCB, .process_index = (uint8_t)index,
        .count = index == USER ? LINES : EVENTS_MIN, .base_local = HOST_LOCAL + at + EVENTS};
    struct ss_mark_alive_command alive = {
        .op = SS_COMMAND_OP_MARK_ALIVE, .process_index = (uint8_t)index};

    const void *commands[] = {&init, &eqcb, &alive};

    for (unsigned i = 0; i < 3; i++) {
        volatile struct ss_mailbox *mailbox = &mailboxes[SS_GENERIC_PROCESS];

        command(SS_GENERIC_PROCESS, commands[i]);
        mainloop_turn();
        mailbox->result_read = mailbox->result_write;
    }
    CHECK(processes[index].alive, "a process does not start");
}

static void boot(unsigned core)
{
    struct ss_entry_command post = {
        .op = SS_COMMAND_OP_POST, .process_index = USER, .entry = 1, .base = SS_ENTRY_NONE,
        .flags = SS_ENTRY_FLAG_AFTER | SS_ENTRY_FLAG_ANY_NID | SS_ENTRY_FLAG_ANY_PID, .eq = 3,
        .test = 3, .threshold = 0xFFFFFFFFu, .handle = 1u << 20 | 1, .match_bits = 7,
        .options = SS_DESCRIPTOR_OPTION_PUT, .addr_lo = (uint32_t)HOST_PHYS,
        .addr_hi = (uint16_t)(HOST_PHYS >> 32), .length = 16};

    memset(&devices, 0, sizeof(devices));
    memset((void *)mailboxes, 0, sizeof(struct ss_mailbox) * SS_MAILBOX_COUNT);
    memset((void *)control_slots, 0, sizeof(struct ss_control_packet) * SS_CONTROL_SLOTS);
    memset((void *)waiting_bits, 0, 2 * SS_MAILBOX_COUNT * SS_WAITING_NODES / 8);
    memset((void *)rx_headers, 0, sizeof(rx_headers[0]) * SS_CAM_ENTRIES);
    memset((void *)tx_headers, 0, sizeof(tx_headers));
    memset(accelerated, 0, sizeof(accelerated));
    memset(lower_pendings, 0, sizeof(lower_pendings));
    memset(sources, 0, sizeof(sources));
    devices.nid = (uint16_t)core;
    devices_halted = halted;
    firmware_init();
    start_process(SS_GENERIC_PROCESS, 4, 2);
    start_process(USER, world.transmits + world.receives, world.transmits);
    command(USER, &post);
    mainloop_turn();
    for (uint32_t class = 0; class <= WAY_ANSWERS; class += WAY_ANSWERS) {
        source_t *peer = source_get((uint32_t)!core | class);

        peer->number = peer->taken = (uint16_t)world.first;
        source_put(peer);
    }
    host_sends(core);
}

static void run(struct world given)
{
    struct state start;

    world = given;
    depth = 0;
    memset(around, 0, sizeof(around));
    world_states = states;
    for (unsigned core = 0; core < CORES; core++) {
        boot(core);
        image_forget(&around[core]);
        start.images[core] = malloc(image_size);
        image_save(start.images[core]);
        start.keys[core] = hash(start.images[core], image_size, 1);
    }
    memcpy(start.around, around, sizeof(around));
    see(state_key(&start));
    ends = 0;
    explore(&start);
    CHECK(ends > 0, "a world has no end");
    free(start.images[0]);
    free(start.images[1]);
    ++worlds;
    fflush(stdout);
    if (getenv("PAIR_VERBOSE"))
        printf("%u %u, receives %u, transmits %u, streams %u, acks %u, prompt %u: %u states\n",
               world.messages[0], world.messages[1], world.receives, world.transmits, world.streams,
               world.acks, world.prompt, states - world_states);
}

/* All worlds with up to so many messages, two by default; or one world: messages each way, pendings to
 * receive and to send, streams, whether there are acknowledgements, and whether the firmware is prompt. */
int main(int argc, char **argv)
{
    uint32_t number[7] = {2};

    for (int i = 1; i < argc && i <= 7; i++)
        number[i - 1] = (uint32_t)atoi(argv[i]);
    seen = calloc(SEEN, sizeof(seen[0]));
    image_find();
    if (argc == 8)
        run((struct world){.messages = {number[0], number[1]}, .receives = number[2],
                           .transmits = number[3], .streams = number[4], .acks = number[5],
                           .first = 0x7FFF, .prompt = number[6]});
    for (uint32_t all = 1; argc < 8 && all <= number[0]; all++)
        for (uint32_t back = 0; back <= all / 2; back++)
            for (uint32_t receives = 2; receives <= 3; receives++)
                for (uint32_t transmits = 1; transmits <= 2; transmits++)
                    for (uint32_t kind = 0; kind < 4; kind++)
                        run((struct world){.messages = {all - back, back}, .receives = receives,
                                           .transmits = transmits, .streams = 1 + kind / 2,
                                           .acks = kind == 3, .first = 0x7FFF,
                                           .prompt = kind % 2 || back});
    /* What was sent behind a refused message can come late, and take the stream from it. */
    if (argc == 1)
        run((struct world){.messages = {3, 0}, .receives = 2, .transmits = 2, .streams = 1,
                           .first = 0x7FFF, .prompt = 1});
    printf("pass: native pair: %u worlds, %u states\n", worlds, states);
    return 0;
}
