// What the monitor shows of an output: words and packets of each input.

module crossbar_count #(
  parameter int unsigned PORTS = 8
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [PORTS-1:0]         pop_i,   // a word leaves; one at most
  input  logic [PORTS-1:0]         start_i, // a packet begins to
  input  logic [$clog2(PORTS)-1:0] look_input_i,
  output logic [63:0]              look_words_o,
  output logic [63:0]              look_packets_o
);

  logic [63:0] words_q [PORTS];
  logic [63:0] packets_q [PORTS];

  assign look_words_o   = words_q[look_input_i];
  assign look_packets_o = packets_q[look_input_i];

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < PORTS; i++) begin
      if (!rst_ni) begin
        words_q[i]   <= '0;
        packets_q[i] <= '0;
      end else begin
        if (pop_i[i]) words_q[i] <= words_q[i] + 1'b1;
        if (start_i[i]) packets_q[i] <= packets_q[i] + 1'b1;
      end
    end
  end

endmodule
