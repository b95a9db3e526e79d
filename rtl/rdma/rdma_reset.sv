// The reset of both halves: by the card's pin, or because the host asks for it (CONTROL.RESET). The bus's half
// begins anew with that edge of its clock. The lanes' half is cleared by a flip-flop that this edge sets,
// whatever its own clock does, so that neither half ever sees a pointer of before; it goes on with the third
// edge of its clock after the next edge of the bus's, since its end of the reset comes through two flip-flops.

module rdma_reset (
  input  logic bus_clk_i,
  input  logic link_clk_i,
  input  logic rst_ni,       // as long as it is low, both clocks have an edge
  input  logic request_i,    // in this cycle of the bus's clock
  output logic bus_rst_no,   // of the bus's clock
  output logic link_rst_no,  // begins at any time, ends with an edge of the lanes' clock
  output logic bus_settled_o // edges of the bus's clock change nothing
);

  logic       clears_q;
  logic [1:0] ended_q;

  assign bus_rst_no    = rst_ni && !request_i;
  assign link_rst_no   = ended_q[1];
  assign bus_settled_o = !clears_q;

  always_ff @(posedge bus_clk_i) begin
    clears_q <= !bus_rst_no;
  end

  always_ff @(posedge link_clk_i or posedge clears_q) begin
    if (clears_q) ended_q <= '0;
    else          ended_q <= {ended_q[0], 1'b1};
  end

endmodule
