// Names that the modules of the associative list processing unit share (brightwell2005, tables I
// and II).

package alpu_pkg;

  // Commands, cmd_op_i.
  localparam logic [1:0] CmdStartInsert = 2'd0;
  localparam logic [1:0] CmdInsert = 2'd1;
  localparam logic [1:0] CmdStopInsert = 2'd2;
  localparam logic [1:0] CmdReset = 2'd3;

  // Responses, rsp_kind_o.
  localparam logic [1:0] RspStartAcknowledge = 2'd0;
  localparam logic [1:0] RspMatchSuccess = 2'd1;
  localparam logic [1:0] RspMatchFailure = 2'd2;

  // The controlling state machine (figure 3 of the paper).
  localparam logic [1:0] StateMatch = 2'd0;
  localparam logic [1:0] StateRead = 2'd1;
  localparam logic [1:0] StateInsert = 2'd2;

  // Where the match in flight is. Idle is also stage 1, when a match starts.
  localparam logic [2:0] StepIdle = 3'd0;
  localparam logic [2:0] StepCompare = 3'd1;
  localparam logic [2:0] StepPrioritise = 3'd2;
  localparam logic [2:0] StepResolve = 3'd3;
  localparam logic [2:0] StepResolve2 = 3'd4;
  localparam logic [2:0] StepFanout = 3'd5;
  localparam logic [2:0] StepDelete = 3'd6;

endpackage
