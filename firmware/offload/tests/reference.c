/* The hosts, and what MPI demands of the firmware: each header and each command is dealt with here
 * when the firmware looks at it, by plain lists, and every completion is compared with what
 * follows. */
#include <string.h>

#include "world.h"

#define ALL_ONES ((1ull << OF_MATCH_WIDTH) - 1)

static struct request *request_of(struct host *host, uint32_t request)
{
    CHECK(request < REQUESTS);
    return &host->requests[request];
}

static struct expectation *expect(struct host *host, uint32_t kind, uint32_t request,
                                  struct message *message)
{
    struct expectation *e =
        &host->expected[(host->expected_first + host->expected_count++) % EXPECT_MAX];

    CHECK(host->expected_count <= EXPECT_MAX);
    *e = (struct expectation){.kind = kind, .request = request, .message = message};
    if (message) {
        e->bits = message->bits;
        e->length = message->length;
        e->serial = message->serial;
        e->node = message->node;
    }
    return e;
}

static void meet(struct host *host, uint32_t request, struct message *message)
{
    struct request *r = request_of(host, request);

    CHECK(r->state == RECEIVING && !r->message && !message->matched);
    r->message = message;
    message->matched = 1;
}

void reference_header(struct node *node, const struct of_packet *packet)
{
    uint32_t kind = packet->kind & 0xFF, process = packet->kind >> 8 & 0xFF;
    uint64_t bits = (uint64_t)(packet->bits_hi & ~OF_DELIVERED) << 32 | packet->bits_lo;
    struct host *host = &node->hosts[process % OF_PROCESSES];
    struct message *message;

    if ((kind != OF_PACKET_KIND_EAGER && kind != OF_PACKET_KIND_REQUEST) ||
        process >= OF_PROCESSES)
        return;
    message = &messages[packet->kind >> 16][packet->serial % MESSAGES];
    CHECK(message->serial == packet->serial && message->bits == bits);
    for (uint32_t i = 0; i < host->posted_count; i++) {
        struct posted *p = &host->posted[i];

        if ((p->bits ^ bits) & ~p->mask)
            continue;
        meet(host, p->request, message);
        memmove(p, p + 1, (--host->posted_count - i) * sizeof(*p));
        return;
    }
    CHECK(host->unexpected_count < LIST_MAX);
    host->unexpected[host->unexpected_count++] = message;
    if (host->watching && !((host->watch_bits ^ bits) & ~host->watch_mask)) {
        host->watching = 0;
        expect(host, OF_COMPLETION_KIND_NEWS, host->watch_request, message);
    }
}

/* The first kept message that matches, taken out if `take`. */
static struct message *find(struct host *host, uint64_t bits, uint64_t mask, int take)
{
    for (uint32_t i = 0; i < host->unexpected_count; i++) {
        struct message *message = host->unexpected[i];

        if ((message->bits ^ bits) & ~mask)
            continue;
        if (take)
            memmove(&host->unexpected[i], &host->unexpected[i + 1],
                    (--host->unexpected_count - i) * sizeof(host->unexpected[0]));
        return message;
    }
    return 0;
}

static void cancel(struct host *host, uint32_t request)
{
    for (uint32_t i = 0; i < host->posted_count; i++) {
        struct posted *p = &host->posted[i];

        if (p->request != request)
            continue;
        request_of(host, request)->cancelled = 1;
        expect(host, OF_COMPLETION_KIND_CANCELLED, request, 0);
        memmove(p, p + 1, (--host->posted_count - i) * sizeof(*p));
        return;
    }
    expect(host, OF_COMPLETION_KIND_NOT_CANCELLED, request, 0);
}

