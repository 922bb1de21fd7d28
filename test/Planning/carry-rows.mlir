// RUN: sluice-opt %s '--sluice-plan-step=target=#sluice.cpu<avx2>' --sluice-choose-operands --sluice-carry-rows | FileCheck %s --check-prefix=CPU
// RUN: sluice-opt %s '--sluice-plan-step=target=#sluice.cuda' --sluice-choose-operands --sluice-carry-rows | FileCheck %s --check-prefix=CUDA

// What a checkpoint moves. On a CPU that is all that is used behind it, operands of
// products among them; on a GPU rows of floats, and the operand is made anew behind
// it, while outputs stay where they are.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x64xf32>
sluice.weight @w in @f at 0 stored q8_0 : tensor<64x64x!sluice.block<q8_0>>

// CPU-DAG:   %[[X:.*]] = sluice.buffer : !sluice.buffer<rows, 64>
// CPU-DAG:   %[[Q:.*]] = sluice.buffer : !sluice.buffer<rows, 64, <q8,
// CPU:       sluice.to_operand
// CPU:       sluice.task.checkpoint %{{.*}}, %[[Q]]{{(, %.*)?}} : !sluice.buffer<rows, 64>, !sluice.buffer<rows, 64, <q8,
// CPU-NOT:   sluice.to_operand
// CPU:       sluice.task.product rows %[[Q]],
// CPU:       sluice.select_outputs
// CPU:       sluice.task.checkpoint %{{.*}} : !sluice.buffer<outputs, 64>

// CUDA:      sluice.to_operand
// CUDA:      sluice.task.checkpoint %{{[^:]*}} : !sluice.buffer<rows, 64>, !sluice.buffer<rows, 48>{{$}}
// CUDA:      sluice.to_operand
// CUDA:      sluice.select_outputs
// CUDA:      sluice.task.checkpoint{{$}}
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 64, context_length = 100} {
  %embd = sluice.param @embd : tensor<100x64xf32>
  %w = sluice.param @w : tensor<64x64x!sluice.block<q8_0>>
  %h = sluice.embed %batch, %embd by position : tensor<100x64xf32> -> tensor<?x64xf32>
  %y0 = sluice.linear %h, %w columns 0 to 48 : tensor<?x64xf32>, tensor<64x64x!sluice.block<q8_0>> -> tensor<?x48xf32>
  %b, %h1, %y1 = sluice.checkpoint %batch, %h, %y0 : tensor<?x64xf32>, tensor<?x48xf32>
  %y2 = sluice.linear %h1, %w columns 48 to 64 : tensor<?x64xf32>, tensor<64x64x!sluice.block<q8_0>> -> tensor<?x16xf32>
  %y = sluice.concat %y1, %y2 : tensor<?x48xf32>, tensor<?x16xf32> -> tensor<?x64xf32>
  %z = sluice.add %y, %h1 : tensor<?x64xf32>
  %s = sluice.select_outputs %z, %b : tensor<?x64xf32>
  %b2, %last = sluice.checkpoint %b, %s : tensor<?x64xf32>
  sluice.return %last : tensor<?x64xf32>
}
