// A model of three tokens whose logits can be worked out by hand: a row is its
// token, one-hot, plus the mean of the tokens so far (the keys are zero, so all
// positions weigh the same), and the output layer turns by one. The most
// probable token after t is therefore t + 1 modulo 3. Token 2 ends a text.
// Its file is written by: write_floats.py weights.bin 1 0 0 0 1 0 0 0 1
//   0 0 0 0 0 0 0 0 0 0 0 1 1 0 0 0 1 0

sluice.file @f0 path "weights.bin" size 108 identity "a737a79641afa9d9"
sluice.weight @table in @f0 at 0 stored f32 : tensor<3x3xf32>
sluice.weight @zeros in @f0 at 36 stored f32 : tensor<3x3xf32>
sluice.weight @output in @f0 at 72 stored f32 : tensor<3x3xf32>

sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "test", model_name = "counter", vocab_size = 3 : i64,
    context_length = 8 : i64, eos_tokens = array<i64: 2>} {
  %table = sluice.param @table : tensor<3x3xf32>
  %h0 = sluice.embed chunk %chunk, %table by token
    : tensor<3x3xf32> -> tensor<?x3xf32>
  %h1 = sluice.layer 0 (%x = %h0) : tensor<?x3xf32> {
    %zeros = sluice.param @zeros : tensor<3x3xf32>
    %k = sluice.linear %x, %zeros
      : tensor<?x3xf32>, tensor<3x3xf32> -> tensor<?x3xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 3>
    %a = sluice.attend %x, %k, %x, %cache, chunk %chunk heads 1 scale 1.0
      : tensor<?x3xf32>, tensor<?x3xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 3>
    %y = sluice.add %x, %a : tensor<?x3xf32>
    sluice.yield %y : tensor<?x3xf32>
  }
  %last = sluice.select_outputs %h1, chunk %chunk : tensor<?x3xf32>
  %output = sluice.param @output : tensor<3x3xf32>
  %logits = sluice.linear %last, %output
    : tensor<?x3xf32>, tensor<3x3xf32> -> tensor<?x3xf32>
  sluice.return %logits : tensor<?x3xf32>
}
