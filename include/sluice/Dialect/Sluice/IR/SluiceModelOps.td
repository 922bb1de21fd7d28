//===- SluiceModelOps.td - the layers' ops of the phase model -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEMODELOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEMODELOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

//===----------------------------------------------------------------------===//
// Row-wise ops
//===----------------------------------------------------------------------===//

let opDocGroup = Sluice_RowWiseOps in {

def Sluice_SelectOutputsOp : Sluice_RowWiseOp<"select_outputs", [
    AllTypesMatch<["input", "result"]>]> { // select_outputs_c1
  let summary = "the rows whose logits were asked for";
  let description = [{
    Keeps the rows that the batch marks as outputs, in their order, so that the
    output layer is not computed for a prompt's other rows. Row-wise: which rows
    stay depends on nothing but the rows' own marks. The rows that stay no
    longer match the batch, so nothing may bring the two together again.

    Shapes: `input` is [rows, N], `result` [outputs, N] with outputs <= rows.

    ```mlir
    %last = sluice.select_outputs %h, %batch : tensor<?x256xf32>
    ```

    ```mlir
    %last = sluice.select_outputs %h, chunk %chunk : tensor<?x256xf32>
    ```

    Constraints:
    - (C1) the result has the input's type.
    - (C2) what is computed from the result is not an operand of an op that
      takes the batch or rows of the whole batch; but `sluice.checkpoint` may,
      and keeps the outputs among the rows that it keeps.
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_StepRows:$batch);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input `,` custom<StepRows>($batch, type($batch)) attr-dict
    `:` type($input)
  }];
}

def Sluice_EmbedOp
    : Sluice_RowWiseOp<"embed", [], ["getBytesPerRow"]> {
  let summary = "looks rows up in a table";
  let description = [{
    `result[r, :] = table[index(r), :]`, where `by` says whether the index is
    the row's token or its position.

    Shapes: `table` is [entries, N], `result` [rows, N].

    ```mlir
    %h = sluice.embed %batch, %table by token
      : tensor<4096x256x!sluice.block<q8_0>> -> tensor<?x256xf32>
    ```

    ```mlir
    %h = sluice.embed chunk %chunk, %table by token
      : tensor<4096x256x!sluice.block<q8_0>> -> tensor<?x256xf32>
    ```

    Constraints:
    - (C1) the result is as wide as the table.
    - (C2) by token, the table has as many rows as the vocabulary of the model
      or pipeline it stands in; by position, at least as many as its context.
  }];
  let arguments = (ins Sluice_StepRows:$batch, Sluice_MatrixWeight:$table,
                       Sluice_EmbedIndex:$by);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    custom<StepRows>($batch, type($batch)) `,` $table `by` $by attr-dict
    `:` type($table) `->` type($result)
  }];
  let hasVerifier = 1;
}

// An op that normalises each row, or each head of a row, by itself.
class Sluice_NormOp<string mnemonic> : Sluice_RowWiseOp<mnemonic, [
    AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<Sluice_ColumnOpInterface,
        ["countHeads", "setHeadCount", "countSums", "buildTerm",
         "buildScalar"]>],
    ["getWeightBytes"]> {
  let extraClassDefinition = [{
    ::sluice::ir::RowSemantics $cppClass::getRowSemantics() {
      return ::sluice::ir::RowSemantics::RowWise;
    }
    int64_t $cppClass::countHeads() {
      return static_cast<int64_t>(getHeads().value_or(1));
    }
    void $cppClass::setHeadCount(int64_t heads) {
      setHeads(heads > 1 ? ::std::optional<uint64_t>(heads) : ::std::nullopt);
    }
  }];
}

