// Parses what the lanes bring, cut-through: each word of a packet goes to the receiving FIFO as it comes. A
// packet that the next one cuts off is filled up with what its header has announced: the sender has counted
// that, and no credit may be lost.

module rdma_receive (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [1:0]  kind_i, // credits are none of this
  input  logic [63:0] word_i,

  output logic        push_o,
  output logic [1:0]  kind_o,
  output logic [63:0] entry_o,

  output logic        header_error_o,
  output logic        payload_error_o,
  output logic        fills_o,
  output logic [2:0]  state_o
);

  typedef enum logic [2:0] {
    StateSkip, StateFirst, StateSecond, StatePayload, StateTrailer, StateFill
  } state_e;
  state_e state_d, state_q;

  logic [9:0]  left_d, left_q; // words of payload
  logic [31:0] crc32_d, crc32_q;
  logic [15:0] crc16_d, crc16_q;
  logic [63:0] first_d, first_q;
  logic        legal, good;
  logic [15:0] words;
  rdma_pkg::header_t header;

  assign words = first_q[abi_forth_pkg::PacketHeaderWordsLsb+:16];
  assign legal = words != '0 && words <= 16'(abi_forth_pkg::WordsMax) && first_q[2:0] == '0
      && first_q[abi_forth_pkg::PacketHeaderFlowLsb+:8] < 8'(abi_forth_pkg::Flows);
  assign header.destination = first_q[abi_forth_pkg::PacketHeaderDestinationLsb+:32];
  assign header.words       = words[9:0];
  assign header.flow        = first_q[abi_forth_pkg::PacketHeaderFlowLsb+:7];
  assign header.source      = word_i[7:0];
  assign header.interrupts   = (first_q[abi_forth_pkg::PacketHeaderFlagsLsb+:8]
      & abi_forth_pkg::PacketFlagInterrupt) != '0;
  assign good    = word_i == {32'd0, crc32_q};
  assign state_o = state_q;
  assign fills_o = state_q == StateFill;

  always_comb begin
    state_d         = state_q;
    left_d          = left_q;
    crc32_d         = crc32_q;
    crc16_d         = crc16_q;
    first_d         = first_q;
    push_o          = 1'b0;
    kind_o          = rdma_pkg::EntryData;
    entry_o         = '0;
    header_error_o  = 1'b0;
    payload_error_o = 1'b0;
    if (state_q == StateFill) begin
      push_o = 1'b1;
      left_d = left_q - 1'b1;
      if (left_q == '0) begin
        kind_o          = rdma_pkg::EntryEnd;
        payload_error_o = 1'b1;
        state_d         = StateSkip;
      end
    end else if (kind_i == rdma_pkg::KindStart) begin
      case (state_q)
        StatePayload: state_d = StateFill;
        StateTrailer: begin
          left_d  = '0;
          state_d = StateFill;
        end
        default: state_d = StateFirst;
      endcase
    end else if (kind_i == rdma_pkg::KindData) begin
      case (state_q)
        StateFirst: begin
          first_d = word_i;
          crc16_d = rdma_pkg::crc16_eight('1, word_i);
          state_d = StateSecond;
        end
        StateSecond: begin
          crc32_d = '0;
          left_d  = header.words;
          if (legal && rdma_pkg::crc16_six(crc16_q, word_i[47:0]) == word_i[63:48]) begin
            push_o  = 1'b1;
            kind_o  = rdma_pkg::EntryHeader;
            entry_o = 64'(header);
            state_d = StatePayload;
          end else begin
            header_error_o = 1'b1;
            state_d        = StateSkip;
          end
        end
        StatePayload: begin
          push_o  = 1'b1;
          entry_o = word_i;
          crc32_d = rdma_pkg::crc32_word(crc32_q, word_i);
          left_d  = left_q - 1'b1;
          state_d = left_q == 10'd1 ? StateTrailer : StatePayload;
        end
        StateTrailer: begin
          push_o          = 1'b1;
          kind_o          = rdma_pkg::EntryEnd;
          entry_o         = {63'd0, good};
          payload_error_o = !good;
          state_d         = StateSkip;
        end
        default: begin
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    left_q  <= left_d;
    crc32_q <= crc32_d;
    crc16_q <= crc16_d;
    first_q <= first_d;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StateSkip;
    end else begin
      state_q <= state_d;
    end
  end

endmodule
