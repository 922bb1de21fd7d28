//===- WeightStore.h - a module's weights as float32 ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_INTERPRETER_WEIGHTSTORE_H
#define SLUICE_INTERPRETER_WEIGHTSTORE_H

#include "runtime/base/MappedFile.h"
#include "runtime/base/Status.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <span>
#include <vector>

namespace sluice::interpreter {

/// The values of a weight: data[rows][cols], where a vector has one row. The
/// order is the file's: a linear layer's weight is [out][in], or [in][out] if
/// the op says transposed.
struct WeightData {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<float> data;

  std::span<const float> row(int64_t index) const {
    return {data.data() + index * cols, static_cast<size_t>(cols)};
  }
};

/// Loads the weights of a module when they are first asked for and keeps them
/// as float32. Quantises a weight whose format differs from the one in the
/// file, so that its values are those that every lowering computes with. Not
/// thread-safe.
class WeightStore {
public:
  /// Maps the files that weights refer to and checks that the module was
  /// imported from them. The module must be verified and outlive the store.
  /// Fails if a file is missing, has another size or has changed; the error
  /// names the op and the file.
  static Expected<WeightStore> open(mlir::ModuleOp module);

  /// Returns the values of a weight or a slice, which are valid as long as the
  /// store. Fails if a value is not finite; the error names the weight.
  Expected<const WeightData *> get(llvm::StringRef name);

private:
  WeightStore() = default;

  llvm::StringMap<ir::WeightOp> ops;
  llvm::StringMap<ir::SliceOp> slices;
  llvm::StringMap<MappedFile> files;
  llvm::StringMap<std::unique_ptr<WeightData>> loaded;
};

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_WEIGHTSTORE_H
