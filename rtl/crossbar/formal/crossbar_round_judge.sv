// The judge of the round: somebody is chosen if anybody wants, only one who wants, and nobody waits for more
// than a round. It follows one port, any, that wants from some moment on.

module crossbar_round_judge #(
  parameter int unsigned PORTS = 5
) (
  input logic                     clk_i,
  input logic [PORTS-1:0]         wants_i,
  input logic                     take_i, // who is next has it
  input logic [$clog2(PORTS)-1:0] port_i  // the one that is followed
);

  localparam int unsigned PortWidth = $clog2(PORTS);
  typedef logic [PortWidth-1:0] port_t;

  logic  begun_q = 1'b0;
  port_t port_q = '0, last_q = port_t'(PORTS - 1), next;
  logic  any;
  // How many others had it since the port has been waiting.
  logic [PortWidth:0] others_q = '0;

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    if (!begun_q) port_q <= port_i;
  end
  always_comb begin
    m_a_port: assume (port_i < port_t'(PORTS));
  end

  crossbar_round #(.PORTS(PORTS)) u_round (
    .wants_i,
    .last_i(last_q),
    .any_o (any),
    .next_o(next)
  );

  logic waits;
  assign waits = begun_q && 1'(wants_i >> port_q);

  always_ff @(posedge clk_i) begin
    if (take_i && any) last_q <= next;
    if (!waits || (take_i && any && next == port_q)) others_q <= '0;
    else if (take_i && any) others_q <= others_q + 1'b1;
  end

  always_comb begin
    a_any: assert (any == (wants_i != '0));
    a_wants: assert (!any || 1'(wants_i >> next));
    a_in_range: assert (!any || next < port_t'(PORTS));
    a_within_a_round: assert (others_q < (PortWidth + 1)'(PORTS));
  end

endmodule
