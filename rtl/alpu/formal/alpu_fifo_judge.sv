// The judge of the FIFO in formal verification: any one word is followed from its push to its pop,
// by its place in the order of pushes. It comes out unchanged, once, after exactly the words before
// it.

module alpu_fifo_judge #(
  parameter int unsigned WIDTH = 2,
  parameter int unsigned DEPTH = 4
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             push_i,
  input logic [WIDTH-1:0] data_i,
  input logic             pop_i,
  input logic             follow_i // follow the word pushed now, if none is followed yet
);

  localparam int unsigned CountWidth = $clog2(DEPTH) + 1;

  logic             ready, valid;
  logic [WIDTH-1:0] data;

  alpu_fifo #(
    .WIDTH(WIDTH),
    .DEPTH(DEPTH)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .push_i,
    .ready_o(ready),
    .data_i,
    .pop_i,
    .valid_o(valid),
    .data_o (data)
  );

  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
  end
  always_comb begin
    m_reset: assume (rst_ni == begun_q);
  end

  logic                  push, pop;
  logic [CountWidth-1:0] count_q;   // words inside
  logic                  inside_q;  // the followed word is inside,
  logic [CountWidth-1:0] before_q;  // and so many words are before it
  logic [WIDTH-1:0]      word_q;
  assign push = push_i && ready;
  assign pop  = pop_i && valid;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q  <= '0;
      inside_q <= 1'b0;
    end else begin
      count_q <= count_q + CountWidth'(push) - CountWidth'(pop);
      if (!inside_q && push && follow_i) begin
        inside_q <= 1'b1;
        word_q   <= data_i;
        before_q <= count_q - CountWidth'(pop);
      end else if (inside_q && pop) begin
        inside_q <= before_q != '0;
        before_q <= before_q - 1'b1;
      end
    end
  end

  always_comb begin
    if (rst_ni && begun_q) begin
      a_ready: assert (ready == (count_q != CountWidth'(DEPTH)));
      a_valid: assert (valid == (count_q != '0));
      a_inside: assert (!inside_q || before_q < count_q);
      a_order: assert (!inside_q || before_q != '0 || (valid && data == word_q));
    end
  end

endmodule
