// A crosspoint: a buffer, and what the card at its input is to be told of it.

module crossbar_point #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned DEPTH = 1024, // a power of two
  parameter int unsigned BITS  = 12    // of the count: log2 of the depth, and two
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             push_i,
  input  logic [WIDTH-1:0] data_i,
  output logic             overflow_o, // a word was lost

  output logic             valid_o,
  output logic [WIDTH-1:0] data_o,
  input  logic             pop_i,

  input  logic             told_i,   // a credit has told of all that has left before this cycle
  output logic [BITS-1:0]  untold_o, // words that have left since the last one; saturating
  output logic [BITS-1:0]  freed_o,  // words that have left, cumulative
  output logic [$clog2(DEPTH):0] count_o // words in it
);

  localparam int unsigned PtrWidth = $clog2(DEPTH);

  logic [WIDTH-1:0]    words [DEPTH];
  logic [PtrWidth-1:0] read_q, write_q;
  logic [PtrWidth:0]   count_q;
  logic [BITS-1:0]     untold_q, freed_q, kept;
  logic                full, push, pop;

  assign full       = count_q == (PtrWidth + 1)'(DEPTH);
  assign push       = push_i && !full;
  assign overflow_o = push_i && full;
  assign valid_o    = count_q != '0;
  assign pop        = pop_i && valid_o;
  assign data_o     = words[read_q];
  assign untold_o   = untold_q;
  assign freed_o    = freed_q;
  assign count_o    = count_q;
  assign kept       = told_i ? '0 : untold_q;

  always_ff @(posedge clk_i) begin
    if (push) begin
      words[write_q] <= data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q   <= '0;
      write_q  <= '0;
      count_q  <= '0;
      untold_q <= '0;
      freed_q  <= '0;
    end else begin
      write_q  <= write_q + PtrWidth'(push);
      read_q   <= read_q + PtrWidth'(pop);
      count_q  <= count_q + (PtrWidth + 1)'(push) - (PtrWidth + 1)'(pop);
      freed_q  <= freed_q + BITS'(pop);
      untold_q <= kept + BITS'(pop && kept != '1);
    end
  end

endmodule
