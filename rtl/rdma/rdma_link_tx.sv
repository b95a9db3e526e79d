// The sending side of the lanes: bytes of a word are dealt to two lanes or four in turn, control characters
// stand on all. A single lane carries the halves one after the other. Of four lanes each has two bytes a
// cycle: lanes 0 and 1 the lower 32 bits of the output, first to last.

module rdma_link_tx #(
  parameter int unsigned LANES = 2 // or 1, or 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  output logic             ready_o, // the lanes take a word in this cycle
  input  logic [1:0]       kind_i,  // 0 nothing, 1 start, 2 credit (parity, flow, count), 3 data
  input  logic [63:0]      data_i,
  output logic [1:0][31:0] bytes_o, // of each lane; a single one is the first
  output logic [1:0][3:0]  control_o
);

  logic [1:0][31:0] halves;
  logic [1:0][3:0]  control;

  if (LANES == 4) begin : gen_quarters
    always_comb begin
      control = {4'b0101, 4'b0101};
      case (kind_i)
        rdma_pkg::KindStart: begin
          for (int i = 0; i < 4; i++) begin
            halves[i/2][16*(i%2)+:16] = {8'(i), abi_forth_pkg::MarkStart};
          end
        end
        rdma_pkg::KindCredit: begin
          halves[0] = {data_i[7:0], abi_forth_pkg::MarkCredit,
              data_i[23:16], abi_forth_pkg::MarkCredit};
          halves[1] = {8'd3, abi_forth_pkg::MarkCredit,
              data_i[15:8], abi_forth_pkg::MarkCredit};
        end
        rdma_pkg::KindData: begin
          control = '0;
          for (int i = 0; i < 4; i++) begin
            halves[i/2][16*(i%2)+:16] = {data_i[8*i+32+:8], data_i[8*i+:8]};
          end
        end
        default: begin
          for (int i = 0; i < 4; i++) begin
            halves[i/2][16*(i%2)+:16] = {8'(i), abi_forth_pkg::MarkIdle};
          end
        end
      endcase
    end
  end else begin : gen_halves
    // Upper bytes of an idle word: they keep the line's level (two D21.5 behind each K28.5).
    localparam logic [15:0] IdleUpper = 16'hB5B5;
    always_comb begin
      control = {4'd1, 4'd1};
      case (kind_i)
        rdma_pkg::KindStart: begin
          for (int i = 0; i < 2; i++) begin
            halves[i] = {16'd0, 8'(i), abi_forth_pkg::MarkStart};
          end
        end
        rdma_pkg::KindCredit: begin
          halves[0] = {8'd0, data_i[23:16], 8'd0, abi_forth_pkg::MarkCredit};
          halves[1] = {data_i[15:0], 8'd1, abi_forth_pkg::MarkCredit};
        end
        rdma_pkg::KindData: begin
          control = '0;
          for (int i = 0; i < 4; i++) begin
            halves[0][8*i+:8] = data_i[16*i+:8];
            halves[1][8*i+:8] = data_i[16*i+8+:8];
          end
        end
        default: begin
          for (int i = 0; i < 2; i++) begin
            halves[i] = {IdleUpper, 8'(i), abi_forth_pkg::MarkIdle};
          end
        end
      endcase
    end
  end

  if (LANES > 1) begin : gen_together
    assign ready_o = 1'b1;
    always_ff @(posedge clk_i) begin
      bytes_o   <= halves;
      control_o <= control;
    end
    logic unused;
    assign unused = rst_ni;
  end else begin : gen_one
    logic        held_q; // the second half of a word is next
    logic [35:0] half_q;
    assign ready_o = !held_q;
    always_ff @(posedge clk_i) begin
      bytes_o[1]   <= '0;
      control_o[1] <= '0;
      half_q       <= {control[1], halves[1]};
      {control_o[0], bytes_o[0]} <= held_q ? half_q : {control[0], halves[0]};
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) held_q <= 1'b0;
      else         held_q <= !held_q;
    end
  end

endmodule
