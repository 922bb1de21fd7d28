//===- WeightTable.h - a model's tensors as weights of a module -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_BUILDER_WEIGHTTABLE_H
#define SLUICE_LIB_IMPORT_BUILDER_WEIGHTTABLE_H

#include "sluice/Import/Model/ModelFiles.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/StringMap.h"

namespace sluice::importer {

/// The use of a weight, which decides whether it may be quantised.
enum class TensorUse {
  Vector,     ///< norms, biases: a row
  Rows,       ///< a table from which rows are taken; never quantised
  Tokens,     ///< the table of tokens, which may also be a product's weight
  Linear,     ///< [out, in]
  Transposed, ///< [in, out]
};

/// Makes a `sluice.weight` for each tensor that is used and remembers the used
/// tensors. Keeps the first error; after an error every weight is a stand-in,
/// so that the caller can continue without checking.
class WeightTable {
public:
  /// `quantize` is the format to compute linear layers in, unless they keep the
  /// stored one.
  WeightTable(const ModelFiles &model, std::optional<Format> quantize,
              mlir::MLIRContext *context)
      : model(model), quantize(quantize), moduleBuilder(context) {}

  /// Declares the files of weights and tokenizer before `op`. Weights will be
  /// declared there, too.
  void declareFilesBefore(mlir::Operation *op);

  bool contains(std::string_view name) const { return model.find(name); }

  /// Returns the value of a weight, which is defined at the builder's insertion
  /// point. `shape` is the shape that the configuration asks for.
  mlir::Value get(mlir::OpBuilder &builder, const std::string &name,
                  llvm::ArrayRef<int64_t> shape, TensorUse use);

  /// Marks a tensor as known, though the module does not use it.
  void markUsed(std::string_view name) { types.try_emplace(name); }

  /// Makes `status` the error, unless there is one already.
  void fail(const Status &status);

  /// Returns the first error, or else an error about a tensor of the files that
  /// was not used.
  Status finish() const;

private:
  /// Returns the type of a tensor's weight. An error does not name the tensor.
  Expected<mlir::RankedTensorType> typeOf(const StoredTensor &tensor,
                                          llvm::ArrayRef<int64_t> shape,
                                          TensorUse use);
  Expected<Format> computedFormat(Format stored, llvm::ArrayRef<int64_t> shape,
                                  TensorUse use) const;
  /// Declares the scales of a tensor of e4m3 numbers. Errors name the scales'
  /// tensor and its file.
  Expected<mlir::FlatSymbolRefAttr> declareScales(const StoredTensor &tensor);
  mlir::RankedTensorType declare(const std::string &name,
                                 llvm::ArrayRef<int64_t> shape, TensorUse use);
  std::string fileSymbol(size_t file) const {
    return "f" + std::to_string(file);
  }

  const ModelFiles &model;
  std::optional<Format> quantize;
  mlir::OpBuilder moduleBuilder;
  /// The declared weights' types; null for a tensor that was only marked as
  /// used.
  llvm::StringMap<mlir::RankedTensorType> types;
  Status firstError;
};

} // namespace sluice::importer

#endif // SLUICE_LIB_IMPORT_BUILDER_WEIGHTTABLE_H
