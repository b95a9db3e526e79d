// What a lane carries in a cycle, seen from inside the crossbar: a kind and 64 bits.

package crossbar_pkg;

  localparam logic [1:0] KindNone   = 2'd0;
  localparam logic [1:0] KindStart  = 2'd1; // a packet's header follows
  localparam logic [1:0] KindCredit = 2'd2; // parity, flow and count in bits 23, 22:16 and 15:0
  localparam logic [1:0] KindData   = 2'd3;

endpackage
