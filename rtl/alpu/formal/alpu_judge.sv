// The judge of the unit in formal verification: an ordered list with its own idea of what is right.
// Entry 0 of the list is the oldest one. It takes part in nothing, and is compared with the cells
// in every cycle.

module alpu_judge #(
  parameter int unsigned MATCH_WIDTH = 2,
  parameter int unsigned TAG_WIDTH   = 2,
  parameter int unsigned CELLS       = 4,
  parameter int unsigned BLOCK       = 2,
  parameter bit          UNEXPECTED  = 1'b0,
  localparam int unsigned FreeWidth  = $clog2(CELLS + 1),
  localparam int unsigned IndexWidth = $clog2(CELLS)
) (
  input logic                         clk_i,
  input logic                         rst_ni,

  input logic [1:0]                   state_i,
  input logic [2:0]                   step_i,
  input logic                         held_i,
  input logic                         start_i,

  input logic                         hdr_valid_i,
  input logic                         hdr_pop_i,
  input logic [MATCH_WIDTH-1:0]       req_match_i,
  input logic [MATCH_WIDTH-1:0]       req_mask_i,

  input logic                         cmd_valid_i,
  input logic                         cmd_pop_i,
  input logic [1:0]                   cmd_op_i,
  input logic [MATCH_WIDTH-1:0]       entry_match_i,
  input logic [MATCH_WIDTH-1:0]       entry_mask_i,
  input logic [TAG_WIDTH-1:0]         entry_tag_i,
  input logic                         load_i,

  input logic                         rsp_room_i,
  input logic                         rsp_push_i,
  input logic [1:0]                   rsp_kind_i,
  input logic [TAG_WIDTH-1:0]         rsp_tag_i,
  input logic [FreeWidth-1:0]         rsp_free_i,

  input logic [CELLS-1:0]             cell_valid_i,
  input logic [CELLS*MATCH_WIDTH-1:0] cell_match_i,
  input logic [CELLS*MATCH_WIDTH-1:0] cell_mask_i,
  input logic [CELLS*TAG_WIDTH-1:0]   cell_tag_i
);

  // The unit starts with a reset and has no other one.
  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
  end
  always_comb begin
    m_reset: assume (rst_ni == begun_q);
  end

  /////////////////
  // The list    //
  /////////////////

  logic [FreeWidth-1:0]         count_q, count_d;
  logic [CELLS*MATCH_WIDTH-1:0] match_q, match_d, mask_q, mask_d;
  logic [CELLS*TAG_WIDTH-1:0]   tag_q, tag_d;

  // What the header at the head should find: the first entry that matches.
  logic                   hit;
  logic [IndexWidth-1:0]  index;
  logic [TAG_WIDTH-1:0]   tag;
  logic [MATCH_WIDTH-1:0] mask;
  always_comb begin
    hit   = 1'b0;
    index = '0;
    tag   = '0;
    for (int i = 0; i < CELLS; i++) begin
      mask = UNEXPECTED ? req_mask_i : mask_q[i*MATCH_WIDTH+:MATCH_WIDTH];
      if (!hit && FreeWidth'(i) < count_q
          && ((match_q[i*MATCH_WIDTH+:MATCH_WIDTH] ^ req_match_i) & ~mask) == '0) begin
        hit   = 1'b1;
        index = IndexWidth'(i);
        tag   = tag_q[i*TAG_WIDTH+:TAG_WIDTH];
      end
    end
  end

  logic fanout, reset_pop, reset_q, delete_q;
  logic [IndexWidth-1:0] index_q;
  assign fanout    = step_i == alpu_pkg::StepFanout;
  assign reset_pop = state_i == alpu_pkg::StateRead && cmd_pop_i && cmd_op_i == alpu_pkg::CmdReset;

  always_comb begin
    count_d = count_q;
    match_d = match_q;
    mask_d  = mask_q;
    tag_d   = tag_q;
    if (reset_q) begin
      count_d = '0;
    end else if (delete_q) begin
      count_d = count_q - 1'b1;
      for (int i = 0; i + 1 < CELLS; i++) begin
        if (IndexWidth'(i) >= index_q) begin
          match_d[i*MATCH_WIDTH+:MATCH_WIDTH] = match_q[(i+1)*MATCH_WIDTH+:MATCH_WIDTH];
          mask_d[i*MATCH_WIDTH+:MATCH_WIDTH]  = mask_q[(i+1)*MATCH_WIDTH+:MATCH_WIDTH];
          tag_d[i*TAG_WIDTH+:TAG_WIDTH]       = tag_q[(i+1)*TAG_WIDTH+:TAG_WIDTH];
        end
      end
    end else if (load_i) begin
      count_d = count_q + 1'b1;
      for (int i = 0; i < CELLS; i++) begin
        if (FreeWidth'(i) == count_q) begin
          match_d[i*MATCH_WIDTH+:MATCH_WIDTH] = entry_match_i;
          mask_d[i*MATCH_WIDTH+:MATCH_WIDTH]  = entry_mask_i;
          tag_d[i*TAG_WIDTH+:TAG_WIDTH]       = entry_tag_i;
        end
      end
    end
  end

  // Between START ACKNOWLEDGE and STOP INSERT.
  logic inserting_q;

  always_ff @(posedge clk_i) begin
    match_q <= match_d;
    mask_q  <= mask_d;
    tag_q   <= tag_d;
    index_q <= index;
    if (!rst_ni) begin
      count_q     <= '0;
      reset_q     <= 1'b0;
      delete_q    <= 1'b0;
      inserting_q <= 1'b0;
    end else begin
      count_q  <= count_d;
      reset_q  <= reset_pop;
      delete_q <= fanout && hit;
      if (rsp_push_i && rsp_kind_i == alpu_pkg::RspStartAcknowledge) begin
        inserting_q <= 1'b1;
      end else if (inserting_q && cmd_pop_i && cmd_op_i == alpu_pkg::CmdStopInsert) begin
        inserting_q <= 1'b0;
      end
    end
  end

  ////////////////////////////////////////////////////////////////////
  // Nothing is lost, duplicated or reordered: the cells, read from //
  // the oldest to the youngest without the holes, are the list     //
  ////////////////////////////////////////////////////////////////////

  logic                 same;
  logic [FreeWidth-1:0] rank, cells_empty;
  always_comb begin
    same        = 1'b1;
    rank        = '0;
    cells_empty = '0;
    for (int c = CELLS - 1; c >= 0; c--) begin
      if (cell_valid_i[c]) begin
        for (int i = 0; i < CELLS; i++) begin
          if (FreeWidth'(i) == rank) begin
            same = same
                && match_q[i*MATCH_WIDTH+:MATCH_WIDTH] == cell_match_i[c*MATCH_WIDTH+:MATCH_WIDTH]
                && mask_q[i*MATCH_WIDTH+:MATCH_WIDTH] == cell_mask_i[c*MATCH_WIDTH+:MATCH_WIDTH]
                && tag_q[i*TAG_WIDTH+:TAG_WIDTH] == cell_tag_i[c*TAG_WIDTH+:TAG_WIDTH];
          end
        end
        rank = rank + 1'b1;
      end else begin
        cells_empty = cells_empty + 1'b1;
      end
    end
  end

  always_comb begin
    if (rst_ni && begun_q) begin
      a_same: assert (same);
      a_count: assert (rank == count_q);
    end
  end

  ////////////////////////////////////
  // Responses and the FIFOs' ends  //
  ////////////////////////////////////

  logic match_push;
  assign match_push = rsp_push_i && rsp_kind_i != alpu_pkg::RspStartAcknowledge;

  always_comb begin
    if (rst_ni && begun_q) begin
      // The oldest entry that matches wins; a header is answered exactly once, when it is popped.
      if (fanout) begin
        a_header: assert (hdr_valid_i);
        if (hit) begin
          a_oldest: assert (rsp_push_i && rsp_kind_i == alpu_pkg::RspMatchSuccess
                            && rsp_tag_i == tag);
        end else begin
          a_failure: assert (rsp_push_i == !inserting_q
                             && (!rsp_push_i || rsp_kind_i == alpu_pkg::RspMatchFailure));
        end
      end else begin
        a_no_other_answer: assert (!match_push);
      end
      a_answer_pops: assert (hdr_pop_i == match_push);
      a_no_failure_inserting: assert (!(inserting_q && rsp_push_i
                                        && rsp_kind_i == alpu_pkg::RspMatchFailure));
      a_response_has_room: assert (!rsp_push_i || rsp_room_i);
      a_pops_only_words: assert (!(cmd_pop_i && !cmd_valid_i) && !(hdr_pop_i && !hdr_valid_i));

      // START ACKNOWLEDGE: answers each START INSERT in state Read, with the number of empty cells.
      if (state_i == alpu_pkg::StateRead) begin
        a_acknowledged: assert (rsp_push_i == (cmd_pop_i && cmd_op_i == alpu_pkg::CmdStartInsert));
        a_free_count: assert (!rsp_push_i || (rsp_kind_i == alpu_pkg::RspStartAcknowledge
                                              && rsp_free_i == cells_empty));
      end else begin
        a_no_acknowledge: assert (!rsp_push_i || rsp_kind_i != alpu_pkg::RspStartAcknowledge);
      end

      // An INSERT in state Insert becomes an entry, unless the unit is full; elsewhere it is
      // discarded.
      a_load: assert (!load_i || (inserting_q && cmd_pop_i && cmd_op_i == alpu_pkg::CmdInsert
                                  && count_q != FreeWidth'(CELLS)));
      a_insert_kept: assert (!(inserting_q && cmd_pop_i && cmd_op_i == alpu_pkg::CmdInsert)
                             || load_i || count_q == FreeWidth'(CELLS));
      a_inserting: assert (inserting_q == (state_i == alpu_pkg::StateInsert));
    end
  end

  // An INSERT at the head is taken soon: a match in flight, then a hole that comes down from the
  // last block.
  localparam int unsigned Patience = 7 + CELLS / BLOCK + 2;
  logic [5:0] waiting_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !inserting_q || !cmd_valid_i || cmd_pop_i) begin
      waiting_q <= '0;
    end else begin
      waiting_q <= waiting_q + 1'b1;
    end
  end
  always_comb begin
    if (rst_ni && begun_q) begin
      a_progress: assert (waiting_q < 6'(Patience));
    end
  end

  // The request that the blocks took is the one still at the head when it is answered.
  logic [MATCH_WIDTH-1:0] req_match_q, req_mask_q;
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      req_match_q <= req_match_i;
      req_mask_q  <= req_mask_i;
    end
  end
  always_comb begin
    if (rst_ni && begun_q && step_i != alpu_pkg::StepIdle && step_i != alpu_pkg::StepDelete) begin
      a_request: assert (req_match_q == req_match_i && req_mask_q == req_mask_i);
    end
  end

  ///////////////////////////////////////////////////////////////////////////////////////
  // What must be reachable, lest the above be true of nothing. With REACH = n the judge //
  // claims that situation n cannot arise, and a search must refute it                   //
  ///////////////////////////////////////////////////////////////////////////////////////

  logic hole;
  always_comb begin
    hole = 1'b0;
    for (int c = 0; c + 1 < CELLS; c++) begin
      hole = hole || (cell_valid_i[c] && !cell_valid_i[c+1]);
    end
  end

  logic [8:0] reach;
  assign reach[0] = count_q == FreeWidth'(CELLS);
  assign reach[1] = count_q == FreeWidth'(CELLS) && fanout && hit && index == IndexWidth'(1);
  assign reach[2] = state_i == alpu_pkg::StateMatch && hole && delete_q;
  assign reach[3] = inserting_q && match_push;
  assign reach[4] = held_i && cmd_pop_i && cmd_op_i == alpu_pkg::CmdStopInsert;
  assign reach[5] = match_push && rsp_kind_i == alpu_pkg::RspMatchFailure && count_q != '0;
  assign reach[6] = reset_q && count_q != '0;
  assign reach[7] = rsp_push_i && state_i == alpu_pkg::StateRead && count_q != '0 && hole;
  assign reach[8] = !rsp_room_i && hdr_valid_i && step_i == alpu_pkg::StepIdle;
`ifdef REACH
  always_comb begin
    if (rst_ni && begun_q) begin
      a_unreachable: assert (!reach[`REACH]);
    end
  end
`endif

endmodule
