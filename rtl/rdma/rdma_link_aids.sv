// The debugging aids in the lanes' clock: the tracing memories at this side of both FIFOs, the sampling memory,
// and counters.

module rdma_link_aids #(
  parameter int unsigned RX_DEPTH = 1024
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  rdma_pkg::aids_t           wanted_i, // in this clock
  input  logic                      frozen_i,
  input  logic [5:0]                passed_i,

  // What is looked at.
  input  logic                      message_pop_i,
  input  rdma_pkg::header_t         message_i,
  input  logic                      data_pop_i,
  input  logic [63:0]               data_i,
  input  logic                      rx_push_i,
  input  logic [1:0]                rx_kind_i,
  input  logic [63:0]               rx_data_i,
  input  logic [$clog2(RX_DEPTH):0] rx_next_room_i,
  input  logic                      waits_i,
  input  logic                      credit_in_i,
  input  logic                      credit_out_i,
  input  logic [1:0][63:0]          totals_i, // words sent, cycles of back-pressure
  input  logic [2:0]                send_state_i,
  input  logic [2:0]                parse_state_i,
  input  logic [63:0]               credits_i, // counts of the selected flow
  input  logic [23:0]               lane_i,    // status of the selected lane
  output logic                      runs_o,    // the clock must not stand still

  // The bus's half.
  output rdma_pkg::link_aids_t      link_o,
  input  logic                      read_clk_i,
  input  logic                      read_i,
  input  logic [10:0]               trace_index_i,
  input  logic [10:0]               sample_index_i,
  output logic [1:0][71:0]          traced_o,
  output logic [2:0][63:0]          sample_o
);

  localparam int unsigned SendOut   = abi_forth_pkg::TracePointSendOut;
  localparam int unsigned ReceiveIn = abi_forth_pkg::TracePointReceiveIn;

  logic unused;
  assign unused = ^{wanted_i.flow, wanted_i.lane};

  rdma_pkg::traced_t send_out;
  assign send_out.valid = message_pop_i || data_pop_i;
  assign send_out.kind  = message_pop_i ? 2'(abi_forth_pkg::TraceTagHeader)
      : 2'(abi_forth_pkg::TraceTagData);
  assign send_out.data  = message_pop_i ? 64'(message_i) : data_i;

  rdma_trace #(
    .ASYNC(1'b1)
  ) u_send_out (
    .clk_i,
    .rst_ni,
    .on_i    (wanted_i.on[SendOut]),
    .any_on_i(wanted_i.on != '0),
    .stop_i  (wanted_i.stop),
    .frozen_i,
    .clears_i(wanted_i.clears[SendOut]),
    .passed_i,
    .seen_i  (send_out),
    .read_clk_i,
    .read_i,
    .index_i (trace_index_i),
    .sample_o(traced_o[0]),
    .count_o (link_o.trace_counts[0])
  );
  rdma_trace #(
    .ASYNC(1'b1)
  ) u_receive_in (
    .clk_i,
    .rst_ni,
    .on_i    (wanted_i.on[ReceiveIn]),
    .any_on_i(wanted_i.on != '0),
    .stop_i  (wanted_i.stop),
    .frozen_i,
    .clears_i(wanted_i.clears[ReceiveIn]),
    .passed_i,
    .seen_i  (rdma_pkg::traced_entry(rx_push_i, rx_kind_i, rx_data_i)),
    .read_clk_i,
    .read_i,
    .index_i (trace_index_i),
    .sample_o(traced_o[1]),
    .count_o (link_o.trace_counts[1])
  );

  // ---- counters ----------------------------------------------------------------------------------------

  logic [63:0] words_in, words_in_q, credits_in_q, credits_out_q;
  logic [$clog2(RX_DEPTH):0] level, level_max_q;
  typedef logic [$clog2(RX_DEPTH):0] level_t;
  assign words_in = words_in_q + 64'(rx_push_i && rx_kind_i == rdma_pkg::EntryData);
  assign level    = level_t'(RX_DEPTH) - rx_next_room_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      words_in_q    <= '0;
      credits_in_q  <= '0;
      credits_out_q <= '0;
      level_max_q   <= '0;
    end else begin
      words_in_q    <= words_in;
      credits_in_q  <= credits_in_q + 64'(credit_in_i);
      credits_out_q <= credits_out_q + 64'(credit_out_i);
      level_max_q   <= level > level_max_q ? level : level_max_q;
    end
  end

  logic [63:0] sample_count;
  rdma_sample u_sample (
    .clk_i,
    .rst_ni,
    .starts_i (wanted_i.starts),
    .period_i (wanted_i.period),
    .samples_i(wanted_i.samples),
    .counts_i ({totals_i[1] + 64'(waits_i), words_in, totals_i[0] + 64'(data_pop_i)}),
    .runs_o,
    .read_clk_i,
    .read_i,
    .index_i  (sample_index_i),
    .sample_o,
    .count_o  (sample_count)
  );

  assign link_o.states = (28'(send_state_i) << abi_forth_pkg::RegisterStatesSendLsb)
      | (28'(parse_state_i) << abi_forth_pkg::RegisterStatesParseLsb);
  assign link_o.lane         = lane_i;
  assign link_o.credits      = credits_i;
  assign link_o.credits_in   = credits_in_q;
  assign link_o.credits_out  = credits_out_q;
  assign link_o.level_max    = 64'(level_max_q);
  assign link_o.sample_count = sample_count;

endmodule
