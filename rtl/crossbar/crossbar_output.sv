// An output: takes packets from its column in turn, whole, with the credits of the card behind it, and sends
// this card the credits of its row: at once where many words are to be told of, else between packets.

module crossbar_output #(
  parameter int unsigned PORTS  = 8,
  parameter int unsigned PORT   = 0,   // this one
  parameter int unsigned BITS   = 12,  // of the counts towards the card
  parameter int unsigned LIMIT  = 640, // words of the card's buffer
  parameter int unsigned POINT  = 12,  // bits of the counts of crosspoints
  parameter int unsigned URGENT = 64
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  input  logic                        ready_i, // the lane takes a word in this cycle
  output logic [1:0]                  kind_o,
  output logic [63:0]                 data_o,

  input  logic [PORTS-1:0]            column_valid_i,
  input  logic [PORTS-1:0][63:0]      column_data_i,
  output logic [PORTS-1:0]            pop_o,
  output logic [PORTS-1:0]            start_o, // a packet of this input begins to leave

  input  logic [PORTS-1:0][POINT-1:0] row_untold_i,
  input  logic [PORTS-1:0][POINT-1:0] row_freed_i,
  output logic [PORTS-1:0]            told_o,

  input  logic                        credit_valid_i,
  input  logic [23:0]                 credit_i,
  output logic                        credit_error_o, // discarded
  output logic                        quiet_o         // nothing is sent or in the card's buffer
);

  localparam int unsigned PortWidth = $clog2(PORTS);
  typedef logic [PortWidth-1:0] port_t;

  typedef enum logic [1:0] {StateNothing, StateBody, StateGap} state_e;

  state_e          state_d, state_q;
  port_t           from_d, from_q;       // whose packet is, or was, sent
  port_t           told_q;               // whose credit was the last
  logic [9:0]      left_d, left_q;       // words of the packet
  logic [BITS-1:0] sent_d, sent_q, credited_q;

  // ---- whose packet, and whose credit ----------------------------------------------------------------

  logic [PORTS-1:0] waits, hurries;
  always_comb begin
    for (int i = 0; i < PORTS; i++) begin
      waits[i]   = row_untold_i[i] != '0;
      hurries[i] = row_untold_i[i] >= POINT'(URGENT);
    end
  end

  logic  has_packet, has_hurry, has_wait;
  port_t packet, hurry, waiter;
  crossbar_round #(.PORTS(PORTS)) u_packet (
    .wants_i(column_valid_i),
    .last_i (from_q),
    .any_o  (has_packet),
    .next_o (packet)
  );
  crossbar_round #(.PORTS(PORTS)) u_hurry (
    .wants_i(hurries),
    .last_i (told_q),
    .any_o  (has_hurry),
    .next_o (hurry)
  );
  crossbar_round #(.PORTS(PORTS)) u_wait (
    .wants_i(waits),
    .last_i (told_q),
    .any_o  (has_wait),
    .next_o (waiter)
  );

  logic [63:0]     word;
  logic [9:0]      words; // of the packet that is next
  logic [BITS-1:0] outstanding;
  logic            fits, step;

  assign word  = column_data_i[from_q];
  assign words = column_data_i[packet][abi_forth_pkg::PacketHeaderWordsLsb+:10]
      + 10'(abi_forth_pkg::PacketOverhead);
  assign outstanding = sent_q - credited_q;
  // A packet may have more words than the card's buffer, which never has room for it.
  assign fits  = 32'(outstanding) + 32'(words) <= LIMIT;
  assign step  = state_q == StateBody ? column_valid_i[from_q]
      : state_q == StateNothing && has_packet && fits;

  // ---- what is sent ----------------------------------------------------------------------------------

  logic        tell;
  port_t       told;
  logic [15:0] count;
  logic [6:0]  told_flow;

  assign tell      = ready_i && state_q != StateGap && (has_hurry || (has_wait && !step));
  assign told      = has_hurry ? hurry : waiter;
  assign count     = 16'(row_freed_i[told]);
  assign told_flow = 7'(told);

  always_comb begin
    state_d = state_q;
    from_d  = from_q;
    left_d  = left_q;
    sent_d  = sent_q;
    kind_o  = crossbar_pkg::KindNone;
    data_o  = '0;
    pop_o   = '0;
    start_o = '0;
    told_o  = '0;
    if (tell) begin
      kind_o       = crossbar_pkg::KindCredit;
      data_o       = {40'd0, ^{told_flow, count}, told_flow, count};
      told_o[told] = 1'b1;
    end else if (ready_i) begin
      case (state_q)
        StateGap: begin
          state_d = StateNothing;
        end
        StateBody: begin
          if (step) begin
            kind_o        = crossbar_pkg::KindData;
            data_o        = word;
            pop_o[from_q] = 1'b1;
            left_d        = left_q - 1'b1;
            state_d       = left_q == 10'd1 ? StateGap : StateBody;
          end
        end
        default: begin
          if (step) begin
            kind_o  = crossbar_pkg::KindStart;
            start_o[packet] = 1'b1;
            from_d  = packet;
            left_d  = words;
            sent_d  = sent_q + BITS'(words);
            state_d = StateBody;
          end
        end
      endcase
    end
  end

  logic whole;
  assign whole = ^credit_i[22:0] == credit_i[23] && credit_i[22:16] == 7'(PORT);
  assign credit_error_o = credit_valid_i && !whole;
  assign quiet_o        = state_q == StateNothing && sent_q == credited_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StateNothing;
      from_q     <= port_t'(PORTS - 1);
      told_q     <= port_t'(PORTS - 1);
      left_q     <= '0;
      sent_q     <= '0;
      credited_q <= '0;
    end else begin
      state_q <= state_d;
      from_q  <= from_d;
      left_q  <= left_d;
      sent_q  <= sent_d;
      if (tell) begin
        told_q <= told;
      end
      if (credit_valid_i && whole) begin
        credited_q <= credit_i[BITS-1:0];
      end
    end
  end

endmodule
