// Counts, and tells the count in Gray code, too: so it can be read from another clock.

module rdma_counter (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        count_i,
  output logic [63:0] total_o,
  output logic [63:0] gray_o
);

  logic [63:0] total_d;

  assign total_d = total_o + 64'(count_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      total_o <= '0;
      gray_o  <= '0;
    end else begin
      total_o <= total_d;
      gray_o  <= total_d ^ (total_d >> 1);
    end
  end

endmodule
