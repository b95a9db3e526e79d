// C entry points around the verilated NIC: an edge of either clock a call.
#include <cstddef>
#include <cstdint>

#include "Vtop.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

#define ENTRY extern "C" __attribute__((visibility("default")))

struct BusIn {
    uint64_t write_data, completion_data, transceivers;
    uint16_t write_offset, read_offset;
    uint8_t write_enables, write, read, accepted, completion, took, ended, aborted, passed;
    uint8_t unused[3];
};

struct BusOut {
    uint64_t addr, write_word, read_word, arrived_header;
    uint16_t words;
    uint8_t tag, request, request_write, write_on, busy, interrupt, arrived, arrived_good, frozen;
    uint8_t bus_rests, link_rests, link_held;
};

struct LinkIn {
    uint32_t bytes[2];
    uint8_t control[2], passed, unused;
};

struct LinkOut {
    uint32_t bytes[2];
    uint8_t control[2], bus_rests, link_rests, link_held, unused[3];
};

struct Unit {
    VerilatedContext context;
    Vtop top{&context};
#if VM_TRACE
    VerilatedVcdC wave;
#endif

    Unit() { context.traceEverOn(VM_TRACE); }

    void level(uint8_t &clock, uint8_t to) {
        clock = to;
        top.eval();
    }

    void edge(uint8_t &clock) {
        level(clock, 1);
        level(clock, 0);
    }

    void apply(const BusIn &in) {
        top.write_i = in.write;
        top.write_offset_i = in.write_offset;
        top.write_data_i = in.write_data;
        top.write_enables_i = in.write_enables;
        top.read_i = in.read;
        top.read_offset_i = in.read_offset;
        top.accepted_i = in.accepted;
        top.completion_i = in.completion;
        top.completion_data_i = in.completion_data;
        top.took_i = in.took;
        top.ended_i = in.ended;
        top.aborted_i = in.aborted;
        top.transceivers_i = in.transceivers;
        top.bus_passed_i = in.passed;
    }

    // A reset as long as both clocks have four edges, and the edges with which the card leaves it.
    void reset() {
        apply(BusIn{});
        apply(LinkIn{});
        top.rst_ni = 0;
        for (int count = 0; count < 4; count++) {
            edge(top.bus_clk_i);
            edge(top.link_clk_i);
        }
        top.rst_ni = 1;
        edge(top.bus_clk_i);
        edge(top.link_clk_i);
        edge(top.link_clk_i);
    }

    void apply(const LinkIn &in) {
        top.bytes_i = uint64_t(in.bytes[1]) << 32 | in.bytes[0];
        top.control_i = in.control[1] << 4 | in.control[0];
        top.link_passed_i = in.passed;
    }
};

ENTRY void nic_look(const Unit *unit, BusOut *out) {
    const Vtop &top = unit->top;
    out->addr = top.request_addr_o;
    out->write_word = top.write_word_o;
    out->read_word = top.read_word_o;
    out->arrived_header = top.arrived_header_o;
    out->words = top.request_words_o;
    out->tag = top.request_tag_o;
    out->request = top.request_o;
    out->request_write = top.request_write_o;
    out->write_on = top.write_on_o;
    out->busy = top.busy_o;
    out->interrupt = top.interrupt_o;
    out->arrived = top.arrived_o;
    out->arrived_good = top.arrived_good_o;
    out->frozen = top.frozen_o;
    out->bus_rests = top.bus_rests_o;
    out->link_rests = top.link_rests_o;
    out->link_held = top.link_held_o;
}

ENTRY Unit *nic_new(uint8_t source, uint16_t slack) {
    Unit *unit = new Unit;
    Vtop &top = unit->top;
    top.source_i = source;
    top.slack_i = slack;
    unit->reset();
    return unit;
}

ENTRY void nic_delete(Unit *unit) {
    unit->top.final();
    delete unit;
}

ENTRY void nic_bus(Unit *unit, const BusIn *in, BusOut *out) {
    unit->apply(*in);
    unit->edge(unit->top.bus_clk_i);
    nic_look(unit, out);
}

ENTRY void nic_link(Unit *unit, const LinkIn *in, LinkOut *out) {
    Vtop &top = unit->top;
    unit->apply(*in);
    unit->edge(top.link_clk_i);
    const uint64_t bytes = top.bytes_o;
    out->bytes[0] = uint32_t(bytes);
    out->bytes[1] = uint32_t(bytes >> 32);
    out->control[0] = top.control_o & 0xF;
    out->control[1] = top.control_o >> 4 & 0xF;
    out->bus_rests = top.bus_rests_o;
    out->link_rests = top.link_rests_o;
    out->link_held = top.link_held_o;
}

// Four counters of the bus's half, seven of the lanes'.
ENTRY void nic_totals(const Unit *unit, uint64_t *totals) {
    const Vtop &top = unit->top;
    const auto total = [](const auto &port, int i) {
        return uint64_t(port[2 * i + 1]) << 32 | port[2 * i];
    };
    for (int i = 0; i < 4; i++) totals[i] = total(top.bus_totals_o, i);
    for (int i = 0; i < 7; i++) totals[4 + i] = total(top.link_totals_o, i);
}

ENTRY uint16_t nic_outstanding(Unit *unit, uint8_t flow) {
    unit->top.look_flow_i = flow;
    unit->top.eval();
    return unit->top.look_words_o;
}

#if VM_TRACE
// Opens the file of a waveform; false if that cannot be.
ENTRY uint8_t nic_wave(Unit *unit, const char *file) {
    unit->top.trace(&unit->wave, 99);
    unit->wave.set_time_unit("1ps");
    unit->wave.set_time_resolution("1ps");
    unit->wave.open(file);
    return unit->wave.isOpen();
}

// Moves the inputs of the bus or of the lanes, which the next level or dump evaluates.
ENTRY void nic_set_bus(Unit *unit, const BusIn *in) { unit->apply(*in); }

ENTRY void nic_set_link(Unit *unit, const LinkIn *in) { unit->apply(*in); }

// Moves the clock of the bus or of the lanes to a level.
ENTRY void nic_level(Unit *unit, uint8_t lanes, uint8_t level) {
    unit->level(lanes ? unit->top.link_clk_i : unit->top.bus_clk_i, level);
}

// Writes all signals as they are now.
ENTRY void nic_dump(Unit *unit, uint64_t picoseconds) {
    unit->top.eval();
    unit->wave.dump(picoseconds);
}

ENTRY void nic_wave_end(Unit *unit) { unit->wave.close(); }
#endif
