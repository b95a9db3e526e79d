// The highest leaf that hits, its number and its data, by a tree of 2-to-1 multiplexers
// (brightwell2005, section III.B). At every level the upper one of a pair is selected if it (or
// anything under it) hits, and the select signal is one bit of the location.

module alpu_priority #(
  parameter int unsigned LEAVES     = 16, // a power of two
  parameter int unsigned DATA_WIDTH = 16,
  localparam int unsigned Levels    = $clog2(LEAVES),
  localparam int unsigned LocWidth  = LEAVES > 1 ? Levels : 1
) (
  input  logic [LEAVES-1:0]            hit_i,
  input  logic [LEAVES*DATA_WIDTH-1:0] data_i,
  output logic                         hit_o,
  output logic [LocWidth-1:0]          loc_o, // of the lowest leaf if nothing hits
  output logic [DATA_WIDTH-1:0]        data_o
);

  // Nodes are numbered as in a heap: 1 is the root, 2k and 2k+1 are the children of k, the leaves
  // come last.
  logic [2*LEAVES-1:0]            hit;
  logic [2*LEAVES*LocWidth-1:0]   loc;
  logic [2*LEAVES*DATA_WIDTH-1:0] data;

  always_comb begin
    hit  = '0;
    loc  = '0;
    data = '0;
    hit[LEAVES+:LEAVES] = hit_i;
    data[LEAVES*DATA_WIDTH+:LEAVES*DATA_WIDTH] = data_i;
    for (int level = 0; level != Levels; level++) begin
      for (int k = LEAVES >> (level + 1); k < LEAVES >> level; k++) begin
        hit[k] = hit[2*k] | hit[2*k+1];
        if (hit[2*k+1]) begin
          loc[k*LocWidth+:LocWidth]     = loc[(2*k+1)*LocWidth+:LocWidth];
          data[k*DATA_WIDTH+:DATA_WIDTH] = data[(2*k+1)*DATA_WIDTH+:DATA_WIDTH];
        end else begin
          loc[k*LocWidth+:LocWidth]     = loc[2*k*LocWidth+:LocWidth];
          data[k*DATA_WIDTH+:DATA_WIDTH] = data[2*k*DATA_WIDTH+:DATA_WIDTH];
        end
        loc[k*LocWidth+level] = hit[2*k+1];
      end
    end
  end

  assign hit_o  = hit[1];
  assign loc_o  = loc[LocWidth+:LocWidth];
  assign data_o = data[DATA_WIDTH+:DATA_WIDTH];

endmodule
