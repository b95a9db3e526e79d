#include "command.h"

#include "abi_offload.h"
#include "advance.h"
#include "buffer.h"
#include "complete.h"
#include "panic.h"
#include "pool.h"
#include "receive.h"
#include "search.h"
#include "send.h"
#include "unit.h"

#define REGISTER(name, process) (OF_REGISTER_BASE + OF_REGISTER_##name + 4 * (process)->number)

/* The first unexpected message that a command asks for, or the list's end. */
static struct entry *find_unexpected(struct process *process, const struct of_command *command)
{
    return search_unexpected(&process->unexpected, queue_first(&process->unexpected),
                             command->bits_lo, command->bits_hi & BITS_HI,
                             command->mask_lo, command->mask_hi);
}

/* Takes a message out of unexpectedQ. */
static void remove_unexpected(struct process *process, struct entry *entry)
{
    list_remove(&process->unexpected, entry);
    unit_bereave(&nic->units[UNEXPECTED], entry);
}

/* A kept message and a receive meet: the entry of the one becomes that of the other. */
static void receive_kept(struct entry *entry, const struct of_command *command)
{
    io_write32(OF_REGISTER_BASE + OF_REGISTER_CONTEXT, entry->serial);
    entry->request = command->request;
    entry->room = command->length;
    entry->host_lo = command->host_lo;
    entry->host_hi = command->host_hi;
    receive_start(entry);
}

static void post(struct process *process, const struct of_command *command)
{
    struct entry *entry = entry_allocate(process->number, ENTRY_POSTED);

    entry->bits_lo = command->bits_lo;
    entry->mask_lo = command->mask_lo;
    entry->bits_hi = command->bits_hi & BITS_HI;
    entry->mask_hi = command->mask_hi;
    entry->request = command->request;
    entry->room = command->length;
    entry->host_lo = command->host_lo;
    entry->host_hi = command->host_hi;
    list_add(&process->posted, entry);
    unit_note();
}

/* Nothing arrives between the search and the post: headers are dealt with by the same loop. */
static inline void command_receive(struct process *process, const struct of_command *command)
{
    struct entry *entry = 0, *start = queue_first(&process->unexpected);

    if (command->bits_hi & OF_DELIVERED)
        entry = unit_answer(&nic->units[UNEXPECTED], &start);
    if (!entry)
        entry = search_unexpected(&process->unexpected, start, command->bits_lo,
                                  command->bits_hi & BITS_HI, command->mask_lo, command->mask_hi);
    if (entry == &process->unexpected.end) {
        post(process, command);
    } else {
        remove_unexpected(process, entry);
        receive_kept(entry, command);
    }
}

static void command_cancel(struct process *process, const struct of_command *command)
{
    struct queue *posted = &process->posted;
    struct entry *entry = queue_first(posted);

    while (entry != &posted->end && entry->request != command->request)
        entry = entry->next;
    if (entry == &posted->end) {
        complete(process, OF_COMPLETION_KIND_NOT_CANCELLED, command->request, 0, 0, 0, 0, 0);
        return;
    }
    list_remove(posted, entry);
    unit_bereave(&nic->units[POSTED], entry);
    entry_release(entry);
    complete(process, OF_COMPLETION_KIND_CANCELLED, command->request, 0, 0, 0, 0, 0);
}

static void tell_found(struct process *process, uint32_t kind, uint32_t request,
                       const struct entry *entry)
{
    complete(process, kind, request, entry->bits_lo, entry->bits_hi, entry->length, entry->number,
             entry->serial);
}

static void tell_not_found(struct process *process, const struct of_command *command)
{
    complete(process, OF_COMPLETION_KIND_NOT_FOUND, command->request, 0, 0, 0, 0, 0);
}

static void command_probe(struct process *process, const struct of_command *command)
{
    const struct entry *entry = find_unexpected(process, command);

    process->watching = 0;
    if (entry != &process->unexpected.end) {
        tell_found(process, OF_COMPLETION_KIND_FOUND, command->request, entry);
        return;
    }
    process->watching = 1;
    process->watch_request = command->request;
    process->watch_bits_lo = command->bits_lo;
    process->watch_bits_hi = command->bits_hi;
    process->watch_mask_lo = command->mask_lo;
    process->watch_mask_hi = command->mask_hi;
    tell_not_found(process, command);
}

