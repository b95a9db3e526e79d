// The NIC's half in the clock of the bus: request queue, reads, deposit, notifications, registers. One of the
// three masters (deposit, notification, fetch) has the bus's interface at a time.

module rdma_bus_side #(
  parameter int unsigned QUEUE    = 16,
  parameter int unsigned TX_WORDS = 1024,
  parameter int unsigned RX_WORDS = 640,
  parameter int unsigned RX_DEPTH = 1024,
  parameter int unsigned READS    = 2,
  parameter int unsigned BINDINGS = 0,
  parameter int unsigned SMALL    = 8
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic               restart_o, // the host asks for a reset; rst_ni is low then, in this cycle
  input  logic [7:0]         source_i,

  // What the chip drives, out of registers.
  output logic               request_o,
  output logic               request_write_o,
  output logic [63:0]        request_addr_o,
  output logic [9:0]         request_words_o,
  output logic [4:0]         request_tag_o,
  output logic [63:0]        write_word_o,
  output logic               write_on_o,
  output logic [63:0]        read_word_o,
  output logic               busy_o,
  output logic               interrupt_o,

  // What the bus does to it.
  input  logic               write_i,
  input  logic [13:0]        write_offset_i,
  input  logic [63:0]        write_data_i,
  input  logic [7:0]         write_enables_i,
  input  logic               read_i,
  input  logic [13:0]        read_offset_i,
  input  logic               accepted_i,
  input  logic               completion_i,
  input  logic [63:0]        completion_data_i,
  input  logic               took_i,
  input  logic               ended_i,
  input  logic               aborted_i,

  // FIFOs to the lanes' clock.
  output logic               tx_push_o,
  output logic [63:0]        tx_word_o,
  input  logic [$clog2(TX_WORDS):0] tx_next_room_i,
  output logic               message_push_o,
  output rdma_pkg::header_t  message_o,
  input  logic [$clog2(SMALL):0] message_next_room_i,
  output logic               freed_push_o,
  output rdma_pkg::share_t   freed_o,
  input  logic [$clog2(SMALL):0] freed_room_i,
  output logic               limit_push_o,
  output rdma_pkg::share_t   limit_o,

  // FIFO from there.
  input  logic [$clog2(RX_DEPTH):0] rx_count_i,
  input  logic [$clog2(RX_DEPTH):0] rx_next_count_i,
  input  logic [1:0]         rx_kind_i,
  input  logic [63:0]        rx_data_i,
  output logic               rx_pop_o,

  // Levels.
  output logic               loop_back_o,
  output logic               freeze_o,
  output logic               frozen_o,
  output logic               tell_counts_o,
  input  logic               stop_i,
  input  logic [6:0][63:0]   gray_i,

  // Debugging aids, and what the lanes' half has of them.
  input  logic [5:0]             passed_i,
  output rdma_pkg::aids_t        aids_o,
  input  rdma_pkg::link_aids_t   link_aids_i,
  input  logic [1:0][71:0]       traced_i,
  input  logic [2:0][63:0]       sample_i,
  output logic [10:0]            trace_index_o,
  output logic [10:0]            sample_index_o,

  // For those who look on.
  output logic               quiet_o,
  output logic               arrived_o, // with the last edge a packet came to be in memory
  output logic               arrived_good_o,
  output rdma_pkg::header_t  arrived_header_o,
  output logic [3:0][63:0]   totals_o
);

  typedef enum logic [1:0] {OwnerNobody, OwnerFetch, OwnerDeposit, OwnerNotify} owner_e;
  owner_e owner_d, owner_q;

  // ---- the host writes ---------------------------------------------------------------------------------

  logic       to_queue, to_limits, to_bindings, to_registers, bad_descriptor, bad_handle;
  logic [9:0] limit_flow;
  assign to_queue     = write_i && write_offset_i < 14'(abi_forth_pkg::QueueSize);
  assign to_bindings  = write_i && write_offset_i >= 14'(abi_forth_pkg::TableBindings);
  assign to_limits    = write_i && write_offset_i >= 14'(abi_forth_pkg::TableLimits)
      && !to_bindings;
  assign to_registers = write_i && !to_queue && !to_limits && !to_bindings;
  assign restart_o    = write_i && write_offset_i == 14'(abi_forth_pkg::RegisterControl)
      && (write_data_i[31:0] & abi_forth_pkg::ControlBitReset) != '0;
  assign limit_flow   = 10'((write_offset_i - 14'(abi_forth_pkg::TableLimits)) >> 3);
  assign limit_push_o = to_limits && limit_flow < 10'(abi_forth_pkg::Flows);
  assign limit_o      = '{flow: limit_flow[6:0], words: write_data_i[15:0]};

  logic        queued, queue_pop, queue_push, next_queued;
  logic [7:0]  queue_free;
  logic [63:0] head_source;
  logic [31:0] head_destination, head_control;
  logic [9:0]  next_head_words, put_words;
  logic [31:0] put_destination, destination, bound;
  logic [6:0]  put_flow;
  logic        handles, refused, refuse;
  rdma_queue #(
    .QUEUE(QUEUE)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .write_i      (to_queue),
    .upper_i      (write_offset_i[3]),
    .data_i       (write_data_i),
    .enables_i    (write_enables_i),
    .busy_o,
    .bad_o        (bad_descriptor),
    .refused_o    (bad_handle),
    .push_o       (queue_push),
    .put_destination_o(put_destination),
    .put_flow_o   (put_flow),
    .put_words_o  (put_words),
    .destination_i(destination),
    .refuse_i     (refuse),
    .free_o       (queue_free),
    .valid_o      (queued),
    .source_o     (head_source),
    .destination_o(head_destination),
    .control_o    (head_control),
    .pop_i        (queue_pop),
    .next_valid_o (next_queued),
    .next_words_o (next_head_words)
  );

  if (BINDINGS > 0) begin : gen_bindings
    rdma_bindings #(
      .BINDINGS(BINDINGS)
    ) u_bindings (
      .clk_i,
      .rst_ni,
      .write_i      (to_bindings),
      .number_i     (write_offset_i[11:3]),
      .data_i       (write_data_i),
      .handle_i     (put_destination),
      .flow_i       (put_flow),
      .words_i      (put_words),
      .destination_o(bound),
      .refused_o    (refused)
    );
  end else begin : gen_none
    logic unused;
    assign bound   = put_destination;
    assign refused = 1'b0;
    assign unused  = ^{put_flow, put_words};
  end
  assign destination = handles ? bound : put_destination;
  assign refuse      = handles && refused;

  // ---- sending -----------------------------------------------------------------------------------------

  logic fetch_accepted, fetch_aborted, stale, came, notify, fetching, few;
  logic [7:0] reads;
  logic [$clog2(TX_WORDS):0] reserved;
  assign fetch_accepted = owner_q == OwnerFetch && accepted_i;
  assign fetch_aborted  = owner_q == OwnerFetch && !accepted_i && ended_i && aborted_i;
  assign queue_pop      = fetch_accepted || fetch_aborted;
  assign came           = completion_i && !stale;
  assign tx_push_o      = came;
  assign tx_word_o      = completion_data_i;
  rdma_fetch #(
    .TX_WORDS(TX_WORDS),
    .READS   (READS)
  ) u_fetch (
    .clk_i,
    .rst_ni,
    .restart_i      (restart_o),
    .source_i,
    .accepted_i     (fetch_accepted),
    .destination_i  (head_destination),
    .control_i      (head_control),
    .tag_o          (request_tag_o),
    .word_i         (completion_i),
    .stale_o        (stale),
    .done_o         (message_push_o),
    .message_o,
    .notify_o       (notify),
    .open_o         (fetching),
    .count_o        (reads),
    .next_few_o     (few),
    .next_reserved_o(reserved)
  );

  // ---- receiving ---------------------------------------------------------------------------------------

  logic        send, receive, begins_frozen, next_frozen, some;
  logic [63:0] register_word;
  assign some = rx_count_i != '0;
  logic        depositing, deposit_on, deposit_wants, deposit_owns, deposit_aborted, finish, good;
  logic [63:0] deposit_addr;
  logic [9:0]  deposit_words;
  rdma_pkg::header_t header;
  assign deposit_owns    = owner_q == OwnerDeposit;
  assign deposit_aborted = deposit_owns && depositing && deposit_words != '0 && ended_i
      && aborted_i;
  rdma_deposit #(
    .RX_DEPTH(RX_DEPTH)
  ) u_deposit (
    .clk_i,
    .rst_ni,
    .receive_i    (receive),
    .frozen_i     (begins_frozen),
    .count_i      (rx_count_i),
    .kind_i       (rx_kind_i),
    .data_i       (rx_data_i[$bits(rdma_pkg::header_t)-1:0]),
    .pop_o        (rx_pop_o),
    .next_count_i (rx_next_count_i),
    .owner_i      (deposit_owns),
    .took_i,
    .ended_i,
    .addr_o       (deposit_addr),
    .words_o      (deposit_words),
    .on_o         (deposit_on),
    .next_wants_o (deposit_wants),
    .freed_room_i (freed_room_i > 1),
    .freed_valid_o(freed_push_o),
    .freed_o,
    .active_o     (depositing),
    .finish_o     (finish),
    .good_o       (good),
    .header_o     (header)
  );

  logic interrupt_wanted;
  assign interrupt_wanted = finish && good && header.interrupts;

  // ---- notifications -----------------------------------------------------------------------------------

  logic [63:0] notified_d, notified_q, told_d, told_q, notify_addr;
  assign notified_d = notified_q + 64'(notify);
  assign told_d     = owner_q == OwnerNotify && ended_i ? notified_d : told_q;

  rdma_registers #(
    .BINDINGS(BINDINGS)
  ) u_registers (
    .clk_i,
    .rst_ni,
    .write_i         (to_registers),
    .write_offset_i  (write_offset_i[12:0]),
    .data_i          (write_data_i),
    .read_i,
    .read_offset_i,
    .word_o          (register_word),
    .send_o          (send),
    .receive_o       (receive),
    .loop_back_o,
    .freeze_o,
    .tell_counts_o,
    .notify_addr_o   (notify_addr),
    .free_i          (queue_free),
    .handles_o       (handles),
    .bad_descriptor_i(bad_descriptor),
    .bad_handle_i    (bad_handle),
    .aborted_i       (fetch_aborted || deposit_aborted),
    .stop_i,
    .stop_now_i      (deposit_aborted),
    .begins_frozen_o (begins_frozen),
    .next_frozen_o   (next_frozen),
    .frozen_o,
    .sent_i          (message_push_o),
    .word_received_i (deposit_owns && depositing && deposit_words != '0 && took_i),
    .received_i      (finish && good),
    .interrupt_i     (interrupt_wanted),
    .line_o          (interrupt_o),
    .gray_i,
    .totals_o
  );

  // ---- debugging aids ------------------------------------------------------------------------------------

  logic [63:0]       aids_word;
  logic [27:0]       states;
  rdma_pkg::traced_t send_in, receive_out;
  logic [7:0]        queue_count;
  logic [9:0]        deposit_left; // after this cycle

  assign queue_count  = 8'(QUEUE) - queue_free;
  assign deposit_left = deposit_words - 10'(took_i);
  always_comb begin
    states = '0;
    states[abi_forth_pkg::RegisterStatesBusOwnerLsb+:4] = 4'(owner_q);
    states[abi_forth_pkg::RegisterStatesReadsLsb+:4]    = reads < 8'd15 ? reads[3:0] : 4'd15;
    if (depositing) begin
      states[abi_forth_pkg::RegisterStatesDepositLsb+:4] = deposit_words != '0 ? 4'd1 : 4'd2;
    end
    states[abi_forth_pkg::RegisterStatesQueueLsb+:4] = queue_count < 8'd15 ? queue_count[3:0] : 4'd15;
    states[abi_forth_pkg::RegisterStatesFrozenLsb] = frozen_o;
  end
  assign send_in.valid = came;
  assign send_in.kind  = message_push_o ? 2'(abi_forth_pkg::TraceTagEndGood)
      : 2'(abi_forth_pkg::TraceTagData);
  assign send_in.data  = completion_data_i;
  assign receive_out   = rdma_pkg::traced_entry(rx_pop_o && some, rx_kind_i, rx_data_i);

  rdma_aids #(
    .RX_WORDS(RX_WORDS)
  ) u_aids (
    .clk_i,
    .rst_ni,
    .write_i       (to_registers),
    .write_offset_i(write_offset_i[12:0]),
    .data_i        (write_data_i),
    .read_i,
    .read_offset_i,
    .word_o        (aids_word),
    .frozen_i      (next_frozen),
    .passed_i,
    .send_in_i     (send_in),
    .receive_out_i (receive_out),
    .states_i      (states),
    .fetch_waits_i (fetching && !completion_i),
    .fetch_word_i  (completion_i),
    .deposits_i    (deposit_owns),
    .disconnect_i  (deposit_owns && depositing && deposit_words != '0 && ended_i
        && deposit_left != '0),
    .descriptor_i  (queue_push),
    .interrupt_i   (interrupt_wanted),
    .wanted_o      (aids_o),
    .link_i        (link_aids_i),
    .traced_i,
    .sample_i,
    .trace_index_o,
    .sample_index_o
  );
  assign read_word_o = register_word | aids_word;

  // ---- whose transfer is next ----------------------------------------------------------------------------

  logic fetch_fits, fetch_wants;
  assign fetch_fits  = 16'(tx_next_room_i) >= 16'(reserved) + 16'(next_head_words);
  assign fetch_wants = next_queued && send && fetch_fits && few && message_next_room_i > 2;

  always_comb begin
    owner_d = owner_q;
    if (owner_q == OwnerNobody || accepted_i || ended_i) begin
      if (next_frozen) begin
        owner_d = OwnerNobody;
      end else if (deposit_wants) begin
        owner_d = OwnerDeposit;
      end else if (told_d != notified_d) begin
        owner_d = OwnerNotify;
      end else if (fetch_wants) begin
        owner_d = OwnerFetch;
      end else begin
        owner_d = OwnerNobody;
      end
    end
  end

  always_comb begin
    case (owner_q)
      OwnerNotify: begin
        request_o       = 1'b1;
        request_addr_o  = notify_addr;
        request_words_o = 10'd1;
      end
      OwnerDeposit: begin
        request_o       = depositing;
        request_addr_o  = deposit_addr;
        request_words_o = deposit_words;
      end
      OwnerFetch: begin
        request_o       = queued;
        request_addr_o  = head_source;
        request_words_o = head_control[9:0];
      end
      default: begin
        request_o       = 1'b0;
        request_addr_o  = '0;
        request_words_o = '0;
      end
    endcase
    request_write_o = owner_q != OwnerFetch;
    write_word_o    = '0;
    if (owner_q == OwnerNotify) begin
      write_word_o = notified_q;
    end else if (some && rx_kind_i == rdma_pkg::EntryData) begin
      write_word_o = rx_data_i;
    end
  end
  assign write_on_o = deposit_on;
  assign quiet_o    = !queued && !fetching && !depositing && told_q == notified_q;

  always_ff @(posedge clk_i) begin
    arrived_good_o   <= good;
    arrived_header_o <= header;
    if (!rst_ni) begin
      owner_q    <= OwnerNobody;
      notified_q <= '0;
      told_q     <= '0;
      arrived_o  <= 1'b0;
    end else begin
      owner_q    <= owner_d;
      notified_q <= notified_d;
      told_q     <= told_d;
      arrived_o  <= finish;
    end
  end

endmodule
