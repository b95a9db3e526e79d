// Flip-flops that a reset clears: with an edge of their clock, or, in the lanes' half, at once.

module rdma_register #(
  parameter int unsigned WIDTH = 1,
  parameter bit          ASYNC = 1'b0
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [WIDTH-1:0] data_i,
  output logic [WIDTH-1:0] data_o
);

  if (ASYNC) begin : gen_at_once
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) data_o <= '0;
      else         data_o <= data_i;
    end
  end else begin : gen_with_the_edge
    always_ff @(posedge clk_i) begin
      if (!rst_ni) data_o <= '0;
      else         data_o <= data_i;
    end
  end

endmodule
