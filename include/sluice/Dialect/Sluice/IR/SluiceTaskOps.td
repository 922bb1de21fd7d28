//===- SluiceTaskOps.td - the tasks of a step -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICETASKOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICETASKOPS_TD

include "sluice/Dialect/Sluice/IR/SluicePlanOps.td"

// A unit of work of a step. The attribute `layer`, where there is one, says
// whose layer of the model it is.
class Sluice_TaskOp<string name, list<Trait> traits = []>
    : Sluice_InStepOp<"task." # name, !listconcat(traits, [
        DeclareOpInterfaceMethods<Sluice_TaskInterface>])>;

def Sluice_Layer : OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>;

def Sluice_ExchangeKind : Sluice_Enum<"ExchangeKind",
    "what the members of a group make of what each of them brings", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Gather", 1, "gather">
]>;

def Sluice_KernelAttr : Sluice_Attr<"Kernel", "kernel"> {
  let summary = "the generated code of a task";
  let description = [{
    Names a function for a CPU; or a kernel in a `gpu.module`, which is launched
    with `blocks` blocks of `threads` threads for each row (output).

    ```mlir
    #ofCpu = #sluice.kernel<@rows_add>
    #ofGpu = #sluice.kernel<@kernels::@rows_add, threads = 128, blocks = 1>
    ```

    Constraints:
    - (C1) the function of a CPU is a symbol of the module itself, and has no
      threads and blocks.
    - (C2) a kernel in a `gpu.module` has threads and blocks, both positive.
  }];
  let parameters = (ins "::mlir::SymbolRefAttr":$function,
                        DefaultValuedParameter<"int64_t", "0">:$threads,
                        DefaultValuedParameter<"int64_t", "0">:$blocks);
  let assemblyFormat = [{
    `<` $function (`,` `threads` `=` $threads^ `,` `blocks` `=` $blocks)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isForGpu() const { return getThreads() != 0; }
    /// The function's own name, which executables know it by.
    ::llvm::StringRef getName() const {
      return getFunction().getLeafReference().getValue();
    }
  }];
}

def Sluice_KernelArray : TypedArrayAttrBase<Sluice_KernelAttr, "kernels">;

