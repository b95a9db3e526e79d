// The associative list processing unit of brightwell2005: a list of up to CELLS entries with
// wildcards, in which the oldest entry that matches a header is found and deleted. PORTS.md has its
// ports and its behaviour in each cycle.

module alpu #(
  parameter int unsigned MATCH_WIDTH    = 42,
  parameter int unsigned TAG_WIDTH      = 16,
  parameter int unsigned CELLS          = 256, // a multiple of BLOCK
  parameter int unsigned BLOCK          = 16,  // a power of two, at least 2
  parameter bit          UNEXPECTED     = 1'b0,
  parameter int unsigned RESOLVE_CYCLES = CELLS / BLOCK > 8 ? 2 : 1,
  parameter bit          OVERLAP        = 1'b0,
  parameter int unsigned HDR_DEPTH      = 16,
  parameter int unsigned CMD_DEPTH      = 16,
  parameter int unsigned RSP_DEPTH      = 16,
  localparam int unsigned FreeWidth     = $clog2(CELLS + 1),
  localparam int unsigned PayloadWidth  = TAG_WIDTH > FreeWidth ? TAG_WIDTH : FreeWidth
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  // Requests.
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

  // Responses.
  output logic                    rsp_valid_o,
  input  logic                    rsp_ready_i,
  output logic [1:0]              rsp_kind_o,
  output logic [PayloadWidth-1:0] rsp_payload_o
);

  localparam int unsigned Blocks     = CELLS / BLOCK;
  localparam int unsigned LocWidth   = $clog2(BLOCK);
  // The tree between the blocks is padded to a power of two.
  localparam int unsigned Leaves     = 1 << $clog2(Blocks);
  localparam int unsigned BlockWidth = Leaves > 1 ? $clog2(Leaves) : 1;
  localparam int unsigned FoundWidth = LocWidth + TAG_WIDTH;
  localparam int unsigned HdrWidth   = UNEXPECTED ? 2 * MATCH_WIDTH : MATCH_WIDTH;
  localparam int unsigned EntryWidth = (UNEXPECTED ? 1 : 2) * MATCH_WIDTH + TAG_WIDTH;

  ////////////
  // FIFOs  //
  ////////////

  logic                    hdr_valid, hdr_pop;
  logic [HdrWidth-1:0]     hdr_in, hdr_head;
  logic [MATCH_WIDTH-1:0]  req_match, req_mask;
  logic                    cmd_valid, cmd_pop;
  logic [1:0]              cmd_op;
  logic [EntryWidth-1:0]   cmd_in, cmd_head;
  logic [MATCH_WIDTH-1:0]  entry_match, entry_mask;
  logic [TAG_WIDTH-1:0]    entry_tag;
  logic                    rsp_room, rsp_push, rsp_valid;
  logic [1:0]              rsp_kind, rsp_head_kind;
  logic [PayloadWidth-1:0] rsp_payload, rsp_head_payload;

  // The mask is carried by the header in one kind and by the command in the other.
  if (UNEXPECTED) begin : gen_unexpected
    assign hdr_in      = {hdr_mask_i, hdr_match_i};
    assign req_mask    = hdr_head[MATCH_WIDTH+:MATCH_WIDTH];
    assign cmd_in      = {cmd_match_i, cmd_tag_i};
    assign entry_mask  = '0;
    logic unused_mask;
    assign unused_mask = ^cmd_mask_i;
  end else begin : gen_posted
    assign hdr_in      = hdr_match_i;
    assign req_mask    = '0;
    assign cmd_in      = {cmd_mask_i, cmd_match_i, cmd_tag_i};
    assign entry_mask  = cmd_head[TAG_WIDTH+MATCH_WIDTH+:MATCH_WIDTH];
    logic unused_mask;
    assign unused_mask = ^hdr_mask_i;
  end
  assign req_match   = hdr_head[0+:MATCH_WIDTH];
  assign entry_match = cmd_head[TAG_WIDTH+:MATCH_WIDTH];
  assign entry_tag   = cmd_head[0+:TAG_WIDTH];

  alpu_fifo #(
    .WIDTH(HdrWidth),
    .DEPTH(HDR_DEPTH)
  ) u_hdr_fifo (
    .clk_i,
    .rst_ni,
    .push_i (hdr_valid_i),
    .ready_o(hdr_ready_o),
    .data_i (hdr_in),
    .pop_i  (hdr_pop),
    .valid_o(hdr_valid),
    .data_o (hdr_head)
  );

  alpu_fifo #(
    .WIDTH(2 + EntryWidth),
    .DEPTH(CMD_DEPTH)
  ) u_cmd_fifo (
    .clk_i,
    .rst_ni,
    .push_i (cmd_valid_i),
    .ready_o(cmd_ready_o),
    .data_i ({cmd_op_i, cmd_in}),
    .pop_i  (cmd_pop),
    .valid_o(cmd_valid),
    .data_o ({cmd_op, cmd_head})
  );

  alpu_fifo #(
    .WIDTH(2 + PayloadWidth),
    .DEPTH(RSP_DEPTH)
  ) u_rsp_fifo (
    .clk_i,
    .rst_ni,
    .push_i (rsp_push),
    .ready_o(rsp_room),
    .data_i ({rsp_kind, rsp_payload}),
    .pop_i  (rsp_ready_i),
    .valid_o(rsp_valid),
    .data_o ({rsp_head_kind, rsp_head_payload})
  );

  assign rsp_valid_o   = rsp_valid;
  assign rsp_kind_o    = rsp_valid ? rsp_head_kind : '0;
  assign rsp_payload_o = rsp_valid ? rsp_head_payload : '0;

  //////////////
  // Control  //
  //////////////

  logic                  start, delete, shift, clear, load;
  logic [FreeWidth-1:0]  free;
  logic                  found_q;       // stage 4: a cell hit,
  logic [BlockWidth-1:0] found_block_q; // in this block,
  logic [LocWidth-1:0]   found_loc_q;   // at this place of it,
  logic [TAG_WIDTH-1:0]  found_tag_q;   // with this tag
  logic [Blocks-1:0]     empty;         // cell 0 of each block is empty
