//===- ParsedModule.cpp - a module read from a file -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParsedModule.h"

#include "sluice/InitAll.h"
#include "sluice/Support/ModuleFile.h"

#include "mlir/IR/DialectRegistry.h"

using namespace sluice;
using namespace sluice::run;

Expected<ParsedModule> run::parseModule(const std::string &path) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  ParsedModule parsed;
  parsed.context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      readModuleFile(path, parsed.context.get());
  if (!module)
    return module.status();
  parsed.module = module.take();
  return parsed;
}
