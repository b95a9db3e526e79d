// The control of the unit (brightwell2005, figure 3): states Match, Read Command and Insert, and
// within Match and Insert the steps of the one match in flight. PORTS.md has the whole behaviour,
// cycle by cycle.

module alpu_fsm #(
  parameter int unsigned CELLS          = 256,
  parameter int unsigned RESOLVE_CYCLES = 2,
  parameter bit          OVERLAP        = 1'b0,
  localparam int unsigned FreeWidth     = $clog2(CELLS + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // Heads of the FIFOs.
  input  logic                 hdr_valid_i,
  output logic                 hdr_pop_o,
  input  logic                 cmd_valid_i,
  input  logic [1:0]           cmd_op_i,
  output logic                 cmd_pop_o,
  input  logic                 rsp_room_i,
  output logic                 rsp_push_o,
  output logic [1:0]           rsp_kind_o,

  // The array of cells.
  input  logic                 empty_i,  // cell 0 is empty
  input  logic                 hit_i,    // result of stage 4
  output logic                 start_o,  // stage 1: the blocks take the request
  output logic                 delete_o, // stage 5: the blocks take the delete signals
  output logic                 shift_o,  // the blocks compact in the next cycle
  output logic                 clear_o,  // the blocks clear their cells in the next cycle
  output logic                 load_o,   // the command's entry goes into cell 0 in this cycle

`ifdef FORMAL
  output logic [1:0]           fv_state_o,
  output logic [2:0]           fv_step_o,
  output logic                 fv_held_o,
`endif

  output logic [FreeWidth-1:0] free_o
);

  logic [1:0]           state_q, state_d;
  logic [2:0]           step_q, step_d;
  logic                 held_q, held_d;   // a header failed in this insert mode
  logic                 shift_q;          // the blocks compact in this cycle
  logic [FreeWidth-1:0] free_q, free_d;
  logic                 may_start;

  assign may_start = hdr_valid_i && rsp_room_i && !held_q && !cmd_valid_i;

  always_comb begin
    state_d    = state_q;
    step_d     = step_q;
    held_d     = held_q;
    free_d     = free_q;
    hdr_pop_o  = 1'b0;
    cmd_pop_o  = 1'b0;
    rsp_push_o = 1'b0;
    rsp_kind_o = alpu_pkg::RspStartAcknowledge;
    start_o    = 1'b0;
    delete_o   = 1'b0;
    shift_o    = 1'b0;
    clear_o    = 1'b0;
    load_o     = 1'b0;

    case (step_q)
      alpu_pkg::StepIdle: begin
        case (state_q)
          alpu_pkg::StateMatch: begin
            if (cmd_valid_i) begin
              state_d = alpu_pkg::StateRead;
            end
            start_o = may_start;
          end

          alpu_pkg::StateRead: begin
            if (!cmd_valid_i) begin
              state_d = alpu_pkg::StateMatch;
            end else if (cmd_op_i == alpu_pkg::CmdStartInsert) begin
              if (rsp_room_i) begin
                cmd_pop_o  = 1'b1;
                rsp_push_o = 1'b1;
                state_d    = alpu_pkg::StateInsert;
              end
            end else begin
              cmd_pop_o = 1'b1;
              if (cmd_op_i == alpu_pkg::CmdReset) begin
                clear_o = 1'b1;
                free_d  = FreeWidth'(CELLS);
                state_d = alpu_pkg::StateMatch;
              end
            end
          end

          default: begin // Insert
            if (cmd_valid_i && cmd_op_i == alpu_pkg::CmdInsert) begin
              // An INSERT into a full unit is the software's mistake, and discarded like an illegal
              // command.
              load_o    = free_q != '0 && shift_q && empty_i;
              cmd_pop_o = free_q == '0 || load_o;
              if (load_o) begin
                free_d = free_q - 1'b1;
              end
            end else if (cmd_valid_i) begin
              cmd_pop_o = 1'b1;
              if (cmd_op_i == alpu_pkg::CmdStopInsert) begin
                held_d  = 1'b0;
                state_d = alpu_pkg::StateMatch;
              end
            end
            start_o = may_start;
            // Cells must not move while a match looks at them.
            shift_o = !start_o;
          end
        endcase
        if (start_o) begin
          step_d = alpu_pkg::StepCompare;
        end
      end

      alpu_pkg::StepCompare: step_d = alpu_pkg::StepPrioritise;

      alpu_pkg::StepPrioritise: step_d = alpu_pkg::StepResolve;

      alpu_pkg::StepResolve: begin
        step_d = RESOLVE_CYCLES == 2 ? alpu_pkg::StepResolve2 : alpu_pkg::StepFanout;
      end

      alpu_pkg::StepResolve2: step_d = alpu_pkg::StepFanout;

      alpu_pkg::StepFanout: begin
        step_d   = alpu_pkg::StepDelete;
        delete_o = hit_i;
        if (hit_i) begin
          hdr_pop_o  = 1'b1;
          rsp_push_o = 1'b1;
          rsp_kind_o = alpu_pkg::RspMatchSuccess;
          free_d     = free_q + 1'b1;
        end else if (state_q == alpu_pkg::StateMatch) begin
          hdr_pop_o  = 1'b1;
          rsp_push_o = 1'b1;
          rsp_kind_o = alpu_pkg::RspMatchFailure;
        end else begin
          held_d = 1'b1;
        end
      end

      default: begin // Delete
        start_o = OVERLAP && may_start;
        step_d  = start_o ? alpu_pkg::StepCompare : alpu_pkg::StepIdle;
        if (state_q == alpu_pkg::StateMatch && cmd_valid_i) begin
          state_d = alpu_pkg::StateRead;
        end
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= alpu_pkg::StateMatch;
      step_q  <= alpu_pkg::StepIdle;
      held_q  <= 1'b0;
      shift_q <= 1'b0;
      free_q  <= FreeWidth'(CELLS);
    end else begin
      state_q <= state_d;
      step_q  <= step_d;
      held_q  <= held_d;
      shift_q <= shift_o;
      free_q  <= free_d;
    end
  end

  assign free_o = free_q;

`ifdef FORMAL
  assign fv_state_o = state_q;
  assign fv_step_o  = step_q;
  assign fv_held_o  = held_q;

  always_comb begin
    if (rst_ni) begin
      a_state: assert (state_q <= alpu_pkg::StateInsert);
      a_step: assert (step_q <= alpu_pkg::StepDelete);
      a_resolve2: assert (step_q != alpu_pkg::StepResolve2 || RESOLVE_CYCLES == 2);
      a_read_alone: assert (state_q != alpu_pkg::StateRead || step_q == alpu_pkg::StepIdle);
      a_still: assert (step_q == alpu_pkg::StepIdle || !shift_q);
      a_held: assert (!held_q || state_q == alpu_pkg::StateInsert);
      a_free: assert (free_q <= FreeWidth'(CELLS));
      // A match in flight finds its header at the head, and room for its response.
      if (step_q != alpu_pkg::StepIdle && step_q != alpu_pkg::StepDelete) begin
        a_header: assert (hdr_valid_i);
        a_room: assert (rsp_room_i);
      end
    end
  end
`endif

endmodule