let opDocGroup = Sluice_TaskOps in {

def Sluice_TaskRowsOp : Sluice_TaskOp<"rows", [
    AttrSizedOperandSegments, SingleBlock,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "row-wise ops, executed for one row after the other";
  let description = [{
    The body is what is done for each row of the domain, as row-wise ops on the
    buffers' rows: since each row of a result depends on the same row of the
    operands alone, executing the body for one row after the other, or each op
    for all rows, is the same. The body's arguments are the rows of the buffers
    that are read, then the weights and tables; it yields the rows that are
    written. A result that is not yielded has no memory: it stays in registers.
    The batch is used from outside.

    With `heads` the body is executed for each of so many equal parts of a row,
    `buffer[row][head][feature]`: its rows are as wide as a part.

    With `runtime` the runtime does the one op of the body by itself, and no code
    is generated for it. A conversion generates code for other bodies: `kernel`
    then names the function that does what the body says. On a CPU it takes a
    pointer for each operand of the task, in their order. On a GPU it takes the
    address of the number of rows (outputs), and then those of the operands: of
    an operand of products in f16 the rows, sums and scales. The positions of the
    rows come after them if the body has `sluice.rotations`, and the rows of the
    outputs if it has `sluice.select_outputs`.

    ```mlir
    sluice.task.rows rows reads(%x = %h : !sluice.buffer<rows, 64>)
        weights(%w = %n1 : tensor<64xf32>)
        writes(%n : !sluice.buffer<rows, 64>) {
      %y = sluice.rms_norm %x, %w epsilon 1.0e-5
        : tensor<?x64xf32>, tensor<64xf32>
      sluice.task.yield %y : tensor<?x64xf32>
    }
    ```

    ```mlir
    sluice.task.rows rows heads 4 reads(%x = %n : !sluice.buffer<rows, 64>)
        weights(%w = %n2 : tensor<16xf32>)
        writes(%p : !sluice.buffer<rows, 64>) {
      %y = sluice.rms_norm %x, %w epsilon 1.0e-5
        : tensor<?x16xf32>, tensor<16xf32>
      sluice.task.yield %y : tensor<?x16xf32>
    }
    ```

    Constraints:
    - (C1) the body takes a row of each buffer that is read, then what `weights`
      are, and yields a row of each buffer that is written; these rows are as
      wide as the buffer's, or with `heads` as one head. All of them lie side by
      side as floats but where `sluice.to_operand` has made them.
    - (C2) the body holds row-wise ops, and uses nothing from outside but the
      batch.
    - (C3) buffers that are written are of the task's domain; so are those that
      are read, but by `sluice.select_outputs`, which reads rows.
    - (C4) no buffer is read twice, written twice, or read and written.
    - (C5) with `runtime` the body has one op that the runtime can do, and the
      task no `kernel`: `sluice.embed`, `sluice.received_rows`,
      `sluice.send_rows`, or `sluice.to_operand` in a format of a GPU.
    - (C6) `kernel` names a function of the module; or, with threads and blocks,
      a kernel of a `gpu.module` that takes the addresses above, waits for the
      kernel before it, and is made for so many threads and blocks. (The kernels
      of a module that has been lowered are no longer there.) What such a kernel
      reads as memory that does not change is a weight or table.
    - (C7) the rows of each buffer divide into `heads`, of which there are at
      least two where they are given; each op of the body then computes a
      feature from the same feature of its operands and from sums. No op of a
      body has heads of its own.
  }];
  let arguments = (ins Sluice_ValueDomain:$domain, Sluice_Heads:$heads,
                       UnitAttr:$runtime,
                       OptionalAttr<Sluice_KernelAttr>:$kernel,
                       Variadic<Sluice_BufferType>:$reads,
                       Variadic<AnyType>:$weights,
                       Variadic<Sluice_BufferType>:$writes,
                       Sluice_Layer:$layer);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // The body's block has its arguments, and nothing in it.
    OpBuilder<(ins "::sluice::ir::ValueDomain":$domain,
                   "::mlir::ValueRange":$reads, "::mlir::ValueRange":$weights,
                   "::mlir::ValueRange":$writes,
                   "::std::optional<int64_t>":$layer,
                   CArg<"int64_t", "1">:$heads)>
  ];
  let extraClassDeclaration = [{
    static ::llvm::StringRef getDefaultDialect() { return "sluice"; }
    /// How many equal parts a row has for the body; 1 for whole rows.
    int64_t countHeads() {
      return static_cast<int64_t>(getHeads().value_or(1));
    }
    /// The type that a buffer's rows have in the body.
    ::mlir::RankedTensorType getBodyType(::mlir::Value buffer) {
      return getRowsType(
          ::llvm::cast<::sluice::ir::BufferType>(buffer.getType()),
          countHeads());
    }
    ::mlir::Block::BlockArgListType getRowArguments() {
      return getBody().getArguments().take_front(getReads().size());
    }
    ::mlir::Block::BlockArgListType getWeightArguments() {
      return getBody().getArguments().drop_front(getReads().size());
    }
    TaskYieldOp getYield();
    /// The operand in which an op of the body finds rows, weights or a table,
    /// or to which it writes rows; nothing for rows that stay in registers.
    ::std::optional<unsigned> getOperandNumber(::mlir::Value value);
    /// The ops of the body but for the one that ends it.
    auto getRowOps() { return getBody().front().without_terminator(); }
    /// What a weight of an op of the body stands for outside of it: the result
    /// of a `sluice.param` or `sluice.rope_table`.
    ::mlir::Value getWeight(::mlir::Value argument);
    /// The buffer that the rows are read from or written to; null where they
    /// stay in registers.
    ::mlir::Value getBuffer(::mlir::Value rows);
  }];
}

def Sluice_TaskYieldOp : Sluice_Op<"task.yield", [
    Pure, Terminator, HasParent<"TaskRowsOp">]> {
  let summary = "ends the body of a row loop with the rows that it writes";
  let description = [{
    ```mlir
    sluice.task.yield %x, %r : tensor<?x64xf32>, tensor<?x16xf32>
    ```

    Constraints:
    - (C1) it ends a `sluice.task.rows`.
  }];
  let arguments = (ins Variadic<Sluice_Rows>:$rows);
  let assemblyFormat = "($rows^ `:` type($rows))? attr-dict";
}

