// The receiving side of the lanes: aligns each, drops idle symbols, and pairs what is left by its order, from
// a synchronisation FIFO a lane. One lane carries the halves of a word one after the other. Of four lanes
// each has two bytes a cycle, a quarter of a word. Parts that do not belong together show that the lanes have
// lost one another: all start anew.

module rdma_link_rx #(
  parameter int unsigned LANES = 2 // or 1, or 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [1:0][31:0] bytes_i, // of each lane, side by side; a single one is the first
  input  logic [1:0][3:0]  control_i,
  output logic [1:0]       kind_o,  // 0 nothing, 1 start, 2 credit (parity, flow, count), 3 data
  output logic [63:0]      data_o,
  output logic [1:0]       errors_o, // times that the lanes have lost one another in the last cycle
  output logic             lost_o,   // they do so in this one
  output logic             empty_o,  // no word, nor part of one, stands in it

  // Status of each lane, as register LANES has it, without what its transceiver tells.
  output logic [3:0][7:0]  status_o
);

  localparam int unsigned Depth = 8;
  localparam int unsigned Parts = LANES == 4 ? 4 : 2; // of a word, a FIFO each
  localparam int unsigned Bytes = 8 / Parts;          // of a part
  typedef logic [3:0] ptr_t; // one bit more than the FIFO needs
  typedef logic [$clog2(Parts)-1:0] place_t;

  logic [63:0] all_bytes;
  logic [7:0]  all_control;
  assign all_bytes   = bytes_i;
  assign all_control = control_i;

  logic [Parts-1:0]              valid;
  logic [Parts-1:0][8*Bytes-1:0] bytes;
  logic [Parts-1:0][Bytes-1:0]   control;
  logic [3:0][2:0]               shifts; // and whether it is known
  for (genvar i = 0; i < Parts; i++) begin : gen_lane
    if (i < LANES) begin : gen_align
      logic                     known;
      logic [$clog2(Bytes)-1:0] shift;
      assign shifts[i] = known ? {2'(shift), 1'b1} : '0;
      rdma_align #(
        .BYTES(Bytes)
      ) u_align (
        .clk_i,
        .rst_ni,
        .bytes_i  (all_bytes[8*Bytes*i+:8*Bytes]),
        .control_i(all_control[Bytes*i+:Bytes]),
        .valid_o  (valid[i]),
        .bytes_o  (bytes[i]),
        .control_o(control[i]),
        .known_o  (known),
        .shift_o  (shift)
      );
    end else begin : gen_none
      logic unused;
      assign unused = ^{all_bytes[8*Bytes*i+:8*Bytes], all_control[Bytes*i+:Bytes]};
      assign {valid[i], bytes[i], control[i]} = '0;
      assign shifts[i] = '0;
    end
  end
  for (genvar i = Parts; i < 4; i++) begin : gen_no_lane
    assign shifts[i] = '0;
  end

  // ---- synchronisation FIFOs -------------------------------------------------------------------------

  ptr_t [Parts-1:0] read_d, read_q, write_d, write_q;
  logic             next_d, next_q; // a single lane: which half comes next
  logic [Parts-1:0] push, waits;
  logic [Parts-1:0][9*Bytes-1:0] put, head;
  logic [1:0]       errors;

  logic pair, whole;
  for (genvar i = 0; i < Parts; i++) begin : gen_fifo
    logic [9*Bytes-1:0] words [Depth];
    assign head[i]  = words[read_q[i][2:0]];
    assign waits[i] = read_q[i] != write_q[i];
    always_ff @(posedge clk_i) begin
      if (push[i]) words[write_q[i][2:0]] <= put[i];
    end
  end
  assign pair = &waits;

  // ---- parts of words --------------------------------------------------------------------------------

  logic [Parts-1:0][Bytes-1:0]   flags;  // of the control characters
  logic [Parts-1:0][8*Bytes-1:0] part;
  logic [Parts-1:0][7:0]         second;
  logic                          all_data, all_marks;
  logic [7:0]                    mark;
  assign mark = head[0][7:0];
  for (genvar i = 0; i < Parts; i++) begin : gen_part
    assign {flags[i], part[i]} = head[i];
    assign second[i] = head[i][15:8];
  end
  always_comb begin
    all_data  = 1'b1;
    all_marks = 1'b1;
    for (int i = 0; i < Parts; i++) begin
      all_data  = all_data && flags[i] == '0;
      all_marks = all_marks && flags[i] == Bytes'(1) && part[i][7:0] == mark;
    end
  end

  logic [1:0]  kind;
  logic [63:0] data, dealt, credit;
  logic        in_place, credit_in_place; // marks tell their lanes
  if (LANES == 4) begin : gen_quarters
    assign in_place        = second == {8'd3, 8'd2, 8'd1, 8'd0};
    assign credit_in_place = second[3] == 8'd3;
    assign credit          = {40'd0, second[0], second[2], second[1]};
  end else begin : gen_halves
    assign in_place        = second == {8'd1, 8'd0};
    assign credit_in_place = in_place;
    assign credit          = {40'd0, part[0][23:16], part[1][31:16]};
  end
  always_comb begin
    for (int i = 0; i < 8; i++) begin
      dealt[8*i+:8] = part[i%Parts][8*(i/Parts)+:8];
    end
    kind = 2'd0;
    data = '0;
    if (all_data) begin
      kind = 2'd3;
      data = dealt;
    end else if (all_marks && in_place && mark == abi_forth_pkg::MarkStart) begin
      kind = 2'd1;
    end else if (all_marks && credit_in_place && mark == abi_forth_pkg::MarkCredit) begin
      kind = 2'd2;
      data = credit;
    end
  end
  assign whole = kind != 2'd0;

  logic   is_idle;
  place_t place;
  ptr_t [3:0] level_d, level_q; // most symbols that have ever stood in each FIFO
  always_comb begin
    level_d = level_q;
    read_d  = read_q;
    write_d = write_q;
    next_d  = next_q;
    push    = '0;
    put     = '0;
    errors  = '0;
    is_idle = 1'b0;
    place   = '0;
    if (pair) begin
      for (int i = 0; i < Parts; i++) begin
        read_d[i] = read_q[i] + 1'b1;
      end
      if (!whole) begin
        read_d = write_q;
        errors = 2'd1;
      end
    end
    for (int i = 0; i < LANES; i++) begin
      if (valid[i]) begin
        is_idle = control[i] == Bytes'(1) && bytes[i][7:0] == abi_forth_pkg::MarkIdle;
        place   = place_t'(i);
        if (LANES == 1) begin
          place[0] = control[i] == Bytes'(1) ? bytes[i][8] : next_q;
          next_d   = !place[0];
        end
        if (!is_idle) begin
          if (write_d[place] - read_d[place] == ptr_t'(Depth)) begin
            read_d = write_d;
            errors = errors + 1'b1;
          end
          push[place]    = 1'b1;
          put[place]     = {control[i], bytes[i]};
          write_d[place] = write_d[place] + 1'b1;
          if (write_d[place] - read_d[place] > level_d[2'(place)]) begin
            level_d[2'(place)] = write_d[place] - read_d[place];
          end
        end
      end
    end
  end

  for (genvar i = 0; i < 4; i++) begin : gen_status
    assign status_o[i] = {level_q[i], 1'b0, shifts[i]};
  end
  assign lost_o  = errors != '0;
  assign empty_o = kind_o == '0 && read_q == write_q;

  always_ff @(posedge clk_i) begin
    data_o <= data;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q   <= '0;
      write_q  <= '0;
      next_q   <= 1'b0;
      level_q  <= '0;
      kind_o   <= '0;
      errors_o <= '0;
    end else begin
      read_q   <= read_d;
      write_q  <= write_d;
      next_q   <= next_d;
      level_q  <= level_d;
      kind_o   <= pair ? kind : 2'd0;
      errors_o <= errors;
    end
  end

endmodule
