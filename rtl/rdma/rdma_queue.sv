// The request queue: puts descriptors together from what the host writes, and keeps them in order. The host
// is told to try again while a write-combining buffer full of descriptors might not fit.

module rdma_queue #(
  parameter int unsigned QUEUE = 16 // descriptors
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        write_i,   // into the queue's window
  input  logic        upper_i,   // the last two words of a descriptor, else the first two
  input  logic [63:0] data_i,
  input  logic [7:0]  enables_i, // by byte; words that are not whole are ignored
  output logic        busy_o,
  output logic        bad_o,     // a descriptor that cannot be: dropped
  output logic        refused_o, // one whose handle is refused: dropped
  output logic        push_o,    // one comes in

  // The destination of what is written, and what is to stand in its place.
  output logic [31:0] put_destination_o,
  output logic [6:0]  put_flow_o,
  output logic [9:0]  put_words_o,
  input  logic [31:0] destination_i,
  input  logic        refuse_i,
  output logic [7:0]  free_o,

  output logic        valid_o,   // the oldest descriptor
  output logic [63:0] source_o,
  output logic [31:0] destination_o,
  output logic [31:0] control_o,
  input  logic        pop_i,

  // What will be the oldest after this cycle.
  output logic        next_valid_o,
  output logic [9:0]  next_words_o
);

  localparam int unsigned Burst = 4; // descriptors in a write-combining buffer
  localparam int unsigned PtrWidth = $clog2(QUEUE);
  localparam int unsigned CountWidth = $clog2(QUEUE + 1);
  typedef logic [PtrWidth-1:0] ptr_t;
  typedef logic [CountWidth-1:0] count_t;

  logic [127:0] descriptors [QUEUE];
  logic [31:0]  low_q, high_q, destination_q; // of the descriptor that is written
  ptr_t         read_d, read_q, write_q;
  count_t       count_d, count_q;
  logic [1:0]   whole;
  logic         last, good, push;
  logic [127:0] put, head;

  function automatic ptr_t after(input ptr_t place);
    after = place == ptr_t'(QUEUE - 1) ? '0 : place + 1'b1;
  endfunction

  assign whole = {&enables_i[7:4], &enables_i[3:0]};
  assign last  = write_i && upper_i && whole[1];
  assign put   = {data_i[63:32], destination_i, high_q, low_q};
  assign put_destination_o = whole[0] ? data_i[31:0] : destination_q;
  assign put_flow_o  = 7'(data_i[63:32] >> abi_forth_pkg::ControlFlowShift);
  assign put_words_o = data_i[41:32];
  assign good  = put[105:96] != '0 && put[105:96] <= 10'(abi_forth_pkg::WordsMax)
      && put[2:0] == '0 && put_destination_o[2:0] == '0;
  assign push      = last && good && !refuse_i;
  assign push_o    = push;
  assign bad_o     = last && !good;
  assign refused_o = last && good && refuse_i;

  assign read_d  = pop_i ? after(read_q) : read_q;
  assign count_d = count_q + count_t'(push) - count_t'(pop_i);
  assign head    = descriptors[read_q];
  // What is written in this cycle is not in the memory yet.
  assign next_words_o = push && write_q == read_d ? put[105:96] : descriptors[read_d][105:96];

  assign {control_o, destination_o, source_o} = head;
  assign valid_o      = count_q != '0;
  assign next_valid_o = count_d != '0;
  assign free_o       = 8'(QUEUE) - 8'(count_q);
  assign busy_o       = free_o <= 8'(Burst);

  always_ff @(posedge clk_i) begin
    if (push) begin
      descriptors[write_q] <= put;
    end
    if (write_i && !upper_i && whole[0]) low_q <= data_i[31:0];
    if (write_i && !upper_i && whole[1]) high_q <= data_i[63:32];
    if (write_i && upper_i && whole[0]) destination_q <= data_i[31:0];
    if (!rst_ni) begin
      {low_q, high_q, destination_q} <= '0;
      read_q  <= '0;
      write_q <= '0;
      count_q <= '0;
    end else begin
      read_q  <= read_d;
      count_q <= count_d;
      if (push) begin
        write_q <= after(write_q);
      end
    end
  end

endmodule
