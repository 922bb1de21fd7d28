//===- WeightStore.h - the weights of a module, as float32 ----------------===//
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

/// A weight's values: data[rows][cols], rows == 1 for a vector. As stored: a
/// linear layer's is [out][in], or [in][out] where the op says transposed.
struct WeightData {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<float> data;

  std::span<const float> row(int64_t index) const {
    return {data.data() + index * cols, static_cast<size_t>(cols)};
  }
};

/// Loads the weights of a module when they are first asked for and keeps them
/// as float32. A weight whose format differs from the one it is stored in is
/// quantised on the way, so that its values are those that every lowering
/// computes with. Not thread-safe.
class WeightStore {
public:
  /// Maps the files that weights refer to and checks that they are those that
  /// the module was imported from. The module must be verified and outlive the
  /// store. Errors name the op and the file: missing, of another size, changed.
  static Expected<WeightStore> open(mlir::ModuleOp module);

  /// The values of a weight or a slice, valid for the life of the store. Errors
  /// name the weight: values that are not finite.
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
