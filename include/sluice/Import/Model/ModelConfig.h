//===- ModelConfig.h - what a decoder model is, in our words --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every supported architecture is a decoder: embeddings, equal layers of
// attention and feed-forward, a last norm, an output layer. They differ in the
// choices below, which an architecture's description reads from a model's
// configuration, and from which one builder makes the IR.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_MODEL_MODELCONFIG_H
#define SLUICE_IMPORT_MODEL_MODELCONFIG_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::importer {

/// More than any model has; bounds the IR that a hostile file can ask for.
constexpr int64_t maxLayers = 16384;

enum class NormKind { RMS, Layer };

enum class Activation { Silu, Gelu, GeluTanh, Relu };

/// How attention and feed-forward are added to the layer's input x.
enum class Residual {
  Serial,           ///< h = x + attention(norm(x)); h + feed(norm2(h))
  ParallelOneNorm,  ///< n = norm(x);  x + attention(n) + feed(n)
  ParallelTwoNorms, ///< x + attention(norm(x)) + feed(norm2(x))
};

/// Where queries, keys and values come from.
enum class QKVLayout {
  Separate, ///< three weights
  Concat,   ///< one weight: all queries, all keys, all values
  Grouped,  ///< one weight: for each key head its queries, its key, its value
};

/// Whether a layer has a bias. GGUF files say it by the tensor's presence.
enum class Bias { None, Required, IfPresent };

/// Whether the output layer uses the token table.
enum class Tied { No, Yes, IfNoOutput };

enum class PositionKind { Rope, Learned, Alibi };

struct RopeScaling {
  enum class Kind { None, Linear, Llama3, Yarn };
  Kind kind = Kind::None;
  double factor = 1;
  int64_t originalContext = 0;    // llama3, yarn
  double lowFrequencyFactor = 1;  // llama3
  double highFrequencyFactor = 4; // llama3
  double betaFast = 32;           // yarn
  double betaSlow = 1;            // yarn
  double attentionFactor = 1;     // yarn
  bool truncate = true;           // yarn
};

struct RopeConfig {
  /// Features of a head that are rotated, from its first.
  int64_t dimensions = 0;
  double base = 10000;
  /// Pairs are neighbours; otherwise feature i goes with i + dimensions / 2.
  bool interleaved = false;
  RopeScaling scaling;
};

/// A decoder. Sizes are positive once validate() has passed, and tokens inside
/// the vocabulary once dropTokensOutside() has run.
struct ModelConfig {
  std::string architecture; // our name: "llama"
  std::string name;
  int64_t vocabulary = 0;
  int64_t context = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t keyValueHeads = 0;
  int64_t headDim = 0;
  int64_t feedForward = 0;
  std::vector<int64_t> eosTokens;
  /// What the files say and the model goes without, a line each.
  std::vector<std::string> warnings;

  NormKind norm = NormKind::Layer;
  double epsilon = 1e-5;
  Residual residual = Residual::Serial;

  QKVLayout qkv = QKVLayout::Separate;
  /// Multiplies scores.
  double attentionScale = 0;
  /// Divide scores by the layer's number, counted from 1, as well.
  bool scaleByLayer = false;
  /// Positions a row sees, for each layer; 0: all of them. Empty: all, always.
  std::vector<int64_t> windows;
  PositionKind position = PositionKind::Rope;
  RopeConfig rope;
  /// Multiplies alibi's slopes.
  double alibiScale = 1;

  Activation activation = Activation::Silu;
  /// down(activation(gate(x)) * up(x)); otherwise down(activation(up(x))).
  bool gated = false;

  Bias queryKeyValueBias = Bias::None;
  Bias attentionOutputBias = Bias::None;
  Bias feedForwardBias = Bias::None;
  Bias outputBias = Bias::None;
  Tied tied = Tied::No;
  /// The layers' matrices (not the tables) lie as [in, out].
  bool transposed = false;

  /// Drops end-of-text tokens that the vocabulary does not have, with a warning
  /// that begins with `place`.
  void dropTokensOutside(const std::string &place);

  /// Errors name what is impossible: heads that don't divide, a rotary size
  /// that is odd, a scale that is not positive, ... They carry no path.
  Status validate() const;
};

} // namespace sluice::importer

#endif // SLUICE_IMPORT_MODEL_MODELCONFIG_H
