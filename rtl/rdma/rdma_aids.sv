// The debugging aids in the bus's clock: their registers, the tracing memories at this side of both FIFOs, and
// counters of events. They only look on. What the lanes' half shows is read as it stands.

module rdma_aids #(
  parameter int unsigned RX_WORDS = 640
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  // The host.
  input  logic                     write_i, // of a register
  input  logic [12:0]              write_offset_i,
  input  logic [63:0]              data_i,
  input  logic                     read_i,
  input  logic [13:0]              read_offset_i,
  output logic [63:0]              word_o, // in the cycle after read_i, 0 of other registers

  // What is looked at.
  input  logic                     frozen_i, // after this cycle
  input  logic [5:0]               passed_i,
  input  rdma_pkg::traced_t        send_in_i,
  input  rdma_pkg::traced_t        receive_out_i,
  input  logic [27:0]              states_i, // of this half
  input  logic                     fetch_waits_i,
  input  logic                     fetch_word_i,
  input  logic                     deposits_i,
  input  logic                     disconnect_i,
  input  logic                     descriptor_i,
  input  logic                     interrupt_i,

  // The lanes' half.
  output rdma_pkg::aids_t          wanted_o,
  input  rdma_pkg::link_aids_t     link_i,
  input  logic [1:0][71:0]         traced_i, // out of the memories SEND_OUT and RECEIVE_IN
  input  logic [2:0][63:0]         sample_i,
  output logic [10:0]              trace_index_o,
  output logic [10:0]              sample_index_o
);

  // ---- what the host writes ----------------------------------------------------------------------------

  logic [31:0]     offset;
  logic            to_trace, to_sample;
  rdma_pkg::aids_t wanted_d, wanted_q;
  logic [3:0][7:0] clears_d, clears_q;
  logic [7:0]      starts_d, starts_q;
  logic [12:0]     trace_index_q; // memory, and sample
  logic [10:0]     sample_index_q;

  function automatic logic [7:0] gray(input logic [7:0] count);
    gray = count ^ (count >> 1);
  endfunction

  assign offset    = {19'd0, write_offset_i};
  assign to_trace  = write_i && offset == abi_forth_pkg::RegisterTraceControl;
  assign to_sample = write_i && offset == abi_forth_pkg::RegisterSampleControl;
  assign starts_d  = starts_q + 8'(to_sample);

  always_comb begin
    wanted_d = wanted_q;
    clears_d = clears_q;
    if (to_trace) begin
      wanted_d.on   = 4'(data_i & 64'(abi_forth_pkg::TraceBitOn));
      wanted_d.stop = (data_i & 64'(abi_forth_pkg::TraceBitStop)) != '0;
    end
    for (int i = 0; i < 4; i++) begin
      if (to_trace && (data_i & 64'(abi_forth_pkg::TraceBitClear)) != '0 && wanted_d.on[i]) begin
        clears_d[i] = clears_q[i] + 1'b1;
      end
      wanted_d.clears[i] = gray(clears_d[i]);
    end
    if (to_sample) begin
      wanted_d.period  = data_i[abi_forth_pkg::RegisterSampleControlPeriodLsb+:32];
      wanted_d.samples = data_i[abi_forth_pkg::RegisterSampleControlSamplesLsb+:12];
    end
    wanted_d.starts = gray(starts_d);
    if (write_i && offset == abi_forth_pkg::RegisterDebugSelect) begin
      wanted_d.flow = data_i[abi_forth_pkg::RegisterDebugSelectFlowLsb+:7];
      wanted_d.lane = data_i[abi_forth_pkg::RegisterDebugSelectLaneLsb+:2];
    end
  end
  assign wanted_o       = wanted_q;
  assign trace_index_o  = trace_index_q[10:0];
  assign sample_index_o = sample_index_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wanted_q       <= '0;
      clears_q       <= '0;
      starts_q       <= '0;
      trace_index_q  <= '0;
      sample_index_q <= '0;
    end else begin
      wanted_q <= wanted_d;
      clears_q <= clears_d;
      starts_q <= starts_d;
      if (write_i && offset == abi_forth_pkg::RegisterTraceIndex) begin
        trace_index_q <= {data_i[abi_forth_pkg::RegisterTraceIndexMemoryLsb+:2],
            data_i[abi_forth_pkg::RegisterTraceIndexSampleLsb+:11]};
      end
      if (write_i && offset == abi_forth_pkg::RegisterSampleIndex) begin
        sample_index_q <= data_i[abi_forth_pkg::RegisterSampleIndexSampleLsb+:11];
      end
    end
  end

  // ---- tracing memories of this clock ------------------------------------------------------------------

  localparam int unsigned SendIn     = abi_forth_pkg::TracePointSendIn;
  localparam int unsigned SendOut    = abi_forth_pkg::TracePointSendOut;
  localparam int unsigned ReceiveIn  = abi_forth_pkg::TracePointReceiveIn;
  localparam int unsigned ReceiveOut = abi_forth_pkg::TracePointReceiveOut;

  logic [3:0][71:0] samples;
  logic [3:0][63:0] trace_counts;
  assign {samples[ReceiveIn], samples[SendOut]}           = traced_i;
  assign {trace_counts[ReceiveIn], trace_counts[SendOut]} = link_i.trace_counts;

  rdma_trace u_send_in (
    .clk_i,
    .rst_ni,
    .on_i      (wanted_d.on[SendIn]),
    .any_on_i  (wanted_d.on != '0),
    .stop_i    (wanted_d.stop),
    .frozen_i,
    .clears_i  (wanted_d.clears[SendIn]),
    .passed_i,
    .seen_i    (send_in_i),
    .read_clk_i(clk_i),
    .read_i,
    .index_i   (trace_index_q[10:0]),
    .sample_o  (samples[SendIn]),
    .count_o   (trace_counts[SendIn])
  );
  rdma_trace u_receive_out (
    .clk_i,
    .rst_ni,
    .on_i      (wanted_d.on[ReceiveOut]),
    .any_on_i  (wanted_d.on != '0),
    .stop_i    (wanted_d.stop),
    .frozen_i,
    .clears_i  (wanted_d.clears[ReceiveOut]),
    .passed_i,
    .seen_i    (receive_out_i),
    .read_clk_i(clk_i),
    .read_i,
    .index_i   (trace_index_q[10:0]),
    .sample_o  (samples[ReceiveOut]),
    .count_o   (trace_counts[ReceiveOut])
  );

  // ---- counters ----------------------------------------------------------------------------------------

  logic [5:0]       counts;
  logic [5:0][63:0] totals_q;
  assign counts = {interrupt_i, descriptor_i, disconnect_i, deposits_i, fetch_word_i, fetch_waits_i};
  for (genvar i = 0; i < 6; i++) begin : gen_counter
    always_ff @(posedge clk_i) begin
      totals_q[i] <= rst_ni ? totals_q[i] + 64'(counts[i]) : '0;
    end
  end

  // ---- what the host reads -----------------------------------------------------------------------------

  logic [63:0] word, word_q, kept;
  logic [1:0]  memory_q;
  logic [71:0] selected;
  // A word out of a memory: data and tag of tracing, three counts of sampling.
  typedef enum logic [2:0] {FromNone, FromData, FromTag, FromSent, FromReceived, FromPressure} from_e;
  from_e from, from_q;

  always_comb begin
    word = '0;
    from = FromNone;
    case ({18'd0, read_offset_i})
      abi_forth_pkg::RegisterAids: begin
        word = 64'(RX_WORDS);
      end
      abi_forth_pkg::RegisterStates:          word = 64'(states_i) | 64'(link_i.states);
      abi_forth_pkg::RegisterLanes:           word = 64'(link_i.lane);
      abi_forth_pkg::RegisterFetchCycles:     word = totals_q[0];
      abi_forth_pkg::RegisterFetchWords:      word = totals_q[1];
      abi_forth_pkg::RegisterDepositCycles:   word = totals_q[2];
      abi_forth_pkg::RegisterDisconnects:     word = totals_q[3];
      abi_forth_pkg::RegisterDescriptors:     word = totals_q[4];
      abi_forth_pkg::RegisterInterruptsWanted: word = totals_q[5];
      abi_forth_pkg::RegisterReceiveLevel:    word = link_i.level_max;
      abi_forth_pkg::RegisterCreditsIn:       word = link_i.credits_in;
      abi_forth_pkg::RegisterCreditsOut:      word = link_i.credits_out;
      abi_forth_pkg::RegisterDebugSelect: begin
        word = (64'(wanted_q.lane) << abi_forth_pkg::RegisterDebugSelectLaneLsb)
            | (64'(wanted_q.flow) << abi_forth_pkg::RegisterDebugSelectFlowLsb);
      end
      abi_forth_pkg::RegisterCredits:         word = link_i.credits;
      abi_forth_pkg::RegisterTraceControl: begin
        word = 64'(wanted_q.on) | (wanted_q.stop ? 64'(abi_forth_pkg::TraceBitStop) : '0);
      end
      abi_forth_pkg::RegisterTraceIndex: begin
        word = (64'(trace_index_q[12:11]) << abi_forth_pkg::RegisterTraceIndexMemoryLsb)
            | 64'(trace_index_q[10:0]);
      end
      abi_forth_pkg::RegisterTraceCount:      word = trace_counts[trace_index_q[12:11]];
      abi_forth_pkg::RegisterSampleControl:   word = {20'd0, wanted_q.samples, wanted_q.period};
      abi_forth_pkg::RegisterSampleIndex:     word = 64'(sample_index_q);
      abi_forth_pkg::RegisterSampleCount:     word = link_i.sample_count;
      abi_forth_pkg::RegisterTraceData:       from = FromData;
      abi_forth_pkg::RegisterTraceTag:        from = FromTag;
      abi_forth_pkg::RegisterSampleSent:      from = FromSent;
      abi_forth_pkg::RegisterSampleReceived:  from = FromReceived;
      abi_forth_pkg::RegisterSamplePressure:  from = FromPressure;
      default:                                word = '0;
    endcase
  end

  assign selected = samples[memory_q];
  always_comb begin
    case (from_q)
      FromData:     kept = selected[63:0];
      FromTag:      kept = {56'd0, selected[71:64]};
      FromSent:     kept = sample_i[0];
      FromReceived: kept = sample_i[1];
      FromPressure: kept = sample_i[2];
      default:      kept = word_q;
    endcase
  end
  assign word_o = kept;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      word_q   <= '0;
      from_q   <= FromNone;
      memory_q <= '0;
    end else if (read_i) begin
      word_q   <= word;
      from_q   <= from;
      memory_q <= trace_index_q[12:11];
    end
  end

endmodule
