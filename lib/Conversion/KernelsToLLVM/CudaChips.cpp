//===- CudaChips.cpp - the chips that kernels are generated for -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Conversion/CudaChips.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace sluice;

static constexpr llvm::StringLiteral triple = "nvptx64-nvidia-cuda";

/// The lowest chip that the runtime's kernels support.
static constexpr unsigned minChip = 80;
/// The lowest chip with programmatic dependent launch.
static constexpr unsigned dependentChip = 90;
static_assert(SLUICE_CUDA_PTX >= dependentChip);

ArrayRef<std::string> sluice::getDefaultCudaChips() {
  static const std::string chips[] = {"sm_80", "sm_90a", "sm_100", "sm_120"};
  return chips;
}

std::string sluice::getForwardCudaChip() {
  return "sm_" + std::to_string(SLUICE_CUDA_PTX);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// Returns the number in a chip's name.
static std::optional<unsigned> getNumber(StringRef name) {
  unsigned number = 0;
  if (!name.consume_front("sm_") || name.consumeInteger(10, number))
    return std::nullopt;
  return number;
}

/// Returns LLVM's list of these chips.
static const llvm::MCSubtargetInfo &getSubtargets() {
  static const std::unique_ptr<llvm::MCSubtargetInfo> subtargets = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    std::string error;
    llvm::Triple wanted(triple);
    const llvm::Target *target =
        llvm::TargetRegistry::lookupTarget(wanted, error);
    assert(target && "it was registered above");
    return std::unique_ptr<llvm::MCSubtargetInfo>(
        target->createMCSubtargetInfo(wanted, "", ""));
  }();
  return *subtargets;
}

Status sluice::checkCudaChips(ArrayRef<std::string> names) {
  if (names.size() == 1 && names.front() == cudaEmulator)
    return {};
  llvm::StringSet<> seen;
  for (const std::string &name : names) {
    std::optional<unsigned> number = getNumber(name);
    if (!number || *number < minChip || !getSubtargets().isCPUStringValid(name))
      return failure("'", name,
                     "' is no known chip: expected sm_80 or later, as in "
                     "sm_90a, or emulator alone");
    if (!seen.insert(name).second)
      return failure("'", name, "' is there twice");
  }
  return {};
}

Expected<std::vector<std::string>>
sluice::parseCudaChips(std::string_view list) {
  llvm::SmallVector<StringRef> names;
  StringRef(list).split(names, ',');
  std::vector<std::string> chips(names.begin(), names.end());
  SLUICE_RETURN_IF_ERROR(checkCudaChips(chips));
  return chips;
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

Attribute sluice::getCudaTarget(MLIRContext *context, StringRef chip) {
  return NVVM::NVVMTargetAttr::get(context, /*optLevel=*/2, triple, chip,
                                   /*features=*/"");
}

StringRef sluice::getCudaChip(Attribute target) {
  return cast<NVVM::NVVMTargetAttr>(target).getChip();
}

bool sluice::hasDependentLaunch(Attribute target) {
  auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target);
  return nvvm && getNumber(nvvm.getChip()).value_or(0) >= dependentChip;
}
