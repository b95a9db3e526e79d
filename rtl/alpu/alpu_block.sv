// A block of cells (brightwell2005, figure 2 c): its own copy of the request and of the control
// signals (registered here, so that their fan-out has a cycle of its own), the enable of each cell,
// and the priority among the hits.
//
// Cell 0 is next to the block below, from which entries come; the top cell holds the oldest one.

module alpu_block #(
  parameter int unsigned MATCH_WIDTH = 42,
  parameter int unsigned TAG_WIDTH   = 16,
  parameter int unsigned BLOCK       = 16, // cells, a power of two
  parameter bit          UNEXPECTED  = 1'b0,
  localparam int unsigned LocWidth   = $clog2(BLOCK)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  // Control, effective one cycle later.
  input  logic                   start_i,      // take the request
  input  logic [MATCH_WIDTH-1:0] req_match_i,
  input  logic [MATCH_WIDTH-1:0] req_mask_i,
  input  logic                   shift_i,      // compact
  input  logic                   clear_i,      // all cells become invalid
  input  logic                   del_all_i,    // all cells shift: a higher block deletes
  input  logic                   del_here_i,   // cells 0 ... del_loc_i shift
  input  logic [LocWidth-1:0]    del_loc_i,

  // From the block below; in block 0 from the command FIFO.
  input  logic                   valid_i,
  input  logic [MATCH_WIDTH-1:0] match_i,
  input  logic [MATCH_WIDTH-1:0] mask_i,
  input  logic [TAG_WIDTH-1:0]   tag_i,
  output logic                   empty_o,      // cell 0 is empty: ready for an entry

  // To the block above.
  output logic                   valid_o,
  output logic [MATCH_WIDTH-1:0] match_o,
  output logic [MATCH_WIDTH-1:0] mask_o,
  output logic [TAG_WIDTH-1:0]   tag_o,
  input  logic                   next_empty_i,

