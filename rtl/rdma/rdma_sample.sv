// The sampling memory: words sent and received and cycles of back-pressure, again and again after a number of
// cycles. It is read in the bus's clock, as it stands.

module rdma_sample (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [7:0]        starts_i, // times that sampling was asked for, in Gray code
  input  logic [31:0]       period_i, // cycles between samples, 0 as 1
  input  logic [11:0]       samples_i,
  input  logic [2:0][63:0]  counts_i, // as of the end of this cycle
  output logic              runs_o,   // there are samples to take

  input  logic              read_clk_i,
  input  logic              read_i,
  input  logic [10:0]       index_i,
  output logic [2:0][63:0]  sample_o, // in the cycle after read_i; 0 if it has not been taken
  output logic [63:0]       count_o
);

  localparam logic [11:0] Depth = 12'(abi_forth_pkg::TraceDepth);

  logic [2:0][63:0] samples [abi_forth_pkg::TraceDepth];
  logic [7:0]  starts_q;
  logic [11:0] wanted, wanted_q, count, count_q;
  logic [31:0] period, period_q, left, left_q;
  logic        start, runs, take;

  assign start  = starts_i != starts_q;
  assign wanted = !start ? wanted_q : samples_i < Depth ? samples_i : Depth;
  assign period = start ? period_i : period_q;
  assign count  = start ? '0 : count_q;
  assign left   = start ? '0 : left_q;
  assign runs   = count < wanted;
  assign take   = runs && left == '0;
  assign runs_o  = count_q < wanted_q;
  assign count_o = 64'(count_q);

  always_ff @(posedge clk_i) begin
    if (take) begin
      samples[count[10:0]] <= counts_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      starts_q <= '0;
      wanted_q <= '0;
      count_q  <= '0;
      period_q <= '0;
      left_q   <= '0;
    end else begin
      starts_q <= starts_i;
      wanted_q <= wanted;
      period_q <= period;
      count_q  <= count + 12'(take);
      if (take) begin
        left_q <= period == '0 ? '0 : period - 1'b1;
      end else if (runs) begin
        left_q <= left - 1'b1;
      end else begin
        left_q <= left;
      end
    end
  end

  logic             there_q;
  logic [2:0][63:0] sample_q;
  always_ff @(posedge read_clk_i) begin
    if (read_i) begin
      sample_q <= samples[index_i];
      there_q  <= 12'(index_i) < count_q;
    end
  end
  assign sample_o = there_q ? sample_q : '0;

endmodule
