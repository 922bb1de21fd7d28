//===- DecoderBuilder.cpp - builder of a decoder model's IR ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecoderBuilder.h"

#include "sluice/Import/Support/Quote.h"

#include <cstring>

using namespace sluice;
using namespace sluice::importer;
using mlir::Value;

mlir::RankedTensorType DecoderBuilder::rows(int64_t width) const {
  return mlir::RankedTensorType::get(
      {mlir::ShapedType::kDynamic, width},
      mlir::Float32Type::get(builder.getContext()));
}

std::string DecoderBuilder::layerName(int64_t layer,
                                      std::string_view name) const {
  std::string result(names.prefix);
  result += names.layers;
  result += "." + std::to_string(layer) + ".";
  result += name;
  return result;
}

void DecoderBuilder::build(mlir::ModuleOp module) {
  builder.setInsertionPointToEnd(module.getBody());
  auto op = ir::ModelOp::create(builder, loc, "main", config.architecture,
                                config.name, config.vocabulary, config.context,
                                config.eosTokens);
  weights.declareFilesBefore(op);
  mlir::Block *body = builder.createBlock(&op.getBody());
  Value chunk =
      body->addArgument(ir::ChunkType::get(builder.getContext()), loc);
  Value hidden = embed(chunk);
  for (int64_t i = 0; i < config.layers; ++i)
    hidden = layer(i, hidden, chunk);
  ir::ReturnOp::create(builder, loc, output(hidden, chunk));
}

Value DecoderBuilder::embed(Value chunk) {
  std::string prefix(names.prefix);
  Value table =
      weights.get(builder, prefix + std::string(names.tokens) + ".weight",
                  {config.vocabulary, config.hidden}, TensorUse::Tokens);
  Value hidden = ir::EmbedOp::create(builder, loc, rows(config.hidden), chunk,
                                     table, ir::EmbedIndex::Token);
  if (config.position != PositionKind::Learned)
    return hidden;
  Value positions =
      weights.get(builder, prefix + std::string(names.positions) + ".weight",
                  {config.context, config.hidden}, TensorUse::Rows);
  return add(hidden,
             ir::EmbedOp::create(builder, loc, rows(config.hidden), chunk,
                                 positions, ir::EmbedIndex::Position));
}

Value DecoderBuilder::layer(int64_t index, Value input, Value chunk) {
  auto op = ir::LayerOp::create(builder, loc, rows(config.hidden),
                                builder.getI64IntegerAttr(index), input);
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *body = builder.createBlock(&op.getBody());
  Value x = body->addArgument(rows(config.hidden), loc);

  bool isTwoNorms = config.residual == Residual::ParallelTwoNorms;
  bool hasOwnNames = isTwoNorms && !names.parallelNorm.empty();
  std::string first =
      layerName(index, hasOwnNames ? names.parallelNorm : names.norm);
  std::string second =
      layerName(index, hasOwnNames ? names.parallelNorm2 : names.norm2);

  Value normed = norm(first, x);
  Value attended = attention(index, normed, chunk);
  Value result;
  if (config.residual == Residual::Serial) {
    Value middle = add(x, attended);
    result = add(middle, feedForward(index, norm(second, middle)));
  } else {
    Value fed = feedForward(index, isTwoNorms ? norm(second, x) : normed);
    result = add(add(x, attended), fed);
  }
  ir::YieldOp::create(builder, loc, result);
  return op.getResult();
}

Value DecoderBuilder::output(Value hidden, Value chunk) {
  Value selected = ir::SelectOutputsOp::create(builder, loc, hidden, chunk);
  std::string prefix(names.prefix);
  Value normed = norm(prefix + std::string(names.lastNorm), selected);
  std::string own(names.output);
  std::string table = isTied() ? prefix + std::string(names.tokens) : own;
  Value weight =
      weights.get(builder, table + ".weight",
                  {config.vocabulary, config.hidden}, TensorUse::Linear);
  Value bias = optionalBias(own, config.vocabulary, config.outputBias);
  return ir::LinearOp::create(builder, loc, rows(config.vocabulary), normed,
                              weight, bias, /*transposed=*/false);
}