`ifdef FORMAL
  logic [1:0]            fv_state;
  logic [2:0]            fv_step;
  logic                  fv_held;
`endif

  alpu_fsm #(
    .CELLS         (CELLS),
    .RESOLVE_CYCLES(RESOLVE_CYCLES),
    .OVERLAP       (OVERLAP)
  ) u_fsm (
    .clk_i,
    .rst_ni,
    .hdr_valid_i(hdr_valid),
    .hdr_pop_o  (hdr_pop),
    .cmd_valid_i(cmd_valid),
    .cmd_op_i   (cmd_op),
    .cmd_pop_o  (cmd_pop),
    .rsp_room_i (rsp_room),
    .rsp_push_o (rsp_push),
    .rsp_kind_o (rsp_kind),
    .empty_i    (empty[0]),
    .hit_i      (found_q),
    .start_o    (start),
    .delete_o   (delete),
    .shift_o    (shift),
    .clear_o    (clear),
    .load_o     (load),
`ifdef FORMAL
    .fv_state_o (fv_state),
    .fv_step_o  (fv_step),
    .fv_held_o  (fv_held),
`endif
    .free_o     (free)
  );

  always_comb begin
    case (rsp_kind)
      alpu_pkg::RspStartAcknowledge: rsp_payload = PayloadWidth'(free);
      alpu_pkg::RspMatchSuccess:     rsp_payload = PayloadWidth'(found_tag_q);
      default:                       rsp_payload = '0;
    endcase
  end

  ////////////
  // Cells  //
  ////////////

  logic [Blocks:0]                   chain_valid;
  logic [(Blocks+1)*MATCH_WIDTH-1:0] chain_match, chain_mask;
  logic [(Blocks+1)*TAG_WIDTH-1:0]   chain_tag;
  logic [Leaves-1:0]                 block_hit;
  logic [Leaves*FoundWidth-1:0]      block_found; // {place, tag} of each block
