// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Graphs that are not a GPU's work alone, or contradict what they refer to.

func.func private @host()
sluice.graph @g {
  // graph_c1: a call is the host's
  // expected-error @+1 {{'func.call' is work of the host: a sluice.graph holds work of the device, addresses and constants}}
  func.call @host() : () -> ()
}

// -----

sluice.graph @g {
  // graph_c1: so is a loop
  %c = arith.constant 1 : index
  // expected-error @+1 {{'arith.addi' is work of the host}}
  %d = arith.addi %c, %c : index
}

// -----

sluice.graph @g {
  // graph_value_c1
  // expected-error @+1 {{has the offset 8, which is no multiple of 16}}
  %x = sluice.graph_value rows 8
}

// -----

sluice.graph @g {
  // graph_value_c1
  // expected-error @+1 {{has the offset -16}}
  %x = sluice.graph_value rows -16
}

// -----

sluice.graph @g {
  // graph_address_c1
  // expected-error @+1 {{has no index, but is of vector}}
  %x = sluice.graph_address vector
}

// -----

sluice.graph @g {
  // graph_address_c1
  // expected-error @+1 {{has an index, but is of positions}}
  %x = sluice.graph_address positions 1
}

// -----

sluice.graph @g {
  // graph_address_c1
  // expected-error @+1 {{has a negative index}}
  %x = sluice.graph_address rope_table -1
}

// -----

sluice.graph @g {
  // graph_linear_c1
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{computes the columns from 8 to 32, which begin with no whole tile}}
  sluice.graph_linear rows weight 0 columns 8 to 32 of %x into %x
}

// -----

sluice.graph @g {
  // graph_linear_c1
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{computes the columns from 32 to 32}}
  sluice.graph_linear rows weight 0 columns 32 to 32 of %x into %x
}

// -----

sluice.graph @g {
  // graph_attend_c1
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has parameters @nothing, which are not a global}}
  sluice.graph_attend 0 %x into %x with @nothing
}

// -----

sluice.graph @g {
  // graph_checkpoint_c1
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has 2 sizes for 1 values}}
  sluice.graph_checkpoint (%x) {floats = array<i64: 16, 16>}
}

// -----

sluice.graph @g {
  // graph_checkpoint_c1
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has a value without floats}}
  sluice.graph_checkpoint (%x) {floats = array<i64: 0>}
}

// -----

sluice.graph @g {
  // graph_checkpoint_c2
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 16
  // expected-error @+1 {{has its values in overlapping memory}}
  sluice.graph_checkpoint (%x, %y) {floats = array<i64: 17, 16>}
}

// -----

sluice.graph @g {
  // graph_checkpoint_c2: the same one twice
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has its values in overlapping memory}}
  sluice.graph_checkpoint (%x, %x) {floats = array<i64: 16, 16>}
}

// -----

gpu.module @kernels {
  gpu.func @k(%x: !llvm.ptr) kernel {
    gpu.return
  }
}
sluice.graph @g {
  %x = sluice.graph_address row_count
  // expected-error @+1 {{attribute 'blocks' failed to satisfy constraint}}
  sluice.launch_kernel @kernels::@k rows threads 32 blocks 0 (%x)
}

// -----

sluice.graph @g {
  // graph_c2: rows that come in are there when the graph starts
  %x = sluice.graph_value rows 0
  sluice.graph_operand rows f16 %x into %x cols 16
  // expected-error @+1 {{stands behind work, but rows are looked up and come in before all else}}
  sluice.graph_receive into %x cols 16
}

// -----

sluice.graph @g {
  // graph_c2: tokens do not move with rows
  %x = sluice.graph_value rows 0
  sluice.graph_checkpoint (%x) {floats = array<i64: 16>}
  // expected-error @+1 {{stands behind work, but rows are looked up and come in before all else}}
  sluice.graph_embed 0 by token into %x cols 16
}

// -----

sluice.graph @g {
  // graph_c3: twice
  sluice.graph_select_outputs
  // expected-error @+1 {{numbers outputs that have their numbers}}
  sluice.graph_select_outputs
}

// -----

sluice.graph @g {
  // graph_c3: too late
  %x = sluice.graph_value outputs 0
  // expected-error @+1 {{is for outputs, which have no numbers yet}}
  sluice.graph_operand outputs f16 %x into %x cols 16
  sluice.graph_select_outputs
}

// -----

