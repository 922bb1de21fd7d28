//===- Scope.h - the values of a step during execution --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_SCOPE_H
#define SLUICE_LIB_INTERPRETER_SCOPE_H

#include "runtime/core/StepBatch.h"
#include "sluice/Interpreter/KVCache.h"
#include "sluice/Interpreter/RowData.h"
#include "sluice/Interpreter/WeightStore.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <variant>

namespace sluice::interpreter {

/// The content of an SSA value: rows (shared, never changed once made), a
/// weight, a layer's cache, or the batch. The pointers are owned by the
/// environment and by the caller of the step.
using Held = std::variant<std::shared_ptr<const RowData>, const WeightData *,
                          KVCache *, const StepBatch *>;

/// Holds the values of a region while it is executed, and gives access to those
/// of the regions around it. The rows that a layer computed are freed when its
/// scope ends.
class Scope {
public:
  explicit Scope(const Scope *outer = nullptr) : outer(outer) {}

  void set(mlir::Value value, Held held) { values[value] = std::move(held); }
  void set(mlir::Value value, RowData rows) {
    values[value] = std::make_shared<const RowData>(std::move(rows));
  }

  const Held &get(mlir::Value value) const {
    auto found = values.find(value);
    if (found != values.end())
      return found->second;
    assert(outer && "verified IR defines its values before it uses them");
    return outer->get(value);
  }

  const RowData &rows(mlir::Value value) const {
    return *std::get<std::shared_ptr<const RowData>>(get(value));
  }
  const WeightData &weight(mlir::Value value) const {
    return *std::get<const WeightData *>(get(value));
  }
  /// Returns null if the operand is absent.
  const WeightData *optionalWeight(mlir::Value value) const {
    return value ? &weight(value) : nullptr;
  }
  KVCache &cache(mlir::Value value) const {
    return *std::get<KVCache *>(get(value));
  }
  const StepBatch &batch(mlir::Value value) const {
    return *std::get<const StepBatch *>(get(value));
  }

private:
  const Scope *outer;
  llvm::DenseMap<mlir::Value, Held> values;
};

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_SCOPE_H
