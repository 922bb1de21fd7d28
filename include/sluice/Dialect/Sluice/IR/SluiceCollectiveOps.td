//===- SluiceCollectiveOps.td - where the members of a group meet ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICECOLLECTIVEOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICECOLLECTIVEOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

// What the members of the group of the frame around it do together. The effect
// keeps the order in which they meet.
class Sluice_CollectiveTraits<list<string> costMethods> {
  list<Trait> traits = [
    DeclareOpInterfaceMethods<Sluice_RowSemanticsInterface>,
    DeclareOpInterfaceMethods<Sluice_CostInterface, !listconcat(
      ["getLinkRounds", "getLinkBytesPerRow"], costMethods)>,
    MemoryEffects<[MemRead<Sluice_GroupResource>,
                   MemWrite<Sluice_GroupResource>]>];
}

let opDocGroup = Sluice_CollectiveOps in {

def Sluice_AllReduceOp : Sluice_Op<"all_reduce",
    !listconcat([AllTypesMatch<["input", "result"]>], // all_reduce_c2
                Sluice_CollectiveTraits<["getWeightBytes"]>.traits)> {
  let summary = "the sum of all members' rows";
  let description = [{
    `result[r, i] = input_0[r, i] + input_1[r, i] + ... + bias[i]`, where
    `input_m` is what member m of the group brings; all members get it. Added up
    from the left, in the order of the members, so that its bits depend neither
    on who comes first nor on the other rows. The biases of the products that
    were split are added here, once, and are whole at each member.

    Shapes: `input` and `result` are [rows, N], each of `biases` is [N].

    ```mlir
    %y = sluice.all_reduce %x : tensor<?x256xf32>
    %z = sluice.all_reduce %x bias %b, %c
      : tensor<?x256xf32>, tensor<256xf32>, tensor<256xf32>
    ```

    Constraints:
    - (C1) it stands in a frame of a group: a `sluice.model` that is tensor
      parallel, a `sluice.stage` on several places, or a `sluice.worker` of a
      group.
    - (C2) the result has the input's type.
    - (C3) each bias is as long as a row.
  }];
  let arguments = (ins Sluice_Rows:$input,
                       Variadic<Sluice_VectorWeight>:$biases);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input (`bias` $biases^)? attr-dict
    `:` type($input) (`,` type($biases)^)?
  }];
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::sluice::ir::RowSemantics $cppClass::getRowSemantics() {
      return ::sluice::ir::RowSemantics::RowWise;
    }
  }];
}

def Sluice_AllGatherOp : Sluice_Op<"all_gather",
    !listconcat([DeclareOpInterfaceMethods<SymbolUserOpInterface>],
                Sluice_CollectiveTraits<[]>.traits)> {
  let summary = "all members' rows side by side";
  let description = [{
    `result[r, b_m + i] = input_m[r, i]`, where `input_m`, W wide, is what
    member m of the group brings; all members get it. Member m's features begin
    at `b_m = min(m W, N - W)`: where the N features of the result do not divide
    by the members, the last ones' overlap, and hold the same there.

    Shapes: `input` is [rows, W], `result` [rows, N].

    ```mlir
    %y = sluice.all_gather %x : tensor<?x128xf32> -> tensor<?x256xf32>
    ```

    Constraints:
    - (C1) it stands in a frame of a group, as `sluice.all_reduce`.
    - (C2) the members' features cover the result's, and no member could do
      without its own: N is more than one member fewer would have, and at most
      what all have.
  }];
  let arguments = (ins Sluice_Rows:$input);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDefinition = [{
    ::sluice::ir::RowSemantics $cppClass::getRowSemantics() {
      return ::sluice::ir::RowSemantics::RowWise;
    }
    int64_t $cppClass::getFlopsPerRow() { return 0; }
  }];
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICECOLLECTIVEOPS_TD
