//===- SluiceGraphOps.td - a step as work of a GPU ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEGRAPHOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEGRAPHOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

def Sluice_GraphMemory : Sluice_Enum<"GraphMemory",
    "what the runtime keeps on the device beside the arena", [
  I32EnumAttrCase<"Vector", 0, "vector">,
  I32EnumAttrCase<"RopeTable", 1, "rope_table">,
  I32EnumAttrCase<"Rows", 2, "row_count">,
  I32EnumAttrCase<"Outputs", 3, "output_count">,
  I32EnumAttrCase<"Positions", 4, "positions">,
  I32EnumAttrCase<"OutputRows", 5, "output_rows">,
  I32EnumAttrCase<"GreedyTokens", 6, "greedy_tokens">
]>;

def Sluice_OperandKind : Sluice_Enum<"OperandKind",
    "the numbers of the rows that products take", [
  I32EnumAttrCase<"F32", 0, "f32">,
  I32EnumAttrCase<"BF16", 1, "bf16">,
  I32EnumAttrCase<"F16", 2, "f16">
]>;

def Sluice_Address : Type<
    CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self)">,
    "an !llvm.ptr">,
  BuildableType<"::mlir::LLVM::LLVMPointerType::get($_builder.getContext())">;

/// A place in one of the program's lists, and a number of columns.
def Sluice_ListIndex : ConfinedAttr<I64Attr, [IntNonNegative]>;
def Sluice_Columns : ConfinedAttr<I64Attr, [IntPositive]>;

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

def Sluice_BelongsInGraph : NativeOpTrait<"BelongsInGraph"> {
  let cppNamespace = "::sluice::ir";
}

