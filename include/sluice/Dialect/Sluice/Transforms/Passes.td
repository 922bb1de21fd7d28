//===- Passes.td - passes inside the dialect sluice -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_TD
#define SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPhase : Pass<"sluice-verify-phase", "::mlir::ModuleOp"> {
  let summary = "checks that a module is in a phase";
  let description = [{
    Each phase names the IR that is legal in it. Whoever makes a phase ends with
    this pass, so that whoever reads it need not expect anything else.

    - `model`: one `sluice.model`, the files and weights it refers to, and at
      most one tokenizer. Only ops of the dialect `sluice`.
    - `kernels`: one `sluice.program` with its files, weights and tokenizer, and
      code in the dialects `arith`, `func`, `llvm`, `math`, `memref`, `scf` and
      `vector`, with `sluice.view` between them. No other op of the dialect
      `sluice`.

    It changes nothing; an op that is not legal is an error at that op.
  }];
  let options = [
    Option<"phase", "phase", "std::string", "\"model\"",
           "The phase to check for: model or kernels">
  ];
  let statistics = [
    Statistic<"opsChecked", "ops-checked", "Ops that were checked">
  ];
}

#endif // SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_TD
