// Bindings: pages of receivers' memory that processes may write to, each on a flow. Descriptors name them by
// handles: the number of a binding, and the byte in its page.

module rdma_bindings #(
  parameter int unsigned BINDINGS = 64 // 1 to 512
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        write_i,  // the host sets one
  input  logic [8:0]  number_i,
  input  logic [63:0] data_i,

  input  logic [31:0] handle_i,
  input  logic [6:0]  flow_i,
  input  logic [9:0]  words_i,  // that are to go there
  output logic [31:0] destination_o,
  output logic        refused_o
);

  localparam int unsigned Width = BINDINGS > 1 ? $clog2(BINDINGS) : 1;
  typedef logic [Width-1:0] place_t;
  typedef struct packed {
    logic [6:0]  flow;
    logic [19:0] page;
  } binding_t;

  binding_t            bindings [BINDINGS];
  logic [BINDINGS-1:0] valid_q;
  binding_t            bound;
  place_t              place;
  logic                exists, writes, fits, unused;

  assign place  = place_t'(handle_i[31:12]);
  assign exists = handle_i[31:12] < 20'(BINDINGS);
  assign bound  = bindings[place];
  assign fits = 11'(handle_i[11:3]) + 11'(words_i) <= 11'(abi_forth_pkg::WordsMax);
  assign writes = write_i && 10'(number_i) < 10'(BINDINGS);
  assign unused = ^{data_i[63:39], data_i[11:1], number_i};

  assign refused_o     = !exists || !valid_q[place] || bound.flow != flow_i || !fits;
  assign destination_o = {bound.page, handle_i[11:0]};

  always_ff @(posedge clk_i) begin
    if (writes) begin
      bindings[place_t'(number_i)] <= '{
        flow: data_i[abi_forth_pkg::TableBindingsFlowLsb +: abi_forth_pkg::TableBindingsFlowWidth],
        page: data_i[abi_forth_pkg::TableBindingsPageLsb +: abi_forth_pkg::TableBindingsPageWidth]
      };
    end
    if (!rst_ni) begin
      valid_q <= '0;
    end else if (writes) begin
      valid_q[place_t'(number_i)] <= data_i[abi_forth_pkg::TableBindingsValidLsb];
    end
  end

endmodule
