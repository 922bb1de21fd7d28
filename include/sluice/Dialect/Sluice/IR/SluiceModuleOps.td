//===- SluiceModuleOps.td - files, weights, models: the symbols of a module -===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEMODULEOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEMODULEOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

let opDocGroup = Sluice_SymbolOps in {

def Sluice_FileOp : Sluice_Op<"file", [Symbol]> {
  let summary = "a file of the model";
  let description = [{
    Names a file that weights and tokenizers refer to. A relative `path` begins
    in the folder of the module's own file, or in the working folder where the
    module came from standard input. `identity` is a hash over the size and
    samples of the content; who reads the file later refuses one whose size or
    identity differ.

    ```mlir
    sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
    ```

    Constraints:
    - (C1) `path` is not empty.
    - (C2) `size` is positive.
    - (C3) `identity` is sixteen hexadecimal digits.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$path,
                       I64Attr:$size, StrAttr:$identity);
  let assemblyFormat = [{
    $sym_name `path` $path `size` $size `identity` $identity attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Where the file is to be opened, whatever folder one works in.
    ::std::string getAbsolutePath();
  }];
}

def Sluice_WeightOp : Sluice_Op<"weight", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a weight: a reference into a file";
  let description = [{
    A tensor of the model, left where it is: `at` is the offset of its first
    byte. `stored` is the format in the file, the type says what the model
    computes with; they differ where importing was asked to quantise, and
    whoever loads the weight then quantises it.

    With `scales` its numbers alone lie at `at`, one byte each, as Hugging Face's
    files have e4m3, and their scales are another weight: one scale for all, one
    for each row, or one for each 128 rows by 128 columns.

    Shapes: [N] or [M, N], the last dimension contiguous.

    ```mlir
    sluice.weight @blk.0.attn_q.weight in @f0 at 4096 stored q8_0
      : tensor<256x256x!sluice.block<q8_0>>
    sluice.weight @q_proj.weight_scale in @f0 at 0 stored bf16 : tensor<256xbf16>
    sluice.weight @q_proj.weight in @f0 at 512 stored e4m3
      scales @q_proj.weight_scale : tensor<256x256x!sluice.block<e4m3>>
    ```

    Constraints:
    - (C1) the type is a static tensor of rank 1 or 2.
    - (C2) a row is a whole number of blocks of `stored` and of the type's
      element format.
    - (C3) where `stored` differs from the type's element format, `stored` is
      `f32`, `f16` or `bf16` and the type's is `q8_0`, `q4_0` or `e4m3`.
    - (C4) `in` names a `sluice.file` of the module.
    - (C5) the weight's bytes lie inside the file.
    - (C6) its bytes can be counted in 64 bits, as stored and as computed with.
    - (C7) only a matrix that is stored in `e4m3` has `scales`, and `scales` names
      a `sluice.weight` of the module, computed with as it is stored: [1], [M] or
      [M / 128, N / 128] of `f32`, `f16` or `bf16`, rounded up.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$file,
                       I64Attr:$offset, Sluice_ElementFormat:$stored,
                       OptionalAttr<FlatSymbolRefAttr>:$scales,
                       TypeAttrOf<Sluice_Weight>:$type); // weight_c1
  let assemblyFormat = [{
    $sym_name `in` $file `at` $offset `stored` $stored (`scales` $scales^)?
    `:` $type attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The weight's type as a tensor.
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// The format that the model computes with.
    ::sluice::ir::ElementFormat getElementFormat();
    /// Bytes in the file; nullopt where they do not fit 64 bits or rows are
    /// not whole blocks, which the verifier refuses.
    std::optional<uint64_t> getStoredBytes();
  }];
}

def Sluice_SliceOp : Sluice_Op<"slice", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a part of a weight";
  let description = [{
    What a member of a tensor-parallel group has of a weight: the rows that are
    named, or of each row the columns that are named, ranges one behind the
    other. A reference like the weight: nothing is copied, and whoever loads it
    reads no more than it. A fused weight of queries, keys and values has a
    range for each of them. A vector is one row.

    Shapes: [N] or [M, N], as the weight.

    ```mlir
    sluice.slice @blk.0.attn_q.weight.m1 of @blk.0.attn_q.weight
      rows 128 to 256 : tensor<128x256x!sluice.block<q8_0>>
    sluice.slice @blk.0.attn_qkv.bias.m0 of @blk.0.attn_qkv.bias
      columns 0 to 128, 256 to 320, 384 to 448 : tensor<256xf32>
    ```

    Constraints:
    - (C1) `of` names a `sluice.weight` of the module.
    - (C2) it has ranges of `rows` or of `columns`, not of both, and of rows
      only where the weight is a matrix.
    - (C3) ranges are not empty, in order, without overlap, and inside the
      weight.
    - (C4) the type is the weight's, but for as many rows or columns as the
      ranges have.
    - (C5) ranges of columns begin and end with whole blocks, as stored and as
      computed with.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$weight,
                       OptionalAttr<DenseI64ArrayAttr>:$rows,
                       OptionalAttr<DenseI64ArrayAttr>:$columns,
                       TypeAttrOf<Sluice_Weight>:$type);
  let assemblyFormat = [{
    $sym_name `of` $weight (`rows` custom<Ranges>($rows)^)?
    (`columns` custom<Ranges>($columns)^)? `:` $type attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The slice's type as a tensor.
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// Begin and end of each range, one behind the other.
    ::llvm::ArrayRef<int64_t> getRanges() {
      return getRows() ? *getRows() : *getColumns();
    }
  }];
}

def Sluice_TokenizerOp : Sluice_Op<"tokenizer", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "where the model's tokenizer is described";
  let description = [{
    Text becomes token ids, and ids text, by what this file says: the metadata
    of a GGUF file or a `tokenizer.json`. A model without it takes token ids.

    ```mlir
    sluice.tokenizer @tokenizer from @f1 source tokenizer_json
    ```

    Constraints:
    - (C1) `from` names a `sluice.file` of the module.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$file,
                       Sluice_TokenizerSource:$source);
  let assemblyFormat = [{
    $sym_name `from` $file `source` $source attr-dict
  }];
}

def Sluice_ModelOp : Sluice_Op<"model", [
    Symbol, IsolatedFromAbove, SingleBlock,
    OpAsmOpInterface]> {
  let summary = "what one request does in one step";
  let description = [{
    Takes rows, returns the logits of those that ask for them. In the phase
    `model` the rows are a chunk, those of one request; `--sluice-fuse-decode`
    makes a batch of them, rows of any requests.
    `vocab_size` is their width, `context_length` bounds positions, and
    `eos_tokens` end a generation. With `tensor_parallel` N it is what each of
    the N members of a group does, made by `--sluice-shard-tensors`.

    ```mlir
    sluice.model @main(%chunk: !sluice.chunk) attributes {
        architecture = "llama", model_name = "demo", vocab_size = 4096,
        context_length = 1024, eos_tokens = array<i64: 2>} {
      ...
      sluice.return %logits : tensor<?x4096xf32>
    }
    ```

    ```mlir
    sluice.model @main(%batch: !sluice.batch) attributes {
        architecture = "llama", model_name = "demo", vocab_size = 4096,
        context_length = 1024, eos_tokens = array<i64: 2>} {
      ...
      sluice.return %logits : tensor<?x4096xf32>
    }
    ```

    Constraints:
    - (C1) the body takes one `!sluice.chunk` or one `!sluice.batch`.
    - (C2) `vocab_size` and `context_length` are positive.
    - (C3) every token of `eos_tokens` is in the vocabulary.
    - (C4) layers are numbered 0, 1, 2, ... in order.
    - (C5) the body ends with `sluice.return`.
    - (C6) `tensor_parallel`, where given, is 2 to 256.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$architecture,
                       StrAttr:$model_name, I64Attr:$vocab_size,
                       I64Attr:$context_length,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$eos_tokens,
                       OptionalAttr<I64Attr>:$tensor_parallel);
  let builders = [
    // Of a single device.
    OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$architecture,
                   "::llvm::StringRef":$modelName, "int64_t":$vocabSize,
                   "int64_t":$contextLength,
                   "::llvm::ArrayRef<int64_t>":$eosTokens), [{
      build($_builder, $_state, name, architecture, modelName, vocabSize,
            contextLength, eosTokens, ::mlir::IntegerAttr());
    }]>
  ];
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The rows of a step: a chunk or a batch.
    ::mlir::BlockArgument getBatch() { return getBody().getArgument(0); }
    static ::llvm::StringRef getDefaultDialect() { return "sluice"; }
  }];
}

def Sluice_ReturnOp : Sluice_StructureOp<"return", [
    Pure, Terminator,
    HasParent<"ModelOp">]> { // return_c2
  let summary = "ends a model with its logits";
  let description = [{
    Shapes: `logits` is [outputs, vocab_size].

    ```mlir
    sluice.return %logits : tensor<?x4096xf32>
    ```

    Constraints:
    - (C1) the logits are as wide as the model's vocabulary.
    - (C2) it stands directly in a `sluice.model`.
  }];
  let arguments = (ins Sluice_Rows:$logits);
  let assemblyFormat = "$logits attr-dict `:` type($logits)";
  let hasVerifier = 1;
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEMODULEOPS_TD
