// C entry points around a verilated matching unit.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "Vtop.h"
#include "Vtop___024root.h"
#include "Vtop__Syms.h"
#include "guard.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

#define ENTRY extern "C" __attribute__((visibility("default")))

struct In {
    uint64_t hdr_match, hdr_mask, cmd_match, cmd_mask, cmd_tag;
    uint8_t hdr_valid, cmd_valid, cmd_op, rsp_ready, reset, unused[3];
};

struct Out {
    uint64_t rsp_payload;
    uint8_t hdr_ready, cmd_ready, rsp_valid, rsp_kind;
    // Outputs have followed inputs within a cycle; an assertion has failed; its code has died.
    uint8_t combinational, failed, dead, unused;
};

// Edges without a handshake before the unit is looked at for the first time.
static const uint64_t FIRST_LOOK = 8;

struct Unit {
    VerilatedContext context;
    Vtop top{&context};
    // All registers and nets, as they were before an edge.
    std::vector<char> before = std::vector<char>(sizeof(Vtop__Syms));
    Out out{};
    // Edges since the last handshake, and after how many the unit is looked at next.
    uint64_t quiet = 0, look = FIRST_LOOK;
    bool rests = false;
#if VM_TRACE
    VerilatedVcdC wave;
#endif

    Unit() {
        context.fatalOnError(false);
        context.traceEverOn(VM_TRACE);
        guarded([this] {
            In reset{};
            reset.reset = 1;
            apply(reset);
            rise();
            rise();
            read();
        });
    }

    // Does something with the design, unless it has died.
    template <typename Call> void guarded(Call call) {
        if (!out.dead && !guard::alive(call)) {
            out.dead = 1;
        }
    }

    void apply(const In &in) {
        top.rst_ni = !in.reset;
        top.hdr_valid_i = in.hdr_valid;
        top.hdr_match_i = in.hdr_match;
        top.hdr_mask_i = in.hdr_mask;
        top.cmd_valid_i = in.cmd_valid;
        top.cmd_op_i = in.cmd_op;
        top.cmd_match_i = in.cmd_match;
        top.cmd_mask_i = in.cmd_mask;
        top.cmd_tag_i = in.cmd_tag;
        top.rsp_ready_i = in.rsp_ready;
    }

    void settle() {
        top.clk_i = 0;
        top.eval();
    }

    void rise() {
        settle();
        top.clk_i = 1;
        top.eval();
    }

    void read() {
        out.hdr_ready = top.hdr_ready_o;
        out.cmd_ready = top.cmd_ready_o;
        out.rsp_valid = top.rsp_valid_o;
        out.rsp_kind = top.rsp_kind_o;
        out.rsp_payload = top.rsp_payload_o;
        out.failed = context.gotError() || context.gotFinish();
    }

    void cycle(const In &in) {
        apply(in);
        settle();
        out.combinational |= out.hdr_ready != top.hdr_ready_o || out.cmd_ready != top.cmd_ready_o ||
                             out.rsp_valid != top.rsp_valid_o || out.rsp_kind != top.rsp_kind_o ||
                             out.rsp_payload != top.rsp_payload_o;
        top.clk_i = 1;
        top.eval();
        read();
    }
};

ENTRY Unit *unit_new() { return new Unit; }

ENTRY void unit_delete(Unit *unit) {
    unit->guarded([unit] { unit->top.final(); });
    // What has died may be in any state.
    if (!unit->out.dead) {
        delete unit;
    }
}

ENTRY void unit_look(const Unit *unit, Out *out) { *out = unit->out; }

ENTRY void unit_clock(Unit *unit, const In *in, Out *out) {
    unit->guarded([unit, in] { unit->cycle(*in); });
    unit->quiet = 0;
    unit->look = FIRST_LOOK;
    unit->rests = false;
    *out = unit->out;
}

// Cycles with the same inputs and no handshake, until an edge changes nothing: no later one can then.
// Returns whether that has been reached.
ENTRY uint8_t unit_idle(Unit *unit, const In *in, uint64_t cycles, Out *out) {
    const void *state = unit->top.rootp->vlSymsp;
    unit->guarded([&] {
        for (; cycles > 0 && !unit->rests; cycles--) {
            bool looks = ++unit->quiet >= unit->look;
            if (looks) {
                memcpy(unit->before.data(), state, sizeof(Vtop__Syms));
            }
            unit->cycle(*in);
            if (looks) {
                unit->rests = memcmp(unit->before.data(), state, sizeof(Vtop__Syms)) == 0;
                unit->look = unit->quiet + unit->quiet / 4;
            }
        }
    });
    *out = unit->out;
    // Nothing happens any more in what has died.
    return unit->rests || unit->out.dead;
}

#if VM_TRACE
ENTRY uint8_t unit_wave(Unit *unit, const char *file) {
    unit->top.trace(&unit->wave, 99);
    unit->wave.set_time_unit("1ps");
    unit->wave.set_time_resolution("1ps");
    unit->wave.open(file);
    return unit->wave.isOpen();
}

// Writes a cycle, which begins at `begins` with the edge before it, and what the model has in it.
ENTRY void unit_show(Unit *unit, const In *in, const Out *model, uint64_t begins, uint64_t half) {
    Vtop &top = unit->top;
    top.model_hdr_ready = model->hdr_ready;
    top.model_cmd_ready = model->cmd_ready;
    top.model_rsp_valid = model->rsp_valid;
    top.model_rsp_kind = model->rsp_kind;
    top.model_rsp_payload = model->rsp_payload;
    unit->guarded([&] {
        unit->apply(*in);
        top.eval();
        unit->wave.dump(begins);
        unit->settle();
        unit->wave.dump(half);
    });
}

ENTRY void unit_end(Unit *unit) { unit->wave.close(); }
#endif
