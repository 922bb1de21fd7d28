// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Files, weights and tokenizers that do not fit together.

// file_c1
// expected-error @+1 {{needs a path}}
sluice.file @f0 path "" size 1 identity "0123456789abcdef"

// -----

// file_c2
// expected-error @+1 {{size must be positive, got 0}}
sluice.file @f0 path "a" size 0 identity "0123456789abcdef"

// -----

// file_c2
// expected-error @+1 {{size must be positive, got -1}}
sluice.file @f0 path "a" size -1 identity "0123456789abcdef"

// -----

// file_c3: too short
// expected-error @+1 {{identity must be sixteen hexadecimal digits}}
sluice.file @f0 path "a" size 1 identity "0123456789abcde"

// -----

// file_c3: not hexadecimal
// expected-error @+1 {{identity must be sixteen hexadecimal digits}}
sluice.file @f0 path "a" size 1 identity "0123456789abcdeg"

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c1
// expected-error @+1 {{attribute 'type' failed to satisfy constraint: type attribute of a weight}}
sluice.weight @w in @f0 at 0 stored f32 : tensor<?x4xf32>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c1
// expected-error @+1 {{attribute 'type' failed to satisfy constraint: type attribute of a weight}}
sluice.weight @w in @f0 at 0 stored f32 : tensor<1x1x4xf32>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c2
// expected-error @+1 {{a row of 48 elements is not a whole number of q8_0 blocks}}
sluice.weight @w in @f0 at 0 stored q8_0 : tensor<2x48x!sluice.block<q8_0>>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c2: the format that it is quantised to while loading
// expected-error @+1 {{a row of 33 elements is not a whole number of q4_0 blocks}}
sluice.weight @w in @f0 at 0 stored f32 : tensor<2x33x!sluice.block<q4_0>>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c6
// expected-error @+1 {{has more bytes than 64 bits count}}
sluice.weight @w in @f0 at 0 stored f32
  : tensor<4611686018427387904x8xf32>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c3: not from blocks to other blocks
// expected-error @+1 {{cannot compute in q4_0 what is stored in q8_0}}
sluice.weight @w in @f0 at 0 stored q8_0 : tensor<2x32x!sluice.block<q4_0>>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c3: no other conversion than quantising
// expected-error @+1 {{cannot compute in f32 what is stored in bf16}}
sluice.weight @w in @f0 at 0 stored bf16 : tensor<2x32xf32>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c3: only to q8_0, q4_0 and e4m3
// expected-error @+1 {{cannot compute in q4_k what is stored in f32}}
sluice.weight @w in @f0 at 0 stored f32 : tensor<1x256x!sluice.block<q4_k>>

// -----

// weight_c4
// expected-error @+1 {{@f0 is not a sluice.file}}
sluice.weight @w in @f0 at 0 stored f32 : tensor<4xf32>

// -----

sluice.file @f0 path "a" size 15 identity "0123456789abcdef"
// weight_c5: one byte too many
// expected-error @+1 {{bytes 0 to 16 lie outside the file's 15}}
sluice.weight @w in @f0 at 0 stored f32 : tensor<4xf32>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c5: an end that overflows
// expected-error @+1 {{lie outside the file's 4096}}
sluice.weight @w in @f0 at -4 stored f32 : tensor<4xf32>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @s in @f0 at 0 stored f32 : tensor<1xf32>
// weight_c7
// expected-error @+1 {{has scales, but is not stored in e4m3}}
sluice.weight @w in @f0 at 0 stored f32 scales @s
  : tensor<2x128x!sluice.block<e4m3>>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @s in @f0 at 0 stored f32 : tensor<1x32x!sluice.block<q8_0>>
// weight_c7: stored as f32, but computed with in q8_0
// expected-error @+1 {{has scales of 'tensor<1x32x!sluice.block<q8_0>>' that are not f32, f16 or bf16 as stored}}
sluice.weight @w in @f0 at 0 stored e4m3 scales @s
  : tensor<2x128x!sluice.block<e4m3>>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
// weight_c7
// expected-error @+1 {{@s is not a sluice.weight}}
sluice.weight @w in @f0 at 0 stored e4m3 scales @s
  : tensor<2x128x!sluice.block<e4m3>>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @s in @f0 at 0 stored q8_0 : tensor<1x32x!sluice.block<q8_0>>
// weight_c7
// expected-error @+1 {{has scales of 'tensor<1x32x!sluice.block<q8_0>>' that are not f32, f16 or bf16 as stored}}
sluice.weight @w in @f0 at 0 stored e4m3 scales @s
  : tensor<2x128x!sluice.block<e4m3>>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @s in @f0 at 0 stored f32 : tensor<3xf32>
// weight_c7
// expected-error @+1 {{of 2 rows and 128 columns cannot have scales of 'tensor<3xf32>': needs one, one for each row, or one for each 128 rows and 128 columns}}
sluice.weight @w in @f0 at 0 stored e4m3 scales @s
  : tensor<2x128x!sluice.block<e4m3>>

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<4xf32>
// tokenizer_c1
// expected-error @+1 {{@w is not a sluice.file}}
sluice.tokenizer @tokenizer from @w source gguf
