// The judge of the FIFO between two clocks. Both clocks tick when they like. Any one word is followed by
// its place in the order of pushes: it comes out unchanged, once, in its place; and no more words are
// inside than there is room for.

module rdma_fifo_judge #(
  parameter int unsigned WIDTH = 4,
  parameter int unsigned DEPTH = 4,
  parameter int unsigned COUNT = 5 // bits of the judge's counters
) (
  input logic             clk_i, // of time itself
  input logic             wtick_i,
  input logic             rtick_i,
  input logic             push_i,
  input logic             pop_i,
  input logic [WIDTH-1:0] data_i,
  input logic [COUNT-1:0] nth_i
);

  localparam int unsigned CountWidth = $clog2(DEPTH) + 1;
  typedef logic [COUNT-1:0] count_t;

  logic wclk_q = 1'b0, rclk_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (wtick_i) wclk_q <= !wclk_q;
    if (rtick_i) rclk_q <= !rclk_q;
  end

  // Reset ends on either side once both have had an edge in it.
  logic wseen_q = 1'b0, rseen_q = 1'b0, wrst_q = 1'b0, rrst_q = 1'b0;
  always_ff @(posedge wclk_q) begin
    wseen_q <= 1'b1;
    wrst_q  <= wseen_q && rseen_q;
  end
  always_ff @(posedge rclk_q) begin
    rseen_q <= 1'b1;
    rrst_q  <= wseen_q && rseen_q;
  end

  // Inputs change between the edges of their own clock.
  logic             push_q = 1'b0, pop_q = 1'b0;
  logic [WIDTH-1:0] put_q = '0;
  always_ff @(negedge wclk_q) begin
    push_q <= push_i;
    put_q  <= data_i;
  end
  always_ff @(negedge rclk_q) begin
    pop_q <= pop_i;
  end

  logic [CountWidth-1:0] room, count;
  logic [WIDTH-1:0]      got;

  rdma_fifo #(
    .WIDTH(WIDTH),
    .DEPTH(DEPTH)
  ) u_fifo (
    .wclk_i (wclk_q),
    .wrst_ni(wrst_q),
    .push_i (push_q),
    .data_i (put_q),
    .room_o (room),
    .rclk_i (rclk_q),
    .rrst_ni(rrst_q),
    .pop_i  (pop_q),
    .data_o (got),
    .count_o(count)
  );

  // Words pushed and popped so far, and the one that is followed.
  count_t           in_q = '0, out_q = '0, nth_q = '0;
  logic [WIDTH-1:0] word_q = '0;
  logic             begun_q = 1'b0, seen_q = 1'b0;

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    if (!begun_q) nth_q <= nth_i;
  end
  always_ff @(posedge wclk_q) begin
    if (wrst_q && push_q && room != '0) begin
      in_q <= in_q + 1'b1;
      if (in_q == nth_q && !seen_q) begin
        word_q <= put_q;
        seen_q <= 1'b1;
      end
    end
  end
  always_ff @(posedge rclk_q) begin
    if (rrst_q && pop_q && count != '0) begin
      out_q <= out_q + 1'b1;
    end
  end

  // The search ends before the judge's own counters wrap.
  logic counting;
  assign counting = begun_q && in_q < ~count_t'(0) - 1'b1;

  always_comb begin
    if (counting) begin
      a_never_more_out_than_in: assert (out_q <= in_q);
      a_never_an_overflow: assert (in_q - out_q <= count_t'(DEPTH));
      a_count_is_known_late: assert (count_t'(count) <= in_q - out_q || !rrst_q);
      a_room_is_known_late: assert (count_t'(room) <= count_t'(DEPTH) - (in_q - out_q) || !wrst_q);
      a_order: assert (!(rrst_q && count != '0 && seen_q && out_q == nth_q) || got == word_q);
    end
  end

endmodule
