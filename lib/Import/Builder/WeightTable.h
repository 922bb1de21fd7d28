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

/// What a weight is used for; decides whether it may be quantised.
enum class TensorUse {
  Vector,     ///< norms, biases: a row
  Rows,       ///< a table that rows are taken from and that stays as it is
  Tokens,     ///< a table of tokens' rows, which may be a product's weight too
  Linear,     ///< [out, in]
  Transposed, ///< [in, out]
};

/// Makes a `sluice.weight` for each tensor that is used and remembers which
/// were. The first error is kept; after it every weight is a stand-in, so that
/// building can go on without looking.
class WeightTable {
public:
  /// `quantize`: what linear layers are to be computed in, if not as stored.
  WeightTable(const ModelFiles &model, std::optional<Format> quantize,
              mlir::MLIRContext *context)
      : model(model), quantize(quantize), moduleBuilder(context) {}

  /// Declares the files that weights (and the tokenizer) refer to in front of
  /// `op`, which is where weights will be declared, too.
  void declareFilesBefore(mlir::Operation *op);

  bool contains(std::string_view name) const { return model.find(name); }

  /// The value of a weight, at the builder's place. The shape is what the
  /// configuration asks for.
  mlir::Value get(mlir::OpBuilder &builder, const std::string &name,
                  llvm::ArrayRef<int64_t> shape, TensorUse use);

  /// Marks a tensor as known, though the module does not use it.
  void markUsed(std::string_view name) { types.try_emplace(name); }

  /// Makes that the error, unless there already is one.
  void fail(const Status &status);

  /// The first error, or a tensor of the files that was not used.
  Status finish() const;

private:
  /// Errors name the tensor, not its file.
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
  /// The declared weights' types; null for a tensor that is only known.
  llvm::StringMap<mlir::RankedTensorType> types;
  Status firstError;
};

} // namespace sluice::importer

#endif // SLUICE_LIB_IMPORT_BUILDER_WEIGHTTABLE_H
