//===- sluice-reduce.cpp - reducer of failing modules ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/InitAll.h"
#include "tools/ToolCommandLine.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  sluice::setVersion("sluice-reduce");
  if (sluice::Status status = sluice::checkOutput(argc, argv); !status.ok())
    return sluice::complain("sluice-reduce", status);
  mlir::DialectRegistry registry;
  sluice::registerAllDialects(registry);
  sluice::registerAllPasses();
  mlir::MLIRContext context(registry);
  // This does the work of shortenDiagnostics(), which affects only later
  // contexts.
  context.printOpOnDiagnostic(false);
  return mlir::asMainReturnCode(mlir::mlirReduceMain(argc, argv, context));
}
