// The alignment circuit of a lane: words may arrive some bytes late. A comma shows where they begin; from
// then on each word is put together of two that arrive.

module rdma_align #(
  parameter int unsigned BYTES = 4 // of a symbol, or 2
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [8*BYTES-1:0] bytes_i,
  input  logic [BYTES-1:0]   control_i, // which bytes are control characters
  output logic               valid_o,   // a comma was seen
  output logic [8*BYTES-1:0] bytes_o,
  output logic [BYTES-1:0]   control_o,
  output logic               known_o,   // as of the last edge
  output logic [$clog2(BYTES)-1:0] shift_o
);

  typedef logic [$clog2(BYTES)-1:0] shift_t;

  logic [8*BYTES-1:0]  bytes_q;
  logic [BYTES-1:0]    control_q;
  logic [16*BYTES-1:0] window;
  logic [2*BYTES-1:0]  controls;
  logic                known_d, known_q;
  shift_t              shift_d, shift_q; // bytes by which words are late

  assign known_o  = known_q;
  assign shift_o  = shift_q;
  assign window   = {bytes_i, bytes_q};
  assign controls = {control_i, control_q};

  always_comb begin
    known_d = known_q;
    shift_d = shift_q;
    for (int i = BYTES - 1; i >= 0; i--) begin
      if (controls[i] && window[8*i+:8] == abi_forth_pkg::MarkIdle) begin
        known_d = 1'b1;
        shift_d = shift_t'(i);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    bytes_q   <= bytes_i;
    bytes_o   <= (8 * BYTES)'(window >> {shift_d, 3'd0});
    control_o <= BYTES'(controls >> shift_d);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      control_q <= '0;
      known_q   <= 1'b0;
      shift_q   <= '0;
      valid_o   <= 1'b0;
    end else begin
      control_q <= control_i;
      known_q   <= known_d;
      shift_q   <= shift_d;
      valid_o   <= known_d;
    end
  end

endmodule
