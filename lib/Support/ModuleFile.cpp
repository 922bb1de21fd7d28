//===- ModuleFile.cpp - reader of module files ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Support/ModuleFile.h"

#include "runtime/base/InputFiles.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Support/Diagnostics.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace sluice;

// The largest input. It is far above any module or prompt and keeps an endless
// pipe from filling the memory.
static constexpr size_t maxInputBytes = size_t(1) << 30;

Expected<std::unique_ptr<llvm::MemoryBuffer>>
sluice::readInput(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  std::string place = path == "-" ? "standard input" : path;
  if (!buffer)
    return failure(place, ": cannot read: ", buffer.getError().message());
  if ((*buffer)->getBufferSize() > maxInputBytes)
    return failure(place, ": has more than ", maxInputBytes, " bytes");
  return std::move(*buffer);
}

bool sluice::isModuleFile(const std::string &path) {
  if (path == "-" || llvm::StringRef(path).ends_with(".mlir"))
    return true;
  // Only a regular file is looked into: reading from a pipe would consume its
  // beginning.
  if (!llvm::sys::fs::is_regular_file(path))
    return false;
  constexpr uint64_t magicBytes = 4;
  auto start = llvm::MemoryBuffer::getFileSlice(path, magicBytes, 0);
  return start && isBytecode((*start)->getMemBufferRef());
}

/// Returns the folder against which a module's relative paths are resolved. A
/// module read through an open file (/dev/stdin, /dev/fd/3) has none.
static std::string folderOf(const std::string &path) {
  if (path == "-" || llvm::StringRef(path).starts_with("/dev/"))
    return "";
  return llvm::sys::path::parent_path(path).str();
}

Expected<OwningOpRef<ModuleOp>> sluice::readModuleFile(const std::string &path,
                                                       MLIRContext *context) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readInput(path);
  if (!text)
    return text.status();
  noteInput(path);
  context->getOrLoadDialect<ir::SluiceDialect>()->setModuleFolder(
      folderOf(path));
  FirstError errors(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(text.take(), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, context);
  if (!module)
    return errors.status("the module cannot be parsed");
  return module;
}

namespace {

class FolderExtension
    : public DialectExtension<FolderExtension, ir::SluiceDialect> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FolderExtension)

  explicit FolderExtension(std::string folder) : folder(std::move(folder)) {}

  void apply(MLIRContext * /*context*/,
             ir::SluiceDialect *dialect) const override {
    dialect->setModuleFolder(folder);
  }

private:
  std::string folder;
};

} // namespace

void sluice::setModuleFolder(DialectRegistry &registry,
                             const std::string &path) {
  registry.addExtension(TypeID::get<FolderExtension>(),
                        std::make_unique<FolderExtension>(folderOf(path)));
}

void sluice::makePathsAbsolute(ModuleOp module) {
  for (auto file : module.getOps<ir::FileOp>())
    file.setPath(file.getAbsolutePath());
}
