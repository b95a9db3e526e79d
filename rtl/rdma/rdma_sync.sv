// Brings bits that change rarely, or one at a time, into a clock: through two flip-flops.

module rdma_sync #(
  parameter int unsigned WIDTH = 1,
  parameter bit          ASYNC = 1'b0 // reset, as rdma_register has it
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

  rdma_register #(
    .WIDTH(2 * WIDTH),
    .ASYNC(ASYNC)
  ) u_register (
    .clk_i,
    .rst_ni,
    .data_i({first_q, data_i}),
    .data_o({second_q, first_q})
  );

endmodule
