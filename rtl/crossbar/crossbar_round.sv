// Who is next in the round: the first that wants something behind the one that had it last.

module crossbar_round #(
  parameter int unsigned PORTS = 8
) (
  input  logic [PORTS-1:0]         wants_i,
  input  logic [$clog2(PORTS)-1:0] last_i,
  output logic                     any_o,
  output logic [$clog2(PORTS)-1:0] next_o
);

  localparam int unsigned PortWidth = $clog2(PORTS);

  always_comb begin
    any_o  = 1'b0;
    next_o = '0;
    // From behind: those up to the last one first, then those after it, which overrule them.
    for (int i = PORTS - 1; i >= 0; i--) begin
      if (wants_i[i]) begin
        any_o  = 1'b1;
        next_o = PortWidth'(i);
      end
    end
    for (int i = PORTS - 1; i >= 0; i--) begin
      if (wants_i[i] && PortWidth'(i) > last_i) begin
        next_o = PortWidth'(i);
      end
    end
  end

endmodule
