//===- SluiceTypes.td - types of the dialect sluice -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICETYPES_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICETYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "sluice/Dialect/Sluice/IR/SluiceAttributes.td"

class Sluice_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Sluice_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Sluice_ChunkType : Sluice_Type<"Chunk", "chunk"> {
  let summary = "the rows of one sequence in one step";
  let description = [{
    What a step takes that is executed for one request: rows of one sequence, at
    consecutive positions. Says of each which token it holds and whether its
    logits are wanted. `--sluice-fuse-decode` makes a `!sluice.batch` of it.

    ```mlir
    !sluice.chunk
    ```
  }];
}

def Sluice_BatchType : Sluice_Type<"Batch", "batch"> {
  let summary = "the rows of one step, of any sequences";
  let description = [{
    What a row-fused step takes, a table of rows: says of each row which
    sequence it belongs to, at which position it stands, which token it holds
    and whether its logits are wanted. Rows of one sequence stand in the order
    of their positions. Only of a batch may rows leave, at a
    `sluice.checkpoint`, and only batches go from rank to rank.

    ```mlir
    !sluice.batch
    ```
  }];
}

def Sluice_CacheType : Sluice_Type<"Cache", "cache"> {
  let summary = "one layer's cached keys and values";
  let description = [{
    The keys and values of every position of every sequence, `kv_heads` heads
    of `head_dim` elements each. How they are stored is the runtime's matter.

    ```mlir
    !sluice.cache<kv_heads = 2, head_dim = 32>
    ```

    Constraints:
    - (C1) `kv_heads` and `head_dim` are positive.
  }];
  let parameters = (ins "int64_t":$kv_heads, "int64_t":$head_dim);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sluice_BlockType : Sluice_Type<"Block", "block"> {
  let summary = "the element type of a block-quantised tensor";
  let description = [{
    An element of a weight that is stored in blocks sharing scales, in the
    layouts of GGUF, or of 128 e4m3 numbers. A row (the last dimension) is a
    whole number of blocks.

    ```mlir
    tensor<256x256x!sluice.block<q8_0>>
    ```

    Constraints:
    - (C1) the format is a block format: not `f32`, `f16` or `bf16`, which are
      builtin types.
  }];
  let parameters = (ins EnumParameter<Sluice_ElementFormat>:$format);
  let assemblyFormat = "`<` $format `>`";
  let genVerifyDecl = 1;
}

def Sluice_RunType : Sluice_Type<"Run", "run"> {
  let summary = "rows that were launched together";
  let description = [{
    Rows on their way through a pipeline, whose answers have yet to come.

    ```mlir
    !sluice.run
    ```
  }];
}

def Sluice_GuessesType : Sluice_Type<"Guesses", "guesses"> {
  let summary = "a tree of guessed tokens";
  let description = [{
    Tokens that a draft thinks may follow, as a tree: each names the one that it
    follows. It may still be growing.

    ```mlir
    !sluice.guesses
    ```
  }];
}

def Sluice_FrameType : Sluice_Type<"Frame", "frame"> {
  let summary = "one message of a channel";
  let description = [{
    What is sent at once, one for each step and hop. `rows` are rows of a batch,
    with their activations where a type is given; `tokens` are answers: for each
    row that asked the token that follows; `guesses` are a draft's answers: for
    each row the likeliest tokens and how likely they are.

    ```mlir
    !sluice.frame<rows>, !sluice.frame<rows, tensor<?x256xf32>>,
    !sluice.frame<tokens>, !sluice.frame<guesses>
    ```

    Constraints:
    - (C1) activations are rows of features, and only frames of `rows` have
      them.
  }];
  let parameters = (ins EnumParameter<Sluice_FrameKind>:$kind,
                        OptionalParameter<"::mlir::Type">:$activations);
  let assemblyFormat = "`<` $kind (`,` $activations^)? `>`";
  let genVerifyDecl = 1;
}

def Sluice_BufferType : Sluice_Type<"Buffer", "buffer"> {
  let summary = "one record for each row or output of a step";
  let description = [{
    Memory of a step: `width` features of each row, or of each output. They are
    floats, or what products take instead of them (`#sluice.operand`).

    ```mlir
    !sluice.buffer<rows, 64, <q8, floats = 48>>
    ```

    Constraints:
    - (C1) `width` is positive.
  }];
  let parameters = (ins EnumParameter<Sluice_ValueDomain>:$domain,
                        "int64_t":$width,
                        OptionalParameter<"::sluice::ir::OperandAttr">:$operand);
  let assemblyFormat = "`<` $domain `,` $width (`,` $operand^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// How many floats a record takes.
    int64_t getFloats() const {
      return getOperand() ? getOperand().getFloats() : getWidth();
    }
    /// Whether a record is a row of floats.
    bool isFloats() const { return !getOperand(); }
  }];
}

def Sluice_RopeTableType : Sluice_Type<"RopeTable", "rope_table"> {
  let summary = "cosines and sines of all positions";
  let description = [{
    A row for each position: the cosines of `rotary_dim / 2` pairs, then their
    sines.

    ```mlir
    !sluice.rope_table<16>
    ```

    Constraints:
    - (C1) `rotary_dim` is even and positive.
  }];
  let parameters = (ins "int64_t":$rotary_dim);
  let assemblyFormat = "`<` $rotary_dim `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Type constraints of operands and results
//===----------------------------------------------------------------------===//

def Sluice_StepRows : Type<CPred<"::sluice::ir::isStepRows($_self)">,
    "the rows of a step, !sluice.chunk or !sluice.batch">;

def Sluice_Rows : Type<CPred<"::sluice::ir::isRows($_self)">,
    "rows of features, tensor<?xNxf32> with N at most 2^24", "::mlir::RankedTensorType">;

def Sluice_VectorWeight : Type<CPred<"::sluice::ir::isVectorWeight($_self)">,
    "a vector weight, tensor<N x f32|f16|bf16>", "::mlir::RankedTensorType">;

def Sluice_MatrixWeight : Type<CPred<"::sluice::ir::isMatrixWeight($_self)">,
    "a matrix weight, tensor<M x N x f32|f16|bf16|block>",
    "::mlir::RankedTensorType">;

def Sluice_Weight : AnyTypeOf<[Sluice_VectorWeight, Sluice_MatrixWeight],
    "a weight", "::mlir::RankedTensorType">;

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICETYPES_TD
