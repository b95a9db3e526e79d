// A matching unit to begin with: a list that is walked through, an entry a cycle. docs/your-own-unit.md says
// what a unit must do; replace the list and keep the ports.

module alpu #(
  parameter int unsigned MATCH_WIDTH    = 42,
  parameter int unsigned TAG_WIDTH      = 20,
  parameter int unsigned CELLS          = 32,   // entries
  parameter int unsigned BLOCK          = 16,   // not needed here
  parameter bit          UNEXPECTED     = 1'b0, // 0: the mask comes with the entry; 1: with the request
  parameter int unsigned RESOLVE_CYCLES = 1,    // not needed here
  parameter bit          OVERLAP        = 1'b0, // not needed here
  parameter int unsigned HDR_DEPTH      = 16,   // depths of the FIFOs, powers of two
  parameter int unsigned CMD_DEPTH      = 16,
  parameter int unsigned RSP_DEPTH      = 16,
  localparam int unsigned FreeWidth     = $clog2(CELLS + 1),
  localparam int unsigned PayloadWidth  = TAG_WIDTH > FreeWidth ? TAG_WIDTH : FreeWidth
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  // Requests: headers of messages, or new receives.
  input  logic                    hdr_valid_i,
  output logic                    hdr_ready_o,
  input  logic [MATCH_WIDTH-1:0]  hdr_match_i,
  input  logic [MATCH_WIDTH-1:0]  hdr_mask_i,

  // Commands.
  input  logic                    cmd_valid_i,
  output logic                    cmd_ready_o,
  input  logic [1:0]              cmd_op_i,
  input  logic [MATCH_WIDTH-1:0]  cmd_match_i,
  input  logic [MATCH_WIDTH-1:0]  cmd_mask_i,
  input  logic [TAG_WIDTH-1:0]    cmd_tag_i,

  // Results.
  output logic                    rsp_valid_o,
  input  logic                    rsp_ready_i,
  output logic [1:0]              rsp_kind_o,
  output logic [PayloadWidth-1:0] rsp_payload_o
);

  localparam logic [1:0] StartInsert = 2'd0, Insert = 2'd1, StopInsert = 2'd2, Reset = 2'd3;
  localparam logic [1:0] Acknowledge = 2'd0, Success = 2'd1, Failure = 2'd2;

  typedef struct packed {
    logic [MATCH_WIDTH-1:0] bits;
    logic [MATCH_WIDTH-1:0] mask;
    logic [TAG_WIDTH-1:0]   tag;
  } entry_t;

  ///////////
  // FIFOs //
  ///////////

  logic                     hdr, hdr_pop;
  logic [2*MATCH_WIDTH-1:0] request;
  logic                     cmd, cmd_pop;
  logic [1:0]               op;
  entry_t                   new_entry;
  logic                     room, push;
  logic [1:0]               kind;
  logic [PayloadWidth-1:0]  payload;

  unit_fifo #(.WIDTH(2 * MATCH_WIDTH), .DEPTH(HDR_DEPTH)) u_hdr (
    .clk_i, .rst_ni, .push_i(hdr_valid_i), .ready_o(hdr_ready_o),
    .data_i({hdr_match_i, hdr_mask_i}), .pop_i(hdr_pop), .valid_o(hdr), .data_o(request));
  unit_fifo #(.WIDTH(2 + $bits(entry_t)), .DEPTH(CMD_DEPTH)) u_cmd (
    .clk_i, .rst_ni, .push_i(cmd_valid_i), .ready_o(cmd_ready_o),
    .data_i({cmd_op_i, cmd_match_i, cmd_mask_i, cmd_tag_i}), .pop_i(cmd_pop), .valid_o(cmd),
    .data_o({op, new_entry}));
  unit_fifo #(.WIDTH(2 + PayloadWidth), .DEPTH(RSP_DEPTH)) u_rsp (
    .clk_i, .rst_ni, .push_i(push), .ready_o(room), .data_i({kind, payload}),
    .pop_i(rsp_ready_i), .valid_o(rsp_valid_o), .data_o({rsp_kind_o, rsp_payload_o}));

  //////////////
  // The list //
  //////////////

  localparam int unsigned IndexWidth = $clog2(CELLS);

  entry_t                 list_q [CELLS];  // the oldest is entry 0
  logic [FreeWidth-1:0]   count_q, at_q;   // entries; the one that is looked at
  logic                   inserting_q;
  logic                   held_q;          // a request failed since START INSERT
  logic                   walking_q;
  logic                   append, remove;

  entry_t                 looked_at;
  logic [MATCH_WIDTH-1:0] any;
  logic                   hit;
  assign looked_at = list_q[IndexWidth'(at_q)];
  assign any       = UNEXPECTED ? request[0+:MATCH_WIDTH] : looked_at.mask;
  assign hit       = ((request[MATCH_WIDTH+:MATCH_WIDTH] ^ looked_at.bits) & ~any) == '0;

  logic [FreeWidth-1:0]   free;
  logic                   start, fail;
  assign free = FreeWidth'(CELLS) - count_q;

  always_comb begin
    hdr_pop = 1'b0;
    cmd_pop = 1'b0;
    push    = 1'b0;
    kind    = Acknowledge;
    payload = '0;
    append  = 1'b0;
    remove  = 1'b0;
    start   = 1'b0;
    fail    = 1'b0;
    if (walking_q) begin
      if (at_q == count_q) begin
        fail = 1'b1;
        // In insert mode the request stays where it is, and is tried anew behind STOP INSERT.
        hdr_pop = !inserting_q;
        push    = !inserting_q;
        kind    = Failure;
      end else if (hit) begin
        remove  = 1'b1;
        hdr_pop = 1'b1;
        push    = 1'b1;
        kind    = Success;
        payload = PayloadWidth'(looked_at.tag);
      end
    end else if (cmd && op == StartInsert && !inserting_q) begin
      push    = room;
      cmd_pop = room;
      payload = PayloadWidth'(free);
    end else if (cmd) begin
      // One that means nothing in this mode is discarded.
      cmd_pop = 1'b1;
      append  = op == Insert && inserting_q && count_q != FreeWidth'(CELLS);
    end else begin
      start = hdr && room && !held_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q     <= '0;
      at_q        <= '0;
      inserting_q <= 1'b0;
      held_q      <= 1'b0;
      walking_q   <= 1'b0;
    end else begin
      walking_q <= start || (walking_q && !remove && !fail);
      at_q      <= start ? '0 : at_q + 1'b1;
      if (fail) begin
        held_q <= inserting_q;
      end
      if (append) begin
        count_q <= count_q + 1'b1;
      end else if (remove) begin
        count_q <= count_q - 1'b1;
      end
      if (cmd_pop) begin
        case (op)
          StartInsert: inserting_q <= 1'b1;
          StopInsert: begin
            inserting_q <= 1'b0;
            held_q      <= 1'b0;
          end
          Reset: if (!inserting_q) count_q <= '0;
          default: ;
        endcase
      end
    end
    for (int unsigned i = 0; i < CELLS; i++) begin
      if (append && FreeWidth'(i) == count_q) begin
        list_q[i] <= new_entry;
      end else if (remove && FreeWidth'(i) >= at_q && i + 1 < CELLS) begin
        list_q[i] <= list_q[(i + 1) % CELLS];
      end
    end
  end

endmodule

// A word is at the head a cycle after its push.
module unit_fifo #(
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