def Sluice_RmsNormOp : Sluice_NormOp<"rms_norm"> { // rms_norm_c4
  let summary = "root-mean-square normalisation";
  let description = [{
    `y = x / sqrt(mean(x^2) + epsilon) * weight` over each row; with `heads`,
    over each of so many equal parts of a row by itself, all with the same
    weight. Zhang and Sennrich, *Root mean square layer normalization*,
    arXiv 1910.07467.

    Shapes: `input` and `result` are [rows, N], or [rows, heads, N / heads];
    `weight` is [N], or [N / heads].

    ```mlir
    %y = sluice.rms_norm %x, %w epsilon 1.0e-05
      : tensor<?x256xf32>, tensor<256xf32>
    ```

    ```mlir
    %y = sluice.rms_norm %x, %w heads 4 epsilon 1.0e-05
      : tensor<?x256xf32>, tensor<64xf32>
    ```

    Constraints:
    - (C1) a row divides into `heads`.
    - (C2) `weight` is as long as a row, or as a head.
    - (C3) `epsilon` is finite and not negative.
    - (C4) the result has the input's type.
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_VectorWeight:$weight,
                       Sluice_Heads:$heads, F64Attr:$epsilon);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`heads` $heads^)? `epsilon` $epsilon attr-dict
    `:` type($input) `,` type($weight)
  }];
  let hasVerifier = 1;
}

def Sluice_LayerNormOp : Sluice_NormOp<"layer_norm"> { // layer_norm_c5
  let summary = "layer normalisation";
  let description = [{
    `y = (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias` over each
    row; the variance is the mean square of `x - mean(x)`. With `heads`, each of
    so many equal parts of a row is normalised by itself, all with the same
    weight and bias. Ba et al., *Layer normalization*, arXiv 1607.06450.

    Shapes: `input` and `result` are [rows, N], or [rows, heads, N / heads];
    `weight` and `bias` are [N], or [N / heads].

    ```mlir
    %y = sluice.layer_norm %x, %w bias %b epsilon 1.0e-05
      : tensor<?x256xf32>, tensor<256xf32>, tensor<256xf32>
    ```

    Constraints:
    - (C1) a row divides into `heads`.
    - (C2) `weight` is as long as a row, or as a head.
    - (C3) `bias`, where given, is as long as `weight`.
    - (C4) `epsilon` is finite and not negative.
    - (C5) the result has the input's type.
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_VectorWeight:$weight,
                       Optional<Sluice_VectorWeight>:$bias,
                       Sluice_Heads:$heads, F64Attr:$epsilon);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? (`heads` $heads^)? `epsilon` $epsilon attr-dict
    `:` type($input) `,` type($weight) (`,` type($bias)^)?
  }];
  let hasVerifier = 1;
}

def Sluice_LinearOp : Sluice_RowWiseOp<"linear", [], ["getWeightBytes"]> {
  let summary = "a matrix product with a weight, and a bias";
  let description = [{
    `y[r, o] = sum_i x[r, i] * weight[o, i] + bias[o]`. A tied output layer is
    this op with the embedding's table as its weight.

    Shapes: `input` is [rows, in], `result` [rows, out], `bias` [out]. `weight`
    is [out, in], or [in, out] where `transposed`.

    ```mlir
    %y = sluice.linear %x, %w bias %b
      : tensor<?x256xf32>, tensor<512x256x!sluice.block<q4_0>>, tensor<512xf32>
      -> tensor<?x512xf32>
    %z = sluice.linear %x, %t transposed
      : tensor<?x256xf32>, tensor<256x512xf16> -> tensor<?x512xf32>
    ```

    With `columns` a to b it is cut out of the whole product: only `y[:, a..b)`,
    from the same weight and bias, with the same bits. A long product that
    checkpoints interrupt is several of these and a `sluice.concat`.

    ```mlir
    %y0 = sluice.linear %x, %w bias %b columns 0 to 256
      : tensor<?x256xf32>, tensor<512x256x!sluice.block<q4_0>>, tensor<512xf32>
      -> tensor<?x256xf32>
    ```

    Constraints:
    - (C1) `x` is as wide as the weight's `in`.
    - (C2) `y` is as wide as the weight's `out`, or as its `columns`.
    - (C3) `bias`, where given, is as long as the weight's `out`.
    - (C4) a transposed weight is not block-quantised: blocks run along `in`.
    - (C5) `columns` are not empty, inside the weight's `out`, and start and end
      at multiples of 16, but where they end with the weight.
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_MatrixWeight:$weight,
                       Optional<Sluice_VectorWeight>:$bias,
                       UnitAttr:$transposed,
                       OptionalAttr<I64Attr>:$columns_begin,
                       OptionalAttr<I64Attr>:$columns_end);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? (`transposed` $transposed^)?
    (`columns` $columns_begin^ `to` $columns_end)? attr-dict
    `:` type($input) `,` type($weight) (`,` type($bias)^)? `->` type($result)
  }];
  let builders = [
    // All columns.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
                   "::mlir::Value":$weight, "::mlir::Value":$bias,
                   "bool":$transposed), [{
      build($_builder, $_state, result, input, weight, bias, transposed,
            ::mlir::IntegerAttr(), ::mlir::IntegerAttr());
    }]>
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Features that come in and go out of the whole product.
    int64_t getInFeatures();
    int64_t getOutFeatures();
    /// Columns [first, end) of the whole product that this op computes.
    int64_t getFirstColumn();
    int64_t getEndColumn();
  }];
}

