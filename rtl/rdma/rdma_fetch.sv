// Reads of host memory: several may be open, and their data come in the order in which they were asked for.
// With the last word of a read its message may be sent.

module rdma_fetch #(
  parameter int unsigned TX_WORDS = 1024,
  parameter int unsigned READS    = 2 // open at a time
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               restart_i, // the reset is the host's: data of reads are still to come
  input  logic [7:0]         source_i, // this card's number

  // The oldest descriptor's read has been taken by the bridge.
  input  logic               accepted_i,
  input  logic [31:0]        destination_i,
  input  logic [31:0]        control_i,
  output logic [4:0]         tag_o, // of the next read

  // A word has come.
  input  logic               word_i,
  output logic               stale_o, // it is of a read from before a reset: left alone
  output logic               done_o, // it was a read's last
  output rdma_pkg::header_t  message_o,
  output logic               notify_o, // the host wants to know

  output logic               open_o, // any
  output logic [7:0]         count_o,
  // After this cycle: another read may be asked for; words that are to come.
  output logic               next_few_o,
  output logic [$clog2(TX_WORDS):0] next_reserved_o
);

  typedef struct packed {
    logic              notify;
    rdma_pkg::header_t header;
  } read_t;
  localparam int unsigned PtrWidth = READS > 1 ? $clog2(READS) : 1;
  localparam int unsigned CountWidth = $clog2(READS + 1);
  typedef logic [PtrWidth-1:0] ptr_t;
  typedef logic [CountWidth-1:0] count_t;
  typedef logic [$clog2(TX_WORDS):0] words_t;

  read_t      reads [READS];
  read_t      asked, oldest;
  ptr_t       read_q, write_q;
  count_t     count_d, count_q;
  logic [9:0] taken_q; // words of the oldest read that have come
  words_t     reserved_d, reserved_q;
  logic [15:0] stale_d, stale_q; // words that are to come of reads from before a reset
  logic       word, unused;

  function automatic ptr_t after(input ptr_t place);
    after = place == ptr_t'(READS - 1) ? '0 : place + 1'b1;
  endfunction

  assign asked.notify             = (control_i & abi_forth_pkg::ControlNotify) != '0;
  assign asked.header.interrupts   = (control_i & abi_forth_pkg::ControlInterrupt) != '0;
  assign asked.header.source      = source_i;
  assign asked.header.flow        = 7'(control_i >> abi_forth_pkg::ControlFlowShift);
  assign asked.header.words       = control_i[9:0];
  assign asked.header.destination = destination_i;
  assign unused = ^control_i;

  assign oldest     = reads[read_q];
  assign stale_o    = word_i && stale_q != '0;
  assign word       = word_i && !stale_o;
  assign stale_d    = stale_q - 16'(stale_o);
  assign done_o     = word && taken_q + 1'b1 == oldest.header.words;
  assign message_o  = oldest.header;
  assign notify_o   = done_o && oldest.notify;
  assign count_o    = 8'(count_q);
  assign open_o     = count_q != '0;
  assign count_d    = count_q + count_t'(accepted_i) - count_t'(done_o);
  assign reserved_d = reserved_q + (accepted_i ? words_t'(control_i[9:0]) : '0) - words_t'(word);
  assign next_few_o = count_d < count_t'(READS);
  assign next_reserved_o = reserved_d;

  always_ff @(posedge clk_i) begin
    if (accepted_i) begin
      reads[write_q] <= asked;
    end
    if (!rst_ni) begin
      read_q     <= '0;
      write_q    <= '0;
      count_q    <= '0;
      taken_q    <= '0;
      reserved_q <= '0;
      stale_q    <= restart_i ? stale_d + 16'(reserved_d) : '0;
    end else begin
      count_q    <= count_d;
      reserved_q <= reserved_d;
      stale_q    <= stale_d;
      if (accepted_i) begin
        write_q <= after(write_q);
      end
      if (word) begin
        taken_q <= done_o ? '0 : taken_q + 1'b1;
      end
      if (done_o) begin
        read_q <= after(read_q);
      end
    end
  end

  // Tags go on, for a read from before a reset may be open.
  always_ff @(posedge clk_i) begin
    if (!rst_ni && !restart_i) begin
      tag_o <= '0;
    end else if (accepted_i) begin
      tag_o <= tag_o + 1'b1;
    end
  end

endmodule
