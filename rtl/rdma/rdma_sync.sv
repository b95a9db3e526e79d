// Brings bits that change rarely, or one at a time, into a clock: through two flip-flops.

module rdma_sync #(
  parameter int unsigned WIDTH = 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [WIDTH-1:0] data_i,
  output logic [WIDTH-1:0] data_o,
  output logic             settled_o // edges change nothing as long as data_i stays
);

  logic [WIDTH-1:0] first_q, second_q;

  assign data_o    = second_q;
  assign settled_o = first_q == data_i && second_q == data_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_q  <= '0;
      second_q <= '0;
    end else begin
      first_q  <= data_i;
      second_q <= first_q;
    end
  end

endmodule
