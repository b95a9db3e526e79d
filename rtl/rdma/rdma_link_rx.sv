// The receiving side of the lanes: aligns each, drops idle symbols, and pairs what is left by its order, from
// a synchronisation FIFO a lane. One lane carries the halves of a word one after the other. Halves that do
// not belong together show that the lanes have lost one another: both start anew.

module rdma_link_rx #(
  parameter int unsigned LANES = 2 // or 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [1:0][31:0] bytes_i, // of each lane; a single one is the first
  input  logic [1:0][3:0]  control_i,
  output logic [1:0]       kind_o,  // 0 nothing, 1 start, 2 credit (parity, flow, count), 3 data
  output logic [63:0]      data_o,
  output logic [1:0]       errors_o, // times that the lanes have lost one another in the last cycle
  output logic             lost_o,   // they do so in this one
  output logic             empty_o   // no word, nor half of one, stands in it
);

  localparam int unsigned Depth = 8;
  typedef logic [3:0] ptr_t; // one bit more than the FIFO needs

  logic [1:0]       valid;
  logic [1:0][31:0] bytes;
  logic [1:0][3:0]  control;
  for (genvar i = 0; i < 2; i++) begin : gen_lane
    if (i < LANES) begin : gen_align
      rdma_align u_align (
        .clk_i,
        .rst_ni,
        .bytes_i  (bytes_i[i]),
        .control_i(control_i[i]),
        .valid_o  (valid[i]),
        .bytes_o  (bytes[i]),
        .control_o(control[i])
      );
    end else begin : gen_none
      logic unused;
      assign unused = ^{bytes_i[i], control_i[i]};
      assign {valid[i], bytes[i], control[i]} = '0;
    end
  end

  // ---- synchronisation FIFOs -------------------------------------------------------------------------

  logic [35:0] even_words [Depth];
  logic [35:0] odd_words [Depth];
  ptr_t [1:0]  read_d, read_q, write_d, write_q;
  logic        next_d, next_q; // a single lane: which half comes next
  logic [1:0]  push;
  logic [1:0][35:0] put;
  logic [1:0]  errors;

  logic [35:0] even, odd;
  logic        pair, whole;
  assign even = even_words[read_q[0][2:0]];
  assign odd  = odd_words[read_q[1][2:0]];
  assign pair = read_q[0] != write_q[0] && read_q[1] != write_q[1];

  // ---- halves ----------------------------------------------------------------------------------------

  logic [1:0]  kind;
  logic [63:0] data;
  always_comb begin
    kind = 2'd0;
    data = '0;
    if (even[35:32] == 4'd0 && odd[35:32] == 4'd0) begin
      kind = 2'd3;
      for (int i = 0; i < 4; i++) begin
        data[16*i+:8]   = even[8*i+:8];
        data[16*i+8+:8] = odd[8*i+:8];
      end
    end else if (even[35:32] == 4'd1 && odd[35:32] == 4'd1 && even[15:8] == 8'd0
        && odd[15:8] == 8'd1 && even[7:0] == odd[7:0]) begin
      if (even[7:0] == abi_forth_pkg::MarkStart) begin
        kind = 2'd1;
      end else if (even[7:0] == abi_forth_pkg::MarkCredit) begin
        kind = 2'd2;
        data = {40'd0, even[23:16], odd[31:16]};
      end
    end
  end
  assign whole = kind != 2'd0;

  logic is_idle, place;
  always_comb begin
    read_d  = read_q;
    write_d = write_q;
    next_d  = next_q;
    push    = '0;
    put     = '0;
    errors  = '0;
    is_idle = 1'b0;
    place   = 1'b0;
    if (pair) begin
      read_d[0] = read_q[0] + 1'b1;
      read_d[1] = read_q[1] + 1'b1;
      if (!whole) begin
        read_d = write_q;
        errors = 2'd1;
      end
    end
    for (int i = 0; i < LANES; i++) begin
      if (valid[i]) begin
        is_idle = control[i] == 4'd1 && bytes[i][7:0] == abi_forth_pkg::MarkIdle;
        place   = LANES == 2 ? 1'(i) : control[i] == 4'd1 ? bytes[i][8] : next_q;
        next_d  = !place;
        if (!is_idle) begin
          if (write_d[place] - read_d[place] == ptr_t'(Depth)) begin
            read_d = write_d;
            errors = errors + 1'b1;
          end
          push[place]    = 1'b1;
          put[place]     = {control[i], bytes[i]};
          write_d[place] = write_d[place] + 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (push[0]) even_words[write_q[0][2:0]] <= put[0];
    if (push[1]) odd_words[write_q[1][2:0]] <= put[1];
  end

  assign lost_o  = errors != '0;
  assign empty_o = kind_o == '0 && read_q == write_q;

  always_ff @(posedge clk_i) begin
    data_o <= data;
    if (!rst_ni) begin
      read_q   <= '0;
      write_q  <= '0;
      next_q   <= 1'b0;
      kind_o   <= '0;
      errors_o <= '0;
    end else begin
      read_q   <= read_d;
      write_q  <= write_d;
      next_q   <= next_d;
      kind_o   <= pair ? kind : 2'd0;
      errors_o <= errors;
    end
  end

endmodule
