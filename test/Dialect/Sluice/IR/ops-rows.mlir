// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// The row-wise ops, with and without what is optional in them.

// CHECK-LABEL: @embed
func.func @embed(%batch: !sluice.batch,
    %table: tensor<4096x256x!sluice.block<q8_0>>, %positions: tensor<64x256xf16>) {
  // CHECK: sluice.embed %{{.*}}, %{{.*}} by token : tensor<4096x256x!sluice.block<q8_0>> -> tensor<?x256xf32>
  %h = sluice.embed %batch, %table by token
    : tensor<4096x256x!sluice.block<q8_0>> -> tensor<?x256xf32>
  // CHECK: sluice.embed %{{.*}}, %{{.*}} by position : tensor<64x256xf16> -> tensor<?x256xf32>
  %p = sluice.embed %batch, %positions by position
    : tensor<64x256xf16> -> tensor<?x256xf32>
  return
}

// CHECK-LABEL: @rms_norm
func.func @rms_norm(%x: tensor<?x256xf32>, %w: tensor<256xf32>) {
  // CHECK: sluice.rms_norm %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<?x256xf32>, tensor<256xf32>
  %y = sluice.rms_norm %x, %w epsilon 1.0e-05
    : tensor<?x256xf32>, tensor<256xf32>
  return
}

// CHECK-LABEL: @norms_of_heads
func.func @norms_of_heads(%x: tensor<?x256xf32>, %w: tensor<64xf32>) {
  // CHECK: sluice.rms_norm %{{.*}}, %{{.*}} heads 4 epsilon 1.000000e-05 : tensor<?x256xf32>, tensor<64xf32>
  %y = sluice.rms_norm %x, %w heads 4 epsilon 1.0e-05
    : tensor<?x256xf32>, tensor<64xf32>
  // CHECK: sluice.layer_norm %{{.*}}, %{{.*}} bias %{{.*}} heads 4 epsilon 1.000000e-05 : tensor<?x256xf32>, tensor<64xf32>, tensor<64xf32>
  %z = sluice.layer_norm %x, %w bias %w heads 4 epsilon 1.0e-05
    : tensor<?x256xf32>, tensor<64xf32>, tensor<64xf32>
  return
}

// CHECK-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<?x256xf32>, %w: tensor<256xf32>,
                      %b: tensor<256xf32>) {
  // CHECK: sluice.layer_norm %{{.*}}, %{{.*}} bias %{{.*}} epsilon 1.000000e-05 : tensor<?x256xf32>, tensor<256xf32>, tensor<256xf32>
  %y = sluice.layer_norm %x, %w bias %b epsilon 1.0e-05
    : tensor<?x256xf32>, tensor<256xf32>, tensor<256xf32>
  // CHECK: sluice.layer_norm %{{.*}}, %{{.*}} epsilon 0.000000e+00 : tensor<?x256xf32>, tensor<256xf32>{{$}}
  %n = sluice.layer_norm %x, %w epsilon 0.0 : tensor<?x256xf32>, tensor<256xf32>
  return
}

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<?x256xf32>,
    %w: tensor<512x256x!sluice.block<q4_0>>, %b: tensor<512xf32>,
    %t: tensor<256x512xf16>) {
  // CHECK: sluice.linear %{{.*}}, %{{.*}} bias %{{.*}} : tensor<?x256xf32>, tensor<512x256x!sluice.block<q4_0>>, tensor<512xf32> -> tensor<?x512xf32>
  %y = sluice.linear %x, %w bias %b
    : tensor<?x256xf32>, tensor<512x256x!sluice.block<q4_0>>, tensor<512xf32>
    -> tensor<?x512xf32>
  // CHECK: sluice.linear %{{.*}}, %{{.*}} transposed : tensor<?x256xf32>, tensor<256x512xf16> -> tensor<?x512xf32>
  %z = sluice.linear %x, %t transposed
    : tensor<?x256xf32>, tensor<256x512xf16> -> tensor<?x512xf32>
  // CHECK: sluice.linear %{{.*}}, %{{.*}} bias %{{.*}} transposed : tensor<?x256xf32>, tensor<256x512xf16>, tensor<512xf32> -> tensor<?x512xf32>
  %both = sluice.linear %x, %t bias %b transposed
    : tensor<?x256xf32>, tensor<256x512xf16>, tensor<512xf32> -> tensor<?x512xf32>
  return
}