/// Returns whether the token table is also the output layer's weight.
bool DecoderBuilder::isTied() {
  std::string own = std::string(names.output) + ".weight";
  const StoredTensor *output = model.find(own);
  if (config.tied == Tied::No || !output)
    return config.tied != Tied::No;
  if (config.tied == Tied::IfNoOutput)
    return false;
  // Some files hold the table twice. If the copies differ, it is unclear which
  // one the model should use.
  const StoredTensor *table = model.find(std::string(names.prefix) +
                                         std::string(names.tokens) + ".weight");
  if (table && (output->bytes != table->bytes ||
                std::memcmp(model.bytesOf(*output).data(),
                            model.bytesOf(*table).data(), table->bytes) != 0))
    weights.fail(failure(model.files()[output->file].path, ": tensor ",
                         quote(own),
                         ": differs from the token table, though "
                         "tie_word_embeddings is true"));
  weights.markUsed(own);
  return true;
}

DecoderBuilder::QueryKeyValue DecoderBuilder::queryKeyValue(int64_t index,
                                                            Value input) {
  int64_t queryWidth = config.heads * config.headDim;
  int64_t keyWidth = config.keyValueHeads * config.headDim;
  Bias bias = config.queryKeyValueBias;
  if (config.qkv == QKVLayout::Separate)
    return {linear(layerName(index, names.query), input, queryWidth, bias,
                   config.transposed),
            linear(layerName(index, names.key), input, keyWidth, bias,
                   config.transposed),
            linear(layerName(index, names.value), input, keyWidth, bias,
                   config.transposed)};
  Value fused = linear(layerName(index, names.queryKeyValue), input,
                       queryWidth + 2 * keyWidth, bias, config.transposed);
  auto split = ir::SplitQKVOp::create(
      builder, loc, rows(queryWidth), rows(keyWidth), rows(keyWidth), fused,
      config.qkv == QKVLayout::Concat ? ir::QKVLayout::Concat
                                      : ir::QKVLayout::Grouped,
      config.heads, config.keyValueHeads, config.headDim);
  return {split.getQuery(), split.getKey(), split.getValue()};
}

Value DecoderBuilder::attention(int64_t index, Value input, Value chunk) {
  auto [query, key, value] = queryKeyValue(index, input);
  if (config.position == PositionKind::Rope) {
    query = rope(query, chunk, config.heads);
    key = rope(key, chunk, config.keyValueHeads);
  }
  Value cache = ir::LayerCacheOp::create(
      builder, loc,
      ir::CacheType::get(builder.getContext(), config.keyValueHeads,
                         config.headDim));
  double scale = config.attentionScale;
  if (config.scaleByLayer)
    scale /= static_cast<double>(index + 1);
  int64_t window = config.windows.empty() ? 0 : config.windows[index];
  Value attended = ir::AttendOp::create(
      builder, loc, query.getType(), query, key, value, cache, chunk,
      builder.getI64IntegerAttr(config.heads), builder.getF64FloatAttr(scale),
      window > 0 ? builder.getI64IntegerAttr(window) : mlir::IntegerAttr(),
      /*softcap=*/mlir::FloatAttr(),
      config.position == PositionKind::Alibi
          ? builder.getF64FloatAttr(config.alibiScale)
          : mlir::FloatAttr());
  return linear(layerName(index, names.attentionOutput), attended,
                config.hidden, config.attentionOutputBias, config.transposed);
}

Value DecoderBuilder::rope(Value input, Value chunk, int64_t heads) {
  Value factors;
  if (!names.ropeFactors.empty() && weights.contains(names.ropeFactors)) {
    if (config.rope.scaling.kind != RopeScaling::Kind::None)
      weights.fail(failure(model.path(), ": tensor ", quote(names.ropeFactors),
                           ": beside rope.scaling.type it is not supported"));
    factors = weights.get(builder, std::string(names.ropeFactors),
                          {config.rope.dimensions / 2}, TensorUse::Vector);
  }
  return ir::RopeOp::create(builder, loc, input.getType(), input, chunk,
                            factors,
                            config.rope.interleaved ? ir::RopeStyle::Interleaved
                                                    : ir::RopeStyle::Half,
                            heads, config.headDim, config.rope.dimensions,
                            llvm::APFloat(config.rope.base), ropeScaling());
}

