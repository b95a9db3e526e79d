// An input: sorts the words of packets into the crosspoints of its row. The flow of a packet is the number
// of its output. A packet that is cut off is filled up with what its header has announced, so that its
// output comes to an end with it and no credit is lost.

module crossbar_input #(
  parameter int unsigned PORTS = 8
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  input  logic [1:0]               kind_i,
  input  logic [63:0]              data_i,

  output logic                     push_o,
  output logic [$clog2(PORTS)-1:0] to_o,
  output logic [63:0]              data_o,
  output logic                     error_o, // a header that says what cannot be
  output logic                     fills_o  // what a packet that was cut off owes is made up
);

  localparam int unsigned PortWidth = $clog2(PORTS);

  typedef enum logic [1:0] {StateSkip, StateHeader, StateBody, StateFill} state_e;

  state_e               state_d, state_q;
  logic [PortWidth-1:0] to_d, to_q;
  logic [9:0]           left_d, left_q; // words that are still to come

  logic [15:0] words;
  logic [7:0]  flow;
  logic        legal, start, data, last;

  assign words = data_i[abi_forth_pkg::PacketHeaderWordsLsb+:16];
  assign flow  = data_i[abi_forth_pkg::PacketHeaderFlowLsb+:8];
  assign legal = words != '0 && words <= 16'(abi_forth_pkg::WordsMax) && flow < 8'(PORTS);
  assign start = kind_i == crossbar_pkg::KindStart;
  assign data  = kind_i == crossbar_pkg::KindData;
  assign last  = left_q == 10'd1;

  assign fills_o = state_q == StateFill;

  always_comb begin
    state_d = state_q;
    to_d    = to_q;
    left_d  = left_q;
    push_o  = 1'b0;
    to_o    = to_q;
    data_o  = data_i;
    error_o = 1'b0;
    case (state_q)
      StateFill: begin
        push_o  = 1'b1;
        data_o  = '0;
        left_d  = left_q - 1'b1;
        state_d = last ? StateSkip : StateFill;
      end
      StateHeader: begin
        if (data && legal) begin
          push_o  = 1'b1;
          to_o    = flow[PortWidth-1:0];
          to_d    = flow[PortWidth-1:0];
          left_d  = words[9:0] + 10'd2; // second word of the header, trailer
          state_d = StateBody;
        end else if (data) begin
          error_o = 1'b1;
          state_d = StateSkip;
        end
      end
      StateBody: begin
        if (start) begin
          state_d = StateFill;
        end else if (data) begin
          push_o  = 1'b1;
          left_d  = left_q - 1'b1;
          state_d = last ? StateSkip : StateBody;
        end
      end
      default: begin
        if (start) begin
          state_d = StateHeader;
        end
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StateSkip;
      to_q    <= '0;
      left_q  <= '0;
    end else begin
      state_q <= state_d;
      to_q    <= to_d;
      left_q  <= left_d;
    end
  end

endmodule
