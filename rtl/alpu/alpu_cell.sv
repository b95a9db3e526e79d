// One entry of the list: storage, and the comparison with the request (brightwell2005, figure 2 a
// and b).
//
// The entry comes from the cell below and goes to the cell above. The hit is registered (stage 2),
// so that the priority tree of the block has a cycle of its own.

module alpu_cell #(
  parameter int unsigned MATCH_WIDTH = 42,
  parameter int unsigned TAG_WIDTH   = 16,
  parameter bit          UNEXPECTED  = 1'b0 // 0: the mask is stored; 1: it comes with the request
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   clear_i,     // the entry becomes invalid
  input  logic                   enable_i,    // take the entry from below
  input  logic                   valid_i,
  input  logic [MATCH_WIDTH-1:0] match_i,
  input  logic [MATCH_WIDTH-1:0] mask_i,
  input  logic [TAG_WIDTH-1:0]   tag_i,

  output logic                   valid_o,
  output logic [MATCH_WIDTH-1:0] match_o,
  output logic [MATCH_WIDTH-1:0] mask_o,      // unexpected kind: 0
  output logic [TAG_WIDTH-1:0]   tag_o,

  input  logic [MATCH_WIDTH-1:0] req_match_i,
  input  logic [MATCH_WIDTH-1:0] req_mask_i,  // posted kind: not looked at
  output logic                   hit_o        // of the request and the entry in the cycle before
);

  logic                   valid_q;
  logic [MATCH_WIDTH-1:0] match_q;
  logic [TAG_WIDTH-1:0]   tag_q;
  logic [MATCH_WIDTH-1:0] mask;
  logic                   hit_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      valid_q <= 1'b0;
    end else if (enable_i) begin
      valid_q <= valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      match_q <= match_i;
      tag_q   <= tag_i;
    end
  end

  if (UNEXPECTED) begin : gen_unexpected
    assign mask   = req_mask_i;
    assign mask_o = '0;
    logic unused_mask;
    assign unused_mask = ^mask_i;
  end else begin : gen_posted
    logic [MATCH_WIDTH-1:0] mask_q;
    always_ff @(posedge clk_i) begin
      if (enable_i) begin
        mask_q <= mask_i;
      end
    end
    assign mask   = mask_q;
    assign mask_o = mask_q;
    logic unused_mask;
    assign unused_mask = ^req_mask_i;
  end

  // All bits agree or do not matter. Written as a carry that runs through all of them, for which a
  // field programmable device has a chain of its own; a tree of gates would cost a third more
  // tables.
  logic [MATCH_WIDTH-1:0] agree;
  logic                   all_agree;
  logic [MATCH_WIDTH-1:0] unused_sum;
  assign agree = ~(match_q ^ req_match_i) | mask;
  assign {all_agree, unused_sum} = {1'b0, agree} + {{MATCH_WIDTH{1'b0}}, 1'b1};

  always_ff @(posedge clk_i) begin
    hit_q <= all_agree && valid_q;
  end

  assign valid_o = valid_q;
  assign match_o = match_q;
  assign tag_o   = tag_q;
  assign hit_o   = hit_q;

endmodule