mlir::Attribute DecoderBuilder::ropeScaling() const {
  mlir::MLIRContext *context = builder.getContext();
  const RopeScaling &scaling = config.rope.scaling;
  llvm::APFloat factor(scaling.factor);
  switch (scaling.kind) {
  case RopeScaling::Kind::None:
    return {};
  case RopeScaling::Kind::Linear:
    return ir::LinearScalingAttr::get(context, factor);
  case RopeScaling::Kind::Llama3:
    return ir::Llama3ScalingAttr::get(
        context, factor, llvm::APFloat(scaling.lowFrequencyFactor),
        llvm::APFloat(scaling.highFrequencyFactor), scaling.originalContext);
  case RopeScaling::Kind::Yarn:
    return ir::YarnScalingAttr::get(
        context, factor, scaling.originalContext,
        llvm::APFloat(scaling.betaFast), llvm::APFloat(scaling.betaSlow),
        llvm::APFloat(scaling.attentionFactor), scaling.truncate);
  }
  llvm_unreachable("a kind of rope scaling is not handled");
}

Value DecoderBuilder::feedForward(int64_t index, Value input) {
  auto expand = [&](std::string_view name) {
    return linear(layerName(index, name), input, config.feedForward,
                  config.feedForwardBias, config.transposed);
  };
  Value middle;
  if (config.gated) {
    Value gate = expand(names.gate);
    Value up = expand(names.up);
    middle = ir::GateOp::create(builder, loc, activationKind(), gate, up);
  } else {
    middle = ir::ActivationOp::create(builder, loc, activationKind(),
                                      expand(names.up));
  }
  return linear(layerName(index, names.down), middle, config.hidden,
                config.feedForwardBias, config.transposed);
}

Value DecoderBuilder::norm(const std::string &name, Value input) {
  llvm::APFloat epsilon(config.epsilon);
  Value weight = weights.get(builder, name + ".weight", {config.hidden},
                             TensorUse::Vector);
  if (config.norm == NormKind::RMS)
    return ir::RmsNormOp::create(builder, loc, input, weight,
                                 /*heads=*/mlir::IntegerAttr(), epsilon);
  Value bias =
      weights.get(builder, name + ".bias", {config.hidden}, TensorUse::Vector);
  return ir::LayerNormOp::create(builder, loc, input, weight, bias,
                                 /*heads=*/mlir::IntegerAttr(), epsilon);
}

Value DecoderBuilder::linear(const std::string &name, Value input, int64_t out,
                             Bias bias, bool transposed) {
  int64_t in = ir::getWidth(input.getType());
  llvm::SmallVector<int64_t, 2> shape = {out, in};
  if (transposed)
    std::swap(shape[0], shape[1]);
  Value weight =
      weights.get(builder, name + ".weight", shape,
                  transposed ? TensorUse::Transposed : TensorUse::Linear);
  return ir::LinearOp::create(builder, loc, rows(out), input, weight,
                              optionalBias(name, out, bias), transposed);
}

Value DecoderBuilder::optionalBias(const std::string &name, int64_t size,
                                   Bias bias) {
  std::string tensor = name + ".bias";
  if (bias == Bias::None ||
      (bias == Bias::IfPresent && !weights.contains(tensor)))
    return {};
  return weights.get(builder, tensor, {size}, TensorUse::Vector);
}

Value DecoderBuilder::add(Value lhs, Value rhs) {
  return ir::AddOp::create(builder, loc, lhs, rhs);
}

ir::ActivationKind DecoderBuilder::activationKind() const {
  switch (config.activation) {
  case Activation::Silu:
    return ir::ActivationKind::Silu;
  case Activation::Gelu:
    return ir::ActivationKind::Gelu;
  case Activation::GeluTanh:
    return ir::ActivationKind::GeluTanh;
  case Activation::Relu:
    return ir::ActivationKind::Relu;
  }
  llvm_unreachable("an activation is not handled");
}
