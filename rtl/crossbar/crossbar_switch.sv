// The crossbar with its lanes: one in each direction for each port. The transceivers stand outside.
//
// The parts that a card has, too, take their reset at once. Here it ends with an edge of the only clock.
/* verilator lint_off SYNCASYNCNET */

module crossbar_switch #(
  parameter int unsigned PORTS  = 8,
  parameter int unsigned DEPTH  = 1024, // words of a crosspoint, a power of two
  parameter int unsigned LIMIT  = 640,  // words of a card's buffer
  parameter int unsigned URGENT = 64
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  input  logic [PORTS-1:0][31:0]   bytes_i,
  input  logic [PORTS-1:0][3:0]    control_i,
  output logic [PORTS-1:0][31:0]   bytes_o,
  output logic [PORTS-1:0][3:0]    control_o,

  // For those who look on.
  output logic                     rests_o, // edges change nothing until a symbol is not idle
  output logic [63:0]              header_errors_o,
  output logic [63:0]              credit_errors_o,
  output logic [63:0]              overflows_o,
  output logic [63:0]              bond_errors_o,
  input  logic [$clog2(PORTS)-1:0] look_input_i,
  input  logic [$clog2(PORTS)-1:0] look_output_i,
  output logic [$clog2(DEPTH):0]   look_occupancy_o,
  output logic [63:0]              look_words_o,
  output logic [63:0]              look_packets_o
);

  logic [PORTS-1:0][1:0]  came_kind, sent_kind;
  logic [PORTS-1:0][63:0] came_word, sent_word;
  logic [PORTS-1:0]       ready, lost, empty, header_error, credit_error, overflow;
  logic                   quiet;

  for (genvar i = 0; i < PORTS; i++) begin : gen_lane
    logic [1:0]  unused_errors;
    logic [3:0][7:0] unused_status;
    logic [35:0] unused_lane;
    rdma_link_rx #(
      .LANES(1)
    ) u_rx (
      .clk_i,
      .rst_ni,
      .bytes_i  ({32'd0, bytes_i[i]}),
      .control_i({4'd0, control_i[i]}),
      .kind_o   (came_kind[i]),
      .data_o   (came_word[i]),
      .errors_o (unused_errors),
      .lost_o   (lost[i]),
      .empty_o  (empty[i]),
      .status_o (unused_status)
    );
    rdma_link_tx #(
      .LANES(1)
    ) u_tx (
      .clk_i,
      .rst_ni,
      .ready_o  (ready[i]),
      .kind_i   (sent_kind[i]),
      .data_i   (sent_word[i]),
      .bytes_o  ({unused_lane[31:0], bytes_o[i]}),
      .control_o({unused_lane[35:32], control_o[i]})
    );
  end

  crossbar #(
    .PORTS (PORTS),
    .DEPTH (DEPTH),
    .LIMIT (LIMIT),
    .URGENT(URGENT)
  ) u_crossbar (
    .clk_i,
    .rst_ni,
    .kind_i        (came_kind),
    .data_i        (came_word),
    .ready_i       (ready),
    .kind_o        (sent_kind),
    .data_o        (sent_word),
    .header_error_o(header_error),
    .credit_error_o(credit_error),
    .overflow_o    (overflow),
    .quiet_o       (quiet),
    .look_input_i,
    .look_output_i,
    .look_occupancy_o,
    .look_words_o,
    .look_packets_o
  );

  assign rests_o = quiet && empty == '1 && ready == '1;

  function automatic logic [63:0] number(input logic [PORTS-1:0] bits);
    number = '0;
    for (int i = 0; i < PORTS; i++) begin
      number = number + 64'(bits[i]);
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      header_errors_o <= '0;
      credit_errors_o <= '0;
      overflows_o     <= '0;
      bond_errors_o   <= '0;
    end else begin
      if (header_error != '0) header_errors_o <= header_errors_o + number(header_error);
      if (credit_error != '0) credit_errors_o <= credit_errors_o + number(credit_error);
      if (overflow != '0) overflows_o <= overflows_o + number(overflow);
      if (lost != '0) bond_errors_o <= bond_errors_o + number(lost);
    end
  end

endmodule
