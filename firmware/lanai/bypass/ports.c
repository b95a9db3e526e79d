#include "ports.h"

struct port ports[MY_BYPASS_PORTS];
struct port *open_ports[MY_BYPASS_PORTS];
uint32_t open_count;

static uint32_t changes; /* of the driver's, that were made */

static void open_port(struct port *port, uint32_t number)
{
    port->number = number;
    port->host = mem_get(LIMITS(number, host));
    port->bytes = mem_get(LIMITS(number, bytes));
    port->taken = port->sent = port->told = port->places = port->events = port->tries = 0;
    /* Who was there before may have left messages that were given up. */
    for (uint32_t node = 0; node < MY_BYPASS_NODES; node++)
        mem_set(sender_at(number, node), (mem_get(sender_at(number, node)) + 0x10000) & 0xffff0000);
}

void ports_step(void)
{
    uint32_t wanted = mem_get(CONTROL(changes));

    if (wanted == changes)
        return;
    open_count = 0;
    for (uint32_t number = 0; number < MY_BYPASS_PORTS; number++) {
        struct port *port = &ports[number];
        int open = mem_get(LIMITS(number, open)) != 0;

        if (open && !port->open)
            open_port(port, number);
        if (open != port->open)
            mem_set(LIMITS(number, state), (uint32_t)open);
        port->open = open;
        if (open) {
            open_ports[open_count] = port;
            open_count++;
        }
    }
    changes = wanted;
}

static int is_in_memory(const struct port *port, uint32_t offset, uint32_t length)
{
    return offset <= port->bytes && length <= port->bytes - offset;
}

void port_take(struct port *port)
{
    uint32_t at = send_at(port->number, port->taken), peer;
    struct message *message = message_of(port, port->taken);

    /* One more than there may be would take the place of one that is on its way. */
    if (port->taken - port->told >= MY_BYPASS_SENDS
        || mem_get(FIELD(at, bypass_send, number)) != port->taken + 1)
        return;
    message->target = (uint16_t)mem_half(FIELD(at, bypass_send, target));
    message->port = (uint8_t)mem_half(FIELD(at, bypass_send, port));
    message->offset = mem_get(FIELD(at, bypass_send, offset));
    message->length = mem_get(FIELD(at, bypass_send, length));
    message->over = 0;
    message->age = 0;
    message->status = MY_BYPASS_STATUS_NO_ANSWER;
    port->taken++;
    if (message->length > MY_BYPASS_MESSAGE
        || !is_in_memory(port, message->offset, message->length)) {
        message->status = MY_BYPASS_STATUS_BAD_MEMORY;
    } else if (message->target >= MY_BYPASS_NODES || mem_byte(route_of(message->target)) == 0) {
        message->status = MY_BYPASS_STATUS_NO_ROUTE;
    } else {
        at = sender_at(port->number, message->target);
        peer = mem_get(at);
        message->epoch = (uint16_t)(peer >> 16);
        message->sequence = (uint16_t)peer;
        mem_set(at, (peer & 0xffff0000) | ((peer + 1) & 0xffff));
        mem_count(CONTROL(sent));
        return;
    }
    message->over = 1;
    mem_count(CONTROL(failed));
}

int port_place(struct port *port, uint32_t *offset)
{
    uint32_t at = place_at(port->number, port->places);

    if (mem_get(FIELD(at, bypass_place, number)) != port->places + 1)
        return 0;
    *offset = mem_get(FIELD(at, bypass_place, offset));
    if (!is_in_memory(port, *offset, MY_BYPASS_MESSAGE))
        return 0;
    port->places++;
    return 1;
}

void port_resend(struct port *port)
{
    port->sent = port->told;
}
