//===- sluice-opt.cpp - runs passes over modules --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/InitAll.h"
#include "tools/CommandLine.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  sluice::setVersion("sluice-opt");
  if (sluice::Status status = sluice::checkOutput(argc, argv); !status.ok())
    return sluice::complain("sluice-opt", status);
  mlir::DialectRegistry registry;
  sluice::registerAllDialects(registry);
  sluice::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Sluice's pass driver", registry));
}
