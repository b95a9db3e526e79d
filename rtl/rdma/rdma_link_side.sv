// The NIC's half in the clock of the lanes, without the transceivers: packets and credits out, and in.

module rdma_link_side #(
  parameter int unsigned LANES  = 2,
  parameter int unsigned RX_DEPTH = 1024,
  parameter int unsigned NEAR   = 12, // bits of the counts of this card's buffer
  parameter int unsigned FAR    = 12, // and of the one at the other end
  parameter int unsigned URGENT = 64
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [15:0]       slack_i, // words that a packet is taken to need besides its own

  input  logic [1:0][31:0]  bytes_i,
  input  logic [1:0][3:0]   control_i,
  output logic [1:0][31:0]  bytes_o,
  output logic [1:0][3:0]   control_o,

  // FIFOs from the bus's clock.
  input  logic              message_valid_i,
  input  rdma_pkg::header_t message_i,
  output logic              message_pop_o,
  input  logic [63:0]       data_i,
  output logic              data_pop_o,
  input  logic              freed_valid_i,
  input  rdma_pkg::share_t  freed_i,
  output logic              freed_pop_o,
  input  logic              limit_valid_i,
  input  rdma_pkg::share_t  limit_i,

  // FIFO to there.
  input  logic              rx_room_i,
  output logic              rx_push_o,
  output logic [1:0]        rx_kind_o,
  output logic [63:0]       rx_data_o,
  input  logic [$clog2(RX_DEPTH):0] rx_next_room_i,

  // Levels, in this clock.
  input  logic              loop_back_i,
  input  logic              freeze_i,
  input  logic              frozen_i,
  input  logic              tell_counts_i,
  output logic              stop_o, // an error that freezes the card; stays until it is

  // Counters, as rdma_registers numbers them, in binary and in Gray code.
  output logic [6:0][63:0]  totals_o,
  output logic [6:0][63:0]  gray_o,

  // Debugging aids.
  input  logic [5:0]             passed_i,
  input  rdma_pkg::aids_t        aids_i, // in this clock
  input  logic [3:0][15:0]       transceivers_i, // of each lane: clock corrections, buffer errors
  output rdma_pkg::link_aids_t   aids_o,
  input  logic                   read_clk_i,
  input  logic                   read_i,
  input  logic [10:0]            trace_index_i,
  input  logic [10:0]            sample_index_i,
  output logic [1:0][71:0]       traced_o,
  output logic [2:0][63:0]       sample_o,

  // For those who look on.
  output logic              quiet_o,
  input  logic [6:0]        look_flow_i,
  output logic [FAR-1:0]    look_words_o
);

  // ---- lanes -------------------------------------------------------------------------------------------

  logic [1:0]  sent_kind, came_kind, looped_kind_q, kind;
  logic [63:0] sent_word, came_word, looped_word_q, word;
  logic        ready, lost, lanes_empty;

  rdma_link_tx #(
    .LANES(LANES)
  ) u_tx (
    .clk_i,
    .rst_ni,
    .ready_o(ready),
    .kind_i (loop_back_i ? rdma_pkg::KindNone : sent_kind),
    .data_i (sent_word),
    .bytes_o,
    .control_o
  );

  logic [1:0]      unused_errors;
  logic [3:0][7:0] lane_status;
  rdma_link_rx #(
    .LANES(LANES)
  ) u_rx (
    .clk_i,
    .rst_ni,
    .bytes_i,
    .control_i,
    .kind_o  (came_kind),
    .data_o  (came_word),
    .errors_o(unused_errors),
    .lost_o  (lost),
    .empty_o (lanes_empty),
    .status_o(lane_status)
  );

  assign kind = loop_back_i ? looped_kind_q : came_kind;
  assign word = loop_back_i ? looped_word_q : came_word;

  // ---- flow control ------------------------------------------------------------------------------------

  logic [16:0]     needed;
  logic [FAR-1:0]  needed_words, unused_outstanding;
  logic            allowed, start, discarded;
  logic [6:0]      sent_flow; // of the packet that is sent
  // Of that flow, and of the one that is selected.
  logic [1:0][2:0][FAR-1:0] far_counts;
  logic [1:0][NEAR-1:0]     near_counts;
  logic [1:0][63:0]         counts_told; // as register CREDITS has them
  for (genvar i = 0; i < 2; i++) begin : gen_counts
    assign counts_told[i] = {16'(near_counts[i]), 16'(far_counts[i][2]), 16'(far_counts[i][1]),
        16'(far_counts[i][0])};
  end
  assign needed = 17'(message_i.words) + 17'(abi_forth_pkg::PacketOverhead) + 17'(slack_i);
  // More than a counter can say never fits.
  assign needed_words = needed > 17'({FAR{1'b1}}) ? '1 : FAR'(needed);

  // Parity is over all bits of the count; the unit sees those that its counters have.
  logic upper;
  if (FAR < 16) begin : gen_upper
    assign upper = ^word[15:FAR];
  end else begin : gen_none
    assign upper = 1'b0;
  end

  rdma_credit_tx #(
    .FLOWS(abi_forth_pkg::Flows),
    .BITS (FAR)
  ) u_credit_tx (
    .clk_i,
    .rst_ni,
    .limit_valid_i,
    .limit_flow_i   (limit_i.flow),
    .limit_words_i  (FAR'(limit_i.words)),
    .flow_i         (message_i.flow),
    .needed_i       (needed_words),
    .allowed_o      (allowed),
    .outstanding_o  (unused_outstanding),
    .send_i         (start),
    .words_i        (FAR'(message_i.words) + FAR'(abi_forth_pkg::PacketOverhead)),
    .credit_valid_i (kind == rdma_pkg::KindCredit),
    .credit_flow_i  (word[22:16]),
    .credit_count_i (word[FAR-1:0]),
    .credit_parity_i(word[23] ^ upper),
    .discarded_o    (discarded),
    .look_flow_i,
    .look_words_o,
    .counts_flow_i  ({aids_i.flow, sent_flow}),
    .counts_o       (far_counts)
  );

  logic            idle, due, told, takes, parity, pending;
  logic [6:0]      due_flow;
  logic [NEAR-1:0] due_count;
  rdma_credit_rx #(
    .FLOWS (abi_forth_pkg::Flows),
    .BITS  (NEAR),
    .URGENT(URGENT)
  ) u_credit_rx (
    .clk_i,
    .rst_ni,
    .free_valid_i   (freed_valid_i),
    .free_flow_i    (freed_i.flow),
    .free_words_i   (NEAR'(freed_i.words)),
    .takes_o        (takes),
    .idle_i         (idle),
    .credit_due_o   (due),
    .credit_flow_o  (due_flow),
    .credit_count_o (due_count),
    .credit_parity_o(parity),
    .credit_sent_i  (told),
    .pending_o      (pending),
    .counts_flow_i  ({aids_i.flow, sent_flow}),
    .counts_o       (near_counts)
  );
  assign freed_pop_o = freed_valid_i && takes;

  // ---- packets -----------------------------------------------------------------------------------------

  logic waits, send_quiet, sampling;
  logic [2:0] send_state, parse_state;
  rdma_send u_send (
    .clk_i,
    .rst_ni,
    .ready_i        (ready),
    .kind_o         (sent_kind),
    .word_o         (sent_word),
    .message_valid_i(message_valid_i && !frozen_i),
    .message_i,
    .message_pop_o,
    .data_i,
    .data_pop_o,
    .allowed_i      (allowed),
    .start_o        (start),
    .wait_o         (waits),
    .idle_o         (idle),
    .credit_i       (due),
    .credit_flow_i  (due_flow),
    .credit_count_i (16'(due_count)),
    .credit_parity_i(parity),
    .credit_sent_o  (told),
    .tell_counts_i,
    .flow_o         (sent_flow),
    .counts_i       (counts_told[0]),
    .state_o        (send_state),
    .quiet_o        (send_quiet)
  );

  logic header_error, payload_error, fills;
  rdma_receive u_receive (
    .clk_i,
    .rst_ni,
    .kind_i         (kind == rdma_pkg::KindCredit ? rdma_pkg::KindNone : kind),
    .word_i         (word),
    .push_o         (rx_push_o),
    .kind_o         (rx_kind_o),
    .entry_o        (rx_data_o),
    .header_error_o (header_error),
    .payload_error_o(payload_error),
    .fills_o        (fills),
    .state_o        (parse_state)
  );

  // ---- errors and counters -----------------------------------------------------------------------------

  logic stop_q, error;
  assign error  = header_error || payload_error || lost;
  assign stop_o = stop_q;

  logic [6:0] counts;
  assign counts = {rx_push_o && !rx_room_i, lost, discarded, payload_error, header_error, waits,
      data_pop_o};
  for (genvar i = 0; i < 7; i++) begin : gen_counter
    rdma_counter u_counter (
      .clk_i,
      .rst_ni,
      .count_i(counts[i]),
      .total_o(totals_o[i]),
      .gray_o (gray_o[i])
    );
  end

  rdma_link_aids #(
    .RX_DEPTH(RX_DEPTH)
  ) u_aids (
    .clk_i,
    .rst_ni,
    .wanted_i      (aids_i),
    .frozen_i,
    .passed_i,
    .message_pop_i (message_pop_o),
    .message_i,
    .data_pop_i    (data_pop_o),
    .data_i,
    .rx_push_i     (rx_push_o),
    .rx_kind_i     (rx_kind_o),
    .rx_data_i     (rx_data_o),
    .rx_next_room_i,
    .waits_i       (waits),
    .credit_in_i   (kind == rdma_pkg::KindCredit),
    .credit_out_i  (told),
    .totals_i      (totals_o[1:0]),
    .send_state_i  (send_state),
    .parse_state_i (parse_state),
    .credits_i     (counts_told[1]),
    .lane_i        ({transceivers_i[aids_i.lane], lane_status[aids_i.lane]}),
    .runs_o        (sampling),
    .link_o        (aids_o),
    .read_clk_i,
    .read_i,
    .trace_index_i,
    .sample_index_i,
    .traced_o,
    .sample_o
  );

  assign quiet_o = send_quiet && !sampling && !pending && !fills && ready && lanes_empty
      && looped_kind_q == rdma_pkg::KindNone;

  always_ff @(posedge clk_i) begin
    looped_word_q <= sent_word;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      looped_kind_q <= rdma_pkg::KindNone;
      stop_q        <= 1'b0;
    end else begin
      looped_kind_q <= sent_kind;
      stop_q        <= (stop_q && !frozen_i) || (error && freeze_i);
    end
  end

endmodule
