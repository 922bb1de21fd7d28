//===- CudaImage.cpp - the kernels that an executable carries -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/CudaImage.h"
#include "sluice/Conversion/CudaChips.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Support/Diagnostics.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace mlir;
using namespace sluice;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

//===----------------------------------------------------------------------===//
// Tools
//===----------------------------------------------------------------------===//

static std::string inFolder(llvm::StringRef folder, llvm::StringRef tool) {
  llvm::SmallString<256> file(folder);
  path::append(file, "bin", tool);
  return file.str().str();
}

/// Returns the folder if it has the tools that make images.
static Expected<std::string> checkToolkit(const std::string &folder) {
  for (const char *tool : {"ptxas", "fatbinary"})
    if (!fs::can_execute(inFolder(folder, tool)))
      return failure(folder, ": has no bin/", tool, ": is it a CUDA toolkit?");
  return folder;
}

Expected<std::string> sluice::findCudaToolkit(const std::string &given) {
  if (!given.empty())
    return checkToolkit(given);
  if (const char *folder = std::getenv("CUDA_PATH"); folder && *folder) {
    Expected<std::string> found = checkToolkit(folder);
    return found ? found : found.status().withContext("CUDA_PATH");
  }
  if (llvm::ErrorOr<std::string> ptxas = llvm::sys::findProgramByName("ptxas"))
    return checkToolkit(path::parent_path(path::parent_path(*ptxas)).str());
  return failure(
      "no CUDA toolkit found: give --cuda-toolkit, or have CUDA_PATH "
      "or PATH lead to ptxas");
}

//===----------------------------------------------------------------------===//
// The kernels of one chip
//===----------------------------------------------------------------------===//

/// Returns the kernels of a module that are for chips, or null.
static gpu::GPUModuleOp findKernels(ModuleOp module) {
  for (gpu::GPUModuleOp kernels : module.getOps<gpu::GPUModuleOp>())
    if (kernels.getTargetsAttr())
      return kernels;
  return nullptr;
}

bool sluice::hasCudaChips(ModuleOp kernels) {
  return findKernels(kernels) != nullptr;
}

std::vector<std::string> sluice::getCudaChips(ModuleOp module) {
  std::vector<std::string> chips;
  if (gpu::GPUModuleOp kernels = findKernels(module))
    for (Attribute target : kernels.getTargetsAttr())
      chips.push_back(getCudaChip(target).str());
  else if (!module.getOps<gpu::GPUModuleOp>().empty())
    chips.emplace_back(cudaEmulator);
  return chips;
}

/// Makes the object for one target. `format` is that of DevicePipelineOptions.
static Expected<std::string> buildObject(gpu::GPUModuleOp kernels,
                                         Attribute target, StringRef format,
                                         const std::string &toolkit) {
  // Each chip gets a copy of the kernels in a module of its own, since their
  // code differs.
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernels.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  auto clone = cast<gpu::GPUModuleOp>(b.clone(*kernels));
  clone.setTargetsAttr(b.getArrayAttr({target}));

  FirstError firstError(kernels.getContext());
  PassManager passes(kernels.getContext());
  DevicePipelineOptions options;
  options.format = format.str();
  options.toolkit = toolkit;
  buildDevicePipeline(passes, options);
  if (failed(passes.run(*module)))
    return firstError.status("compiling the kernels failed");
  auto binary = *module->getOps<gpu::BinaryOp>().begin();
  auto object = cast<gpu::ObjectAttr>(binary.getObjects()[0]);
  return object.getObject().getValue().str();
}

//===----------------------------------------------------------------------===//
// The image of all chips
//===----------------------------------------------------------------------===//

namespace {

/// A temporary file, which the destructor removes.
class TemporaryFile {
public:
  static Expected<TemporaryFile> create(const char *suffix,
                                        llvm::StringRef contents) {
    TemporaryFile file;
    int descriptor = -1;
    if (std::error_code error =
            fs::createTemporaryFile("sluice", suffix, descriptor, file.path))
      return failure("cannot make a temporary file: ", error.message());
    llvm::sys::RemoveFileOnSignal(file.path);
    file.remover = std::make_unique<llvm::FileRemover>(file.path);
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << contents;
    stream.close();
    bool failed = stream.has_error();
    std::string message = stream.error().message();
    stream.clear_error();
    if (failed)
      return failure(file.path.str().str(), ": cannot write: ", message);
    return file;
  }

  llvm::SmallString<128> path;

private:
  std::unique_ptr<llvm::FileRemover> remover;
};

/// Collects objects for the toolkit's fatbinary.
class FatBinary {
public:
  /// Adds an object. `kind` is elf or ptx; `chip` is a name such as sm_90a.
  Status add(const char *kind, llvm::StringRef chip, llvm::StringRef contents) {
    Expected<TemporaryFile> file = TemporaryFile::create(kind, contents);
    if (!file)
      return file.status();
    if (file->path.str().contains(','))
      return failure(file->path.str().str(),
                     ": fatbinary takes no names with "
                     "commas: let TMPDIR be another folder");
    images.push_back(("--image3=kind=" + llvm::Twine(kind) +
                      ",sm=" + chip.drop_front(3) + ",file=" + file->path)
                         .str());
    files.push_back(file.take());
    return {};
  }

  Expected<std::string> link(const std::string &toolkit);

private:
  std::vector<TemporaryFile> files;
  std::vector<std::string> images;
};

} // namespace

Expected<std::string> FatBinary::link(const std::string &toolkit) {
  std::string tool = inFolder(toolkit, "fatbinary");
  Expected<TemporaryFile> output = TemporaryFile::create("fatbin", "");
  if (!output)
    return output.status();
  Expected<TemporaryFile> log = TemporaryFile::create("log", "");
  if (!log)
    return log.status();
  std::string create = "--create=" + output->path.str().str();
  std::vector<llvm::StringRef> arguments = {tool, "--64", create};
  arguments.insert(arguments.end(), images.begin(), images.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""),
                                                llvm::StringRef(log->path),
                                                llvm::StringRef(log->path)};
  std::string message;
  if (llvm::sys::ExecuteAndWait(tool, arguments, std::nullopt, redirects, 0, 0,
                                &message) != 0) {
    auto text = llvm::MemoryBuffer::getFile(log->path);
    if (message.empty() && text)
      message = (*text)->getBuffer().split('\n').first.str();
    return failure(tool, " failed: ", message);
  }
  auto bytes = llvm::MemoryBuffer::getFile(output->path);
  if (!bytes)
    return failure(output->path.str().str(),
                   ": cannot read: ", bytes.getError().message());
  return (*bytes)->getBuffer().str();
}

Expected<std::string> sluice::buildCudaImage(ModuleOp module,
                                             const std::string &toolkit) {
  gpu::GPUModuleOp kernels = findKernels(module);
  if (!kernels)
    return std::string();
  FatBinary binary;
  auto add = [&](Attribute target, const char *format, const char *kind) {
    llvm::StringRef chip = getCudaChip(target);
    Expected<std::string> object =
        buildObject(kernels, target, format, toolkit);
    if (!object)
      return object.status().withContext(chip.str());
    return binary.add(kind, chip, *object);
  };
  for (Attribute target : kernels.getTargetsAttr())
    SLUICE_RETURN_IF_ERROR(add(target, "bin", "elf"));
  Attribute forward = getCudaTarget(module.getContext(), getForwardCudaChip());
  SLUICE_RETURN_IF_ERROR(add(forward, "isa", "ptx"));
  return binary.link(toolkit);
}
