// What crosses between the NIC's clocks and the flow control behind it, side by side: a FIFO from the bus's
// clock to the lanes', and both sides of the credits in the lanes' clock. crates/parts/forth-nic runs it edge by edge
// beside its model, which finds more than a whole NIC does: every input is random. Its one reset lasts for
// edges of both clocks.
/* verilator lint_off SYNCASYNCNET */

module rdma_units #(
  parameter int unsigned WIDTH  = 64,
  parameter int unsigned DEPTH  = 16,
  parameter int unsigned FLOWS  = 128,
  parameter int unsigned BITS   = 12,
  parameter int unsigned URGENT = 64
) (
  input  logic                     bus_clk_i,
  input  logic                     link_clk_i,
  input  logic                     rst_ni, // as long as it is low, both clocks have an edge

  input  logic                     push_i,
  input  logic [WIDTH-1:0]         data_i,
  output logic [$clog2(DEPTH):0]   room_o,
  input  logic                     pop_i,
  output logic [WIDTH-1:0]         data_o,
  output logic [$clog2(DEPTH):0]   count_o,

  input  logic                     limit_valid_i, // of flow_i: words_i
  input  logic [$clog2(FLOWS)-1:0] flow_i,
  input  logic [BITS-1:0]          needed_i,
  output logic                     allowed_o,
  output logic [BITS-1:0]          outstanding_o,
  input  logic                     send_i,
  input  logic [BITS-1:0]          words_i,
  input  logic                     credit_valid_i,
  input  logic [$clog2(FLOWS)-1:0] credit_flow_i,
  input  logic [BITS-1:0]          credit_count_i,
  input  logic                     credit_parity_i,
  output logic                     discarded_o,

  input  logic                     free_valid_i,
  input  logic [$clog2(FLOWS)-1:0] free_flow_i,
  input  logic [BITS-1:0]          free_words_i,
  output logic                     takes_o,
  input  logic                     idle_i,
  output logic                     credit_due_o,
  output logic [$clog2(FLOWS)-1:0] credit_flow_o,
  output logic [BITS-1:0]          credit_count_o,
  output logic                     credit_parity_o,
  input  logic                     credit_sent_i
);

  // For those who look on; the lock-step of the whole NIC compares these.
  logic [$clog2(DEPTH):0] next_room, next_count;
  logic [BITS-1:0]        look_words;
  logic [6*BITS-1:0]      tx_counts;
  logic [2*BITS-1:0]      rx_counts;
  logic                   writer_settled, reader_settled, pending, unused;
  assign unused = ^{next_room, next_count, look_words, tx_counts, rx_counts, writer_settled,
      reader_settled, pending};

  rdma_fifo #(
    .WIDTH(WIDTH),
    .DEPTH(DEPTH)
  ) u_fifo (
    .wclk_i (bus_clk_i),
    .wrst_ni(rst_ni),
    .push_i,
    .data_i,
    .room_o,
    .next_room_o     (next_room),
    .writer_settled_o(writer_settled),
    .rclk_i (link_clk_i),
    .rrst_ni(rst_ni),
    .pop_i,
    .data_o,
    .count_o,
    .next_count_o    (next_count),
    .reader_settled_o(reader_settled)
  );

  rdma_credit_tx #(
    .FLOWS(FLOWS),
    .BITS (BITS)
  ) u_credit_tx (
    .clk_i        (link_clk_i),
    .rst_ni,
    .limit_valid_i,
    .limit_flow_i (flow_i),
    .limit_words_i(words_i),
    .flow_i,
    .needed_i,
    .allowed_o,
    .outstanding_o,
    .send_i,
    .words_i,
    .credit_valid_i,
    .credit_flow_i,
    .credit_count_i,
    .credit_parity_i,
    .discarded_o,
    .look_flow_i  (flow_i),
    .look_words_o (look_words),
    .counts_flow_i({2{flow_i}}),
    .counts_o     (tx_counts)
  );

  rdma_credit_rx #(
    .FLOWS (FLOWS),
    .BITS  (BITS),
    .URGENT(URGENT)
  ) u_credit_rx (
    .clk_i(link_clk_i),
    .rst_ni,
    .free_valid_i,
    .free_flow_i,
    .free_words_i,
    .takes_o,
    .idle_i,
    .credit_due_o,
    .credit_flow_o,
    .credit_count_o,
    .credit_parity_o,
    .credit_sent_i,
    .pending_o     (pending),
    .counts_flow_i ({2{flow_i}}),
    .counts_o      (rx_counts)
  );

endmodule