static void command_take(struct process *process, const struct of_command *command)
{
    struct entry *entry = find_unexpected(process, command);

    if (entry == &process->unexpected.end) {
        tell_not_found(process, command);
        return;
    }
    remove_unexpected(process, entry);
    entry->kind = ENTRY_TAKEN;
    tell_found(process, OF_COMPLETION_KIND_TAKEN, command->request, entry);
}

static void command_open(struct process *process, const struct of_command *command)
{
    io_write32(REGISTER(WINDOW_LO, process), command->host_lo);
    io_write32(REGISTER(WINDOW_HI, process), command->host_hi);
    process->slot = process->window;
    process->lap = 1;
    process->open = 1;
    unit_note();
}

/* Drops what nobody will ask for any more. Transfers under way go to their end. */
static void command_close(struct process *process)
{
    struct entry *entry;

    if (process->number == 0 && nic->cells) {
        unit_stop(&nic->units[POSTED]);
        unit_stop(&nic->units[UNEXPECTED]);
    }
    while ((entry = queue_first(&process->posted)) != &process->posted.end) {
        list_remove(&process->posted, entry);
        unit_bereave(&nic->units[POSTED], entry);
        entry_release(entry);
    }
    while ((entry = queue_first(&process->unexpected)) != &process->unexpected.end) {
        remove_unexpected(process, entry);
        if (entry->flags & FLAG_TAKING) {
            entry->flags |= FLAG_DROPPED;
            continue;
        }
        if (entry->buffer)
            buffer_free(entry->buffer);
        entry_release(entry);
    }
    process->open = 0;
    process->watching = 0;
}

static __attribute__((cold, noinline)) void bad_command(const struct process *process,
                                                        uint32_t operation)
{
    panic(OF_PANIC_REASON_BAD_COMMAND, (uint32_t)process->number << 8 | (operation & 0xFF));
}

static __attribute__((noinline)) void command_rare(struct process *process,
                                                   const struct of_command *command)
{
    struct entry *entry;

    switch (command->operation) {
    case OF_OPERATION_CANCEL:
        command_cancel(process, command);
        break;
    case OF_OPERATION_PROBE:
        command_probe(process, command);
        break;
    case OF_OPERATION_TAKE:
        command_take(process, command);
        break;
    case OF_OPERATION_RECEIVE_TAKEN:
        entry = entry_named(command->handle, ENTRY_TAKEN);
        if (!entry || entry->process != process->number)
            bad_command(process, command->operation);
        receive_kept(entry, command);
        break;
    case OF_OPERATION_CLOSE:
        command_close(process);
        break;
    default:
        bad_command(process, command->operation);
    }
}

/* The command is used where it stands: its place is given back afterwards. */
static inline void take_command(struct process *process)
{
    const struct of_command *command = local_pointer(
        OF_COMMAND_BASE + process->number * (OF_COMMAND_COUNT * OF_COMMAND_SIZE) +
        process->commands % OF_COMMAND_COUNT * OF_COMMAND_SIZE);
    const void *second_half = (const uint8_t *)command + OF_COMMAND_SIZE / 2;
    uint32_t operation;

    port_invalidate(command);
    port_invalidate(second_half);
    /* Most commands need both lines: the second comes while the first is looked at. */
    port_touch(command);
    port_touch(second_half);
    operation = command->operation;
    if (!process->open) {
        if (operation != OF_OPERATION_OPEN)
            bad_command(process, operation);
        command_open(process, command);
    } else if (operation == OF_OPERATION_RECEIVE) {
        command_receive(process, command);
    } else if (operation == OF_OPERATION_SEND || operation == OF_OPERATION_SEND_SYNCHRONOUS) {
        send_command(process, command, operation == OF_OPERATION_SEND_SYNCHRONOUS);
    } else {
        command_rare(process, command);
    }
    ++process->commands;
}

void take_commands(uint32_t tails)
{
    struct process *process = nic->processes;
    uint32_t moved = tails ^ nic->tails;

    nic->tails = tails;
    for (; moved; moved >>= 8, tails >>= 8, ++process) {
        if (!(moved & 0xFF))
            continue;
        while ((uint8_t)(tails - process->commands))
            take_command(process);
        io_write32(REGISTER(TAKEN_COMMANDS, process), process->commands);
    }
}

void take_command_waiting(void)
{
    const uint32_t taken = nic->tails;

    while (!(uint8_t)(io_read32(OF_REGISTER_BASE + OF_REGISTER_TAILS) - taken))
        continue;
    take_commands((taken & ~0xFFu) | ((taken + 1) & 0xFF));
}
