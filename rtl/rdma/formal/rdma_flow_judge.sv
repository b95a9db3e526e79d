// The judge of the flow control: a sender, a receiver with a buffer, and wires on which packets and credits
// take as long as they like. The two ends act when their own clock ticks, which it does at any time: an
// end whose tick does not come does nothing. Credits may be spoilt in one bit, and are lost then; they may
// also be overtaken by their successor, which tells all that they told.
//
// Whatever happens, the buffer never overflows, and the sender never believes that less is outstanding than
// is; once everything has been told, it knows exactly.

module rdma_flow_judge #(
  parameter int unsigned BITS  = 4,
  parameter int unsigned LIMIT = 4  // words of buffer, 2^(BITS-2) at most
) (
  input logic            clk_i,
  input logic            tx_tick_i,    // the sender's clock
  input logic            rx_tick_i,    // the receiver's
  input logic            want_i,       // a packet waits
  input logic [1:0]      words_i,
  input logic            arrive_i,     // a word comes out of the wire
  input logic            free_i,       // a word leaves the buffer
  input logic            idle_i,
  input logic            other_i,      // meanwhile another flow is given its limit
  input logic            deliver_i,    // a credit comes out of the wire
  input logic            spoil_i,
  input logic [BITS+1:0] spoil_bit_i
);

  typedef logic [BITS-1:0] count_t;

  logic begun_q = 1'b0, set_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    set_q   <= begun_q;
  end

  // What is true: words on the wire and in the buffer.
  count_t wire_q = '0, buffer_q = '0, words;
  logic   allowed, send, arrive, free;

  assign words  = count_t'(words_i == 2'd0 ? 2'd1 : words_i);
  assign send   = set_q && tx_tick_i && want_i && allowed;
  assign arrive = set_q && rx_tick_i && arrive_i && wire_q != '0;
  assign free   = set_q && rx_tick_i && free_i && buffer_q != '0;

  // A credit on the wire, with its parity.
  logic   flying_q = 1'b0, parity_q = 1'b0, flow_q = 1'b0, spoilt_q = 1'b0;
  count_t count_q = '0;
  logic   due, due_flow, due_parity, takes, credit_sent, deliver, discarded;
  count_t due_count, outstanding, looked;

  assign credit_sent = set_q && rx_tick_i && due;
  assign deliver     = set_q && tx_tick_i && deliver_i && flying_q;

  rdma_credit_tx #(
    .FLOWS(2),
    .BITS (BITS)
  ) u_tx (
    .clk_i,
    .rst_ni         (begun_q),
    .limit_valid_i  (!set_q || (tx_tick_i && other_i)),
    .limit_flow_i   (!set_q),
    .limit_words_i  (count_t'(LIMIT)),
    .flow_i         (1'b1),
    .needed_i       (words),
    .allowed_o      (allowed),
    .outstanding_o  (outstanding),
    .send_i         (send),
    .words_i        (words),
    .credit_valid_i (deliver),
    .credit_flow_i  (flow_q),
    .credit_count_i (count_q),
    .credit_parity_i(parity_q),
    .discarded_o    (discarded),
    .look_flow_i    (1'b1),
    .look_words_o   (looked),
    .counts_flow_i  (2'b00),
    .counts_o       ()
  );

  rdma_credit_rx #(
    .FLOWS (2),
    .BITS  (BITS),
    .URGENT(2)
  ) u_rx (
    .clk_i,
    .rst_ni         (begun_q),
    .free_valid_i   (free),
    .free_flow_i    (1'b1),
    .free_words_i   (count_t'(1)),
    .takes_o        (takes),
    .idle_i         (idle_i && rx_tick_i),
    .credit_due_o   (due),
    .credit_flow_o  (due_flow),
    .credit_count_o (due_count),
    .credit_parity_o(due_parity),
    .credit_sent_i  (credit_sent),
    .pending_o      (),
    .counts_flow_i  (2'b00),
    .counts_o       ()
  );

  always_ff @(posedge clk_i) begin
    wire_q   <= wire_q + (send ? words : '0) - count_t'(arrive);
    buffer_q <= buffer_q + count_t'(arrive) - count_t'(free);
    if (credit_sent) begin
      flying_q <= 1'b1;
      spoilt_q <= spoil_i;
      {parity_q, flow_q, count_q} <= {due_parity, due_flow, due_count} ^
          (spoil_i ? (BITS+2)'(1) << (spoil_bit_i % (BITS + 2)) : '0);
    end else if (deliver) begin
      flying_q <= 1'b0;
    end
  end

  // The last credit that was sent never came, because it was spoilt: what it told is told with the next.
  logic lost_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (deliver) lost_q <= spoilt_q;
  end

  // What is true of the counts: all words that were freed, and whether a credit has told of them.
  count_t freed_q = '0;
  logic   untold_q = 1'b0;
  always_ff @(posedge clk_i) begin
    freed_q  <= freed_q + count_t'(free);
    untold_q <= free || (untold_q && !credit_sent);
  end

  always_comb begin
    if (set_q) begin
      a_never_an_overflow: assert (wire_q + buffer_q <= count_t'(LIMIT));
      a_no_credit_made: assert (outstanding >= wire_q + buffer_q);
      a_within_the_limit: assert (outstanding <= count_t'(LIMIT));
      a_looking_tells_the_same: assert (looked == outstanding);
      a_credit_is_true: assert (!due || (due_flow && due_count == freed_q));
      a_spoilt_is_discarded: assert (!(deliver && spoilt_q) || discarded);
      a_whole_is_taken: assert (!(deliver && !spoilt_q) || !discarded);
      a_told_when_idle: assert (!(untold_q && idle_i && rx_tick_i) || due);
      a_receiver_takes: assert (takes);
      // Nothing to tell, nothing on the wire, and the last credit was whole: the sender knows exactly.
      a_no_credit_lost: assert (untold_q || flying_q || lost_q
          || outstanding == wire_q + buffer_q);
    end
  end

endmodule
