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
    Makes a generated kernel wait until the kernels before it have written their
    results, so that ops after it can read them. On chips that start a kernel
    only when the previous one has ended, it does nothing.

    ```mlir
    sluice.wait_for_prior
    ```

    Constraints:
    - (C1) the ops before it in a kernel access only memory of parameters that
      are `llvm.noalias` and that the kernel only reads.
    - (C2) it stands in the first block of a kernel's body, outside of any nested
      region.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sluice_StartDependentsOp : Sluice_Op<"start_dependents"> {
  let summary = "lets the next kernel start";
  let description = [{
    Lets the device start the next kernel, which runs up to the point where it
    waits for this one.

    ```mlir
    sluice.start_dependents
    ```
  }];
  let assemblyFormat = "attr-dict";
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEKERNELOPS_TD