def Sluice_ConcatOp : Sluice_RowWiseOp<"concat", [
    DeclareOpInterfaceMethods<Sluice_ColumnCopyOpInterface>]> {
  let summary = "puts rows side by side";
  let description = [{
    `result[r, :] = inputs[0][r, :], inputs[1][r, :], ...`. It brings a product
    together that was computed in columns.

    Shapes: `inputs` are [rows, N0], [rows, N1], ...; `result` is
    [rows, N0 + N1 + ...].

    ```mlir
    %y = sluice.concat %y0, %y1 : tensor<?x256xf32>, tensor<?x256xf32>
      -> tensor<?x512xf32>
    ```

    Constraints:
    - (C1) there is at least one input.
    - (C2) the result is as wide as the inputs together.
  }];
  let arguments = (ins Variadic<Sluice_Rows>:$inputs);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $inputs attr-dict `:` type($inputs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Sluice_SplitQKVOp : Sluice_RowWiseOp<"split_qkv", [
    DeclareOpInterfaceMethods<Sluice_ColumnCopyOpInterface>]> {
  let summary = "takes queries, keys and values out of fused rows";
  let description = [{
    `concat`: all query heads, then all key heads, then all value heads.
    `grouped`: for each key head its `heads / kv_heads` query heads, then the
    key head, then its value head.

    Shapes: `input` is [rows, (heads + 2 kv_heads) head_dim], `query`
    [rows, heads * head_dim], `key` and `value` [rows, kv_heads * head_dim].

    ```mlir
    %q, %k, %v = sluice.split_qkv %x grouped heads 4 kv_heads 2 head_dim 8
      : tensor<?x64xf32>
      -> tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>
    ```

    Constraints:
    - (C1) `heads`, `kv_heads` and `head_dim` are positive and `heads` is a
      multiple of `kv_heads`.
    - (C2) the input is `(heads + 2 * kv_heads) * head_dim` wide.
    - (C3) the query is `heads * head_dim` wide, key and value
      `kv_heads * head_dim`.
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_QKVLayout:$layout,
                       I64Attr:$heads, I64Attr:$kv_heads, I64Attr:$head_dim);
  let results = (outs Sluice_Rows:$query, Sluice_Rows:$key, Sluice_Rows:$value);
  let assemblyFormat = [{
    $input $layout `heads` $heads `kv_heads` $kv_heads `head_dim` $head_dim
    attr-dict `:` type($input) `->` type($query) `,` type($key) `,` type($value)
  }];
  let hasVerifier = 1;
}

def Sluice_RopeOp : Sluice_RowWiseOp<"rope", [
    AllTypesMatch<["input", "result"]>]> { // rope_c6
  let summary = "rotary position embedding";
  let description = [{
    Rotates pairs of the first `rotary_dim` features of each head by the row's
    position times the pair's inverse frequency, `base^(-2 p / rotary_dim)` for
    pair `p`; the other features stay. `interleaved` pairs features `2p` and
    `2p + 1`, `half` pairs `p` and `p + rotary_dim / 2`. `scaling` changes the
    frequencies, `factors` divides them one by one. Su et al., *RoFormer*, arXiv
    2104.09864, section 3.2.

    Shapes: `input` and `result` are [rows, heads * head_dim], `factors` is
    [rotary_dim / 2].

    ```mlir
    %r = sluice.rope %x, %batch half heads 8 head_dim 32 rotary_dim 32
      base 10000.0 scaling(#sluice.linear_scaling<factor = 2.0>)
      : tensor<?x256xf32>
    ```

    ```mlir
    %r = sluice.rope %x, chunk %chunk half heads 8 head_dim 32 rotary_dim 32
      base 10000.0 : tensor<?x256xf32>
    ```

    Constraints:
    - (C1) `heads` and `head_dim` are positive and a row is `heads * head_dim`
      wide.
    - (C2) `rotary_dim` is even, positive and at most `head_dim`.
    - (C3) `base` is finite and positive.
    - (C4) `factors`, where given, has `rotary_dim / 2` elements.
    - (C5) `factors` and `scaling` are not both given.
    - (C6) the result has the input's type.
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_StepRows:$batch,
                       Optional<Sluice_VectorWeight>:$factors,
                       Sluice_RopeStyle:$style, I64Attr:$heads,
                       I64Attr:$head_dim, I64Attr:$rotary_dim, F64Attr:$base,
                       OptionalAttr<Sluice_RopeScaling>:$scaling);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input `,` custom<StepRows>($batch, type($batch)) (`factors` $factors^)?
    $style `heads` $heads `head_dim` $head_dim `rotary_dim` $rotary_dim
    `base` $base (`scaling` `(` $scaling^ `)`)? attr-dict
    `:` type($input) (`,` type($factors)^)?
  }];
  let hasVerifier = 1;
}

def Sluice_ActivationOp : Sluice_RowWiseOp<"activation", [
    AllTypesMatch<["input", "result"]>, // activation_c1
    DeclareOpInterfaceMethods<Sluice_ColumnOpInterface>]> {
  let summary = "an activation function of every feature";
  let description = [{
    `silu`: x / (1 + exp(-x)). `gelu`: x / 2 (1 + erf(x / sqrt 2)). `gelu_tanh`:
    x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). `relu`: max(x, 0).

    Shapes: `input` and `result` are [rows, N].

    ```mlir
    %y = sluice.activation gelu_tanh %x : tensor<?x1024xf32>
    ```

    Constraints:
    - (C1) the result has the input's type.
  }];
  let arguments = (ins Sluice_ActivationKind:$kind, Sluice_Rows:$input);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
}

def Sluice_GateOp : Sluice_RowWiseOp<"gate", [
    AllTypesMatch<["gate", "input", "result"]>, // gate_c1
    DeclareOpInterfaceMethods<Sluice_ColumnOpInterface>]> {
  let summary = "a gated product: activation(gate) * input";
  let description = [{
    The middle of a gated feed-forward layer (SwiGLU with `silu`). Shazeer, *GLU
    variants improve transformer*, arXiv 2002.05202.

    Shapes: `gate`, `input` and `result` are [rows, N].

    ```mlir
    %y = sluice.gate silu %g, %u : tensor<?x768xf32>
    ```

    Constraints:
    - (C1) `gate`, `input` and the result have one type.
  }];
  let arguments = (ins Sluice_ActivationKind:$kind, Sluice_Rows:$gate,
                       Sluice_Rows:$input);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = "$kind $gate `,` $input attr-dict `:` type($input)";
}

def Sluice_AddOp : Sluice_RowWiseOp<"add", [
    Commutative, AllTypesMatch<["lhs", "rhs", "result"]>, // add_c1
    DeclareOpInterfaceMethods<Sluice_ColumnOpInterface>]> {
  let summary = "the sum of two rows: a residual connection";
  let description = [{
    `result[r, i] = lhs[r, i] + rhs[r, i]`. A parallel residual is two of them
    one after the other.

    Shapes: `lhs`, `rhs` and `result` are [rows, N].

    ```mlir
    %y = sluice.add %a, %b : tensor<?x256xf32>
    ```

    Constraints:
    - (C1) `lhs`, `rhs` and the result have one type.
  }];
  let arguments = (ins Sluice_Rows:$lhs, Sluice_Rows:$rhs);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEMODELOPS_TD
