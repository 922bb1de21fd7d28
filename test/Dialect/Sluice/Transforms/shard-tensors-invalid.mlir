// RUN: sluice-opt %s --split-input-file --verify-diagnostics --sluice-shard-tensors=tensor-parallel=4

// Models that cannot be split over four members, each for another reason: heads,
// columns, blocks, rows that no product makes, and rows that an op needs whole.

// expected-error @+1 {{there is no sluice.model @main}}
module {}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x48xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8} {
  %table = sluice.param @table : tensor<8x48xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x48xf32> -> tensor<?x48xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x48xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 6, head_dim = 8>
    // expected-error @+1 {{6 heads and 6 key heads cannot be split over 4 members of a group}}
    %a = sluice.attend %x, %x, %x, %cache, chunk %chunk heads 6 scale 0.25
      : tensor<?x48xf32>, tensor<?x48xf32>,
        !sluice.cache<kv_heads = 6, head_dim = 8>
    sluice.yield %a : tensor<?x48xf32>
  }
  %logits = sluice.linear %h0, %table
    : tensor<?x48xf32>, tensor<8x48xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x96xf32>
sluice.weight @kv in @f0 at 0 stored f32 : tensor<24x96xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8} {
  %table = sluice.param @table : tensor<8x96xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x96xf32> -> tensor<?x96xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x96xf32> {
    %w = sluice.param @kv : tensor<24x96xf32>
    %k = sluice.linear %x, %w
      : tensor<?x96xf32>, tensor<24x96xf32> -> tensor<?x24xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 3, head_dim = 8>
    // A member would read all of one key head and half of another.
    // expected-error @+1 {{12 heads and 3 key heads cannot be split over 4 members of a group}}
    %a = sluice.attend %x, %k, %k, %cache, chunk %chunk heads 12 scale 0.25
      : tensor<?x96xf32>, tensor<?x24xf32>,
        !sluice.cache<kv_heads = 3, head_dim = 8>
    sluice.yield %a : tensor<?x96xf32>
  }
  %logits = sluice.linear %h0, %table
    : tensor<?x96xf32>, tensor<8x96xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<32x32xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 32, context_length = 8} {
  %table = sluice.param @table : tensor<32x32xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<32x32xf32> -> tensor<?x32xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x32xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 4, head_dim = 8>
    // expected-error @+1 {{takes rows that no product makes, and cannot be split over a group}}
    %a = sluice.attend %x, %x, %x, %cache, chunk %chunk heads 4 scale 0.25
      : tensor<?x32xf32>, tensor<?x32xf32>,
        !sluice.cache<kv_heads = 4, head_dim = 8>
    sluice.yield %a : tensor<?x32xf32>
  }
  sluice.return %h : tensor<?x32xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x30xf32>
sluice.weight @up in @f0 at 0 stored f32 : tensor<30x30xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8} {
  %table = sluice.param @table : tensor<8x30xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x30xf32> -> tensor<?x30xf32>
  %up = sluice.param @up : tensor<30x30xf32>
  %u = sluice.linear %h, %up
    : tensor<?x30xf32>, tensor<30x30xf32> -> tensor<?x30xf32>
  // expected-error @+1 {{30 feed-forward columns cannot be split over 4 members of a group}}
  %a = sluice.activation relu %u : tensor<?x30xf32>
  %logits = sluice.linear %a, %table
    : tensor<?x30xf32>, tensor<8x30xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @up in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @blk.0.ffn_down.weight in @f0 at 0 stored f32
  : tensor<64x64x!sluice.block<q4_0>>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 64, context_length = 8} {
  %table = sluice.param @table : tensor<64x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<64x64xf32> -> tensor<?x64xf32>
  %up = sluice.param @up : tensor<64x64xf32>
  %u = sluice.linear %h, %up
    : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %a = sluice.activation relu %u : tensor<?x64xf32>
  %down = sluice.param @blk.0.ffn_down.weight : tensor<64x64x!sluice.block<q4_0>>
  // expected-error @+1 {{cannot split @blk.0.ffn_down.weight over 4 members of a group: column 16 is inside a q4_0 block of 32}}
  %d = sluice.linear %a, %down
    : tensor<?x64xf32>, tensor<64x64x!sluice.block<q4_0>> -> tensor<?x64xf32>
  sluice.return %d : tensor<?x64xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @up in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @norm in @f0 at 0 stored f32 : tensor<64xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 64, context_length = 8} {
  %table = sluice.param @table : tensor<64x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<64x64xf32> -> tensor<?x64xf32>
  %up = sluice.param @up : tensor<64x64xf32>
  %u = sluice.linear %h, %up
    : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %norm = sluice.param @norm : tensor<64xf32>
  // expected-error @+1 {{has heads of 64 features, of which one is cut at 16 if it is split over 4 members of a group}}
  %n = sluice.rms_norm %u, %norm epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  %a = sluice.activation relu %n : tensor<?x64xf32>
  sluice.return %a : tensor<?x64xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @norm in @f0 at 0 stored f32 : tensor<64xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 64, context_length = 8} {
  %table = sluice.param @table : tensor<64x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<64x64xf32> -> tensor<?x64xf32>
  %u = sluice.linear %h, %table
    : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %a = sluice.activation relu %u : tensor<?x64xf32>
  %norm = sluice.param @norm : tensor<64xf32>
  // expected-error @+1 {{takes rows that are split over a group, and needs whole ones}}
  %n = sluice.rms_norm %a, %norm epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  sluice.return %n : tensor<?x64xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 64, context_length = 8} {
  %table = sluice.param @table : tensor<64x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<64x64xf32> -> tensor<?x64xf32>
  %u = sluice.linear %h, %table
    : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %a = sluice.activation relu %u : tensor<?x64xf32>
  // expected-error @+1 {{stands between two products that are split, and cannot be}}
  %v = sluice.linear %a, %table
    : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %b = sluice.activation relu %v : tensor<?x64xf32>
  %w = sluice.linear %b, %table
    : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  sluice.return %w : tensor<?x64xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<64x64xf32>
// expected-error @+1 {{is tensor parallel already}}
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 64, context_length = 8, tensor_parallel = 2} {
  %table = sluice.param @table : tensor<64x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<64x64xf32> -> tensor<?x64xf32>
  sluice.return %h : tensor<?x64xf32>
}

// -----

// The norm is over pairs of heads, and the members would have one of each pair: the
// widths fit, and the numbers would be others.
sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @norm in @f0 at 0 stored f32 : tensor<16xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 64, context_length = 8} {
  %table = sluice.param @table : tensor<64x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<64x64xf32> -> tensor<?x64xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x64xf32> {
    %w = sluice.param @table : tensor<64x64xf32>
    %u = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %norm = sluice.param @norm : tensor<16xf32>
    // expected-error @+1 {{has heads of 16 features, of which one is cut at 8 if it is split over 4 members of a group}}
    %n = sluice.rms_norm %u, %norm heads 4 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<16xf32>
    %q, %k, %v = sluice.split_qkv %n concat heads 4 kv_heads 2 head_dim 8
      : tensor<?x64xf32> -> tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>
    %c = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 8>
    %a = sluice.attend %q, %k, %v, %c, chunk %chunk heads 4 scale 0.25
      : tensor<?x32xf32>, tensor<?x16xf32>, !sluice.cache<kv_heads = 2, head_dim = 8>
    %y = sluice.concat %a, %a : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x64xf32>
    sluice.yield %y : tensor<?x64xf32>
  }
  sluice.return %h1 : tensor<?x64xf32>
}