sluice.graph @g {
  // graph_c4
  %x = sluice.graph_value rows 0
  sluice.graph_send %x cols 16
  // expected-error @+1 {{stands behind what is sent when the graph has ended}}
  sluice.graph_operand rows f16 %x into %x cols 16
}

// -----

sluice.graph @g {
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{attribute 'weight' failed to satisfy constraint}}
  sluice.graph_embed -5 by token into %x cols 16
}

// -----

sluice.graph @g {
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{attribute 'cols' failed to satisfy constraint}}
  sluice.graph_embed 0 by token into %x cols -1
}

// -----

sluice.graph @g {
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{attribute 'cache' failed to satisfy constraint}}
  sluice.graph_append -1 %x, %x
}

// -----

sluice.graph @g {
  // graph_all_reduce_c1
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 16
  // expected-error @+1 {{has its input, output and scratch in overlapping memory}}
  sluice.graph_all_reduce rows %x into %x cols 16 scratch %y
}

// -----

sluice.graph @g {
  // graph_all_gather_c1
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 16
  // expected-error @+1 {{has its input, output and scratch in overlapping memory}}
  sluice.graph_all_gather rows %x cols 8 into %y cols 16 scratch %x
}

// -----

sluice.graph @g {
  // graph_all_reduce_c1: the output begins in the input
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 16
  %s = sluice.graph_value rows 64
  // expected-error @+1 {{has its input, output and scratch in overlapping memory}}
  sluice.graph_all_reduce rows %x into %y cols 17 scratch %s
}

// -----

sluice.graph @g {
  // graph_all_reduce_c1: the scratch of two members reaches into the output
  %x = sluice.graph_value rows 0
  %s = sluice.graph_value rows 16
  %y = sluice.graph_value rows 32
  // expected-error @+1 {{has its input, output and scratch in overlapping memory}}
  sluice.graph_all_reduce rows %x into %y cols 16 scratch %s
}

// -----

sluice.graph @g {
  // graph_all_gather_c1: an input of a part of the columns ends before the output,
  // which ends in the scratch
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 16
  %s = sluice.graph_value rows 48
  %t = sluice.graph_value rows 32
  sluice.graph_all_gather rows %x cols 16 into %y cols 32 scratch %s
  // expected-error @+1 {{has its input, output and scratch in overlapping memory}}
  sluice.graph_all_gather rows %x cols 16 into %y cols 32 scratch %t
}

// -----

sluice.graph @g {
  // graph_all_gather_c2
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 16
  %s = sluice.graph_value rows 32
  // expected-error @+1 {{gathers 16 columns, of which a member has 16}}
  sluice.graph_all_gather rows %x cols 16 into %y cols 16 scratch %s
}

// -----

sluice.graph @g {
  // graph_c3: a meeting is work, too
  %x = sluice.graph_value outputs 0
  %y = sluice.graph_value outputs 16
  %s = sluice.graph_value outputs 32
  // expected-error @+1 {{is for outputs, which have no numbers yet}}
  sluice.graph_all_reduce outputs %x into %y cols 16 scratch %s
}

// -----

sluice.graph @g {
  // graph_linear_c2: products do not have it
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has the gate relu, which products do not have}}
  sluice.graph_linear rows weight 0 columns 0 to 32 of %x gate relu into %x
}

// -----

sluice.graph @g {
  // graph_linear_c2: all columns
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has a gate, but computes columns from 16}}
  sluice.graph_linear rows weight 0 columns 16 to 32 of %x gate silu into %x
}

// -----

sluice.graph @g {
  // graph_linear_c2: no partner without a gate
  %x = sluice.graph_value rows 0
  %b = sluice.graph_address vector 1
  // expected-error @+1 {{has a partner's bias, but no gate}}
  sluice.graph_linear rows weight 0 columns 0 to 32 of %x partner_bias %b into %x
}

// -----

sluice.graph @g {
  // graph_linear_c2: both or none
  %x = sluice.graph_value rows 0
  %b = sluice.graph_address vector 1
  // expected-error @+1 {{has a bias of its gate's or its partner's alone}}
  sluice.graph_linear rows weight 0 columns 0 to 32 of %x gate silu bias %b into %x
}

// -----

sluice.graph @g {
  // graph_linear_c2: a sum is a kernel's behind it
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has a gate and a residual}}
  sluice.graph_linear rows weight 0 columns 0 to 32 of %x gate silu residual %x into %x
}
