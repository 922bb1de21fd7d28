//===- DescriptorBuilder.cpp - a program's descriptor from its IR ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/DescriptorBuilder.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

static std::string makeAbsolute(llvm::StringRef path) {
  llvm::SmallString<256> absolute(path);
  // Fails only where the working folder is gone; the path then stays relative.
  (void)llvm::sys::fs::make_absolute(absolute);
  return absolute.str().str();
}

/// Numbers the module's files in their order.
static llvm::DenseMap<StringRef, int64_t> addFiles(ModuleOp module,
                                                   ProgramDescriptor &result) {
  llvm::DenseMap<StringRef, int64_t> numbers;
  for (FileOp file : module.getOps<FileOp>()) {
    numbers[file.getSymName()] = static_cast<int64_t>(result.files.size());
    result.files.push_back({makeAbsolute(file.getPath()), file.getSize(),
                            file.getIdentity().str()});
  }
  return numbers;
}

static sluice::WeightUse toWeightUse(WeightUseKind use) {
  switch (use) {
  case WeightUseKind::Linear:
    return sluice::WeightUse::Linear;
  case WeightUseKind::Rows:
    return sluice::WeightUse::Rows;
  case WeightUseKind::Vector:
    return sluice::WeightUse::Vector;
  }
  llvm_unreachable("unknown use");
}

static WeightDescriptor describeWeight(WeightOp weight, WeightUseAttr use,
                                       int64_t file) {
  RankedTensorType type = weight.getTensorType();
  WeightDescriptor result;
  result.name = weight.getSymName().str();
  result.file = file;
  result.offset = weight.getOffset();
  result.bytes = *weight.getStoredBytes();
  result.rows = type.getRank() == 2 ? type.getDimSize(0) : 1;
  result.cols = type.getShape().back();
  result.stored = toFormat(weight.getStored());
  result.format = toFormat(weight.getElementFormat());
  result.transposed = use.getTransposed();
  result.use = toWeightUse(use.getUse());
  return result;
}

/// The format that holds most of the linear weights' elements: what people
/// call the model's quantisation.
static std::string nameQuantization(const ProgramDescriptor &program) {
  llvm::MapVector<Format, int64_t> elements;
  for (const WeightDescriptor &weight : program.weights)
    if (weight.use == sluice::WeightUse::Linear)
      elements[weight.format] += weight.rows * weight.cols;
  if (elements.empty())
    return "f32";
  auto most = llvm::max_element(elements, llvm::less_second());
  return std::string(formatInfo(most->first).name);
}

/// The runtime calls the step function by the name and with the arguments that
/// runtime/device/cpu/ProgramABI.h gives it.
static Status checkStepFunction(ModuleOp module, ProgramOp program) {
  constexpr llvm::StringLiteral name = "sluice_program_step";
  if (program.getStep() != name)
    return failure("the step function is @", program.getStep().str(),
                   ", but the runtime calls @", name.str());
  auto step = SymbolTable(module).lookup<FunctionOpInterface>(name);
  Builder builder(module.getContext());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type integer = builder.getI64Type();
  Type expected = builder.getFunctionType(
      {pointer, integer, integer, pointer, integer, integer, integer, integer},
      {});
  if (step.getFunctionType() == expected && !step.isExternal())
    return {};
  return failure("@", name.str(),
                 " is not a defined function of the type that the runtime "
                 "calls");
}

Expected<ProgramDescriptor> sluice::buildDescriptor(ModuleOp module) {
  auto programs = module.getOps<ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return failure("a module of phase kernels has one sluice.program, found ",
                   std::distance(programs.begin(), programs.end()));
  ProgramOp program = *programs.begin();
  if (Status status = checkStepFunction(module, program); !status.ok())
    return status;

  ProgramDescriptor result;
  result.name = program.getModelName().str();
  result.architecture = program.getArchitecture().str();
  result.cpu = stringifyCpuLevel(program.getCpu()).str();
  result.contextLength = program.getContextLength();
  result.vocabSize = program.getVocabSize();
  result.hiddenSize = program.getHiddenSize();
  result.layers = program.getLayers();
  result.rowFloats = program.getRowFloats();
  result.outputFloats = program.getOutputFloats();
  result.logitsOffset = program.getLogitsOffset();
  for (auto type : program.getCaches().getAsValueRange<TypeAttr>()) {
    auto cache = cast<CacheType>(type);
    result.caches.push_back({cache.getKvHeads(), cache.getHeadDim()});
  }
  for (auto table : program.getRopeTables().getAsRange<RopeTableAttr>())
    result.ropeTables.push_back(
        {table.getInverse().asArrayRef().vec(),
         static_cast<float>(table.getFactor().convertToDouble())});
  llvm::DenseMap<StringRef, int64_t> files = addFiles(module, result);
  SymbolTable symbols(module);
  for (auto use : program.getWeights().getAsRange<WeightUseAttr>()) {
    auto weight = symbols.lookup<WeightOp>(use.getWeight().getValue());
    result.weights.push_back(
        describeWeight(weight, use, files.lookup(weight.getFile())));
  }
  for (int64_t token : program.getEosTokens())
    result.eosTokens.push_back(static_cast<int32_t>(token));
  result.quantization = nameQuantization(result);
  result.phases = {"model", "kernels", "object", "executable"};
  return result;
}
