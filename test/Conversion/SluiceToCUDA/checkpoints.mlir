// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a | FileCheck %s

// At a checkpoint the rows' values that are used behind it are moved. Operands
// are not: the second half of the product, which is behind the checkpoint, gets
// its own. Rotations read a table of all positions, which nothing moves.

// CHECK:       sluice.program @main step @main_step cuda
// CHECK-SAME:    checkpoints = 2

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.rows rows runtime reads(%{{.*}} = %[[X:x[_0-9]*]] :
// CHECK-NEXT:      sluice.to_operand
// CHECK:         sluice.task.product rows %{{.*}} columns 0 to 48
// CHECK:         sluice.task.checkpoint
// CHECK:         sluice.task.rows rows runtime reads(%{{.*}} = %[[X]] :
// CHECK-NEXT:      sluice.to_operand
// CHECK:         sluice.task.product rows %{{.*}} columns 48 to 64
// CHECK:         sluice.task.checkpoint
!square = tensor<64x64x!sluice.block<q8_0>>
!cache = !sluice.cache<kv_heads = 4, head_dim = 16>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x64xf32>
sluice.weight @w in @f at 0 stored q8_0 : !square


sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "tiny", vocab_size = 64,
    context_length = 100} {
  %embd = sluice.param @embd : tensor<100x64xf32>
  %h = sluice.embed %batch, %embd by position : tensor<100x64xf32> -> tensor<?x64xf32>
  %h1, %b1 = sluice.layer 0 (%x = %h) : tensor<?x64xf32>, !sluice.batch {
    %w = sluice.param @w : !square
    %c = sluice.layer_cache : !cache
    %k = sluice.rope %x, %batch half heads 4 head_dim 16 rotary_dim 16 base 10000.0 : tensor<?x64xf32>
    %w0 = sluice.add %k, %x : tensor<?x64xf32>
    %y0 = sluice.linear %x, %w columns 0 to 48 : tensor<?x64xf32>, !square -> tensor<?x48xf32>
    %b, %x1, %w1, %y1 = sluice.checkpoint %batch, %x, %w0, %y0 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x48xf32>
    %y2 = sluice.linear %x1, %w columns 48 to 64 : tensor<?x64xf32>, !square -> tensor<?x16xf32>
    %y = sluice.concat %y1, %y2 : tensor<?x48xf32>, tensor<?x16xf32> -> tensor<?x64xf32>
    %q = sluice.rope %y, %b half heads 4 head_dim 16 rotary_dim 16 base 10000.0 : tensor<?x64xf32>
    %a = sluice.attend %q, %q, %q, %c, %b heads 4 scale 0.25 : tensor<?x64xf32>, tensor<?x64xf32>, !cache
    %z = sluice.add %x1, %a : tensor<?x64xf32>
    sluice.yield %z, %b : tensor<?x64xf32>
  }
  %s = sluice.select_outputs %h1, %b1 : tensor<?x64xf32>
  %b2, %last = sluice.checkpoint %b1, %s : tensor<?x64xf32>
  sluice.return %last : tensor<?x64xf32>
}
