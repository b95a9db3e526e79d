// The judge of a crosspoint behind credits: a card that counts what it sends, and what it is told of, never
// overflows the buffer; words come out unchanged and in order; no credit is lost or made.

module crossbar_point_judge #(
  parameter int unsigned WIDTH = 2,
  parameter int unsigned DEPTH = 4,
  parameter int unsigned BITS  = 4
) (
  input logic             clk_i,
  input logic             want_i,    // the card has a word
  input logic [WIDTH-1:0] data_i,
  input logic             pop_i,
  input logic             tell_i,    // the output sends a credit
  input logic             deliver_i, // which comes at the card some time later
  input logic             follow_i   // the word that is pushed now, if none is followed yet
);

  typedef logic [BITS-1:0] count_t;

  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
  end

  logic             send, valid, pop, told, deliver, overflow;
  logic [WIDTH-1:0] data;
  count_t           untold, freed, sent_q = '0, credited_q = '0, flying_q = '0, outstanding;
  logic             flies_q = 1'b0;

  assign outstanding = sent_q - credited_q;
  assign send        = begun_q && want_i && outstanding < count_t'(DEPTH);
  assign pop         = begun_q && pop_i && valid;
  assign told        = begun_q && tell_i && untold != '0 && !flies_q;
  assign deliver     = flies_q && deliver_i;

  crossbar_point #(
    .WIDTH(WIDTH),
    .DEPTH(DEPTH),
    .BITS (BITS)
  ) u_point (
    .clk_i,
    .rst_ni    (begun_q),
    .push_i    (send),
    .data_i,
    .overflow_o(overflow),
    .valid_o   (valid),
    .data_o    (data),
    .pop_i     (pop),
    .told_i    (told),
    .untold_o  (untold),
    .freed_o   (freed)
  );

  count_t           inside_q = '0, before_q = '0; // words inside; before the followed one
  logic             followed_q = 1'b0;
  logic [WIDTH-1:0] word_q = '0;

  always_ff @(posedge clk_i) begin
    sent_q   <= sent_q + count_t'(send);
    inside_q <= inside_q + count_t'(send) - count_t'(pop);
    if (told) flying_q <= freed;
    if (deliver) credited_q <= flying_q;
    flies_q <= told || (flies_q && !deliver);
    if (!followed_q && send && follow_i) begin
      followed_q <= 1'b1;
      word_q     <= data_i;
      before_q   <= inside_q - count_t'(pop);
    end else if (followed_q && pop) begin
      followed_q <= before_q != '0;
      before_q   <= before_q - 1'b1;
    end
  end

  always_comb begin
    if (begun_q) begin
      a_never_an_overflow: assert (!overflow && inside_q <= count_t'(DEPTH));
      a_no_credit_made: assert (outstanding >= inside_q);
      a_freed_is_true: assert (sent_q - freed == inside_q);
      a_no_credit_lost: assert (untold != '0 || flies_q || outstanding == inside_q);
      a_valid: assert (valid == (inside_q != '0));
      a_order: assert (!followed_q || before_q != '0 || data == word_q);
    end
  end

endmodule
