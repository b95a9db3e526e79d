// The RDMA NIC of marazakis2006 between the user side of its PCI core and the transceivers of its lanes. It
// is cut where docs/decisions/0069 says: the core and the bus, the transceivers and the cables are models.

module rdma_nic #(
  parameter int unsigned QUEUE      = 16,   // descriptors
  parameter int unsigned TX_WORDS   = 1024, // of the sending FIFO, a power of two
  parameter int unsigned RX_WORDS   = 640,  // of the receiving FIFO that flow control counts with
  parameter int unsigned PEER_WORDS = 640,  // of the buffer at the other end
  parameter int unsigned READS      = 2,    // of host memory, open at a time
  parameter int unsigned BINDINGS   = 0,    // pages that handles can be bound to, up to 512
  parameter int unsigned LANES      = 2,    // or 1, or 4
  parameter int unsigned URGENT     = 64    // words freed that make a credit urgent
) (
  // Straps.
  input  logic              rst_ni,   // as long as it is low, both clocks have an edge
  input  logic [7:0]        source_i, // this card's number
  input  logic [15:0]       slack_i,  // words that a packet is taken to need besides its own

  // ---- the user side of the PCI core ---------------------------------------------------------------------
  input  logic              bus_clk_i,
  output logic              request_o,       // a transfer is asked for, until it is taken or over
  output logic              request_write_o,
  output logic [63:0]       request_addr_o,
  output logic [9:0]        request_words_o,
  output logic [4:0]        request_tag_o,
  output logic [63:0]       write_word_o,    // next word of the write
  output logic              write_on_o,      // at a boundary of 128 bytes: the next block is there
  output logic [63:0]       read_word_o,     // of the host's read of the cycle before
  output logic              busy_o,          // the host is to try again
  output logic              interrupt_o,
  input  logic              write_i,         // the host writes
  input  logic [13:0]       write_offset_i,  // a multiple of 8
  input  logic [63:0]       write_data_i,
  input  logic [7:0]        write_enables_i,
  input  logic              read_i,          // it reads
  input  logic [13:0]       read_offset_i,
  input  logic              accepted_i,      // the read is taken; its words will come
  input  logic              completion_i,    // a word of the oldest read
  input  logic [63:0]       completion_data_i,
  input  logic              took_i,          // write_word_o has gone
  input  logic              ended_i,         // the write is over
  input  logic              aborted_i,       // nobody has claimed its address

  // ---- the transceivers: four bytes a lane and cycle (two of four lanes), with flags of control characters -
  input  logic              link_clk_i,
  input  logic [1:0][31:0]  bytes_i,
  input  logic [1:0][3:0]   control_i,
  output logic [1:0][31:0]  bytes_o,
  output logic [1:0][3:0]   control_o,

  // Of each lane: clock corrections, and overflows and underflows of the elastic buffer, 255 for more.
  input  logic [3:0][15:0]  transceivers_i,

  // ---- for those who look on -----------------------------------------------------------------------------
  // Edges of either clock that a simulator has left out before the next one, 63 for more; 0 in hardware.
  input  logic [5:0]        bus_passed_i,
  input  logic [5:0]        link_passed_i,
  output logic              bus_rests_o,     // edges of the bus's clock change nothing
  output logic              link_rests_o,
  output logic              link_held_o,     // a reset clears the lanes' half
  output logic              frozen_o,
  output logic              arrived_o,       // with the bus's last edge a packet has come to memory
  output logic              arrived_good_o,
  output logic [57:0]       arrived_header_o,
  output logic [3:0][63:0]  bus_totals_o,
  output logic [6:0][63:0]  link_totals_o,
  input  logic [6:0]        look_flow_i,
  output logic [$clog2(PEER_WORDS)+1:0] look_words_o
);

  localparam int unsigned Small   = 8; // messages, limits and freed words that can cross at a time
  localparam int unsigned RxDepth = 1 << $clog2(RX_WORDS);
  localparam int unsigned Near    = $clog2(RX_WORDS) + 2;
  localparam int unsigned Far     = $clog2(PEER_WORDS) + 2;

  // ---- resets --------------------------------------------------------------------------------------------

  logic restart, bus_rst_n, link_rst_n, reset_settled;
  rdma_reset u_reset (
    .bus_clk_i,
    .link_clk_i,
    .rst_ni,
    .request_i    (restart),
    .bus_rst_no   (bus_rst_n),
    .link_rst_no  (link_rst_n),
    .bus_settled_o(reset_settled)
  );

  // ---- what crosses between the clocks -------------------------------------------------------------------

  logic              tx_push, tx_pop, message_push, message_pop, freed_push, freed_pop, limit_push;
  logic              rx_push, rx_pop;
  logic [63:0]       tx_put, tx_word, rx_put_data, rx_data;
  logic [1:0]        rx_put_kind, rx_kind;
  rdma_pkg::header_t message_put, message;
  rdma_pkg::share_t  freed_put, freed, limit_put, limit;
  logic [$clog2(TX_WORDS):0] tx_room, tx_next_room, tx_count, tx_next_count;
  logic [$clog2(RxDepth):0]  rx_room, rx_next_room, rx_count, rx_next_count;
  logic [$clog2(Small):0]    message_room, message_next_room, message_count, message_next_count;
  logic [$clog2(Small):0]    freed_room, freed_next_room, freed_count, freed_next_count;
  logic [$clog2(Small):0]    limit_room, limit_next_room, limit_count, limit_next_count;
  logic [4:0]        at_writer, at_reader; // settled

  rdma_fifo #(.WIDTH(64), .DEPTH(TX_WORDS)) u_tx (
    .wclk_i          (bus_clk_i),
    .wrst_ni         (bus_rst_n),
    .push_i          (tx_push),
    .data_i          (tx_put),
    .room_o          (tx_room),
    .next_room_o     (tx_next_room),
    .writer_settled_o(at_writer[0]),
    .rclk_i          (link_clk_i),
    .rrst_ni         (link_rst_n),
    .pop_i           (tx_pop),
    .data_o          (tx_word),
    .count_o         (tx_count),
    .next_count_o    (tx_next_count),
    .reader_settled_o(at_reader[0])
  );

  rdma_fifo #(.WIDTH($bits(rdma_pkg::header_t)), .DEPTH(Small)) u_messages (
    .wclk_i          (bus_clk_i),
    .wrst_ni         (bus_rst_n),
    .push_i          (message_push),
    .data_i          (message_put),
    .room_o          (message_room),
    .next_room_o     (message_next_room),
    .writer_settled_o(at_writer[1]),
    .rclk_i          (link_clk_i),
    .rrst_ni         (link_rst_n),
    .pop_i           (message_pop),
    .data_o          (message),
    .count_o         (message_count),
    .next_count_o    (message_next_count),
    .reader_settled_o(at_reader[1])
  );

  rdma_fifo #(.WIDTH($bits(rdma_pkg::share_t)), .DEPTH(Small)) u_freed (
    .wclk_i          (bus_clk_i),
    .wrst_ni         (bus_rst_n),
    .push_i          (freed_push),
    .data_i          (freed_put),
    .room_o          (freed_room),
    .next_room_o     (freed_next_room),
    .writer_settled_o(at_writer[2]),
    .rclk_i          (link_clk_i),
    .rrst_ni         (link_rst_n),
    .pop_i           (freed_pop),
    .data_o          (freed),
    .count_o         (freed_count),
    .next_count_o    (freed_next_count),
    .reader_settled_o(at_reader[2])
  );

  rdma_fifo #(.WIDTH($bits(rdma_pkg::share_t)), .DEPTH(Small)) u_limits (
    .wclk_i          (bus_clk_i),
    .wrst_ni         (bus_rst_n),
    .push_i          (limit_push),
    .data_i          (limit_put),
    .room_o          (limit_room),
    .next_room_o     (limit_next_room),
    .writer_settled_o(at_writer[3]),
    .rclk_i          (link_clk_i),
    .rrst_ni         (link_rst_n),
    .pop_i           (1'b1),
    .data_o          (limit),
    .count_o         (limit_count),
    .next_count_o    (limit_next_count),
    .reader_settled_o(at_reader[3])
  );

  rdma_fifo #(.WIDTH(66), .DEPTH(RxDepth), .WRITER_ASYNC(1'b1)) u_rx (
    .wclk_i          (link_clk_i),
    .wrst_ni         (link_rst_n),
    .push_i          (rx_push),
    .data_i          ({rx_put_kind, rx_put_data}),
    .room_o          (rx_room),
    .next_room_o     (rx_next_room),
    .writer_settled_o(at_writer[4]),
    .rclk_i          (bus_clk_i),
    .rrst_ni         (bus_rst_n),
    .pop_i           (rx_pop),
    .data_o          ({rx_kind, rx_data}),
    .count_o         (rx_count),
    .next_count_o    (rx_next_count),
    .reader_settled_o(at_reader[4])
  );

  logic unused;
  assign unused = ^{tx_room, tx_count, tx_next_count, message_room,
      message_next_count, freed_next_room,
      freed_next_count, limit_room, limit_next_room, limit_next_count};

  logic [3:0] levels, levels_seen; // credits in the payload, loop-back, freeze, frozen
  rdma_pkg::aids_t      aids, aids_seen;
  rdma_pkg::link_aids_t link_aids;
  logic [1:0][71:0]     traced;
  logic [2:0][63:0]     sample;
  logic [10:0]          trace_index, sample_index;
  logic       levels_settled, stop, stop_seen, stop_settled;
  rdma_sync #(.WIDTH(4 + $bits(rdma_pkg::aids_t)), .ASYNC(1'b1)) u_levels (
    .clk_i    (link_clk_i),
    .rst_ni   (link_rst_n),
    .data_i   ({aids, levels}),
    .data_o   ({aids_seen, levels_seen}),
    .settled_o(levels_settled)
  );
  rdma_sync u_stop (
    .clk_i    (bus_clk_i),
    .rst_ni   (bus_rst_n),
    .data_i   (stop),
    .data_o   (stop_seen),
    .settled_o(stop_settled)
  );

  // ---- the halves ----------------------------------------------------------------------------------------

  logic             bus_quiet, link_quiet;
  logic [6:0][63:0] gray;

  rdma_bus_side #(
    .QUEUE   (QUEUE),
    .TX_WORDS(TX_WORDS),
    .RX_WORDS(RX_WORDS),
    .RX_DEPTH(RxDepth),
    .READS   (READS),
    .BINDINGS(BINDINGS),
    .SMALL   (Small)
  ) u_bus_side (
    .clk_i              (bus_clk_i),
    .rst_ni             (bus_rst_n),
    .restart_o          (restart),
    .source_i,
    .request_o,
    .request_write_o,
    .request_addr_o,
    .request_words_o,
    .request_tag_o,
    .write_word_o,
    .write_on_o,
    .read_word_o,
    .busy_o,
    .interrupt_o,
    .write_i,
    .write_offset_i,
    .write_data_i,
    .write_enables_i,
    .read_i,
    .read_offset_i,
    .accepted_i,
    .completion_i,
    .completion_data_i,
    .took_i,
    .ended_i,
    .aborted_i,
    .tx_push_o          (tx_push),
    .tx_word_o          (tx_put),
    .tx_next_room_i     (tx_next_room),
    .message_push_o     (message_push),
    .message_o          (message_put),
    .message_next_room_i(message_next_room),
    .freed_push_o       (freed_push),
    .freed_o            (freed_put),
    .freed_room_i       (freed_room),
    .limit_push_o       (limit_push),
    .limit_o            (limit_put),
    .rx_count_i         (rx_count),
    .rx_next_count_i    (rx_next_count),
    .rx_kind_i          (rx_kind),
    .rx_data_i          (rx_data),
    .rx_pop_o           (rx_pop),
    .loop_back_o        (levels[2]),
    .freeze_o           (levels[1]),
    .frozen_o           (levels[0]),
    .tell_counts_o      (levels[3]),
    .stop_i             (stop_seen),
    .gray_i             (gray),
    .passed_i           (bus_passed_i),
    .aids_o             (aids),
    .link_aids_i        (link_aids),
    .traced_i           (traced),
    .sample_i           (sample),
    .trace_index_o      (trace_index),
    .sample_index_o     (sample_index),
    .quiet_o            (bus_quiet),
    .arrived_o,
    .arrived_good_o,
    .arrived_header_o,
    .totals_o           (bus_totals_o)
  );

  rdma_link_side #(
    .LANES   (LANES),
    .RX_DEPTH(RxDepth),
    .NEAR    (Near),
    .FAR     (Far),
    .URGENT  (URGENT)
  ) u_link_side (
    .clk_i          (link_clk_i),
    .rst_ni         (link_rst_n),
    .slack_i,
    .bytes_i,
    .control_i,
    .bytes_o,
    .control_o,
    .message_valid_i(message_count != '0),
    .message_i      (message),
    .message_pop_o  (message_pop),
    .data_i         (tx_word),
    .data_pop_o     (tx_pop),
    .freed_valid_i  (freed_count != '0),
    .freed_i        (freed),
    .freed_pop_o    (freed_pop),
    .limit_valid_i  (limit_count != '0),
    .limit_i        (limit),
    .rx_room_i      (rx_room != '0),
    .rx_push_o      (rx_push),
    .rx_kind_o      (rx_put_kind),
    .rx_data_o      (rx_put_data),
    .rx_next_room_i (rx_next_room),
    .loop_back_i    (levels_seen[2]),
    .freeze_i       (levels_seen[1]),
    .frozen_i       (levels_seen[0]),
    .tell_counts_i  (levels_seen[3]),
    .stop_o         (stop),
    .totals_o       (link_totals_o),
    .gray_o         (gray),
    .passed_i       (link_passed_i),
    .aids_i         (aids_seen),
    .transceivers_i,
    .aids_o         (link_aids),
    .read_clk_i     (bus_clk_i),
    .read_i,
    .trace_index_i  (trace_index),
    .sample_index_i (sample_index),
    .traced_o       (traced),
    .sample_o       (sample),
    .quiet_o        (link_quiet),
    .look_flow_i,
    .look_words_o
  );

  assign frozen_o     = levels[0];
  assign link_held_o  = !link_rst_n;
  assign bus_rests_o  = bus_quiet && &at_writer[3:0] && at_reader[4] && stop_settled
      && reset_settled;
  assign link_rests_o = link_quiet && &at_reader[3:0] && at_writer[4] && levels_settled
      && link_rst_n;

endmodule