void reference_command(struct node *node, uint32_t process, const struct of_command *command)
{
    struct host *host = &node->hosts[process];
    uint64_t bits = (uint64_t)(command->bits_hi & ~OF_DELIVERED) << 32 | command->bits_lo;
    uint64_t mask = (uint64_t)command->mask_hi << 32 | command->mask_lo;
    struct message *message;

    switch (command->operation) {
    case OF_OPERATION_RECEIVE:
        message = find(host, bits, mask, 1);
        CHECK(message || host->posted_count < LIST_MAX);
        if (message)
            meet(host, command->request, message);
        else
            host->posted[host->posted_count++] = (struct posted){bits, mask, command->request};
        break;
    case OF_OPERATION_CANCEL:
        cancel(host, command->request);
        break;
    case OF_OPERATION_PROBE:
        message = find(host, bits, mask, 0);
        host->watching = !message;
        host->watch_bits = bits;
        host->watch_mask = mask;
        host->watch_request = command->request;
        expect(host, message ? OF_COMPLETION_KIND_FOUND : OF_COMPLETION_KIND_NOT_FOUND,
               command->request, message);
        break;
    case OF_OPERATION_TAKE:
        message = find(host, bits, mask, 1);
        expect(host, message ? OF_COMPLETION_KIND_TAKEN : OF_COMPLETION_KIND_NOT_FOUND,
               command->request, message);
        break;
    case OF_OPERATION_CLOSE:
        host->posted_count = host->unexpected_count = 0;
        host->watching = 0;
        break;
    default:
        break;
    }
}

uint8_t pattern(uint32_t serial, uint32_t node, uint32_t at)
{
    return (uint8_t)(serial * 37 + node * 101 + at * 7 + (at >> 8) * 3 + 1);
}

/* The bytes are there, and none behind them has changed. */
static void check_bytes(struct node *node, const struct request *r)
{
    const struct message *message = r->message;
    const uint8_t *bytes = host_memory[node->number] + r->host;
    uint32_t length = message->length < r->room ? message->length : r->room;
    uint32_t step = length > 8192 ? 61 : 1;

    for (uint32_t i = 0; i < length; i += step)
        CHECK(bytes[i] == pattern(message->serial, message->node, i));
    if (length)
        CHECK(bytes[length - 1] == pattern(message->serial, message->node, length - 1));
    CHECK(bytes[length] == 0xEE);
}

static void expected_completion(struct host *host, const struct of_completion *done)
{
    const struct expectation *e = &host->expected[host->expected_first % EXPECT_MAX];
    struct request *r = request_of(host, done->request);

    CHECK(host->expected_count && e->kind == done->kind && e->request == done->request);
    ++host->expected_first;
    --host->expected_count;
    if (e->message) {
        CHECK(done->bits_lo == (uint32_t)e->bits && done->bits_hi == (uint32_t)(e->bits >> 32));
        CHECK(done->length == e->length && done->serial == e->serial);
    }
    switch (done->kind) {
    case OF_COMPLETION_KIND_TAKEN:
        CHECK(host->taken_count < LIST_MAX);
        host->taken[host->taken_count].message = e->message;
        host->taken[host->taken_count++].handle = done->handle;
        r->state = IDLE;
        break;
    case OF_COMPLETION_KIND_CANCELLED:
        r->ended = 1;
        --r->cancels;
        break;
    case OF_COMPLETION_KIND_NOT_CANCELLED:
        --r->cancels;
        break;
    case OF_COMPLETION_KIND_NEWS:
        break;
    default:
        r->state = IDLE;
    }
}

void reference_completion(struct node *node, uint32_t process, const struct of_completion *done)
{
    struct host *host = &node->hosts[process];
    struct request *r = request_of(host, done->request);
    const struct message *message = r->message;

    if (done->kind == OF_COMPLETION_KIND_SENT) {
        CHECK(r->state == SENDING && done->serial == message->serial && message->left);
        CHECK(!message->synchronous || message->matched);
        r->state = IDLE;
        return;
    }
    if (done->kind == OF_COMPLETION_KIND_RECEIVED) {
        CHECK(r->state == RECEIVING && message && !r->ended && !r->cancelled);
        CHECK(done->bits_lo == (uint32_t)message->bits);
        CHECK(done->bits_hi == (uint32_t)(message->bits >> 32));
        CHECK(done->length == message->length && done->serial == message->serial);
        CHECK(done->handle == message->node);
        check_bytes(node, r);
        r->ended = 1;
    } else {
        expected_completion(host, done);
    }
    if (r->state == RECEIVING && r->ended && !r->cancels)
        r->state = IDLE;
}

