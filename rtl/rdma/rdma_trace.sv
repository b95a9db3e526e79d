// A tracing memory: what passes a point, with the cycles since the sample before. It is read in the bus's
// clock, as it stands: the host does so when nothing passes. A reset leaves it as it is; it is zero once the
// FPGA is configured.

module rdma_trace #(
  parameter bit ASYNC = 1'b0 // reset, as rdma_register has it
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              on_i,     // this memory takes samples
  input  logic              any_on_i, // any does: requests to clear are seen
  input  logic              stop_i,   // it takes no more when it is full
  input  logic              frozen_i,
  input  logic [7:0]        clears_i, // times that it was to be cleared, in Gray code
  input  logic [5:0]        passed_i, // cycles that were left out before this one, at most 63
  input  rdma_pkg::traced_t seen_i,

  input  logic              read_clk_i,
  input  logic              read_i,
  input  logic [10:0]       index_i,
  output logic [71:0]       sample_o, // tag and data, in the cycle after read_i
  output logic [63:0]       count_o   // samples since it was cleared
);

  typedef logic [5:0] gap_t;
  localparam gap_t GapMax = gap_t'(abi_forth_pkg::TraceTagGapMax);

  function automatic gap_t plus(input gap_t gap, input gap_t cycles);
    logic [6:0] sum;
    sum  = {1'b0, gap} + {1'b0, cycles};
    plus = sum > {1'b0, GapMax} ? GapMax : sum[5:0];
  endfunction

  logic [71:0] samples [abi_forth_pkg::TraceDepth];
  logic [63:0] count_d, count_q;
  gap_t        gap_d, gap_q;
  logic [7:0]  cleared_q;
  logic        clear, take, write;
  logic [63:0] count;
  gap_t        waited, gap;

  assign clear  = any_on_i && cleared_q != clears_i;
  assign take   = on_i && !frozen_i;
  assign count  = clear ? '0 : count_q;
  assign waited = clear ? '0 : plus(gap_q, passed_i);
  assign gap    = plus(waited, gap_t'(take));
  assign write  = take && seen_i.valid
      && !(stop_i && count >= 64'(abi_forth_pkg::TraceDepth));
  assign count_d = count + 64'(write);
  assign gap_d   = write ? '0 : gap;
  assign count_o = count_q;

  initial begin
    count_q = '0;
    gap_q   = '0;
  end

  always_ff @(posedge clk_i) begin
    count_q <= count_d;
    gap_q   <= gap_d;
    if (write) begin
      samples[count[10:0]] <= {gap, seen_i.kind, seen_i.data};
    end
  end

  rdma_register #(
    .WIDTH(8),
    .ASYNC(ASYNC)
  ) u_cleared (
    .clk_i,
    .rst_ni,
    .data_i(clear ? clears_i : cleared_q),
    .data_o(cleared_q)
  );

  always_ff @(posedge read_clk_i) begin
    if (read_i) begin
      sample_o <= samples[index_i];
    end
  end

endmodule
