// C entry points around the verilated unit. One call runs many cycles, so that crossing costs nothing.
#include <cstddef>
#include <cstdint>

#include "Valpu.h"
#include "verilated.h"

struct In {
    uint64_t hdr_match, hdr_mask, cmd_match, cmd_mask, cmd_tag;
    uint8_t rst_n, hdr_valid, cmd_valid, cmd_op, rsp_ready, unused[3];
};

struct Out {
    uint64_t rsp_payload;
    uint8_t hdr_ready, cmd_ready, rsp_valid, rsp_kind, unused[4];
};

struct Unit {
    VerilatedContext context;
    Valpu alpu{&context};
};

extern "C" __attribute__((visibility("default"))) Unit *alpu_new() { return new Unit; }

extern "C" __attribute__((visibility("default"))) void alpu_delete(Unit *unit) {
    unit->alpu.final();
    delete unit;
}

extern "C" __attribute__((visibility("default"))) void alpu_run(Unit *unit, const In *in, Out *out,
                                                                size_t cycles) {
    Valpu &alpu = unit->alpu;
    for (size_t i = 0; i < cycles; i++, in++, out++) {
        alpu.rst_ni = in->rst_n;
        alpu.hdr_valid_i = in->hdr_valid;
        alpu.hdr_match_i = in->hdr_match;
        alpu.hdr_mask_i = in->hdr_mask;
        alpu.cmd_valid_i = in->cmd_valid;
        alpu.cmd_op_i = in->cmd_op;
        alpu.cmd_match_i = in->cmd_match;
        alpu.cmd_mask_i = in->cmd_mask;
        alpu.cmd_tag_i = in->cmd_tag;
        alpu.rsp_ready_i = in->rsp_ready;
        alpu.clk_i = 0;
        alpu.eval();
        out->hdr_ready = alpu.hdr_ready_o;
        out->cmd_ready = alpu.cmd_ready_o;
        out->rsp_valid = alpu.rsp_valid_o;
        out->rsp_kind = alpu.rsp_kind_o;
        out->rsp_payload = alpu.rsp_payload_o;
        alpu.clk_i = 1;
        alpu.eval();
    }
}
