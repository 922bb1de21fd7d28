//===- WeightStore.cpp - the weights of a module, as float32 --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/WeightStore.h"

#include "OpError.h"
#include "runtime/base/FileIdentity.h"
#include "runtime/formats/BlockFormat.h"

using namespace sluice;
using namespace sluice::interpreter;

/// Maps the file that `op` names and checks its size and identity.
static Expected<MappedFile> openModelFile(ir::FileOp op) {
  std::string path = op.getPath().str();
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return opError(op, file.status().message());
  if (file->bytes().size() != static_cast<uint64_t>(op.getSize()))
    return opError(op, path, ": has ", file->bytes().size(),
                   " bytes, but the model was imported from one of ",
                   op.getSize(), "; import it again");
  if (fileIdentity(file->bytes()) != op.getIdentity().str())
    return opError(op, path,
                   ": changed since the model was imported; import it again");
  return file;
}

Expected<WeightStore> WeightStore::open(mlir::ModuleOp module) {
  WeightStore store;
  mlir::SymbolTable symbols(module);
  for (auto weight : module.getOps<ir::WeightOp>()) {
    store.ops[weight.getSymName()] = weight;
    llvm::StringRef name = weight.getFile();
    if (store.files.contains(name))
      continue;
    auto op = symbols.lookup<ir::FileOp>(name);
    if (!op)
      return opError(weight, "@", name.str(), " is no file of the module");
    Expected<MappedFile> file = openModelFile(op);
    if (!file)
      return file.status();
    store.files.try_emplace(name, file.take());
  }
  return store;
}

/// Dequantises a weight row by row; quantises first where the op says so.
static Expected<std::unique_ptr<WeightData>> load(ir::WeightOp op,
                                                  const MappedFile &file) {
  mlir::RankedTensorType type = op.getTensorType();
  auto weight = std::make_unique<WeightData>();
  weight->rows = type.getRank() == 2 ? type.getDimSize(0) : 1;
  weight->cols = type.getDimSize(type.getRank() - 1);

  Format stored = ir::toFormat(op.getStored());
  Format computed = ir::toFormat(op.getElementFormat());
  // The verifier has seen that the rows are whole blocks.
  uint64_t bytes = op.getStoredBytes().value_or(0);
  const uint8_t *source = file.range(op.getOffset(), bytes);
  if (!source)
    return opError(op, "@", op.getSymName().str(), " is not inside ",
                   file.path());

  uint64_t storedRow = bytes / weight->rows;
  std::vector<uint8_t> quantized;
  if (stored != computed)
    quantized.resize(rowBytes(computed, weight->cols).value_or(0));
  weight->data.resize(weight->rows * weight->cols);
  for (int64_t r = 0; r < weight->rows; ++r) {
    const uint8_t *from = source + r * storedRow;
    float *to = weight->data.data() + r * weight->cols;
    if (!rowIsFinite(stored, from, weight->cols))
      return opError(op, "@", op.getSymName().str(), ", row ", r, " in ",
                     file.path(), ": a value or scale is not finite");
    dequantizeRow(stored, from, to, weight->cols);
    if (quantized.empty())
      continue;
    quantizeRow(computed, to, quantized.data(), weight->cols);
    dequantizeRow(computed, quantized.data(), to, weight->cols);
  }
  return weight;
}

Expected<const WeightData *> WeightStore::get(llvm::StringRef name) {
  std::unique_ptr<WeightData> &slot = loaded[name];
  if (!slot) {
    auto op = ops.find(name);
    if (op == ops.end())
      return failure("@", name.str(), " is no weight of the module");
    Expected<std::unique_ptr<WeightData>> weight =
        load(op->second, files.find(op->second.getFile())->second);
    if (!weight)
      return weight.status();
    slot = weight.take();
  }
  return slot.get();
}
