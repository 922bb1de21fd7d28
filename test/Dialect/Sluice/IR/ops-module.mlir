// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// Files, weights in every format, the tokenizer and the frame of a model go
// through text, generic text and bytecode unchanged.

// CHECK: sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
// CHECK: sluice.file @f1 path "tokenizer.json" size 1 identity "FEDCBA9876543210"
sluice.file @f1 path "tokenizer.json" size 1 identity "FEDCBA9876543210"

// CHECK: sluice.weight @f32 in @f0 at 0 stored f32 : tensor<256x256xf32>
sluice.weight @f32 in @f0 at 0 stored f32 : tensor<256x256xf32>
// CHECK: sluice.weight @f16 in @f0 at 64 stored f16 : tensor<256xf16>
sluice.weight @f16 in @f0 at 64 stored f16 : tensor<256xf16>
// CHECK: sluice.weight @bf16 in @f0 at 64 stored bf16 : tensor<2x3xbf16>
sluice.weight @bf16 in @f0 at 64 stored bf16 : tensor<2x3xbf16>
// CHECK: sluice.weight @blk.0.attn_q.weight in @f0 at 4096 stored q8_0 : tensor<256x256x!sluice.block<q8_0>>
// CHECK: sluice.weight @q_proj.weight_scale in @f0 at 0 stored bf16 : tensor<256xbf16>
// CHECK: sluice.weight @q_proj.weight in @f0 at 512 stored e4m3 scales @q_proj.weight_scale : tensor<256x256x!sluice.block<e4m3>>
sluice.weight @blk.0.attn_q.weight in @f0 at 4096 stored q8_0
  : tensor<256x256x!sluice.block<q8_0>>
sluice.weight @q_proj.weight_scale in @f0 at 0 stored bf16 : tensor<256xbf16>
sluice.weight @q_proj.weight in @f0 at 512 stored e4m3
  scales @q_proj.weight_scale : tensor<256x256x!sluice.block<e4m3>>
// CHECK: tensor<1x32x!sluice.block<q4_0>>
sluice.weight @q4_0 in @f0 at 4096 stored q4_0 : tensor<1x32x!sluice.block<q4_0>>
// CHECK: tensor<1x32x!sluice.block<q4_1>>
sluice.weight @q4_1 in @f0 at 4096 stored q4_1 : tensor<1x32x!sluice.block<q4_1>>
// CHECK: tensor<1x32x!sluice.block<q5_0>>
sluice.weight @q5_0 in @f0 at 4096 stored q5_0 : tensor<1x32x!sluice.block<q5_0>>
// CHECK: tensor<1x32x!sluice.block<q5_1>>
sluice.weight @q5_1 in @f0 at 4096 stored q5_1 : tensor<1x32x!sluice.block<q5_1>>
// CHECK: tensor<1x256x!sluice.block<q4_k>>
sluice.weight @q4_k in @f0 at 4096 stored q4_k : tensor<1x256x!sluice.block<q4_k>>
// CHECK: tensor<1x256x!sluice.block<q5_k>>
sluice.weight @q5_k in @f0 at 4096 stored q5_k : tensor<1x256x!sluice.block<q5_k>>
// CHECK: tensor<1x256x!sluice.block<q6_k>>
sluice.weight @q6_k in @f0 at 4096 stored q6_k : tensor<1x256x!sluice.block<q6_k>>

// CHECK: tensor<1x128x!sluice.block<e4m3>>
sluice.weight @e4m3 in @f0 at 4096 stored e4m3 : tensor<1x128x!sluice.block<e4m3>>

// Scales that lie apart: one for each row above; one for all, one for each 128
// rows by 128 columns.
// CHECK: sluice.weight @one in @f0 at 0 stored f32 : tensor<1xf32>
sluice.weight @one in @f0 at 0 stored f32 : tensor<1xf32>
// CHECK: sluice.weight @tensor in @f0 at 4096 stored e4m3 scales @one : tensor<3x128x!sluice.block<e4m3>>
sluice.weight @tensor in @f0 at 4096 stored e4m3 scales @one
  : tensor<3x128x!sluice.block<e4m3>>
sluice.weight @grid in @f0 at 0 stored f32 : tensor<2x2xf32>
// CHECK: scales @grid : tensor<130x256x!sluice.block<e4m3>>
sluice.weight @blocks in @f0 at 512 stored e4m3 scales @grid
  : tensor<130x256x!sluice.block<e4m3>>
// The numbers end with the file.
// CHECK: sluice.weight @apart in @f0 at 7949184 stored e4m3 scales @one
sluice.weight @apart in @f0 at 7949184 stored e4m3 scales @one
  : tensor<1x128x!sluice.block<e4m3>>

// Quantised by whoever loads them.
// CHECK: sluice.weight @lazy8 in @f0 at 0 stored bf16 : tensor<4x64x!sluice.block<q8_0>>
sluice.weight @lazy8 in @f0 at 0 stored bf16 : tensor<4x64x!sluice.block<q8_0>>
// CHECK: sluice.weight @lazy4 in @f0 at 0 stored f32 : tensor<4x64x!sluice.block<q4_0>>
sluice.weight @lazy4 in @f0 at 0 stored f32 : tensor<4x64x!sluice.block<q4_0>>

// CHECK: sluice.weight @lazye4m3 in @f0 at 0 stored bf16 : tensor<4x128x!sluice.block<e4m3>>
sluice.weight @lazye4m3 in @f0 at 0 stored bf16 : tensor<4x128x!sluice.block<e4m3>>

// The last byte of the file.
// CHECK: sluice.weight @last in @f0 at 7949308 stored f32 : tensor<1xf32>
sluice.weight @last in @f0 at 7949308 stored f32 : tensor<1xf32>

// CHECK: sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
// CHECK: sluice.tokenizer @inside from @f0 source gguf
sluice.tokenizer @inside from @f0 source gguf

sluice.weight @output.weight in @f0 at 4096 stored q8_0
  : tensor<4096x256x!sluice.block<q8_0>>

// CHECK: sluice.model @main(%[[BATCH:.*]]: !sluice.batch) attributes
// CHECK-SAME: architecture = "llama", context_length = 1024 : i64,
// CHECK-SAME: eos_tokens = array<i64: 2>, model_name = "demo",
// CHECK-SAME: vocab_size = 4096 : i64
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "demo", vocab_size = 4096,
    context_length = 1024, eos_tokens = array<i64: 2>} {
  // CHECK: %[[W:.*]] = param @output.weight : tensor<4096x256x!sluice.block<q8_0>>
  %w = sluice.param @output.weight : tensor<4096x256x!sluice.block<q8_0>>
  %h = sluice.embed %batch, %w by token
    : tensor<4096x256x!sluice.block<q8_0>> -> tensor<?x256xf32>
  // The output is tied: the same weight again.
  %logits = sluice.linear %h, %w
    : tensor<?x256xf32>, tensor<4096x256x!sluice.block<q8_0>>
    -> tensor<?x4096xf32>
  // CHECK: return %{{.*}} : tensor<?x4096xf32>
  sluice.return %logits : tensor<?x4096xf32>
}
