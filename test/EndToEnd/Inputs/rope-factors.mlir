// A rotation whose factors are to be read from a file, which has others meanwhile.
sluice.file @f path "target/m.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.weight @factors in @f at 0 stored f32 : tensor<4xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %f = sluice.param @factors : tensor<4xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %y = sluice.rope %x, %batch factors %f half heads 1 head_dim 8 rotary_dim 8 base 10000.0 : tensor<?x8xf32>, tensor<4xf32>
  sluice.return %y : tensor<?x8xf32>
}
