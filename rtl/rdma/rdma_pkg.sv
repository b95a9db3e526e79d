// What the parts of the NIC hand to one another, and the checksums of packets.

/* verilator lint_off UNUSEDPARAM */
package rdma_pkg;

  // What the lanes carry in a cycle: a kind, and 64 bits.
  localparam logic [1:0] KindNone   = 2'd0;
  localparam logic [1:0] KindStart  = 2'd1; // a packet's header follows
  localparam logic [1:0] KindCredit = 2'd2; // parity, flow and count in bits 23, 22:16 and 15:0
  localparam logic [1:0] KindData   = 2'd3;

  // What stands in the receiving FIFO.
  localparam logic [1:0] EntryHeader = 2'd1; // a packet begins; its header_t
  localparam logic [1:0] EntryData   = 2'd2; // a word of its payload
  localparam logic [1:0] EntryEnd    = 2'd3; // it is over; bit 0: its CRC was right

  typedef struct packed {
    logic        interrupts;  // when the data are in memory
    logic [7:0]  source;
    logic [6:0]  flow;
    logic [9:0]  words;       // of payload, 1 to 512
    logic [31:0] destination; // a multiple of 8
  } header_t;

  // Words of a flow: a limit, or what has been freed.
  typedef struct packed {
    logic [6:0]  flow;
    logic [15:0] words;
  } share_t;

  // What a tracing memory is given in a cycle.
  typedef struct packed {
    logic        valid;
    logic [1:0]  kind; // trace_tag
    logic [63:0] data;
  } traced_t;

  // Settings of the debugging aids, for the lanes' clock. Counts of requests are in Gray code.
  typedef struct packed {
    logic [3:0]      on;     // TRACE_CONTROL
    logic            stop;
    logic [3:0][7:0] clears; // of each tracing memory
    logic [31:0]     period; // SAMPLE_CONTROL
    logic [11:0]     samples;
    logic [7:0]      starts;
    logic [6:0]      flow;   // DEBUG_SELECT
    logic [1:0]      lane;
  } aids_t;

  // What the aids of the lanes' half show.
  typedef struct packed {
    logic [27:0]      states;
    logic [23:0]      lane;
    logic [63:0]      credits;
    logic [63:0]      credits_in;
    logic [63:0]      credits_out;
    logic [63:0]      level_max;
    logic [63:0]      sample_count;
    logic [1:0][63:0] trace_counts; // SEND_OUT, RECEIVE_IN
  } link_aids_t;

  // An entry of the receiving FIFO as a tracing memory has it.
  function automatic traced_t traced_entry(
    input logic valid, input logic [1:0] kind, input logic [63:0] data
  );
    traced_entry.valid = valid;
    traced_entry.data  = kind == EntryEnd ? '0 : data;
    case (kind)
      EntryHeader: traced_entry.kind = 2'(abi_forth_pkg::TraceTagHeader);
      EntryEnd: begin
        traced_entry.kind = data[0] ? 2'(abi_forth_pkg::TraceTagEndGood)
            : 2'(abi_forth_pkg::TraceTagEndBad);
      end
      default:     traced_entry.kind = 2'(abi_forth_pkg::TraceTagData);
    endcase
  endfunction

  // CCITT, most significant bit first, over the lowest BYTES of a word, the lowest first.
  function automatic logic [15:0] crc16_byte(input logic [15:0] crc, input logic [7:0] data);
    crc16_byte = crc ^ {data, 8'd0};
    for (int i = 0; i < 8; i++) begin
      crc16_byte = {crc16_byte[14:0], 1'b0} ^ (crc16_byte[15] ? 16'h1021 : 16'd0);
    end
  endfunction

  function automatic logic [15:0] crc16_eight(input logic [15:0] crc, input logic [63:0] data);
    crc16_eight = crc;
    for (int i = 0; i < 8; i++) begin
      crc16_eight = crc16_byte(crc16_eight, data[8*i+:8]);
    end
  endfunction

  function automatic logic [15:0] crc16_six(input logic [15:0] crc, input logic [47:0] data);
    crc16_six = crc;
    for (int i = 0; i < 6; i++) begin
      crc16_six = crc16_byte(crc16_six, data[8*i+:8]);
    end
  endfunction

  // IEEE 802.3, a word further; 0 before the first.
  function automatic logic [31:0] crc32_word(input logic [31:0] crc, input logic [63:0] data);
    crc32_word = ~crc;
    for (int i = 0; i < 64; i++) begin
      crc32_word = {1'b0, crc32_word[31:1]} ^ (crc32_word[0] ^ data[i] ? 32'hEDB8_8320 : 32'd0);
    end
    crc32_word = ~crc32_word;
  endfunction

endpackage
/* verilator lint_on UNUSEDPARAM */