let opDocGroup = Sluice_ProgramOps in {

def Sluice_GraphOp : Sluice_Op<"graph", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock,
    NoRegionArguments]> {
  let summary = "a step as a list of what a GPU does";
  let description = [{
    The code of a `sluice.program` for a GPU. The runtime turns the list into a
    CUDA graph for each capacity of rows when it starts, and a step is a launch
    of one: while it runs the host does nothing. So nothing here may need the
    host. What appends work runs when all before it has run; the rest are
    addresses, constants, and marks that say to readers where layers begin.

    ```mlir
    sluice.graph @main_step {
      %x = sluice.graph_value rows 0
      sluice.graph_embed 0 by token into %x cols 256
      %rows = sluice.graph_address row_count
      sluice.launch_kernel @kernels::@rows_add rows threads 64 (%rows, %x, %x)
    }
    ```

    Constraints:
    - (C1) it holds only ops that append work of the device, addresses,
      constants, and marks of layers.
    - (C2) rows are looked up or received before all other work: tokens do not
      move with rows, and what is received is there when the graph starts.
    - (C3) outputs are numbered once at most, before any work for them.
    - (C4) rows are sent last: they go when the graph has ended.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

class Sluice_InGraphOp<string mnemonic, list<Trait> traits = []>
    : Sluice_Op<mnemonic, !listconcat(traits, [
        Sluice_BelongsInGraph, HasParent<"::sluice::ir::GraphOp">])>;

def Sluice_GraphValueOp : Sluice_InGraphOp<"graph_value", [Pure]> {
  let summary = "the address of a value in the arena";
  let description = [{
    Records of a value of the step, one for each row or output. `offset` counts
    floats of a record among those of its domain, as the arena is laid out.

    ```mlir
    %x = sluice.graph_value rows 256
    ```

    Constraints:
    - (C1) `offset` is a multiple of 16 and not negative.
  }];
  let arguments = (ins Sluice_ValueDomain:$domain, I64Attr:$offset);
  let results = (outs Sluice_Address:$address);
  let assemblyFormat = "$domain $offset attr-dict";
  let hasVerifier = 1;
}

def Sluice_GraphAddressOp : Sluice_InGraphOp<"graph_address", [Pure]> {
  let summary = "the address of what the runtime keeps on the device";
  let description = [{
    A vector weight or a rope table by its number in the program's list; how
    many rows or outputs there are; the rows' positions; the row of each
    output; or where the token of greatest logit of each output goes.

    ```mlir
    %weight = sluice.graph_address vector 3
    %table = sluice.graph_address rope_table 0
    %rows = sluice.graph_address row_count
    ```

    Constraints:
    - (C1) only vectors and rope tables have an `index`, which is not negative.
  }];
  let arguments = (ins Sluice_GraphMemory:$memory, OptionalAttr<I64Attr>:$index);
  let results = (outs Sluice_Address:$address);
  let assemblyFormat = "$memory ($index^)? attr-dict";
  let hasVerifier = 1;
}

def Sluice_LaunchKernelOp : Sluice_InGraphOp<"launch_kernel", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launches a generated kernel";
  let description = [{
    One block of `threads` threads for each row, or output, of capacity, or
    `blocks` of them one after another; those whose row is not below the count
    in memory return at once. The operands are the kernel's parameters.

    ```mlir
    sluice.launch_kernel @kernels::@rows_add rows threads 64 (%rows, %x, %y)
    sluice.launch_kernel @kernels::@rows_gate rows threads 64 blocks 4
      (%rows, %x, %y)
    ```

    Constraints:
    - (C1) `kernel` names a kernel with parameters of the operands' types.
    - (C2) `threads` is a power of two from 32 to 1024, and the kernel's
      `known_block_size` where it has one; `blocks` is its `sluice.row_blocks`,
      and 1 where it has none.
    - (C3) a value that is given for a parameter that is `llvm.noalias` overlaps
      no other one: records are as wide as the kernel's views say.
    - (C4) what is given for a parameter that is `llvm.noalias` and that the
      kernel only reads is a vector or a rope table, which no work writes.
    - (C5) `kernel` waits for the one before (`sluice.wait_for_prior`), and so
      for all before that one: work behind it waits for it alone.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Sluice_ValueDomain:$domain,
                       I32Attr:$threads,
                       ConfinedAttr<DefaultValuedAttr<I32Attr, "1">,
                                    [IntPositive]>:$blocks,
                       Variadic<Sluice_Address>:$words);
  let assemblyFormat = [{
    $kernel $domain `threads` $threads (`blocks` $blocks^)? `(` $words `)`
    attr-dict
  }];
  let hasVerifier = 1;
}

def Sluice_GraphEmbedOp : Sluice_InGraphOp<"graph_embed"> {
  let summary = "looks up rows of a table";
  let description = [{
    Each row gets that row of the table, `cols` wide, which its token or its
    position names.

    ```mlir
    sluice.graph_embed 0 by token into %x cols 256
    ```
  }];
  let arguments = (ins Sluice_ListIndex:$weight, Sluice_EmbedIndex:$by,
                       Sluice_Address:$output, Sluice_Columns:$cols);
  let assemblyFormat =
      "$weight `by` $by `into` $output `cols` $cols attr-dict";
}

def Sluice_GraphReceiveOp : Sluice_InGraphOp<"graph_receive"> {
  let summary = "the rows that the stage before has sent";
  let description = [{
    ```mlir
    sluice.graph_receive into %x cols 256
    ```
  }];
  let arguments = (ins Sluice_Address:$output, Sluice_Columns:$cols);
  let assemblyFormat = "`into` $output `cols` $cols attr-dict";
}

def Sluice_GraphSendOp : Sluice_InGraphOp<"graph_send"> {
  let summary = "gives rows to the stage behind";
  let description = [{
    ```mlir
    sluice.graph_send %x cols 256
    ```
  }];
  let arguments = (ins Sluice_Address:$input, Sluice_Columns:$cols);
  let assemblyFormat = "$input `cols` $cols attr-dict";
}

def Sluice_GraphSelectOutputsOp : Sluice_InGraphOp<"graph_select_outputs"> {
  let summary = "numbers the outputs";
  let description = [{
    From here on there are values of outputs: `output_rows` says which row each
    was when it was numbered. Checkpoints behind it leave them.

    ```mlir
    sluice.graph_select_outputs
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Sluice_GraphLayerOp : Sluice_InGraphOp<"graph_layer"> {
  let summary = "says which layer the work behind it is of";
  let description = [{
    Work from here to the next such op is of the model's layer `index`; without
    an index, and before the first such op, of none. Work of several layers is
    counted to the first of them. This is for readers and appends nothing.

    ```mlir
    sluice.graph_layer 3
    sluice.graph_layer
    ```
  }];
  let arguments = (ins OptionalAttr<Sluice_ListIndex>:$index);
  let assemblyFormat = "($index^)? attr-dict";
}

def Sluice_GraphOperandOp : Sluice_InGraphOp<"graph_operand"> {
  let summary = "rows as products take them";
  let description = [{
    ```mlir
    sluice.graph_operand rows f16 %x into %q cols 256
    ```
  }];
  let arguments = (ins Sluice_ValueDomain:$domain, Sluice_OperandKind:$kind,
                       Sluice_Address:$input, Sluice_Address:$output,
                       Sluice_Columns:$cols);
  let assemblyFormat =
      "$domain $kind $input `into` $output `cols` $cols attr-dict";
}

def Sluice_GraphLinearOp : Sluice_InGraphOp<"graph_linear", [
    AttrSizedOperandSegments]> {
  let summary = "the product of operand rows and a weight";
  let description = [{
    `output[row] = operand[row] . weight + bias + residual`, of the weight's
    columns from `begin` to `end`. The bias has all of the weight's columns, the
    residual those of the output, which it may be. With a gate, the weight has a
    partner, and the output is
    `gate(operand . weight + bias) * (operand . partner + bias)`.

    ```mlir
    sluice.graph_linear rows weight 4 columns 0 to 256 of %q bias %b
      residual %x into %y
    sluice.graph_linear rows weight 5 columns 0 to 256 of %q gate silu into %z
    ```

    Constraints:
    - (C1) `begin` is a multiple of 16, not negative, and below `end`.
    - (C2) `gate` is `silu` or `gelu_tanh`, of all columns and without a
      residual; biases of gate and partner are both there or none.
  }];
  let arguments = (ins Sluice_ValueDomain:$domain, Sluice_ListIndex:$weight,
                       I64Attr:$begin, I64Attr:$end,
                       Sluice_Address:$operand,
                       Optional<Sluice_Address>:$bias,
                       Optional<Sluice_Address>:$partner_bias,
                       Optional<Sluice_Address>:$residual,
                       Sluice_Address:$output,
                       OptionalAttr<Sluice_ActivationKind>:$gate);
  let assemblyFormat = [{
    $domain `weight` $weight `columns` $begin `to` $end `of` $operand
    (`gate` $gate^)? (`bias` $bias^)? (`partner_bias` $partner_bias^)?
    (`residual` $residual^)? `into` $output attr-dict
  }];
  let hasVerifier = 1;
}

def Sluice_GraphAppendOp : Sluice_InGraphOp<"graph_append"> {
  let summary = "stores keys and values in a cache";
  let description = [{
    ```mlir
    sluice.graph_append 0 %k, %v
    ```
  }];
  let arguments = (ins Sluice_ListIndex:$cache, Sluice_Address:$key,
                       Sluice_Address:$value);
  let assemblyFormat = "$cache $key `,` $value attr-dict";
}

def Sluice_GraphAttendOp : Sluice_InGraphOp<"graph_attend", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "attention over a cache";
  let description = [{
    ```mlir
    sluice.graph_attend 0 %q into %y with @attention
    ```

    Constraints:
    - (C1) `parameters` names an `llvm.mlir.global`, a `SluiceAttention`.
  }];
  let arguments = (ins Sluice_ListIndex:$cache, Sluice_Address:$query,
                       Sluice_Address:$output, FlatSymbolRefAttr:$parameters);
  let assemblyFormat =
      "$cache $query `into` $output `with` $parameters attr-dict";
}

def Sluice_GraphAllReduceOp : Sluice_InGraphOp<"graph_all_reduce"> {
  let summary = "the sum of all members' rows";
  let description = [{
    `output[row] = input_0[row] + input_1[row] + ...`, rows of `cols` floats,
    added up from the left, where `input_m` is member m's of the group that
    computes the program. The members meet in the order of their graphs, of all
    rows of capacity. `scratch` has room for the rows of all members.

    ```mlir
    sluice.graph_all_reduce rows %x into %y cols 256 scratch %s
    ```

    Constraints:
    - (C1) input, output and scratch do not overlap.
  }];
  let arguments = (ins Sluice_ValueDomain:$domain, Sluice_Address:$input,
                       Sluice_Address:$output, Sluice_Columns:$cols,
                       Sluice_Address:$scratch);
  let assemblyFormat = [{
    $domain $input `into` $output `cols` $cols `scratch` $scratch attr-dict
  }];
  let hasVerifier = 1;
}

def Sluice_GraphAllGatherOp : Sluice_InGraphOp<"graph_all_gather"> {
  let summary = "all members' rows side by side";
  let description = [{
    `output[row][min(m * part, cols - part) + i] = input_m[row][i]`, where
    `input_m`, rows of `part` floats, is member m's. The members meet as in
    `sluice.graph_all_reduce`.

    ```mlir
    sluice.graph_all_gather outputs %x cols 128 into %y cols 256 scratch %s
    ```

    Constraints:
    - (C1) input, output and scratch do not overlap.
    - (C2) a member has fewer columns than all have.
  }];
  let arguments = (ins Sluice_ValueDomain:$domain, Sluice_Address:$input,
                       Sluice_Columns:$part, Sluice_Address:$output,
                       Sluice_Columns:$cols, Sluice_Address:$scratch);
  let assemblyFormat = [{
    $domain $input `cols` $part `into` $output `cols` $cols
    `scratch` $scratch attr-dict
  }];
  let hasVerifier = 1;
}

def Sluice_GraphCheckpointOp : Sluice_InGraphOp<"graph_checkpoint"> {
  let summary = "where dead rows leave the step";
  let description = [{
    The moves that close the gaps are made in the values, of `floats` floats a
    row each. With no row left what is behind it does nothing.

    ```mlir
    sluice.graph_checkpoint (%x, %y) {floats = array<i64: 256, 64>}
    ```

    Constraints:
    - (C1) there are as many `floats` as values, all positive.
    - (C2) no two values lie in the same memory.
  }];
  let arguments = (ins Variadic<Sluice_Address>:$values,
                       DenseI64ArrayAttr:$floats);
  let assemblyFormat = "`(` $values `)` attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// In kernels
//===----------------------------------------------------------------------===//

def Sluice_WaitForPriorOp : Sluice_Op<"wait_for_prior"> {
  let summary = "waits for the kernel before";
  let description = [{
    In a generated kernel: what is read behind it was written by the kernels
    before. Nothing on chips that start a kernel only when the one before has
    ended.

    ```mlir
    sluice.wait_for_prior
    ```

    Constraints:
    - (C1) what stands before it in a kernel touches no memory but that of
      parameters that are `llvm.noalias` and that the kernel only reads.
    - (C2) it stands in the first block of a kernel's body, and in no region
      inside of it.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sluice_StartDependentsOp : Sluice_Op<"start_dependents"> {
  let summary = "lets the kernel behind start";
  let description = [{
    In a generated kernel: the next one may be brought onto the device, up to
    where it waits for this one.

    ```mlir
    sluice.start_dependents
    ```
  }];
  let assemblyFormat = "attr-dict";
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEGRAPHOPS_TD
