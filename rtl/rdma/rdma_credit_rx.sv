// The receiver's side of the flow control: counts the words of each flow that have left the buffer, and
// offers a credit: at once if the link has nothing else to send, or another flow waits to be told of, or
// else when URGENT words were freed since the last one.

module rdma_credit_rx #(
  parameter int unsigned FLOWS  = 128,
  parameter int unsigned BITS   = 12,
  parameter int unsigned URGENT = 64
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  input  logic                     free_valid_i, // taken in this cycle if takes_o
  input  logic [$clog2(FLOWS)-1:0] free_flow_i,
  input  logic [BITS-1:0]          free_words_i,
  output logic                     takes_o,

  input  logic                     idle_i,
  output logic                     credit_due_o,
  output logic [$clog2(FLOWS)-1:0] credit_flow_o,
  output logic [BITS-1:0]          credit_count_o,
  output logic                     credit_parity_o,
  input  logic                     credit_sent_i,
  output logic                     pending_o, // somebody is to be told of something

  // Words that were freed, of two flows.
  input  logic [2*$clog2(FLOWS)-1:0] counts_flow_i,
  output logic [2*BITS-1:0]          counts_o
);

  typedef logic [BITS-1:0] count_t;

  count_t                   freed_q [FLOWS];
  logic [FLOWS-1:0]         begun_q; // flows whose count is not zero, or was
  logic                     pending_q;
  logic [$clog2(FLOWS)-1:0] flow_q;
  count_t                   words_q; // since the last credit, saturating
  logic                     kept, same, waiting, take;
  count_t                   base;

  assign same    = flow_q == free_flow_i;
  assign waiting = free_valid_i && pending_q && !same;
  assign kept    = pending_q && !credit_sent_i;
  assign takes_o = !kept || same;
  assign pending_o = pending_q;
  for (genvar i = 0; i < 2; i++) begin : gen_counts
    logic [$clog2(FLOWS)-1:0] flow;
    assign flow = counts_flow_i[i*$clog2(FLOWS)+:$clog2(FLOWS)];
    assign counts_o[i*BITS+:BITS] = begun_q[flow] ? freed_q[flow] : '0;
  end
  assign take    = free_valid_i && takes_o;
  assign base    = kept ? words_q : '0;

  assign credit_due_o    = pending_q && (idle_i || waiting || words_q >= count_t'(URGENT));
  assign credit_flow_o   = flow_q;
  assign credit_count_o  = freed_q[flow_q];
  assign credit_parity_o = ^{flow_q, freed_q[flow_q]};

  count_t        counted;
  logic [BITS:0] sum;
  assign counted = begun_q[free_flow_i] ? freed_q[free_flow_i] : '0;
  assign sum = {1'b0, base} + {1'b0, free_words_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q   <= '0;
      pending_q <= 1'b0;
      flow_q    <= '0;
      words_q   <= '0;
    end else begin
      pending_q <= kept || take;
      if (take) begin
        begun_q[free_flow_i] <= 1'b1;
        flow_q               <= free_flow_i;
        words_q              <= sum[BITS] ? '1 : sum[BITS-1:0];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      freed_q[free_flow_i] <= counted + free_words_i;
    end
  end

endmodule
