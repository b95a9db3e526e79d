// A FIFO with a registered count: a word is at the head one cycle after its push at the earliest,
// and a full FIFO takes no push even while it is popped.

module alpu_fifo #(
  parameter int unsigned WIDTH = 16,
  parameter int unsigned DEPTH = 16 // a power of two, at least 2
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             push_i,  // ignored if not ready
  output logic             ready_o,
  input  logic [WIDTH-1:0] data_i,

  input  logic             pop_i,   // ignored if not valid
  output logic             valid_o,
  output logic [WIDTH-1:0] data_o
);

  localparam int unsigned PtrWidth = $clog2(DEPTH);

  (* ram_style = "distributed" *)
  logic [WIDTH-1:0]    words [DEPTH];
  logic [PtrWidth-1:0] read_q, write_q;
  logic [PtrWidth:0]   count_q;
  logic                push, pop;

  assign ready_o = count_q != (PtrWidth + 1)'(DEPTH);
  assign valid_o = count_q != '0;
  assign data_o  = words[read_q];
  assign push    = push_i && ready_o;
  assign pop     = pop_i && valid_o;

  always_ff @(posedge clk_i) begin
    if (push) begin
      words[write_q] <= data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q  <= '0;
      write_q <= '0;
      count_q <= '0;
    end else begin
      if (push) begin
        write_q <= write_q + 1'b1;
      end
      if (pop) begin
        read_q <= read_q + 1'b1;
      end
      if (push && !pop) begin
        count_q <= count_q + 1'b1;
      end else if (pop && !push) begin
        count_q <= count_q - 1'b1;
      end
    end
  end

`ifdef FORMAL
  always_comb begin
    if (rst_ni) begin
      a_count: assert (count_q <= (PtrWidth + 1)'(DEPTH));
      a_pointers: assert (count_q[PtrWidth-1:0] == PtrWidth'(write_q - read_q));
    end
  end
`endif

endmodule
