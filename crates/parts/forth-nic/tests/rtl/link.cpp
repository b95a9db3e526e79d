// C entry points around the verilated receiving side of the lanes. One call runs many cycles.
#include <cstddef>
#include <cstdint>

#include "Vtop.h"
#include "verilated.h"

struct In {
    uint32_t bytes[2];
    uint8_t control[2], rst_n, unused[5];
};

struct Out {
    uint64_t data;
    uint8_t kind, errors, unused[6];
};

struct Unit {
    VerilatedContext context;
    Vtop top{&context};
};

extern "C" __attribute__((visibility("default"))) Unit *link_new() { return new Unit; }

extern "C" __attribute__((visibility("default"))) void link_delete(Unit *unit) {
    unit->top.final();
    delete unit;
}

extern "C" __attribute__((visibility("default"))) void link_run(Unit *unit, const In *in, Out *out,
                                                                size_t cycles) {
    Vtop &top = unit->top;
    for (size_t i = 0; i < cycles; i++, in++, out++) {
        top.rst_ni = in->rst_n;
        top.bytes_i = uint64_t(in->bytes[1]) << 32 | in->bytes[0];
        top.control_i = in->control[1] << 4 | in->control[0];
        top.clk_i = 0;
        top.eval();
        top.clk_i = 1;
        top.eval();
        *out = Out{};
        out->kind = top.kind_o;
        out->errors = top.errors_o;
        if (top.kind_o > 1) out->data = top.data_o;
    }
}
