// The buffered crossbar: a buffer at each crosspoint, outputs that take packets in turn, credits both ways.
// The lanes with their alignment stand outside: a word of each comes in, a word for each goes out.

module crossbar #(
  parameter int unsigned PORTS  = 8,
  parameter int unsigned DEPTH  = 1024, // words of a crosspoint, a power of two
  parameter int unsigned LIMIT  = 640,  // words of a card's buffer
  parameter int unsigned URGENT = 64
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic [PORTS-1:0][1:0]  kind_i,
  input  logic [PORTS-1:0][63:0] data_i,

  input  logic [PORTS-1:0]       ready_i,
  output logic [PORTS-1:0][1:0]  kind_o,
  output logic [PORTS-1:0][63:0] data_o,

  output logic [PORTS-1:0]       header_error_o,
  output logic [PORTS-1:0]       credit_error_o,
  output logic [PORTS-1:0]       overflow_o, // of any crosspoint of an input's row

  // For those who look on: nothing is in it, all is told; and what a crosspoint has counted.
  output logic                     quiet_o,
  input  logic [$clog2(PORTS)-1:0] look_input_i,
  input  logic [$clog2(PORTS)-1:0] look_output_i,
  output logic [$clog2(DEPTH):0]   look_occupancy_o,
  output logic [63:0]              look_words_o,  // that have left it
  output logic [63:0]              look_packets_o // that have begun to leave it
);

  localparam int unsigned PortWidth = $clog2(PORTS);
  localparam int unsigned PointBits = $clog2(DEPTH) + 2;
  localparam int unsigned CardBits  = $clog2(LIMIT) + 2;
  typedef logic [$clog2(PORTS*PORTS)-1:0] place_t; // of a crosspoint

  // Row by row: [input][output].
  logic [PORTS-1:0]                           push;
  logic [PORTS-1:0][PortWidth-1:0]            to;
  logic [PORTS-1:0][63:0]                     put;
  logic [PORTS-1:0][PORTS-1:0]                valid, pop, told, overflow;
  logic [PORTS-1:0][PORTS-1:0][63:0]          word;
  logic [PORTS-1:0][PORTS-1:0][PointBits-1:0] untold, freed;
  logic [$clog2(DEPTH):0]                     count [PORTS*PORTS];
  logic [PORTS*PORTS-1:0]                     kept; // a word, or one to be told of
  logic [PORTS-1:0]                           fills, quiet;
  logic [63:0]                                words [PORTS];
  logic [63:0]                                packets [PORTS];

  assign quiet_o          = kept == '0 && fills == '0 && quiet == '1;
  assign look_occupancy_o = count[place_t'(look_input_i) * place_t'(PORTS)
      + place_t'(look_output_i)];
  assign look_words_o     = words[look_output_i];
  assign look_packets_o   = packets[look_output_i];

  for (genvar i = 0; i < PORTS; i++) begin : gen_input
    crossbar_input #(
      .PORTS(PORTS)
    ) u_input (
      .clk_i,
      .rst_ni,
      .kind_i (kind_i[i]),
      .data_i (data_i[i]),
      .push_o (push[i]),
      .to_o   (to[i]),
      .data_o (put[i]),
      .error_o(header_error_o[i]),
      .fills_o(fills[i])
    );
    assign overflow_o[i] = |overflow[i];

    for (genvar j = 0; j < PORTS; j++) begin : gen_point
      crossbar_point #(
        .DEPTH(DEPTH),
        .BITS (PointBits)
      ) u_point (
        .clk_i,
        .rst_ni,
        .push_i    (push[i] && to[i] == PortWidth'(j)),
        .data_i    (put[i]),
        .overflow_o(overflow[i][j]),
        .valid_o   (valid[i][j]),
        .data_o    (word[i][j]),
        .pop_i     (pop[i][j]),
        .told_i    (told[i][j]),
        .untold_o  (untold[i][j]),
        .freed_o   (freed[i][j]),
        .count_o   (count[i*PORTS+j])
      );
      assign kept[i*PORTS+j] = valid[i][j] || untold[i][j] != '0;
    end
  end

  for (genvar j = 0; j < PORTS; j++) begin : gen_output
    logic [PORTS-1:0]       column_valid, column_pop, column_start;
    logic [PORTS-1:0][63:0] column_data;
    for (genvar i = 0; i < PORTS; i++) begin : gen_column
      assign column_valid[i] = valid[i][j];
      assign column_data[i]  = word[i][j];
      assign pop[i][j]       = column_pop[i];
    end
    crossbar_output #(
      .PORTS (PORTS),
      .PORT  (j),
      .BITS  (CardBits),
      .LIMIT (LIMIT),
      .POINT (PointBits),
      .URGENT(URGENT)
    ) u_output (
      .clk_i,
      .rst_ni,
      .ready_i       (ready_i[j]),
      .kind_o        (kind_o[j]),
      .data_o        (data_o[j]),
      .column_valid_i(column_valid),
      .column_data_i (column_data),
      .pop_o         (column_pop),
      .start_o       (column_start),
      .row_untold_i  (untold[j]),
      .row_freed_i   (freed[j]),
      .told_o        (told[j]),
      .credit_valid_i(kind_i[j] == crossbar_pkg::KindCredit),
      .credit_i      (data_i[j][23:0]),
      .credit_error_o(credit_error_o[j]),
      .quiet_o       (quiet[j])
    );
    crossbar_count #(
      .PORTS(PORTS)
    ) u_count (
      .clk_i,
      .rst_ni,
      .pop_i         (column_pop),
      .start_i       (column_start),
      .look_input_i,
      .look_words_o  (words[j]),
      .look_packets_o(packets[j])
    );
  end

endmodule
