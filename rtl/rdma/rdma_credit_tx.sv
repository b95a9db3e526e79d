// The sender's side of the flow control: for each flow the words that were sent, the words that are known
// to have left the buffer at the other end, and the size of that buffer. All counts are cumulative and
// wrap; they have two bits more than the buffer needs, so that their difference is unambiguous.

module rdma_credit_tx #(
  parameter int unsigned FLOWS = 128,
  parameter int unsigned BITS  = 12 // of a counter: log2 of the buffer's words, and two
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  // At start-up: words of buffer that are the flow's at the other end, 2^(BITS-2) at most. The flow's
  // counters begin at zero; before, it may not send.
  input  logic                     limit_valid_i,
  input  logic [$clog2(FLOWS)-1:0] limit_flow_i,
  input  logic [BITS-1:0]          limit_words_i,

  // A packet that waits. It may be sent (all of its words counted at once) if it is allowed.
  input  logic [$clog2(FLOWS)-1:0] flow_i,
  input  logic [BITS-1:0]          needed_i, // words that it is taken to need
  output logic                     allowed_o,
  output logic [BITS-1:0]          outstanding_o, // the flow's words that are not known to be freed
  input  logic                     send_i,
  input  logic [BITS-1:0]          words_i,  // words that it has

  input  logic                     credit_valid_i,
  input  logic [$clog2(FLOWS)-1:0] credit_flow_i,
  input  logic [BITS-1:0]          credit_count_i,
  input  logic                     credit_parity_i,
  output logic                     discarded_o, // its parity was wrong

  // For those who look on: words of any flow that are not known to be freed.
  input  logic [$clog2(FLOWS)-1:0] look_flow_i,
  output logic [BITS-1:0]          look_words_o,

  // Counts of two flows: words sent and credited, and the limit.
  input  logic [2*$clog2(FLOWS)-1:0] counts_flow_i,
  output logic [6*BITS-1:0]          counts_o
);

  // Memories without reset: a flow's count is zero until it is written.
  logic [BITS-1:0]  sent_q [FLOWS];
  logic [BITS-1:0]  credited_q [FLOWS];
  logic [BITS-1:0]  limit_q [FLOWS];
  logic [FLOWS-1:0] set_q, has_sent_q, has_credit_q;

  logic [BITS-1:0] sent, credited;
  logic            whole, fits, credit;

  assign sent          = has_sent_q[flow_i] ? sent_q[flow_i] : '0;
  assign credited      = has_credit_q[flow_i] ? credited_q[flow_i] : '0;
  assign outstanding_o = sent - credited;
  assign look_words_o  = (has_sent_q[look_flow_i] ? sent_q[look_flow_i] : '0)
      - (has_credit_q[look_flow_i] ? credited_q[look_flow_i] : '0);
  for (genvar i = 0; i < 2; i++) begin : gen_counts
    logic [$clog2(FLOWS)-1:0] flow;
    assign flow = counts_flow_i[i*$clog2(FLOWS)+:$clog2(FLOWS)];
    assign counts_o[3*i*BITS+:BITS]     = has_sent_q[flow] ? sent_q[flow] : '0;
    assign counts_o[(3*i+1)*BITS+:BITS] = has_credit_q[flow] ? credited_q[flow] : '0;
    assign counts_o[(3*i+2)*BITS+:BITS] = set_q[flow] ? limit_q[flow] : '0;
  end
  assign fits          = {1'b0, outstanding_o} + {1'b0, needed_i} <= {1'b0, limit_q[flow_i]};
  assign allowed_o     = set_q[flow_i] && fits;
  assign whole         = ^{credit_flow_i, credit_count_i} == credit_parity_i;
  assign credit        = credit_valid_i && whole;
  assign discarded_o   = credit_valid_i && !whole;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      set_q        <= '0;
      has_sent_q   <= '0;
      has_credit_q <= '0;
    end else begin
      if (send_i) begin
        has_sent_q[flow_i] <= 1'b1;
      end
      if (credit) begin
        has_credit_q[credit_flow_i] <= 1'b1;
      end
      if (limit_valid_i) begin
        set_q[limit_flow_i]        <= 1'b1;
        has_sent_q[limit_flow_i]   <= 1'b0;
        has_credit_q[limit_flow_i] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (limit_valid_i) begin
      limit_q[limit_flow_i] <= limit_words_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (send_i) begin
      sent_q[flow_i] <= sent + words_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (credit) begin
      credited_q[credit_flow_i] <= credit_count_i;
    end
  end

endmodule
