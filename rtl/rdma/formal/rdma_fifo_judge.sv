// The judge of the FIFO between two clocks and of its resets. Both clocks tick when they like, and the host
// asks for a reset when it likes. Any one word since the last is followed by its place in the order of pushes:
// it comes out unchanged, once, in its place; and no more words are inside than there is room for. Nothing
// from before a reset comes out.

module rdma_fifo_judge #(
  parameter int unsigned WIDTH = 4,
  parameter int unsigned DEPTH = 4,
  parameter int unsigned COUNT = 5, // bits of the judge's counters
  parameter bit          BACK  = 1'b0 // from the lanes' clock to the bus's
) (
  input logic             clk_i, // of time itself
  input logic             bus_tick_i,
  input logic             link_tick_i,
  input logic             request_i,
  input logic             push_i,
  input logic             pop_i,
  input logic [WIDTH-1:0] data_i,
  input logic [COUNT-1:0] nth_i
);

  localparam int unsigned CountWidth = $clog2(DEPTH) + 1;
  typedef logic [COUNT-1:0] count_t;

  logic bus_clk_q = 1'b0, link_clk_q = 1'b0, write_clk, read_clk;
  always_ff @(posedge clk_i) begin
    if (bus_tick_i) bus_clk_q <= !bus_clk_q;
    if (link_tick_i) link_clk_q <= !link_clk_q;
  end
  assign write_clk = BACK ? link_clk_q : bus_clk_q;
  assign read_clk  = BACK ? bus_clk_q : link_clk_q;

  // The pin is low until both clocks have had edges in it.
  logic       bus_seen_q = 1'b0, rst_q = 1'b0;
  logic [2:0] link_seen_q = '0;
  always_ff @(posedge bus_clk_q) begin
    bus_seen_q <= 1'b1;
    rst_q      <= link_seen_q[2];
  end
  always_ff @(posedge link_clk_q) begin
    link_seen_q <= {link_seen_q[1:0], bus_seen_q};
  end

  // Inputs change between the edges of their own clock.
  logic             request_q = 1'b0, push_q = 1'b0, pop_q = 1'b0;
  logic [WIDTH-1:0] put_q = '0;
  always_ff @(negedge bus_clk_q) begin
    request_q <= request_i;
  end
  always_ff @(negedge write_clk) begin
    push_q <= push_i;
    put_q  <= data_i;
  end
  always_ff @(negedge read_clk) begin
    pop_q <= pop_i;
  end

  logic bus_rst_n, link_rst_n, write_rst_n, read_rst_n, bus_settled;
  rdma_reset u_reset (
    .bus_clk_i    (bus_clk_q),
    .link_clk_i   (link_clk_q),
    .rst_ni       (rst_q),
    .request_i    (request_q),
    .bus_rst_no   (bus_rst_n),
    .link_rst_no  (link_rst_n),
    .bus_settled_o(bus_settled)
  );
  assign write_rst_n = BACK ? link_rst_n : bus_rst_n;
  assign read_rst_n  = BACK ? bus_rst_n : link_rst_n;

  logic [CountWidth-1:0] room, count;
  logic [WIDTH-1:0]      got;

  rdma_fifo #(
    .WIDTH       (WIDTH),
    .DEPTH       (DEPTH),
    .WRITER_ASYNC(BACK)
  ) u_fifo (
    .wclk_i (write_clk),
    .wrst_ni(write_rst_n),
    .push_i (push_q),
    .data_i (put_q),
    .room_o (room),
    .rclk_i (read_clk),
    .rrst_ni(read_rst_n),
    .pop_i  (pop_q),
    .data_o (got),
    .count_o(count)
  );

  // Words pushed and popped since the last reset, and the one that is followed.
  count_t           in_q, out_q, nth_q = '0;
  logic [WIDTH-1:0] word_q = '0;
  logic             begun_q = 1'b0, seen_q, pushed, followed;

  assign pushed   = push_q && room != '0;
  assign followed = pushed && in_q == nth_q && !seen_q;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    if (!begun_q) nth_q <= nth_i;
  end
  always_ff @(posedge write_clk) begin
    if (followed) word_q <= put_q;
  end
  rdma_register #(
    .WIDTH(COUNT + 1),
    .ASYNC(BACK)
  ) u_in (
    .clk_i (write_clk),
    .rst_ni(write_rst_n),
    .data_i({in_q + count_t'(pushed), seen_q || followed}),
    .data_o({in_q, seen_q})
  );
  rdma_register #(
    .WIDTH(COUNT),
    .ASYNC(!BACK)
  ) u_out (
    .clk_i (read_clk),
    .rst_ni(read_rst_n),
    .data_i(out_q + count_t'(pop_q && count != '0)),
    .data_o(out_q)
  );

  // The search ends before the judge's own counters wrap.
  logic counting;
  assign counting = rst_q && in_q < ~count_t'(0) - 1'b1;

  always_comb begin
    if (counting) begin
      a_never_more_out_than_in: assert (out_q <= in_q);
      a_never_an_overflow: assert (in_q - out_q <= count_t'(DEPTH));
      a_count_is_known_late: assert (count_t'(count) <= in_q - out_q);
      a_room_is_known_late: assert (count_t'(room) <= count_t'(DEPTH) - (in_q - out_q));
      a_order: assert (!(count != '0 && seen_q && out_q == nth_q) || got == word_q);
    end
  end

endmodule
