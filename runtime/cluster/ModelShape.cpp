//===- ModelShape.cpp - models that exist only as descriptions ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/ModelShape.h"

#include "runtime/formats/BlockFormat.h"

#include <cmath>

using namespace sluice;
using namespace sluice::cluster;

// Wider than any model, and small enough that no product below overflows.
constexpr int64_t maxWidth = int64_t(1) << 20;
constexpr int64_t maxVocab = int64_t(1) << 22;

std::optional<double> cluster::bitsOfFormat(std::string_view format) {
  // llama.cpp's formats: blocks of 256 weights in 84 and 110 bytes.
  if (format == "q2_k")
    return 84 * 8 / 256.0;
  if (format == "q3_k")
    return 110 * 8 / 256.0;
  std::optional<Format> known = parseFormat(format);
  if (!known)
    return std::nullopt;
  const FormatInfo &info = formatInfo(*known);
  return double(info.blockBytes * 8) / double(info.blockElements);
}

Status ModelShape::validate() const {
  struct Number {
    const char *name;
    int64_t value, limit;
  };
  for (const Number &number :
       {Number{"layers", layers, maxLayers}, Number{"hidden", hidden, maxWidth},
        Number{"feed_forward", feedForward, maxWidth},
        Number{"heads", heads, 4096}, Number{"kv_heads", kvHeads, 4096},
        Number{"head_dim", headDim, 4096}, Number{"vocab", vocab, maxVocab}})
    if (number.value < 1 || number.value > number.limit)
      return failure("model '", name, "': ", number.name, " ", number.value,
                     " is not in [1, ", number.limit, "]");
  if (heads % kvHeads != 0)
    return failure("model '", name, "': ", heads, " heads are no multiple of ",
                   kvHeads, " key heads");
  if (!(bitsPerWeight >= 1 && bitsPerWeight <= 32))
    return failure("model '", name, "': ", bitsPerWeight,
                   " bits a weight are not in [1, 32]");
  return {};
}

int64_t ModelShape::parameters() const {
  int64_t attention = hidden * headDim * (2 * heads + 2 * kvHeads);
  int64_t feed = (gated ? 3 : 2) * hidden * feedForward;
  return layers * (attention + feed + 2 * hidden) + hidden +
         vocab * hidden * (tied ? 1 : 2);
}

namespace {

constexpr int64_t floatBytes = sizeof(float);

/// Makes the ops of a part, with the costs that the dialect's ops report.
class PartBuilder {
public:
  explicit PartBuilder(double bits) : bits(bits) {}

  int64_t matrixBytes(int64_t out, int64_t in) const {
    return int64_t(std::llround(double(out) * double(in) * bits / 8));
  }
  /// Adds a table in which each row looks up an entry.
  void embed(int64_t entries, int64_t width) {
    int64_t bytes = matrixBytes(entries, width);
    part.memoryBytes += bytes;
    part.ops.push_back({.bytesPerRow = bytes / entries + width * floatBytes});
  }
  void norm(int64_t width) {
    weight({.weightBytes = width * floatBytes,
            .flopsPerRow = 4 * width,
            .bytesPerRow = 2 * width * floatBytes});
  }
  void linear(int64_t out, int64_t in) {
    weight({.weightBytes = matrixBytes(out, in),
            .flopsPerRow = 2 * out * in,
            .bytesPerRow = (out + in) * floatBytes});
  }
  /// Adds an op of `flops` for each feature that reads and writes `tensors`
  /// rows of `width`.
  void elementwise(int64_t width, int64_t flops, int64_t tensors) {
    part.ops.push_back({.flopsPerRow = flops * width,
                        .bytesPerRow = tensors * width * floatBytes});
  }
  void attend(int64_t heads, int64_t kvHeads, int64_t headDim) {
    part.ops.push_back(
        {.flopsPerRowAndPosition = heads * (4 * headDim + 10),
         .cacheBytesPerPosition = 2 * kvHeads * headDim * floatBytes,
         .bytesPerRow = 2 * (heads + kvHeads) * headDim * floatBytes});
  }
  PartCost take() { return std::move(part); }

private:
  void weight(const OpCost &op) {
    part.memoryBytes += op.weightBytes;
    part.ops.push_back(op);
  }

  double bits;
  PartCost part;
};

PartCost layerOf(const ModelShape &shape) {
  PartBuilder builder(shape.bitsPerWeight);
  int64_t queries = shape.heads * shape.headDim;
  int64_t keys = shape.kvHeads * shape.headDim;
  builder.norm(shape.hidden);
  builder.linear(queries, shape.hidden);
  builder.linear(keys, shape.hidden);
  builder.linear(keys, shape.hidden);
  builder.elementwise(queries, 3, 2); // rotary embedding
  builder.elementwise(keys, 3, 2);
  builder.attend(shape.heads, shape.kvHeads, shape.headDim);
  builder.linear(shape.hidden, queries);
  builder.elementwise(shape.hidden, 1, 3); // residual
  builder.norm(shape.hidden);
  builder.linear(shape.feedForward, shape.hidden);
  if (shape.gated) {
    builder.linear(shape.feedForward, shape.hidden);
    builder.elementwise(shape.feedForward, 13, 3);
  } else {
    builder.elementwise(shape.feedForward, 12, 2);
  }
  builder.linear(shape.hidden, shape.feedForward);
  builder.elementwise(shape.hidden, 1, 3);
  return builder.take();
}

} // namespace

ModelCost ModelShape::cost() const {
  ModelCost model;
  model.name = name;
  model.hidden = hidden;
  model.vocab = vocab;
  PartBuilder first(bitsPerWeight), last(bitsPerWeight);
  first.embed(vocab, hidden);
  model.embedding = first.take();
  model.layers.assign(size_t(layers), layerOf(*this));
  last.elementwise(hidden, 0, 2); // selects the rows that want an output
  last.norm(hidden);
  last.linear(vocab, hidden);
  model.output = last.take();
  model.tiedBytes = tied ? model.embedding.memoryBytes : 0;
  return model;
}
