// A FIFO between two clocks. Each side counts in binary and tells the other in Gray code, through two
// flip-flops: of a pointer on its way at most one bit changes, so that whatever is sampled is the old
// value or the new one. What a side knows of the other is late, never wrong: a full FIFO is full for
// longer, an empty one empty for longer.

module rdma_fifo #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned DEPTH = 16, // a power of two, at least 4
  // Resets clear one side with an edge of its clock, the other at once (rdma_register).
  parameter bit          WRITER_ASYNC = 1'b0
) (
  input  logic                     wclk_i,
  input  logic                     wrst_ni,
  input  logic                     push_i,  // lost if there is no room
  input  logic [WIDTH-1:0]         data_i,
  output logic [$clog2(DEPTH):0]   room_o,  // entries that have room, as far as is known
  output logic [$clog2(DEPTH):0]   next_room_o,      // the same after this cycle
  output logic                     writer_settled_o, // edges without a push change nothing here

  input  logic                     rclk_i,
  input  logic                     rrst_ni,
  input  logic                     pop_i,   // does nothing if there is none
  output logic [WIDTH-1:0]         data_o,  // the oldest, if there is one
  output logic [$clog2(DEPTH):0]   count_o, // entries, as far as is known
  output logic [$clog2(DEPTH):0]   next_count_o,
  output logic                     reader_settled_o  // there is none, and edges change nothing
);

  localparam int unsigned PtrWidth = $clog2(DEPTH) + 1;
  typedef logic [PtrWidth-1:0] ptr_t;

  function automatic ptr_t gray(input ptr_t count);
    gray = count ^ (count >> 1);
  endfunction

  function automatic ptr_t binary(input ptr_t code);
    binary = code;
    for (int i = PtrWidth - 2; i >= 0; i--) begin
      binary[i] = binary[i+1] ^ code[i];
    end
  endfunction

  logic [WIDTH-1:0] words [DEPTH];

  ptr_t write_d, write_q, write_gray_q;   // writer
  ptr_t read_at_writer1_q, read_at_writer2_q;
  ptr_t read_d, read_q, read_gray_q;      // reader
  ptr_t write_at_reader1_q, write_at_reader2_q;
  ptr_t write_seen, read_seen;            // on the wires between
  logic push, pop;

  assign room_o  = ptr_t'(DEPTH) - (write_q - binary(read_at_writer2_q));
  assign push    = push_i && room_o != '0;
  assign write_d = write_q + ptr_t'(push);

  assign count_o = binary(write_at_reader2_q) - read_q;
  assign pop     = pop_i && count_o != '0;
  assign read_d  = read_q + ptr_t'(pop);
  assign data_o  = words[read_q[PtrWidth-2:0]];

  assign next_room_o  = ptr_t'(DEPTH) - (write_d - binary(read_at_writer1_q));
  assign next_count_o = binary(write_at_reader1_q) - read_d;

  // For those who stop clocks: they see both sides at once.
  assign writer_settled_o = read_at_writer1_q == read_gray_q && read_at_writer2_q == read_gray_q;
  assign reader_settled_o = write_at_reader1_q == write_gray_q && write_at_reader2_q == write_gray_q
      && read_gray_q == write_gray_q;

  rdma_register #(
    .WIDTH(4 * PtrWidth),
    .ASYNC(WRITER_ASYNC)
  ) u_writer (
    .clk_i (wclk_i),
    .rst_ni(wrst_ni),
    .data_i({write_d, gray(write_d), read_seen, read_at_writer1_q}),
    .data_o({write_q, write_gray_q, read_at_writer1_q, read_at_writer2_q})
  );

  always_ff @(posedge wclk_i) begin
    if (push) begin
      words[write_q[PtrWidth-2:0]] <= data_i;
    end
  end

  rdma_register #(
    .WIDTH(4 * PtrWidth),
    .ASYNC(!WRITER_ASYNC)
  ) u_reader (
    .clk_i (rclk_i),
    .rst_ni(rrst_ni),
    .data_i({read_d, gray(read_d), write_seen, write_at_reader1_q}),
    .data_o({read_q, read_gray_q, write_at_reader1_q, write_at_reader2_q})
  );

`ifdef FORMAL
  // Wires differ in length: of a pointer whose last edge has not been sampled yet, each bit may still be
  // the one before that edge.
  (* anyseq *) ptr_t write_late, read_late;
  ptr_t       write_before_q, read_before_q;
  logic [1:0] write_edge_q, write_edge_seen_q, read_edge_q, read_edge_seen_q;
  rdma_register #(
    .WIDTH(PtrWidth + 4),
    .ASYNC(WRITER_ASYNC)
  ) u_writer_edges (
    .clk_i (wclk_i),
    .rst_ni(wrst_ni),
    .data_i({write_gray_q, write_edge_q + 2'd1, read_edge_q}),
    .data_o({write_before_q, write_edge_q, read_edge_seen_q})
  );
  rdma_register #(
    .WIDTH(PtrWidth + 4),
    .ASYNC(!WRITER_ASYNC)
  ) u_reader_edges (
    .clk_i (rclk_i),
    .rst_ni(rrst_ni),
    .data_i({read_gray_q, read_edge_q + 2'd1, write_edge_q}),
    .data_o({read_before_q, read_edge_q, write_edge_seen_q})
  );
  ptr_t write_mix, read_mix;
  assign write_mix  = write_edge_q != write_edge_seen_q ? write_late : '0;
  assign read_mix   = read_edge_q != read_edge_seen_q ? read_late : '0;
  assign write_seen = (write_gray_q & ~write_mix) | (write_before_q & write_mix);
  assign read_seen  = (read_gray_q & ~read_mix) | (read_before_q & read_mix);
`else
  assign write_seen = write_gray_q;
  assign read_seen  = read_gray_q;
`endif

endmodule