def Sluice_TaskProductOp : Sluice_TaskOp<"product", [
    AttrSizedOperandSegments]> {
  let summary = "the product of rows and a weight";
  let description = [{
    `output[r, o] = input[r] . weight[o] + bias[o] + residual[r, o]`, of the
    weight's columns that `columns` names. With a `gate` and a `partner` weight
    it is `gate(input[r] . weight[o] + bias[o]) * (input[r] . partner[o] +
    partner_bias[o])`.

    ```mlir
    sluice.task.product rows %nq, %wq into %q
      : !sluice.buffer<rows, 64, <q8, floats = 48>>,
        tensor<64x64x!sluice.block<q8_0>> -> !sluice.buffer<rows, 64>
    ```

    ```mlir
    sluice.task.product rows %mq, %wg gate silu %wu into %f
      : !sluice.buffer<rows, 64>, tensor<96x64xf16> gate tensor<96x64xf16>
      -> !sluice.buffer<rows, 96>
    ```

    Constraints:
    - (C1) input, residual and output are of the task's domain.
    - (C2) the input is as wide as the weight's `in`, the output as its columns;
      output and residual are floats of one width.
    - (C3) biases are as long as the weight's `out`.
    - (C4) `columns` are not empty, inside the weight's `out`, and start and end
      at multiples of 16, but where they end with the weight.
    - (C5) `gate`, `partner` are given together, of all columns and without a
      residual; the partner has the weight's type, and a bias where the weight
      has one; the target has products with such a gate.
  }];
  let arguments = (ins Sluice_ValueDomain:$domain, Sluice_BufferType:$input,
                       Sluice_MatrixWeight:$weight,
                       Optional<Sluice_VectorWeight>:$bias,
                       Optional<Sluice_MatrixWeight>:$partner,
                       Optional<Sluice_VectorWeight>:$partner_bias,
                       Optional<Sluice_BufferType>:$residual,
                       Sluice_BufferType:$output,
                       UnitAttr:$transposed,
                       OptionalAttr<I64Attr>:$columns_begin,
                       OptionalAttr<I64Attr>:$columns_end,
                       OptionalAttr<Sluice_ActivationKind>:$gate,
                       Sluice_Layer:$layer);
  let assemblyFormat = [{
    $domain $input `,` $weight (`transposed` $transposed^)?
    (`columns` $columns_begin^ `to` $columns_end)? (`bias` $bias^)?
    (`gate` $gate^ $partner)? (`partner_bias` $partner_bias^)?
    (`residual` $residual^)? `into` $output attr-dict `:`
    qualified(type($input)) `,` type($weight) (`bias` type($bias)^)?
    (`gate` type($partner)^)? (`partner_bias` type($partner_bias)^)?
    (`residual` qualified(type($residual))^)? `->` qualified(type($output))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Features that come in and go out of the whole product.
    int64_t getInFeatures();
    int64_t getOutFeatures();
    /// Columns [first, end) of the whole product that the task computes.
    int64_t getFirstColumn();
    int64_t getEndColumn();
    bool isWhole() {
      return getFirstColumn() == 0 && getEndColumn() == getOutFeatures();
    }
    /// What brings the weight in.
    ParamOp getWeightParam();
  }];
}

def Sluice_TaskAppendOp : Sluice_TaskOp<"append"> {
  let summary = "stores keys and values in a cache";
  let description = [{
    ```mlir
    sluice.task.append %k, %v to %c0
      : !sluice.buffer<rows, 32>, !sluice.buffer<rows, 32>,
        !sluice.cache<kv_heads = 2, head_dim = 16>
    ```

    Constraints:
    - (C1) keys and values are rows of floats, as wide as the cache's heads.
  }];
  let arguments = (ins Sluice_BufferType:$key, Sluice_BufferType:$value,
                       Sluice_CacheType:$cache, Sluice_Layer:$layer);
  let assemblyFormat = [{
    $key `,` $value `to` $cache attr-dict `:` qualified(type($key)) `,`
    qualified(type($value)) `,` qualified(type($cache))
  }];
  let hasVerifier = 1;
}

def Sluice_TaskAttendOp : Sluice_TaskOp<"attend", [
    AttrSizedOperandSegments]> {
  let summary = "attention over a cache";
  let description = [{
    As `sluice.attend`, whose keys and values the cache has already. A target may
    read those of the step from their buffers, too. `from` is the first head here
    `of` all that the slopes are for.

    ```mlir
    sluice.task.attend %qr over %c0 step %k, %v into %a heads 4 scale 0.25
      : !sluice.buffer<rows, 64> step !sluice.buffer<rows, 32>,
        !sluice.buffer<rows, 32> over !sluice.cache<kv_heads = 2, head_dim = 16>
      -> !sluice.buffer<rows, 64>
    ```

    Constraints:
    - (C1) `heads` is a positive multiple of the cache's heads, and query and
      output are rows of floats, `heads * head_dim` wide.
    - (C2) keys and values are given together, as wide as the cache's heads.
  }];
  let arguments = (ins Sluice_BufferType:$query,
                       Optional<Sluice_BufferType>:$key,
                       Optional<Sluice_BufferType>:$value,
                       Sluice_CacheType:$cache, Sluice_BufferType:$output,
                       I64Attr:$heads, F64Attr:$scale,
                       OptionalAttr<I64Attr>:$window,
                       OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<F64Attr>:$alibi,
                       OptionalAttr<I64Attr>:$all_heads,
                       OptionalAttr<I64Attr>:$first_head,
                       Sluice_Layer:$layer);
  let assemblyFormat = [{
    $query `over` $cache (`step` $key^ `,` $value)? `into` $output
    `heads` $heads `scale` $scale (`window` $window^)? (`softcap` $softcap^)?
    (`alibi` $alibi^ (`of` $all_heads^ `from` $first_head)?)? attr-dict `:`
    qualified(type($query)) (`step` qualified(type($key))^ `,`
    qualified(type($value)))? `over` qualified(type($cache)) `->`
    qualified(type($output))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// One slope for each of the task's heads; none without `alibi`.
    ::llvm::SmallVector<float> getSlopes();
  }];
}

