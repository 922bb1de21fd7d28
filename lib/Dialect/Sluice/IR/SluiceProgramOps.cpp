//===- SluiceProgramOps.cpp - sluice.program and sluice.view --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace sluice::ir {

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// `<` symbol `,` use (`,` `transposed`)? `>`
Attribute WeightUseAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr weight;
  StringRef keyword;
  if (parser.parseLess() || parser.parseAttribute(weight) ||
      parser.parseComma())
    return {};
  SMLoc useLoc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return {};
  std::optional<WeightUseKind> use = symbolizeWeightUseKind(keyword);
  if (!use) {
    parser.emitError(useLoc, "expected linear, rows or vector");
    return {};
  }
  bool transposed = succeeded(parser.parseOptionalComma());
  if ((transposed && parser.parseKeyword("transposed")) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), weight, *use, transposed);
}

void WeightUseAttr::print(AsmPrinter &printer) const {
  printer << "<" << getWeight() << ", " << stringifyWeightUseKind(getUse());
  if (getTransposed())
    printer << ", transposed";
  printer << ">";
}

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

/// All values of the arena are rows of whole cache lines.
static constexpr int64_t arenaUnit = 16;

LogicalResult ProgramOp::verify() {
  int64_t vocabSize = getVocabSize(), contextLength = getContextLength();
  int64_t hiddenSize = getHiddenSize(), layers = getLayers();
  int64_t rowFloats = getRowFloats(), outputFloats = getOutputFloats();
  int64_t logits = getLogitsOffset();
  // program_c3
  if (vocabSize <= 0 || contextLength <= 0 || hiddenSize <= 0)
    return emitOpError("has a vocabulary, context or hidden size that is not "
                       "positive");
  if (layers < 0 || rowFloats < 0 || outputFloats < 0)
    return emitOpError("has a negative number of layers or arena size");
  // program_c4
  if (logits < 0 || logits > outputFloats || vocabSize > outputFloats - logits)
    return emitOpError("has logits outside of the output part of the arena");
  // program_c5
  for (Type cache : getCaches().getAsValueRange<TypeAttr>())
    if (!isa<CacheType>(cache))
      return emitOpError("has a cache of type ") << cache;
  // program_c6
  if (rowFloats % arenaUnit || outputFloats % arenaUnit || logits % arenaUnit)
    return emitOpError("has arena sizes that are not multiples of ")
           << arenaUnit;
  return success();
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // program_c1
  if (!symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this,
                                                            getStepAttr()))
    return emitOpError("names a step function ")
           << getStepAttr() << " that the module does not have";
  // program_c2
  for (WeightUseAttr use : getWeights().getAsRange<WeightUseAttr>()) {
    auto weight =
        symbols.lookupNearestSymbolFrom<WeightOp>(*this, use.getWeight());
    if (!weight)
      return emitOpError("uses ")
             << use.getWeight() << ", which is not a sluice.weight";
    bool isVector = use.getUse() == WeightUseKind::Vector;
    if (weight.getTensorType().getRank() != (isVector ? 1 : 2))
      return emitOpError("uses ")
             << use.getWeight() << " of type " << weight.getTensorType()
             << " as " << stringifyWeightUseKind(use.getUse());
    if (use.getTransposed() && use.getUse() != WeightUseKind::Linear)
      return emitOpError("transposes ")
             << use.getWeight() << ", which is not used as linear";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ViewOp
//===----------------------------------------------------------------------===//

LogicalResult ViewOp::verify() {
  // view_c1
  if (!isa<LLVM::LLVMPointerType>(getSource().getType()))
    return emitOpError("needs an !llvm.ptr, has ") << getSource().getType();
  // view_c2
  auto type = dyn_cast<MemRefType>(getResult().getType());
  if (!type || !type.getLayout().isIdentity() || type.getMemorySpace())
    return emitOpError("needs a memref without layout and memory space, has ")
           << getResult().getType();
  // view_c3
  if (type.getNumDynamicDims() != getSizes().size())
    return emitOpError("has ")
           << getSizes().size() << " sizes for " << type.getNumDynamicDims()
           << " dynamic dimensions";
  return success();
}

} // namespace sluice::ir
