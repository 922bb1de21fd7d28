// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu --remarks-filter="(convert-)?sluice.*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu --cse | FileCheck %s

// A checkpoint names what is used behind it and is moved in place: the residual
// and the activations, the quantised copy of these, which the second half of the
// product reads too, and the table of the rotation; but not the dead value %w0.
// It is a barrier itself: none stands before or behind it.

// REMARK: [Analysis] step | Category:convert-sluice-to-cpu
// REMARK-SAME: barriers=6, checkpoints=2

!square = tensor<64x64x!sluice.block<q8_0>>
!cache = !sluice.cache<kv_heads = 4, head_dim = 16>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x64xf32>
sluice.weight @w in @f at 0 stored q8_0 : !square

// CHECK:       sluice.program @main step @main_step
// CHECK-SAME:    checkpoints = 2

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.rows rows kernel @rows_embed_rotations_rotate_add_to_operand
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product rows %[[X:[a-z0-9_]+]], %{{.*}} columns 0 to 48 into %[[Y:[a-z0-9_]+]]
// CHECK-NEXT:    sluice.task.checkpoint %[[H:[a-z0-9_]+]], %[[T:[a-z0-9_]+]], %[[X]], %[[Y]] : !sluice.buffer<rows, 64>, !sluice.buffer<rows, 16>, !sluice.buffer<rows, 64, <q8, floats = 24>>, !sluice.buffer<rows, 48>
// CHECK-NEXT:    sluice.task.product rows %[[X]], %{{.*}} columns 48 to 64
// CHECK:         sluice.task.rows rows kernel @rows_concat_rotate
// CHECK:         sluice.task.append
// CHECK:         sluice.task.rows outputs kernel @rows_select_outputs
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.task.checkpoint %{{.*}} : !sluice.buffer<outputs, 64>
// CHECK-NEXT:    sluice.results
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
