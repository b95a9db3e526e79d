// The registers behind the region. What the host writes is in force in the same cycle; what it reads stands
// at the output in the next. Counters of the lanes' clock come in Gray code, through two flip-flops.

module rdma_registers #(
  parameter int unsigned BINDINGS = 0
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             write_i, // of a register
  input  logic [12:0]      write_offset_i,
  input  logic [63:0]      data_i,
  input  logic             read_i,
  input  logic [13:0]      read_offset_i,
  output logic [63:0]      word_o,

  output logic             send_o,      // descriptors are taken
  output logic             receive_o,   // what arrives is written to memory
  output logic             loop_back_o, // as of the last edge, for the lanes' clock
  output logic             freeze_o,
  output logic             tell_counts_o, // credits in the payload
  output logic             handles_o,   // destinations are handles
  output logic [63:0]      notify_addr_o,

  input  logic [7:0]       free_i, // descriptors for which there is room
  input  logic             bad_descriptor_i,
  input  logic             bad_handle_i,
  input  logic             aborted_i,
  input  logic             stop_i,      // the lanes have found an error
  input  logic             stop_now_i,  // a transfer has failed
  output logic             begins_frozen_o, // in this cycle
  output logic             next_frozen_o,   // after it
  output logic             frozen_o,

  input  logic             sent_i, // a message has been read
  input  logic             word_received_i,
  input  logic             received_i,
  input  logic             interrupt_i, // wanted
  output logic             line_o,

  // Counters of the lanes' clock, in Gray code: bit 3 to 5 and 0 to 2 of the offset tell which.
  input  logic [6:0][63:0] gray_i,
  // For those who look on.
  output logic [3:0][63:0] totals_o
);

  localparam int unsigned SentWords = 0;
  localparam int unsigned BackPressure = 1;
  localparam int unsigned HeaderErrors = 2;
  localparam int unsigned PayloadErrors = 3;
  localparam int unsigned CreditErrors = 4;
  localparam int unsigned BondErrors = 5;
  localparam int unsigned Overflows = 6;

  function automatic logic [63:0] binary(input logic [63:0] code);
    binary = code;
    for (int i = 1; i < 64; i *= 2) begin
      binary = binary ^ (binary >> i);
    end
  endfunction

  // ---- what the host writes ----------------------------------------------------------------------------

  logic [31:0] control_d, control_q;
  logic [63:0] notify_addr_q;
  logic [31:0] status_d, status_q; // without FROZEN
  logic        frozen_d, frozen_q, enabled_d, enabled_q, line_d, line_q, raise;
  logic [31:0] offset, status_clear;

  assign offset = {19'd0, write_offset_i};
  assign status_clear = write_i && offset == abi_forth_pkg::RegisterStatus ? data_i[31:0] : '0;

  always_comb begin
    control_d = control_q;
    enabled_d = enabled_q;
    line_d    = line_q;
    if (write_i && offset == abi_forth_pkg::RegisterControl) begin
      control_d = 32'(data_i & abi_forth_pkg::RegisterControlWritable);
    end
    if (write_i && offset == abi_forth_pkg::RegisterInterrupt) begin
      enabled_d = data_i[abi_forth_pkg::RegisterInterruptEnabledLsb];
      line_d    = 1'b0;
    end
    // One that comes while interrupts are disabled raises nothing, later either.
    raise  = interrupt_i && enabled_d && !line_d;
    line_d = line_d || raise;
  end

  assign begins_frozen_o = stop_i
      || (frozen_q && (status_clear & abi_forth_pkg::StatusBitFrozen) == '0);
  assign frozen_d        = begins_frozen_o || stop_now_i;
  assign next_frozen_o   = frozen_d;
  assign frozen_o        = frozen_q;
  assign status_d = (status_q & ~status_clear)
      | (bad_descriptor_i ? abi_forth_pkg::StatusBitBadDescriptor : '0)
      | (bad_handle_i ? abi_forth_pkg::StatusBitBadHandle : '0)
      | (aborted_i ? abi_forth_pkg::StatusBitAborted : '0);

  assign send_o        = (control_d & abi_forth_pkg::ControlBitSend) != '0;
  assign receive_o     = (control_d & abi_forth_pkg::ControlBitReceive) != '0;
  assign loop_back_o   = (control_q & abi_forth_pkg::ControlBitLoopBack) != '0;
  assign freeze_o      = (control_q & abi_forth_pkg::ControlBitFreeze) != '0;
  assign tell_counts_o = (control_q & abi_forth_pkg::ControlBitCreditsInPayload) != '0;
  assign handles_o     = (control_q & abi_forth_pkg::ControlBitHandles) != '0;
  assign notify_addr_o = notify_addr_q;
  assign line_o        = line_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      control_q     <= 32'(abi_forth_pkg::RegisterControlAfterReset);
      notify_addr_q <= abi_forth_pkg::RegisterNotifyAfterReset;
      status_q      <= 32'(abi_forth_pkg::RegisterStatusAfterReset);
      frozen_q      <= 1'b0;
      enabled_q     <= 1'b0;
      line_q        <= 1'b0;
    end else begin
      control_q <= control_d;
      status_q  <= status_d;
      frozen_q  <= frozen_d;
      enabled_q <= enabled_d;
      line_q    <= line_d;
      if (write_i && offset == abi_forth_pkg::RegisterNotify) begin
        notify_addr_q <= data_i & abi_forth_pkg::RegisterNotifyWritable;
      end
    end
  end

  // ---- what it reads -----------------------------------------------------------------------------------

  logic [63:0]      sent_q, words_q, received_q, interrupts_q;
  logic [6:0][63:0] gray;
  logic             unused;

  rdma_sync #(
    .WIDTH(7 * 64)
  ) u_counters (
    .clk_i,
    .rst_ni,
    .data_i   (gray_i),
    .data_o   (gray),
    .settled_o(unused)
  );

  logic [63:0] interrupt;
  assign interrupt = (64'(enabled_q) << abi_forth_pkg::RegisterInterruptEnabledLsb)
      | (64'(line_q) << abi_forth_pkg::RegisterInterruptLineLsb);

  logic [63:0] word, code;
  logic        coded;
  always_comb begin
    word  = '0;
    code  = '0;
    coded = 1'b1;
    case ({18'd0, read_offset_i})
      abi_forth_pkg::RegisterSentWords:     code = gray[SentWords];
      abi_forth_pkg::RegisterBackPressure:  code = gray[BackPressure];
      abi_forth_pkg::RegisterHeaderErrors:  code = gray[HeaderErrors];
      abi_forth_pkg::RegisterPayloadErrors: code = gray[PayloadErrors];
      abi_forth_pkg::RegisterCreditErrors:  code = gray[CreditErrors];
      abi_forth_pkg::RegisterBondErrors:    code = gray[BondErrors];
      abi_forth_pkg::RegisterOverflows:     code = gray[Overflows];
      default:                              coded = 1'b0;
    endcase
    case ({18'd0, read_offset_i})
      abi_forth_pkg::RegisterControl:          word = {32'd0, control_q};
      abi_forth_pkg::RegisterInterrupt:        word = interrupt;
      abi_forth_pkg::RegisterNotify:           word = notify_addr_q;
      abi_forth_pkg::RegisterQueueFree:        word = {56'd0, free_i};
      abi_forth_pkg::RegisterStatus: begin
        word = {32'd0, status_q | (frozen_q ? abi_forth_pkg::StatusBitFrozen : '0)};
      end
      abi_forth_pkg::RegisterReceivedWords:    word = words_q;
      abi_forth_pkg::RegisterSentMessages:     word = sent_q;
      abi_forth_pkg::RegisterReceivedMessages: word = received_q;
      abi_forth_pkg::RegisterBindings:         word = 64'(BINDINGS);
      abi_forth_pkg::RegisterInterrupts:       word = interrupts_q;
      default:                                 word = '0;
    endcase
    if (coded) begin
      word = binary(code);
    end
  end

  assign totals_o = {interrupts_q, words_q, received_q, sent_q};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sent_q       <= '0;
      words_q      <= '0;
      received_q   <= '0;
      interrupts_q <= '0;
      word_o       <= '0;
    end else begin
      sent_q       <= sent_q + 64'(sent_i);
      words_q      <= words_q + 64'(word_received_i);
      received_q   <= received_q + 64'(received_i);
      interrupts_q <= interrupts_q + 64'(raise);
      if (read_i) begin
        word_o <= word;
      end
    end
  end

endmodule