/* The host's side. */

uint32_t command_room(const struct node *node, uint32_t process)
{
    return OF_COMMAND_COUNT - (node->hosts[process].written - node->taken_commands[process]);
}

void host_command(struct node *node, uint32_t process, struct of_command command)
{
    CHECK(command_room(node, process));
    node->commands[process][node->hosts[process].written++ % OF_COMMAND_COUNT] = command;
}

static struct of_command command_of(uint32_t operation, uint32_t request, uint64_t bits,
                                    uint64_t mask, uint32_t length, uint32_t host)
{
    return (struct of_command){.operation = operation,
                               .request = request,
                               .bits_lo = (uint32_t)bits,
                               .bits_hi = (uint32_t)(bits >> 32),
                               .mask_lo = (uint32_t)mask,
                               .mask_hi = (uint32_t)(mask >> 32),
                               .length = length,
                               .host_lo = host,
                               .host_hi = HOST_BASE_HI};
}

void host_open(struct node *node, uint32_t process)
{
    host_command(node, process,
                 command_of(OF_OPERATION_OPEN, 0, 0, 0, 0, 0x100000 * (process + 1)));
}

static struct request *start(struct node *node, uint32_t process, uint32_t request,
                             enum request_state state)
{
    struct request *r = request_of(&node->hosts[process], request);

    CHECK(r->state == IDLE);
    *r = (struct request){.state = (uint8_t)state};
    return r;
}

struct message *host_send(struct node *node, uint32_t process, uint32_t request, uint64_t bits,
                          uint32_t length, uint32_t host, uint32_t target, int synchronous)
{
    uint32_t serial = ++node->serial;
    struct message *message = &messages[node->number][serial % MESSAGES];
    struct of_command command =
        command_of(synchronous ? OF_OPERATION_SEND_SYNCHRONOUS : OF_OPERATION_SEND, request, bits,
                   0, length, host);

    *message = (struct message){.bits = bits & ALL_ONES,
                                .length = length,
                                .serial = serial,
                                .node = node->number,
                                .process = process,
                                .target = target,
                                .host = host,
                                .synchronous = (uint8_t)synchronous};
    start(node, process, request, SENDING)->message = message;
    for (uint32_t i = 0; i < length; i++)
        host_memory[node->number][host + i] = pattern(serial, node->number, i);
    command.target = target;
    command.serial = serial;
    host_command(node, process, command);
    return message;
}

static struct request *start_receive(struct node *node, uint32_t process, uint32_t request,
                                     uint32_t room, uint32_t host)
{
    struct request *r = start(node, process, request, RECEIVING);

    r->room = room;
    r->host = host;
    memset(host_memory[node->number] + host, 0xEE, room + 1);
    return r;
}

void host_receive(struct node *node, uint32_t process, uint32_t request, uint64_t bits,
                  uint64_t mask, uint32_t room, uint32_t host)
{
    start_receive(node, process, request, room, host);
    host_command(node, process,
                 command_of(OF_OPERATION_RECEIVE, request, bits, mask, room, host));
}

void host_ask(struct node *node, uint32_t process, uint32_t operation, uint32_t request,
              uint64_t bits, uint64_t mask)
{
    if (operation == OF_OPERATION_CANCEL)
        ++request_of(&node->hosts[process], request)->cancels;
    else if (operation != OF_OPERATION_CLOSE)
        start(node, process, request, ASKING);
    host_command(node, process, command_of(operation, request, bits, mask, 0, 0));
}

void host_receive_taken(struct node *node, uint32_t process, uint32_t request, uint32_t taken,
                        uint32_t room, uint32_t host)
{
    struct host *h = &node->hosts[process];
    struct request *r = start_receive(node, process, request, room, host);
    struct of_command command =
        command_of(OF_OPERATION_RECEIVE_TAKEN, request, 0, 0, room, host);

    r->message = h->taken[taken].message;
    CHECK(!r->message->matched);
    r->message->matched = 1;
    command.handle = h->taken[taken].handle;
    h->taken[taken] = h->taken[--h->taken_count];
    host_command(node, process, command);
}
