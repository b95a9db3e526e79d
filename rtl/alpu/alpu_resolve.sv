// Stage 4, the priority between the blocks, in one cycle or in two. The last register is the
// caller's; with two cycles the results of groups of four leaves are registered here.

module alpu_resolve #(
  parameter int unsigned LEAVES     = 16, // a power of two
  parameter int unsigned DATA_WIDTH = 20,
  parameter int unsigned CYCLES     = 2,
  localparam int unsigned LocWidth  = LEAVES > 1 ? $clog2(LEAVES) : 1
) (
  input  logic                         clk_i,
  input  logic [LEAVES-1:0]            hit_i,
  input  logic [LEAVES*DATA_WIDTH-1:0] data_i,
  output logic                         hit_o,
  output logic [LocWidth-1:0]          loc_o,
  output logic [DATA_WIDTH-1:0]        data_o
);

  if (CYCLES == 2 && LEAVES > 4) begin : gen_two_trees
    localparam int unsigned Groups     = LEAVES / 4;
    localparam int unsigned GroupWidth = 2 + DATA_WIDTH;

    logic [Groups-1:0]            hit, hit_q;
    logic [Groups*GroupWidth-1:0] data, data_q;

    for (genvar g = 0; g < Groups; g++) begin : gen_group
      alpu_priority #(
        .LEAVES    (4),
        .DATA_WIDTH(DATA_WIDTH)
      ) u_priority (
        .hit_i (hit_i[g*4+:4]),
        .data_i(data_i[g*4*DATA_WIDTH+:4*DATA_WIDTH]),
        .hit_o (hit[g]),
        .loc_o (data[g*GroupWidth+DATA_WIDTH+:2]),
        .data_o(data[g*GroupWidth+:DATA_WIDTH])
      );
    end

    always_ff @(posedge clk_i) begin
      hit_q  <= hit;
      data_q <= data;
    end

    alpu_priority #(
      .LEAVES    (Groups),
      .DATA_WIDTH(GroupWidth)
    ) u_priority (
      .hit_i (hit_q),
      .data_i(data_q),
      .hit_o,
      .loc_o (loc_o[LocWidth-1:2]),
      .data_o({loc_o[1:0], data_o})
    );
  end else begin : gen_one_tree
    logic                  hit;
    logic [LocWidth-1:0]   loc;
    logic [DATA_WIDTH-1:0] data;

    alpu_priority #(
      .LEAVES    (LEAVES),
      .DATA_WIDTH(DATA_WIDTH)
    ) u_priority (
      .hit_i,
      .data_i,
      .hit_o (hit),
      .loc_o (loc),
      .data_o(data)
    );

    if (CYCLES == 2) begin : gen_delay
      always_ff @(posedge clk_i) begin
        hit_o  <= hit;
        loc_o  <= loc;
        data_o <= data;
      end
    end else begin : gen_no_delay
      assign hit_o  = hit;
      assign loc_o  = loc;
      assign data_o = data;
      logic unused_clk;
      assign unused_clk = clk_i;
    end
  end

endmodule
