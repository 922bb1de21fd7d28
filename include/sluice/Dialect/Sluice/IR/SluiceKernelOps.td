//===- SluiceKernelOps.td - ops in generated kernels of a GPU -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEKERNELOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEKERNELOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

let opDocGroup = Sluice_ProgramOps in {

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

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEKERNELOPS_TD