// CHECK-LABEL: @columns
func.func @columns(%x: tensor<?x256xf32>, %w: tensor<512x256x!sluice.block<q4_0>>,
                   %b: tensor<512xf32>, %odd: tensor<40x256xf32>) {
  // CHECK: %[[Y0:.*]] = sluice.linear %{{.*}}, %{{.*}} bias %{{.*}} columns 0 to 256 : tensor<?x256xf32>, tensor<512x256x!sluice.block<q4_0>>, tensor<512xf32> -> tensor<?x256xf32>
  %y0 = sluice.linear %x, %w bias %b columns 0 to 256
    : tensor<?x256xf32>, tensor<512x256x!sluice.block<q4_0>>, tensor<512xf32>
    -> tensor<?x256xf32>
  %y1 = sluice.linear %x, %w bias %b columns 256 to 512
    : tensor<?x256xf32>, tensor<512x256x!sluice.block<q4_0>>, tensor<512xf32>
    -> tensor<?x256xf32>
  // CHECK: sluice.concat %[[Y0]], %{{.*}} : tensor<?x256xf32>, tensor<?x256xf32> -> tensor<?x512xf32>
  %y = sluice.concat %y0, %y1 : tensor<?x256xf32>, tensor<?x256xf32>
    -> tensor<?x512xf32>
  // The end of the weight need not be a multiple of 16.
  // CHECK: columns 32 to 40
  %z = sluice.linear %x, %odd columns 32 to 40
    : tensor<?x256xf32>, tensor<40x256xf32> -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: @split_qkv
func.func @split_qkv(%x: tensor<?x64xf32>) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = sluice.split_qkv %{{.*}} grouped heads 4 kv_heads 2 head_dim 8 : tensor<?x64xf32> -> tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>
  %q, %k, %v = sluice.split_qkv %x grouped heads 4 kv_heads 2 head_dim 8
    : tensor<?x64xf32>
    -> tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>
  // CHECK: sluice.split_qkv %{{.*}} concat heads 6 kv_heads 1 head_dim 8 :
  %r, %l, %w = sluice.split_qkv %x concat heads 6 kv_heads 1 head_dim 8
    : tensor<?x64xf32> -> tensor<?x48xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  return
}

// CHECK-LABEL: @activation
func.func @activation(%x: tensor<?x1024xf32>) {
  // CHECK: sluice.activation gelu_tanh %{{.*}} : tensor<?x1024xf32>
  %y = sluice.activation gelu_tanh %x : tensor<?x1024xf32>
  // CHECK: sluice.activation gelu %
  %e = sluice.activation gelu %x : tensor<?x1024xf32>
  // CHECK: sluice.activation relu %
  %r = sluice.activation relu %x : tensor<?x1024xf32>
  // CHECK: sluice.activation silu %
  %s = sluice.activation silu %x : tensor<?x1024xf32>
  return
}

// CHECK-LABEL: @gate
func.func @gate(%g: tensor<?x768xf32>, %u: tensor<?x768xf32>) {
  // CHECK: sluice.gate silu %{{.*}}, %{{.*}} : tensor<?x768xf32>
  %y = sluice.gate silu %g, %u : tensor<?x768xf32>
  return
}

// CHECK-LABEL: @add
func.func @add(%a: tensor<?x256xf32>, %b: tensor<?x256xf32>) {
  // CHECK: sluice.add %{{.*}}, %{{.*}} : tensor<?x256xf32>
  %y = sluice.add %a, %b : tensor<?x256xf32>
  return
}

// CHECK-LABEL: @select_outputs
func.func @select_outputs(%h: tensor<?x256xf32>, %batch: !sluice.batch) {
  // CHECK: sluice.select_outputs %{{.*}}, %{{.*}} : tensor<?x256xf32>
  %last = sluice.select_outputs %h, %batch : tensor<?x256xf32>
  return
}
