// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Types that the dialect's parameters and the constraints of its operands rule
// out: Rows, VectorWeight, MatrixWeight and Weight of SluiceTypes.td.

// cache_c1
// expected-error @+1 {{kv_heads and head_dim must be positive, got 0 and 64}}
func.func private @f(!sluice.cache<kv_heads = 0, head_dim = 64>)

// -----

// cache_c1
// expected-error @+1 {{kv_heads and head_dim must be positive, got 1 and -64}}
func.func private @f(!sluice.cache<kv_heads = 1, head_dim = -64>)

// -----

// block_c1
// expected-error @+1 {{'bf16' is not a block format: use the builtin type}}
func.func private @f(tensor<32x!sluice.block<bf16>>)

// -----

// expected-error @+2 {{expected ::sluice::ir::ElementFormat to be one of}}
// expected-error @+1 {{failed to parse Sluice_BlockType parameter 'format'}}
func.func private @f(tensor<32x!sluice.block<q3_k>>)

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // Rows: any number of them
  // expected-error @+1 {{must be rows of features, tensor<?xNxf32> with N at most 2^24, but got 'tensor<4x8xf32>'}}
  %y = sluice.add %x, %x : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x?xf32>) {
  // Rows: of a width that is known
  // expected-error @+1 {{must be rows of features}}
  %y = sluice.add %x, %x : tensor<?x?xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xbf16>) {
  // Rows: of float32
  // expected-error @+1 {{must be rows of features}}
  %y = sluice.add %x, %x : tensor<?x8xbf16>
  return
}

// -----

func.func @f(%x: tensor<?x32xf32>, %w: tensor<32x!sluice.block<q8_0>>) {
  // VectorWeight: not in blocks
  // expected-error @+1 {{must be a vector weight, tensor<N x f32|f16|bf16>, but got 'tensor<32x!sluice.block<q8_0>>'}}
  %y = sluice.rms_norm %x, %w epsilon 0.0
    : tensor<?x32xf32>, tensor<32x!sluice.block<q8_0>>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<4x8xf64>) {
  // MatrixWeight: of a format that files have
  // expected-error @+1 {{must be a matrix weight, tensor<M x N x f32|f16|bf16|block>, but got 'tensor<4x8xf64>'}}
  %y = sluice.linear %x, %w
    : tensor<?x8xf32>, tensor<4x8xf64> -> tensor<?x4xf32>
  return
}

// -----

func.func @f() {
  // Weight: of rank 1 or 2
  // expected-error @+1 {{must be a weight, but got 'tensor<2x2x2xf32>'}}
  %w = sluice.param @w : tensor<2x2x2xf32>
  return
}

// -----

// frame_c1: only rows have activations
// expected-error @+1 {{a frame of tokens cannot have activations of type 'tensor<?x8xf32>'}}
func.func private @f(!sluice.frame<tokens, tensor<?x8xf32>>)

// -----

// frame_c1: activations are rows
// expected-error @+1 {{a frame of rows cannot have activations of type 'tensor<8xf32>'}}
func.func private @f(!sluice.frame<rows, tensor<8xf32>>)

// -----

// place_c1
// expected-error @+1 {{a place needs a node}}
sluice.rank @r index 0 on(#sluice.place<node = "", device = 0>)

// -----

// place_c2
// expected-error @+1 {{device must not be negative, got -1}}
sluice.rank @r index 0 on(#sluice.place<node = "n0", device = -1>)
