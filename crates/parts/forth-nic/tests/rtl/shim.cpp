// C entry points around the verilated bench of the NIC's units: an edge of either clock a call's element.
#include <cstddef>
#include <cstdint>

#include "Vtop.h"
#include "verilated.h"

struct In {
    uint64_t data;
    uint16_t words, needed, count, free_words;
    uint8_t link; // the edge is of the lanes' clock, else of the bus's
    uint8_t rst_n, push, pop, limit, flow, send, credit, credit_flow, parity, free, free_flow, idle, sent;
    uint8_t unused[2];
};

struct Out {
    uint64_t data;
    uint16_t room, count, outstanding, credit_count;
    uint8_t allowed, discarded, takes, due, credit_flow, parity, unused[2];
};

struct Unit {
    VerilatedContext context;
    Vtop top{&context};
};

extern "C" __attribute__((visibility("default"))) Unit *units_new() { return new Unit; }

extern "C" __attribute__((visibility("default"))) void units_delete(Unit *unit) {
    unit->top.final();
    delete unit;
}

extern "C" __attribute__((visibility("default"))) void units_run(Unit *unit, const In *in, Out *out,
                                                                 size_t edges) {
    Vtop &top = unit->top;
    for (size_t i = 0; i < edges; i++, in++, out++) {
        top.rst_ni = in->rst_n;
        top.push_i = in->push;
        top.data_i = in->data;
        top.pop_i = in->pop;
        top.limit_valid_i = in->limit;
        top.flow_i = in->flow;
        top.needed_i = in->needed;
        top.send_i = in->send;
        top.words_i = in->words;
        top.credit_valid_i = in->credit;
        top.credit_flow_i = in->credit_flow;
        top.credit_count_i = in->count;
        top.credit_parity_i = in->parity;
        top.free_valid_i = in->free;
        top.free_flow_i = in->free_flow;
        top.free_words_i = in->free_words;
        top.idle_i = in->idle;
        top.credit_sent_i = in->sent;
        top.eval();
        *out = Out{};
        out->room = top.room_o;
        out->count = top.count_o;
        out->data = top.count_o ? top.data_o : 0;
        out->allowed = top.allowed_o;
        out->outstanding = top.outstanding_o;
        out->discarded = top.discarded_o;
        out->takes = top.takes_o;
        out->due = top.credit_due_o;
        if (top.credit_due_o) {
            out->credit_flow = top.credit_flow_o;
            out->credit_count = top.credit_count_o;
            out->parity = top.credit_parity_o;
        }
        (in->link ? top.link_clk_i : top.bus_clk_i) = 1;
        top.eval();
        (in->link ? top.link_clk_i : top.bus_clk_i) = 0;
        top.eval();
    }
}