`ifdef FORMAL
  output logic [BLOCK-1:0]             fv_valid_o,
  output logic [BLOCK*MATCH_WIDTH-1:0] fv_match_o,
  output logic [BLOCK*MATCH_WIDTH-1:0] fv_mask_o,
  output logic [BLOCK*TAG_WIDTH-1:0]   fv_tag_o,
`endif

  // Stage 3: the highest cell that hits.
  output logic                   hit_o,
  output logic [LocWidth-1:0]    loc_o,
  output logic [TAG_WIDTH-1:0]   tag_hit_o
);

  // Registered copies of what the control sends to all blocks.
  logic [MATCH_WIDTH-1:0] req_match_q;
  logic [MATCH_WIDTH-1:0] req_mask;
  logic                   shift_q, clear_q, del_all_q, del_here_q;
  logic [LocWidth-1:0]    del_loc_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      req_match_q <= req_match_i;
    end
    del_loc_q <= del_loc_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      shift_q    <= 1'b0;
      clear_q    <= 1'b0;
      del_all_q  <= 1'b0;
      del_here_q <= 1'b0;
    end else begin
      shift_q    <= shift_i;
      clear_q    <= clear_i;
      del_all_q  <= del_all_i;
      del_here_q <= del_here_i;
    end
  end

  if (UNEXPECTED) begin : gen_request_mask
    logic [MATCH_WIDTH-1:0] req_mask_q;
    always_ff @(posedge clk_i) begin
      if (start_i) begin
        req_mask_q <= req_mask_i;
      end
    end
    assign req_mask = req_mask_q;
  end else begin : gen_no_request_mask
    assign req_mask = '0;
    logic unused_mask;
    assign unused_mask = ^req_mask_i;
  end

  // Which cells take the entry below them: when compacting those with space at or above them (in
  // this block, or the lowest cell of the next one), when deleting those at and below the deleted
  // one.
  logic [BLOCK-1:0] valid, enable, hit;

  always_comb begin
    logic space;
    space = next_empty_i;
    for (int i = BLOCK - 1; i >= 0; i--) begin
      space     = space || !valid[i];
      enable[i] = (shift_q && space) || del_all_q || (del_here_q && LocWidth'(i) <= del_loc_q);
    end
  end

  // What each cell takes, and what it holds. The block below lets go of its top cell only if it
  // sees cell 0 empty, or when all of it is shifted by a delete.
  logic [BLOCK-1:0]             below_valid;
  logic [BLOCK*MATCH_WIDTH-1:0] below_match, below_mask, match, mask;
  logic [BLOCK*TAG_WIDTH-1:0]   below_tag, tag;

  assign below_valid = {valid[BLOCK-2:0], valid_i && (!valid[0] || del_all_q || del_here_q)};
  assign below_match = {match[0+:(BLOCK-1)*MATCH_WIDTH], match_i};
  assign below_mask  = {mask[0+:(BLOCK-1)*MATCH_WIDTH], mask_i};
  assign below_tag   = {tag[0+:(BLOCK-1)*TAG_WIDTH], tag_i};

  for (genvar i = 0; i < BLOCK; i++) begin : gen_cell
    alpu_cell #(
      .MATCH_WIDTH(MATCH_WIDTH),
      .TAG_WIDTH  (TAG_WIDTH),
      .UNEXPECTED (UNEXPECTED)
    ) u_cell (
      .clk_i,
      .rst_ni,
      .clear_i    (clear_q),
      .enable_i   (enable[i]),
      .valid_i    (below_valid[i]),
      .match_i    (below_match[i*MATCH_WIDTH+:MATCH_WIDTH]),
      .mask_i     (below_mask[i*MATCH_WIDTH+:MATCH_WIDTH]),
      .tag_i      (below_tag[i*TAG_WIDTH+:TAG_WIDTH]),
      .valid_o    (valid[i]),
      .match_o    (match[i*MATCH_WIDTH+:MATCH_WIDTH]),
      .mask_o     (mask[i*MATCH_WIDTH+:MATCH_WIDTH]),
      .tag_o      (tag[i*TAG_WIDTH+:TAG_WIDTH]),
      .req_match_i(req_match_q),
      .req_mask_i (req_mask),
      .hit_o      (hit[i])
    );
  end

  assign empty_o = !valid[0];
  assign valid_o = valid[BLOCK-1];
  assign match_o = match[(BLOCK-1)*MATCH_WIDTH+:MATCH_WIDTH];
  assign mask_o  = mask[(BLOCK-1)*MATCH_WIDTH+:MATCH_WIDTH];
  assign tag_o   = tag[(BLOCK-1)*TAG_WIDTH+:TAG_WIDTH];

  logic                 any_hit;
  logic [LocWidth-1:0]  loc;
  logic [TAG_WIDTH-1:0] tag_hit;

  alpu_priority #(
    .LEAVES    (BLOCK),
    .DATA_WIDTH(TAG_WIDTH)
  ) u_priority (
    .hit_i (hit),
    .data_i(tag),
    .hit_o (any_hit),
    .loc_o (loc),
    .data_o(tag_hit)
  );

  always_ff @(posedge clk_i) begin
    hit_o     <= any_hit;
    loc_o     <= loc;
    tag_hit_o <= tag_hit;
  end

`ifdef FORMAL
  assign fv_valid_o = valid;
  assign fv_match_o = match;
  assign fv_mask_o  = mask;
  assign fv_tag_o   = tag;

  // An entry that moves is taken by the cell above it.
  logic taken;
  always_comb begin
    taken = 1'b1;
    for (int i = 0; i + 1 < BLOCK; i++) begin
      taken = taken && (!(enable[i] && valid[i]) || enable[i+1]
                        || (del_here_q && LocWidth'(i) == del_loc_q));
    end
  end

  always_comb begin
    if (rst_ni) begin
      a_taken: assert (taken);
      // At most one of the reasons to move.
      a_one_reason: assert (2'(shift_q) + 2'(del_all_q) + 2'(del_here_q) <= 2'd1);
      a_clear_alone: assert (!clear_q || !(shift_q || del_all_q || del_here_q));
    end
  end
`endif

endmodule
