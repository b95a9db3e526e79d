/* The matching units. */
#include <string.h>

#include "world.h"

static void unit_result(struct sim_unit *unit, uint32_t kind, uint32_t value)
{
    uint32_t result = of_unit_register_result_set_valid(0, 1);

    CHECK(unit->result_count < UNIT_FIFO);
    result = of_unit_register_result_set_kind(result, kind);
    result = of_unit_register_result_set_payload(result, value);
    unit->results[(unit->result_first + unit->result_count++) % UNIT_FIFO] = result;
}

int step_unit_match(struct node *node, uint32_t which)
{
    struct sim_unit *unit = &node->units[which];
    const struct sim_cell *input = &unit->inputs[unit->input_first % UNIT_FIFO];

    if (!unit->input_count || unit->result_count == UNIT_FIFO || (unit->inserting && unit->held))
        return 0;
    for (uint32_t i = 0; i < unit->count; i++) {
        const struct sim_cell *cell = &unit->cells[i];

        if ((cell->bits ^ input->bits) & ~(cell->mask | input->mask))
            continue;
        unit_result(unit, OF_UNIT_RESULT_MATCH_SUCCESS, cell->tag);
        --unit->count;
        memmove(&unit->cells[i], &unit->cells[i + 1], (unit->count - i) * sizeof(unit->cells[0]));
        memset(&unit->cells[unit->count], 0, sizeof(unit->cells[0]));
        ++unit->input_first;
        --unit->input_count;
        return 1;
    }
    if (unit->inserting) {
        unit->held = 1;
        return 1;
    }
    unit_result(unit, OF_UNIT_RESULT_MATCH_FAILURE, 0);
    ++unit->input_first;
    --unit->input_count;
    return 1;
}

int step_unit_command(struct node *node, uint32_t which)
{
    struct sim_unit *unit = &node->units[which];
    uint32_t at = unit->command_first % UNIT_FIFO, command = unit->commands[at].command;

    if (!unit->command_count)
        return 0;
    if (!unit->inserting && command == OF_UNIT_COMMAND_START_INSERT) {
        if (unit->result_count == UNIT_FIFO)
            return 0;
        unit->inserting = 1;
        unit->held = 0;
        unit_result(unit, OF_UNIT_RESULT_START_ACKNOWLEDGE, node->cells - unit->count);
    } else if (!unit->inserting && command == OF_UNIT_COMMAND_RESET) {
        unit->count = 0;
        memset(unit->cells, 0, sizeof(unit->cells));
    } else if (unit->inserting && command == OF_UNIT_COMMAND_INSERT) {
        CHECK(unit->count < node->cells);
        unit->cells[unit->count++] = unit->commands[at].cell;
        unit->held = 0;
    } else if (unit->inserting && command == OF_UNIT_COMMAND_STOP_INSERT) {
        unit->inserting = 0;
        unit->held = 0;
    } else {
        CHECK(!"a command that the unit would discard");
    }
    ++unit->command_first;
    --unit->command_count;
    return 1;
}

void unit_command(struct node *node, uint32_t which, uint32_t command)
{
    struct sim_unit *unit = &node->units[which];
    struct sim_cell cell = {0};

    /* The bus waits. */
    while (unit->command_count == UNIT_FIFO)
        CHECK(step_unit_command(node, which) || step_unit_match(node, which));
    if (command == OF_UNIT_COMMAND_INSERT) {
        cell.bits = (uint64_t)unit->port[1] << 32 | unit->port[0];
        cell.mask = (uint64_t)unit->port[3] << 32 | unit->port[2];
        cell.tag = unit->port[7];
        CHECK(cell.tag < 1u << 20 && !(cell.bits >> OF_MATCH_WIDTH));
        CHECK(which == 0 || !cell.mask);
    }
    unit->commands[(unit->command_first + unit->command_count) % UNIT_FIFO].command = command;
    unit->commands[(unit->command_first + unit->command_count++) % UNIT_FIFO].cell = cell;
}

int unit_deliver(struct sim_unit *unit, uint64_t bits, uint64_t mask)
{
    if (unit->input_count == UNIT_FIFO)
        return 0;
    unit->inputs[(unit->input_first + unit->input_count++) % UNIT_FIFO] =
        (struct sim_cell){bits, mask, 0};
    return 1;
}