def Sluice_TaskExchangeOp : Sluice_TaskOp<"exchange"> {
  let summary = "what the members of a group do together";
  let description = [{
    `sum` is `sluice.all_reduce` without biases, `gather` is `sluice.all_gather`.
    `scratch` has room for the rows of all members.

    ```mlir
    sluice.task.exchange sum rows %x into %y scratch %s
      : !sluice.buffer<rows, 256> -> !sluice.buffer<rows, 256>,
        !sluice.buffer<rows, 512>
    ```

    Constraints:
    - (C1) all are floats of the task's domain.
    - (C2) of a sum the output is as wide as the input, of a gathering wider.
    - (C3) the scratch is as wide as the input times the step's members.
  }];
  let arguments = (ins Sluice_ExchangeKind:$kind, Sluice_ValueDomain:$domain,
                       Sluice_BufferType:$input, Sluice_BufferType:$output,
                       Sluice_BufferType:$scratch, Sluice_Layer:$layer);
  let assemblyFormat = [{
    $kind $domain $input `into` $output `scratch` $scratch attr-dict `:`
    qualified(type($input)) `->` qualified(type($output)) `,`
    qualified(type($scratch))
  }];
  let hasVerifier = 1;
}

def Sluice_TaskCheckpointOp : Sluice_TaskOp<"checkpoint"> {
  let summary = "dead rows leave the step";
  let description = [{
    As `sluice.checkpoint`: a step without living rows ends here. The records of
    the buffers that are named are moved together, in place; of other buffers
    nothing is used behind it. It is a barrier before and behind itself.

    ```mlir
    sluice.task.checkpoint %h, %a
      : !sluice.buffer<rows, 64>, !sluice.buffer<rows, 64>
    ```

    Constraints:
    - (C1) no buffer is named twice.
    - (C2) where outputs keep their places at checkpoints, the buffers are of
      rows.
  }];
  let arguments = (ins Variadic<Sluice_BufferType>:$buffers,
                       Sluice_Layer:$layer);
  let assemblyFormat = [{
    ($buffers^ `:` qualified(type($buffers)))? attr-dict
  }];
  let hasVerifier = 1;
}

def Sluice_TaskSampleOp : Sluice_TaskOp<"sample", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "finds the likeliest token of each output";
  let description = [{
    `parts` has room for the likeliest tokens of parts of a wide vocabulary.
    `kernels`, once they have been generated, are one that searches, and where
    there are parts one that merges. The first takes the addresses of the number
    of outputs, the logits, and the parts or tokens; the second those of the
    number of outputs, the parts, and the tokens.

    ```mlir
    sluice.task.sample %logits parts %p
      : !sluice.buffer<outputs, 96>, !sluice.buffer<outputs, 4>
    ```

    ```mlir
    sluice.task.sample %logits kernels [
      #sluice.kernel<@kernels::@find_greedy_tokens, threads = 32, blocks = 1>]
      : !sluice.buffer<outputs, 96>
    ```

    Constraints:
    - (C1) logits and parts are floats of outputs.
    - (C2) there are as many `kernels` as it takes, each as (C6) of
      `sluice.task.rows` says of kernels for a GPU.
  }];
  let arguments = (ins Sluice_BufferType:$logits,
                       Optional<Sluice_BufferType>:$parts,
                       OptionalAttr<Sluice_KernelArray>:$kernels,
                       Sluice_Layer:$layer);
  let assemblyFormat = [{
    $logits (`parts` $parts^)? (`kernels` $kernels^)? attr-dict `:`
    qualified(type($logits)) (`,` qualified(type($parts))^)?
  }];
  let hasVerifier = 1;
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICETASKOPS_TD
