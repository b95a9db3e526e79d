// Writes what arrives to host memory, cut-through: a packet's transfer begins with the words up to the next
// boundary of 128 bytes. Tells the sender of the words that have left the receiving FIFO.

module rdma_deposit #(
  parameter int unsigned RX_DEPTH = 1024
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        receive_i, // switched on
  input  logic                        frozen_i,  // no packet is begun

  // The receiving FIFO.
  input  logic [$clog2(RX_DEPTH):0]   count_i,
  input  logic [1:0]                  kind_i,
  input  rdma_pkg::header_t           data_i,    // of which the last word needs one bit
  output logic                        pop_o,
  input  logic [$clog2(RX_DEPTH):0]   next_count_i, // after this cycle

  // The bus.
  input  logic                        owner_i,   // the transfer at the bus is this one
  input  logic                        took_i,    // a word of it has gone
  input  logic                        ended_i,
  output logic [63:0]                 addr_o,
  output logic [9:0]                  words_o,
  output logic                        on_o,      // at a boundary: the next block is there
  output logic                        next_wants_o, // the bus, after this cycle

  // Words that were freed.
  input  logic                        freed_room_i,
  output logic                        freed_valid_o,
  output rdma_pkg::share_t            freed_o,

  output logic                        active_o,
  output logic                        finish_o, // a packet is in memory
  output logic                        good_o,   // and its CRC was right
  output rdma_pkg::header_t           header_o
);

  localparam int unsigned Block = 16;    // words between boundaries
  localparam int unsigned HeaderWords = 2; // of which the FIFO holds one entry

  rdma_pkg::header_t header_d, header_q;
  logic        active_d, active_q;
  logic [29:0] addr_d, addr_q;   // in words
  logic [9:0]  left_d, left_q;   // words that are to be written
  logic [9:0]  freed_d, freed_q; // words that the sender has not been told of
  logic        some, body, took, ended, enough;
  logic [9:0]  until_boundary, wanted;

  assign some  = count_i != '0;
  assign body  = active_q && left_q != '0;
  assign took  = body && owner_i && took_i;
  assign ended = body && owner_i && ended_i;

  always_comb begin
    active_d      = active_q;
    header_d      = header_q;
    addr_d        = addr_q;
    left_d        = left_q;
    freed_d       = freed_q;
    pop_o         = 1'b0;
    enough        = 1'b0;
    freed_valid_o = 1'b0;
    freed_o       = '{flow: header_q.flow, words: '0};
    finish_o      = 1'b0;
    if (!active_q) begin
      if (receive_i && !frozen_i && some && kind_i == rdma_pkg::EntryHeader) begin
        pop_o    = 1'b1;
        active_d = 1'b1;
        header_d = data_i;
        addr_d   = {1'b0, header_d.destination[31:3]};
        left_d   = header_d.words;
        freed_d  = 10'(HeaderWords);
      end
    end else if (!body) begin
      pop_o = some && freed_room_i && !owner_i;
      if (pop_o && kind_i == rdma_pkg::EntryEnd) begin
        finish_o      = 1'b1;
        active_d      = 1'b0;
        freed_valid_o = 1'b1;
        freed_o.words = 16'(freed_q) + 1'b1;
      end
    end else begin
      if (took) begin
        pop_o   = 1'b1;
        addr_d  = addr_q + 1'b1;
        left_d  = left_q - 1'b1;
        freed_d = freed_q + 1'b1;
      end
      enough = freed_d >= 10'(Block) || ended;
      if (enough && freed_room_i && freed_d != '0) begin
        freed_valid_o = 1'b1;
        freed_o.words = 16'(freed_d);
        freed_d       = '0;
      end
    end
  end

  assign until_boundary = 10'(Block) - 10'(addr_d[3:0]);
  assign wanted         = left_d < until_boundary ? left_d : until_boundary;
  assign next_wants_o   = active_d && left_d != '0 && receive_i
      && 16'(next_count_i) >= 16'(wanted);

  // Of what stands behind the word that goes now, a block or all that is left.
  logic [9:0]  behind;
  logic [15:0] more;
  assign behind = left_q == '0 ? '0 : left_q - 1'b1;
  assign more   = some ? 16'(count_i) - 1'b1 : '0;
  assign on_o   = active_q && more >= (behind < 10'(Block) ? 16'(behind) : 16'(Block));

  assign addr_o   = {31'd0, addr_q, 3'd0};
  assign words_o  = left_q;
  assign active_o = active_q;
  assign good_o   = data_i.destination[0];
  assign header_o = header_q;


  always_ff @(posedge clk_i) begin
    header_q <= header_d;
    addr_q   <= addr_d;
    freed_q  <= freed_d;
    if (!rst_ni) begin
      active_q <= 1'b0;
      left_q   <= '0;
    end else begin
      active_q <= active_d;
      left_q   <= left_d;
    end
  end

endmodule
