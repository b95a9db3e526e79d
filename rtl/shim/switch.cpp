// C entry points around the verilated crossbar with its lanes.
#include <cstddef>
#include <cstdint>

#include "Vtop.h"
#include "verilated.h"

#define ENTRY extern "C" __attribute__((visibility("default")))

struct Symbols {
    uint32_t bytes[8];
    uint8_t control[8];
};

struct Counts {
    uint64_t words, packets, occupancy;
};

struct Unit {
    VerilatedContext context;
    Vtop top{&context};

    void edge() {
        top.clk_i = 1;
        top.eval();
        top.clk_i = 0;
        top.eval();
    }
};

// Verilator has integers for ports of up to 64 bits, and arrays of 32 for wider ones.
static uint32_t get(const uint64_t &port, int word) { return uint32_t(port >> (32 * word)); }
static void set(uint64_t &port, int word, uint32_t value) {
    port = (port & ~(0xFFFFFFFFULL << (32 * word))) | uint64_t(value) << (32 * word);
}
template <size_t Words>
static uint32_t get(const VlWide<Words> &port, int word) { return port[word]; }
template <size_t Words>
static void set(VlWide<Words> &port, int word, uint32_t value) { port[word] = value; }

ENTRY Unit *switch_new() {
    Unit *unit = new Unit;
    unit->top.rst_ni = 0;
    for (int edge = 0; edge < 4; edge++) unit->edge();
    unit->top.rst_ni = 1;
    unit->top.eval();
    return unit;
}

ENTRY void switch_delete(Unit *unit) {
    unit->top.final();
    delete unit;
}

// True if edges change nothing until a symbol comes that is not idle.
ENTRY bool switch_clock(Unit *unit, const Symbols *in, Symbols *out) {
    Vtop &top = unit->top;
    constexpr int ports = sizeof(top.bytes_i) / 4;
    uint32_t control = 0;
    for (int port = 0; port < ports; port++) {
        set(top.bytes_i, port, in->bytes[port]);
        control |= uint32_t(in->control[port] & 0xF) << (4 * port);
    }
    top.control_i = control;
    unit->edge();
    control = top.control_o;
    for (int port = 0; port < ports; port++) {
        out->bytes[port] = get(top.bytes_o, port);
        out->control[port] = control >> (4 * port) & 0xF;
    }
    return top.rests_o;
}

// Errors in headers, errors in credits, overflows, times that lanes were out of step.
ENTRY void switch_errors(const Unit *unit, uint64_t *errors) {
    errors[0] = unit->top.header_errors_o;
    errors[1] = unit->top.credit_errors_o;
    errors[2] = unit->top.overflows_o;
    errors[3] = unit->top.bond_errors_o;
}

// Of the crosspoint of an input and an output.
ENTRY void switch_counts(Unit *unit, uint8_t input, uint8_t output, Counts *counts) {
    Vtop &top = unit->top;
    top.look_input_i = input;
    top.look_output_i = output;
    top.eval();
    counts->words = top.look_words_o;
    counts->packets = top.look_packets_o;
    counts->occupancy = top.look_occupancy_o;
}
