//===- RopeTables.cpp - the tables that rotations read --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RopeTables.h"

#include "runtime/base/FileIdentity.h"
#include "runtime/formats/BlockFormat.h"
#include "sluice/Dialect/Sluice/IR/RopeFrequencies.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

/// Reads the values of a vector weight from its file.
static Expected<SmallVector<float>> readVector(WeightOp weight, FileOp file) {
  std::string path = file.getAbsolutePath();
  Expected<MappedFile> mapped = MappedFile::open(path);
  if (!mapped)
    return mapped.status();
  if (mapped->bytes().size() != file.getSize() ||
      fileIdentity(mapped->bytes()) != file.getIdentity())
    return failure(path, ": changed since the model was imported");
  std::string name = weight.getSymName().str();
  std::optional<uint64_t> bytes = weight.getStoredBytes();
  const uint8_t *data =
      bytes ? mapped->range(weight.getOffset(), *bytes) : nullptr;
  if (!data)
    return failure(path, ": ", name, ": lies outside of the file");
  SmallVector<float> values(weight.getTensorType().getNumElements());
  dequantizeRow(toFormat(weight.getStored()), data, values.data(),
                values.size());
  return values;
}

FailureOr<RopeTableAttr> sluice::planning::computeRopeTable(RopeOp op) {
  SmallVector<float> factors;
  if (Value operand = op.getFactors()) {
    auto param = operand.getDefiningOp<ParamOp>();
    auto weight = SymbolTable::lookupNearestSymbolFrom<WeightOp>(
        op, param.getWeightAttr());
    auto file = SymbolTable::lookupNearestSymbolFrom<FileOp>(
        weight, weight.getFileAttr());
    Expected<SmallVector<float>> values = readVector(weight, file);
    if (!values)
      return op.emitError(values.status().message());
    factors = values.take();
  }
  RopeFrequencies frequencies = computeRopeFrequencies(op, factors);
  if (!llvm::all_of(frequencies.inverse,
                    [](float value) { return std::isfinite(value); }))
    return op.emitError("has a frequency that is not finite");
  return RopeTableAttr::get(
      op.getContext(),
      DenseF32ArrayAttr::get(op.getContext(), frequencies.inverse),
      APFloat(static_cast<double>(frequencies.attentionFactor)));
}
