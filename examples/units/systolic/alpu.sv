// A matching unit as a systolic list. Each cell holds an entry and talks with its neighbours only; what is to
// be done goes through the cells as tokens, one cell a cycle, from the oldest entry to the youngest. Tokens
// keep their order, and so each finds the list as those before it leave it.
//
// Another token follows every other cycle: one reads the cell above its own, which the one before has left.
// A request takes as many cycles as there are cells, and outside of insert mode a new one can be given in
// every second cycle.

module alpu #(
  parameter int unsigned MATCH_WIDTH    = 42,
  parameter int unsigned TAG_WIDTH      = 20,
  parameter int unsigned CELLS          = 32,
  parameter int unsigned BLOCK          = 16,   // there are none
  parameter bit          UNEXPECTED     = 1'b0,
  parameter int unsigned RESOLVE_CYCLES = 1,    // not needed
  parameter bit          OVERLAP        = 1'b0, // always
  parameter int unsigned HDR_DEPTH      = 16,
  parameter int unsigned CMD_DEPTH      = 16,
  parameter int unsigned RSP_DEPTH      = 16,
  localparam int unsigned FreeWidth     = $clog2(CELLS + 1),
  localparam int unsigned PayloadWidth  = TAG_WIDTH > FreeWidth ? TAG_WIDTH : FreeWidth
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    hdr_valid_i,
  output logic                    hdr_ready_o,
  input  logic [MATCH_WIDTH-1:0]  hdr_match_i,
  input  logic [MATCH_WIDTH-1:0]  hdr_mask_i,
  input  logic                    cmd_valid_i,
  output logic                    cmd_ready_o,
  input  logic [1:0]              cmd_op_i,
  input  logic [MATCH_WIDTH-1:0]  cmd_match_i,
  input  logic [MATCH_WIDTH-1:0]  cmd_mask_i,
  input  logic [TAG_WIDTH-1:0]    cmd_tag_i,
  output logic                    rsp_valid_o,
  input  logic                    rsp_ready_i,
  output logic [1:0]              rsp_kind_o,
  output logic [PayloadWidth-1:0] rsp_payload_o
);

  localparam logic [1:0] StartInsert = 2'd0, Insert = 2'd1, StopInsert = 2'd2, Reset = 2'd3;
  localparam logic [1:0] Acknowledge = 2'd0, Success = 2'd1, Failure = 2'd2;

  typedef struct packed {
    logic                   valid;
    logic                   request; // else it inserts, or clears
    logic                   clear;
    logic                   done;    // it has found its entry, or its cell
    logic [MATCH_WIDTH-1:0] bits;
    logic [MATCH_WIDTH-1:0] mask;
    logic [TAG_WIDTH-1:0]   tag;
  } token_t;

  typedef struct packed {
    logic                   valid;
    logic [MATCH_WIDTH-1:0] bits;
    logic [MATCH_WIDTH-1:0] mask;
    logic [TAG_WIDTH-1:0]   tag;
  } entry_t;

  ///////////
  // FIFOs //
  ///////////

  logic                    hdr, hdr_pop, cmd, cmd_pop, push;
  logic [MATCH_WIDTH-1:0]  req_bits, req_mask, new_bits, new_mask;
  logic [TAG_WIDTH-1:0]    new_tag;
  logic [1:0]              op, kind;
  logic [PayloadWidth-1:0] payload;
  logic                    unused_ready;

  systolic_fifo #(.WIDTH(2 * MATCH_WIDTH), .DEPTH(HDR_DEPTH)) u_hdr (
    .clk_i, .rst_ni, .push_i(hdr_valid_i), .ready_o(hdr_ready_o),
    .data_i({hdr_match_i, hdr_mask_i}), .pop_i(hdr_pop), .valid_o(hdr),
    .data_o({req_bits, req_mask}));
  systolic_fifo #(.WIDTH(2 + 2 * MATCH_WIDTH + TAG_WIDTH), .DEPTH(CMD_DEPTH)) u_cmd (
    .clk_i, .rst_ni, .push_i(cmd_valid_i), .ready_o(cmd_ready_o),
    .data_i({cmd_op_i, cmd_match_i, cmd_mask_i, cmd_tag_i}), .pop_i(cmd_pop), .valid_o(cmd),
    .data_o({op, new_bits, new_mask, new_tag}));
  systolic_fifo #(.WIDTH(2 + PayloadWidth), .DEPTH(RSP_DEPTH)) u_rsp (
    .clk_i, .rst_ni, .push_i(push), .ready_o(unused_ready), .data_i({kind, payload}),
    .pop_i(rsp_ready_i), .valid_o(rsp_valid_o), .data_o({rsp_kind_o, rsp_payload_o}));

  /////////////
  // Control //
  /////////////

  localparam int unsigned OwedWidth = $clog2(RSP_DEPTH + 1);

  token_t               token_q [CELLS]; // the token at each cell
  token_t               issued, out_q;   // the one that begins, and the one that has been through
  logic [FreeWidth-1:0] free_q;
  logic [OwedWidth-1:0] owed_q;          // results in the FIFO, and requests on their way
  logic [FreeWidth:0]   flying_q;        // requests on their way
  logic                 inserting_q;
  logic                 held_q;          // a request failed since START INSERT
  logic                 single_q;        // one that was given in insert mode is on its way
  logic                 room, acknowledge, finds, fails, hdr_pop_issue;

  assign room  = owed_q != OwedWidth'(RSP_DEPTH);
  // What a request has found is known when it has been through.
  assign finds = out_q.valid && out_q.request && out_q.done;
  // In insert mode a request may succeed only, and is tried again behind STOP INSERT.
  assign fails = out_q.valid && out_q.request && !out_q.done && !single_q;

  always_comb begin
    issued        = '0;
    hdr_pop_issue = 1'b0;
    cmd_pop       = 1'b0;
    acknowledge   = 1'b0;
    // A token every other cycle.
    if (!token_q[0].valid) begin
      if (cmd && !inserting_q && op == StartInsert) begin
        // Nothing is on its way then, and what is free is known.
        acknowledge = flying_q == '0 && room;
        cmd_pop     = acknowledge;
      end else if (cmd) begin
        cmd_pop      = 1'b1;
        issued.valid = (inserting_q && op == Insert && free_q != '0) || (!inserting_q && op == Reset);
        issued.clear = op == Reset;
        issued.bits  = new_bits;
        issued.mask  = UNEXPECTED ? '0 : new_mask;
        issued.tag   = new_tag;
        if (op == Reset && flying_q != '0) begin
          cmd_pop      = 1'b0;
          issued.valid = 1'b0;
        end
      end else if (hdr && room && !held_q && !single_q && (!inserting_q || flying_q == '0)) begin
        issued.valid   = 1'b1;
        issued.request = 1'b1;
        issued.bits    = req_bits;
        issued.mask    = UNEXPECTED ? req_mask : '0;
        hdr_pop_issue  = !inserting_q;
      end
    end
  end

  assign hdr_pop = hdr_pop_issue || (single_q && finds);
  assign push    = acknowledge || finds || fails;
  always_comb begin
    if (acknowledge) begin
      kind    = Acknowledge;
      payload = PayloadWidth'(free_q);
    end else if (finds) begin
      kind    = Success;
      payload = PayloadWidth'(out_q.tag);
    end else begin
      kind    = Failure;
      payload = '0;
    end
  end

  logic owes, paid, lands, returns;
  assign owes    = acknowledge || (issued.valid && issued.request);
  assign paid    = rsp_valid_o && rsp_ready_i;
  assign lands   = out_q.valid && out_q.request;
  assign returns = lands && single_q && !finds; // its result is not due any more

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      free_q      <= FreeWidth'(CELLS);
      owed_q      <= '0;
      flying_q    <= '0;
      inserting_q <= 1'b0;
      held_q      <= 1'b0;
      single_q    <= 1'b0;
    end else begin
      owed_q   <= owed_q + OwedWidth'(owes) - OwedWidth'(paid) - OwedWidth'(returns);
      flying_q <= flying_q + (FreeWidth + 1)'(issued.valid && issued.request) - (FreeWidth + 1)'(lands);
      if (issued.valid && issued.clear) begin
        free_q <= FreeWidth'(CELLS);
      end else begin
        free_q <= free_q + FreeWidth'(finds)
                  - FreeWidth'(issued.valid && !issued.request && !issued.clear);
      end
      if (lands && single_q) begin
        single_q <= 1'b0;
        held_q   <= !finds && inserting_q;
      end
      if (issued.valid && issued.request && inserting_q) begin
        single_q <= 1'b1;
      end
      if (cmd_pop && op == StartInsert) begin
        inserting_q <= 1'b1;
      end else if (cmd_pop && op == StopInsert) begin
        inserting_q <= 1'b0;
        held_q      <= 1'b0;
      end
    end
  end

  ///////////
  // Cells //
  ///////////

  entry_t entry_q [CELLS];

  for (genvar i = 0; i < CELLS; i++) begin : gen_cell
    token_t here, then_token;
    entry_t own, above, then_entry;
    logic   hit;

    assign here  = token_q[i];
    assign own   = entry_q[i];
    if (i + 1 < CELLS) begin : gen_above
      assign above = entry_q[i+1];
    end else begin : gen_none
      assign above = '0;
    end
    assign hit = own.valid && ((own.bits ^ here.bits) & ~(own.mask | here.mask)) == '0;

    always_comb begin
      then_token = here;
      then_entry = own;
      if (here.valid && here.request) begin
        if (!here.done && hit) begin
          then_token.done = 1'b1;
          then_token.tag  = own.tag;
        end
        // From the entry that was found on, the list closes up.
        if (here.done || hit) begin
          then_entry = above;
        end
      end else if (here.valid && here.clear) begin
        then_entry.valid = 1'b0;
      end else if (here.valid && !here.done && !own.valid) begin
        then_token.done = 1'b1;
        then_entry      = {1'b1, here.bits, here.mask, here.tag};
      end
    end

    always_ff @(posedge clk_i) begin
      entry_q[i] <= then_entry;
      if (!rst_ni) begin
        entry_q[i].valid <= 1'b0;
      end
    end
    if (i + 1 < CELLS) begin : gen_next
      always_ff @(posedge clk_i) begin
        token_q[i+1] <= then_token;
        if (!rst_ni) begin
          token_q[i+1].valid <= 1'b0;
        end
      end
    end else begin : gen_last
      always_ff @(posedge clk_i) begin
        out_q <= then_token;
        if (!rst_ni) begin
          out_q.valid <= 1'b0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    token_q[0] <= issued;
    if (!rst_ni) begin
      token_q[0].valid <= 1'b0;
    end
  end

endmodule

// A word is at the head a cycle after its push.
module systolic_fifo #(
  parameter int unsigned WIDTH = 16,
  parameter int unsigned DEPTH = 16
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             push_i,
  output logic             ready_o,
  input  logic [WIDTH-1:0] data_i,
  input  logic             pop_i,
  output logic             valid_o,
  output logic [WIDTH-1:0] data_o
);

  localparam int unsigned PtrWidth = $clog2(DEPTH);

  logic [WIDTH-1:0]    words_q [DEPTH];
  logic [PtrWidth-1:0] read_q, write_q;
  logic [PtrWidth:0]   count_q;
  logic                push, pop;

  assign ready_o = count_q != (PtrWidth + 1)'(DEPTH);
  assign valid_o = count_q != '0;
  assign data_o  = words_q[read_q];
  assign push    = push_i && ready_o;
  assign pop     = pop_i && valid_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q  <= '0;
      write_q <= '0;
      count_q <= '0;
    end else begin
      write_q <= write_q + PtrWidth'(push);
      read_q  <= read_q + PtrWidth'(pop);
      count_q <= count_q + (PtrWidth + 1)'(push) - (PtrWidth + 1)'(pop);
    end
    if (push) begin
      words_q[write_q] <= data_i;
    end
  end

endmodule
