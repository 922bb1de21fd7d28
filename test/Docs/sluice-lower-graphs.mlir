// RUN: sluice-opt %s --sluice-lower-graphs | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK-LABEL: func.func @main_step(%{{.*}}: !llvm.ptr)
// CHECK-NOT: sluice.graph
sluice.graph @main_step {
  %x = sluice.graph_value rows 16
  sluice.graph_embed 0 by token into %x cols 256
}
