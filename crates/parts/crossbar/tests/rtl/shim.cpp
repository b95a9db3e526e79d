// C entry points around the verilated crossbar. One call runs many cycles, so that crossing costs nothing.
#include <cstddef>
#include <cstdint>

#include "Vtop.h"
#include "verilated.h"

struct In {
    uint64_t data[8];
    uint8_t kind[8], ready, rst_n, unused[6];
};

struct Out {
    uint64_t data[8];
    uint8_t kind[8], header_error, credit_error, overflow, unused[5];
};

struct Unit {
    VerilatedContext context;
    Vtop top{&context};
};

extern "C" __attribute__((visibility("default"))) Unit *crossbar_new() { return new Unit; }

extern "C" __attribute__((visibility("default"))) void crossbar_delete(Unit *unit) {
    unit->top.final();
    delete unit;
}

extern "C" __attribute__((visibility("default"))) void crossbar_run(Unit *unit, const In *in, Out *out,
                                                                    size_t cycles) {
    Vtop &top = unit->top;
    const size_t ports = sizeof(top.data_i) / 8;
    for (size_t i = 0; i < cycles; i++, in++, out++) {
        uint32_t kinds = 0;
        for (size_t port = 0; port < ports; port++) {
            top.data_i[2 * port] = uint32_t(in->data[port]);
            top.data_i[2 * port + 1] = uint32_t(in->data[port] >> 32);
            kinds |= uint32_t(in->kind[port]) << (2 * port);
        }
        top.kind_i = kinds;
        top.ready_i = in->ready;
        top.rst_ni = in->rst_n;
        top.clk_i = 0;
        top.eval();
        *out = Out{};
        for (size_t port = 0; port < ports; port++) {
            out->kind[port] = top.kind_o >> (2 * port) & 3;
            if (out->kind[port] > 1)
                out->data[port] = uint64_t(top.data_o[2 * port + 1]) << 32 | top.data_o[2 * port];
        }
        out->header_error = top.header_error_o;
        out->credit_error = top.credit_error_o;
        out->overflow = top.overflow_o;
        top.clk_i = 1;
        top.eval();
    }
}