`ifdef FORMAL
  logic [CELLS-1:0]                  fv_valid;
  logic [CELLS*MATCH_WIDTH-1:0]      fv_match, fv_mask;
  logic [CELLS*TAG_WIDTH-1:0]        fv_tag;
`endif

  assign chain_valid[0]              = load;
  assign chain_match[0+:MATCH_WIDTH] = entry_match;
  assign chain_mask[0+:MATCH_WIDTH]  = entry_mask;
  assign chain_tag[0+:TAG_WIDTH]     = entry_tag;

  // Nothing is above the last block.
  // verilator lint_off CMPCONST
  for (genvar b = 0; b < Blocks; b++) begin : gen_block
    logic next_empty;
    if (b + 1 < Blocks) begin : gen_next
      assign next_empty = empty[b+1];
    end else begin : gen_last
      assign next_empty = 1'b0;
    end

    alpu_block #(
      .MATCH_WIDTH(MATCH_WIDTH),
      .TAG_WIDTH  (TAG_WIDTH),
      .BLOCK      (BLOCK),
      .UNEXPECTED (UNEXPECTED)
    ) u_block (
      .clk_i,
      .rst_ni,
      .start_i     (start),
      .req_match_i (req_match),
      .req_mask_i  (req_mask),
      .shift_i     (shift),
      .clear_i     (clear),
      .del_all_i   (delete && BlockWidth'(b) < found_block_q),
      .del_here_i  (delete && BlockWidth'(b) == found_block_q),
      .del_loc_i   (found_loc_q),
      .valid_i     (chain_valid[b]),
      .match_i     (chain_match[b*MATCH_WIDTH+:MATCH_WIDTH]),
      .mask_i      (chain_mask[b*MATCH_WIDTH+:MATCH_WIDTH]),
      .tag_i       (chain_tag[b*TAG_WIDTH+:TAG_WIDTH]),
      .empty_o     (empty[b]),
      .valid_o     (chain_valid[b+1]),
      .match_o     (chain_match[(b+1)*MATCH_WIDTH+:MATCH_WIDTH]),
      .mask_o      (chain_mask[(b+1)*MATCH_WIDTH+:MATCH_WIDTH]),
      .tag_o       (chain_tag[(b+1)*TAG_WIDTH+:TAG_WIDTH]),
      .next_empty_i(next_empty),
`ifdef FORMAL
      .fv_valid_o  (fv_valid[b*BLOCK+:BLOCK]),
      .fv_match_o  (fv_match[b*BLOCK*MATCH_WIDTH+:BLOCK*MATCH_WIDTH]),
      .fv_mask_o   (fv_mask[b*BLOCK*MATCH_WIDTH+:BLOCK*MATCH_WIDTH]),
      .fv_tag_o    (fv_tag[b*BLOCK*TAG_WIDTH+:BLOCK*TAG_WIDTH]),
`endif
      .hit_o       (block_hit[b]),
      .loc_o       (block_found[b*FoundWidth+TAG_WIDTH+:LocWidth]),
      .tag_hit_o   (block_found[b*FoundWidth+:TAG_WIDTH])
    );
  end
  // verilator lint_on CMPCONST

  for (genvar b = Blocks; b < Leaves; b++) begin : gen_padding
    assign block_hit[b] = 1'b0;
    assign block_found[b*FoundWidth+:FoundWidth] = '0;
  end

  // Nobody is above the last block: its top cell moves only into nothing, when it is deleted.
  logic unused_top;
  assign unused_top = ^{chain_valid[Blocks], chain_match[Blocks*MATCH_WIDTH+:MATCH_WIDTH],
                        chain_mask[Blocks*MATCH_WIDTH+:MATCH_WIDTH],
                        chain_tag[Blocks*TAG_WIDTH+:TAG_WIDTH]};

  ///////////////////////////////////////////
  // Stage 4: the highest block that hits  //
  ///////////////////////////////////////////

  logic                  found;
  logic [BlockWidth-1:0] found_block;
  logic [FoundWidth-1:0] found_data;

  alpu_resolve #(
    .LEAVES    (Leaves),
    .DATA_WIDTH(FoundWidth),
    .CYCLES    (RESOLVE_CYCLES)
  ) u_resolve (
    .clk_i,
    .hit_i (block_hit),
    .data_i(block_found),
    .hit_o (found),
    .loc_o (found_block),
    .data_o(found_data)
  );

  always_ff @(posedge clk_i) begin
    found_q                    <= found;
    found_block_q              <= found_block;
    {found_loc_q, found_tag_q} <= found_data;
  end

`ifdef FORMAL
  alpu_judge #(
    .MATCH_WIDTH(MATCH_WIDTH),
    .TAG_WIDTH  (TAG_WIDTH),
    .CELLS      (CELLS),
    .BLOCK      (BLOCK),
    .UNEXPECTED (UNEXPECTED)
  ) u_judge (
    .clk_i,
    .rst_ni,
    .state_i      (fv_state),
    .step_i       (fv_step),
    .held_i       (fv_held),
    .start_i      (start),
    .hdr_valid_i  (hdr_valid),
    .hdr_pop_i    (hdr_pop),
    .req_match_i  (req_match),
    .req_mask_i   (req_mask),
    .cmd_valid_i  (cmd_valid),
    .cmd_pop_i    (cmd_pop),
    .cmd_op_i     (cmd_op),
    .entry_match_i(entry_match),
    .entry_mask_i (entry_mask),
    .entry_tag_i  (entry_tag),
    .load_i       (load),
    .rsp_room_i   (rsp_room),
    .rsp_push_i   (rsp_push),
    .rsp_kind_i   (rsp_kind),
    .rsp_tag_i    (rsp_payload[TAG_WIDTH-1:0]),
    .rsp_free_i   (rsp_payload[FreeWidth-1:0]),
    .cell_valid_i (fv_valid),
    .cell_match_i (fv_match),
    .cell_mask_i  (fv_mask),
    .cell_tag_i   (fv_tag)
  );
`endif

endmodule
