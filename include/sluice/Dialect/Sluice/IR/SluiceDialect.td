//===- SluiceDialect.td - the dialect sluice ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEDIALECT_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEDIALECT_TD

include "mlir/IR/OpBase.td"

def Sluice_Dialect : Dialect {
  let name = "sluice";
  let cppNamespace = "::sluice::ir";
  let summary = "Language models that are served as one native executable";
  let description = [{
    One dialect with phases inside it. In the phase `model` it says what one
    request does in one step: embedding, layers as regions, attention over a
    cache, logits. Weights are references into the model's files; nothing is
    copied.

    In the phase `kernels` a `sluice.program` has taken the model's place: it
    describes code in upstream dialects to the runtime. Files, weights and the
    tokenizer are the same in both.

    Activations are tensors of *rows* by features, `tensor<?xNxf32>`. A row is
    one token of one sequence at one position. A `!sluice.chunk` says which of
    one request's rows they are, a `!sluice.batch` of any requests'.
  }];
  // Addresses are its pointers.
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Says where the file of the module lies that is read into this context:
    /// the module's relative paths begin there. Empty, as at first: in the
    /// working folder.
    void setModuleFolder(::llvm::StringRef folder) {
      moduleFolder = folder.str();
    }
    ::llvm::StringRef getModuleFolder() const { return moduleFolder; }

  private:
    ::std::string moduleFolder;

  public:
  }];
}

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEDIALECT_TD
