// The packetiser: store and forward, since a message is announced when all of its words stand in the FIFO.
// Start, two words of header, payload, CRC32, and an idle word behind, for alignment and clock correction.
// Credits go between the words of packets.

module rdma_send (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               ready_i,   // the lanes take a word
  output logic [1:0]         kind_o,
  output logic [63:0]        word_o,

  input  logic               message_valid_i,
  input  rdma_pkg::header_t  message_i,
  output logic               message_pop_o,
  input  logic [63:0]        data_i,
  output logic               data_pop_o,

  input  logic               allowed_i, // the message, by its flow's credits
  output logic               start_o,   // its words count as sent
  output logic               wait_o,    // it is held back

  output logic               idle_o,    // a credit costs no packet anything
  input  logic               credit_i,  // one is due
  input  logic [6:0]         credit_flow_i,
  input  logic [15:0]        credit_count_i,
  input  logic               credit_parity_i,
  output logic               credit_sent_o,

  // The last word of the payload is what the counters say of the packet's flow.
  input  logic               tell_counts_i,
  output logic [6:0]         flow_o,
  input  logic [63:0]        counts_i,

  output logic [2:0]         state_o,
  output logic               quiet_o
);

  typedef enum logic [2:0] {
    StateNothing, StateFirst, StateSecond, StatePayload, StateTrailer, StateGap
  } state_e;
  state_e state_d, state_q;

  logic [9:0]  left_d, left_q;
  logic [31:0] crc32_d, crc32_q;
  logic [15:0] crc16_d, crc16_q;
  logic        starts, nothing;
  logic [63:0] first, payload;
  logic [6:0]  flow_d, flow_q;
  logic [47:0] second;

  assign nothing = state_q == StateNothing;
  assign starts  = nothing && message_valid_i && allowed_i;
  assign idle_o  = state_q == StateGap || (nothing && !starts);
  assign wait_o  = ready_i && nothing && message_valid_i && !starts;
  assign quiet_o = nothing;
  assign state_o = state_q;
  assign flow_o  = flow_q;
  assign payload = tell_counts_i && left_q == 10'd1 ? counts_i : data_i;

  // A gap stays one: it must be an idle word.
  assign credit_sent_o = ready_i && credit_i && state_q != StateGap;

  assign first  = {7'd0, message_i.interrupts ? abi_forth_pkg::PacketFlagInterrupt[0] : 1'b0,
      1'b0, message_i.flow, 6'd0, message_i.words, message_i.destination};
  assign second = {40'd0, message_i.source};

  always_comb begin
    state_d       = state_q;
    left_d        = left_q;
    crc32_d       = crc32_q;
    crc16_d       = crc16_q;
    flow_d        = flow_q;
    kind_o        = rdma_pkg::KindNone;
    word_o        = '0;
    start_o       = 1'b0;
    message_pop_o = 1'b0;
    data_pop_o    = 1'b0;
    if (credit_sent_o) begin
      kind_o = rdma_pkg::KindCredit;
      word_o = {40'd0, credit_parity_i, credit_flow_i, credit_count_i};
    end else if (ready_i) begin
      case (state_q)
        StateFirst: begin
          kind_o  = rdma_pkg::KindData;
          word_o  = first;
          crc16_d = rdma_pkg::crc16_eight('1, first);
          state_d = StateSecond;
        end
        StateSecond: begin
          kind_o        = rdma_pkg::KindData;
          word_o        = {rdma_pkg::crc16_six(crc16_q, second), second};
          message_pop_o = 1'b1;
          left_d        = message_i.words;
          flow_d        = message_i.flow;
          crc32_d       = '0;
          state_d       = StatePayload;
        end
        StatePayload: begin
          kind_o     = rdma_pkg::KindData;
          word_o     = payload;
          data_pop_o = 1'b1;
          crc32_d    = rdma_pkg::crc32_word(crc32_q, payload);
          left_d     = left_q - 1'b1;
          state_d    = left_q == 10'd1 ? StateTrailer : StatePayload;
        end
        StateTrailer: begin
          kind_o  = rdma_pkg::KindData;
          word_o  = {32'd0, crc32_q};
          state_d = StateGap;
        end
        StateGap: begin
          state_d = StateNothing;
        end
        default: begin
          if (starts) begin
            kind_o  = rdma_pkg::KindStart;
            start_o = 1'b1;
            state_d = StateFirst;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    left_q  <= left_d;
    crc32_q <= crc32_d;
    crc16_q <= crc16_d;
    flow_q  <= flow_d;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StateNothing;
    end else begin
      state_q <= state_d;
    end
  end

endmodule
