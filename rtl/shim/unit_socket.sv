// The socket of a matching unit: names the ports and parameters of rtl/alpu/PORTS.md, so that a unit that
// lacks one is refused with its name, and shows in waveforms what the model has beside it.

module unit_socket #(
  parameter int unsigned MATCH_WIDTH    = 42,
  parameter int unsigned TAG_WIDTH      = 16,
  parameter int unsigned CELLS          = 256,
  parameter int unsigned BLOCK          = 16,
  parameter int unsigned UNEXPECTED     = 0,
  parameter int unsigned RESOLVE_CYCLES = 2,
  parameter int unsigned OVERLAP        = 0,
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
  output logic [PayloadWidth-1:0] rsp_payload_o,

  // What the model has at its outputs in this cycle.
  input  logic                    model_hdr_ready,
  input  logic                    model_cmd_ready,
  input  logic                    model_rsp_valid,
  input  logic [1:0]              model_rsp_kind,
  input  logic [PayloadWidth-1:0] model_rsp_payload
);

  alpu #(
    .MATCH_WIDTH   (MATCH_WIDTH),
    .TAG_WIDTH     (TAG_WIDTH),
    .CELLS         (CELLS),
    .BLOCK         (BLOCK),
    .UNEXPECTED    (1'(UNEXPECTED)),
    .RESOLVE_CYCLES(RESOLVE_CYCLES),
    .OVERLAP       (1'(OVERLAP)),
    .HDR_DEPTH     (HDR_DEPTH),
    .CMD_DEPTH     (CMD_DEPTH),
    .RSP_DEPTH     (RSP_DEPTH)
  ) u_alpu (
    .clk_i,
    .rst_ni,
    .hdr_valid_i,
    .hdr_ready_o,
    .hdr_match_i,
    .hdr_mask_i,
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_op_i,
    .cmd_match_i,
    .cmd_mask_i,
    .cmd_tag_i,
    .rsp_valid_o,
    .rsp_ready_i,
    .rsp_kind_o,
    .rsp_payload_o
  );

endmodule
