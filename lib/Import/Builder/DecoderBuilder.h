//===- DecoderBuilder.h - builder of a decoder model's IR -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_BUILDER_DECODERBUILDER_H
#define SLUICE_LIB_IMPORT_BUILDER_DECODERBUILDER_H

#include "WeightTable.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice::importer {

/// Builds the `sluice.model` of a configuration, layer by layer. Errors are
/// kept in the weight table.
class DecoderBuilder {
public:
  DecoderBuilder(const ModelFiles &model, WeightTable &weights,
                 mlir::MLIRContext *context)
      : model(model), config(model.config()), names(model.names()),
        weights(weights), builder(context), loc(builder.getUnknownLoc()) {}

  /// Appends the model to the module.
  void build(mlir::ModuleOp module);

private:
  using Value = mlir::Value;

  struct QueryKeyValue {
    Value query, key, value;
  };

  mlir::RankedTensorType rows(int64_t width) const;
  std::string layerName(int64_t layer, std::string_view name) const;

  Value embed(Value chunk);
  Value layer(int64_t index, Value input, Value chunk);
  Value output(Value hidden, Value chunk);

  Value attention(int64_t index, Value input, Value chunk);
  QueryKeyValue queryKeyValue(int64_t index, Value input);
  Value rope(Value input, Value chunk, int64_t heads);
  mlir::Attribute ropeScaling() const;
  Value feedForward(int64_t index, Value input);

  Value norm(const std::string &name, Value input);
  /// Builds a linear layer of the weight `name`.weight, and its bias.
  Value linear(const std::string &name, Value input, int64_t out, Bias bias,
               bool transposed);
  Value add(Value lhs, Value rhs);
  Value optionalBias(const std::string &name, int64_t size, Bias bias);
  ir::ActivationKind activationKind() const;
  bool isTied();

  const ModelFiles &model;
  const ModelConfig &config;
  const TensorNames &names;
  WeightTable &weights;
  mlir::OpBuilder builder;
  mlir::Location loc;
};

} // namespace sluice::importer

#endif // SLUICE_LIB_IMPORT_BUILDER_DECODERBUILDER_H
