//===- ParsedModule.cpp - a module read from a file -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParsedModule.h"

#include "sluice/InitAll.h"
#include "sluice/Support/Diagnostics.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace sluice;
using namespace sluice::run;

// Far above any module or prompt; keeps a pipe that never ends out of memory.
static constexpr size_t maxInputBytes = size_t(1) << 30;

Expected<std::unique_ptr<llvm::MemoryBuffer>>
run::readInput(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  std::string place = path == "-" ? "standard input" : path;
  if (!buffer)
    return failure(place, ": cannot read: ", buffer.getError().message());
  if ((*buffer)->getBufferSize() > maxInputBytes)
    return failure(place, ": has more than ", maxInputBytes, " bytes");
  return std::move(*buffer);
}

Expected<ParsedModule> run::parseModule(const std::string &path) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readInput(path);
  if (!text)
    return text.status();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  ParsedModule parsed;
  parsed.context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  FirstError errors(parsed.context.get());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(text.take(), llvm::SMLoc());
  parsed.module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, parsed.context.get());
  if (!parsed.module)
    return errors.status("the module cannot be parsed");
  return parsed;
}
