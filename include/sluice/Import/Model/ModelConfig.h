//===- ModelConfig.h - the configuration of a decoder model ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every supported architecture is a decoder: embeddings, equal layers of
// attention and feed-forward, a last norm, an output layer. Architectures
// differ in the choices below. The architecture's functions read them from a
// model's configuration, and one builder makes the IR from them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_MODEL_MODELCONFIG_H
#define SLUICE_IMPORT_MODEL_MODELCONFIG_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::importer {

/// Bounds the IR that a hostile file can ask for. No model has so many layers.
constexpr int64_t maxLayers = 16384;

enum class NormKind { RMS, Layer };

enum class Activation { Silu, Gelu, GeluTanh, Relu };

/// How attention and feed-forward are added to the layer's input x.
enum class Residual {
  Serial,           ///< h = x + attention(norm(x)); h + feed(norm2(h))
  ParallelOneNorm,  ///< n = norm(x);  x + attention(n) + feed(n)
  ParallelTwoNorms, ///< x + attention(norm(x)) + feed(norm2(x))
};

/// The weights that compute queries, keys and values.
enum class QKVLayout {
  Separate, ///< three weights
  Concat,   ///< one weight: all queries, all keys, all values
  Grouped,  ///< one weight: for each key head queries, key, value
};

/// Whether a linear layer has a bias. In GGUF files the presence of the tensor
/// decides (IfPresent).
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
  /// The number of features of a head that are rotated, from the first on.
  int64_t dimensions = 0;
  double base = 10000;
  /// Whether a rotated pair is two neighbouring features. Otherwise feature i
  /// is paired with i + dimensions / 2.
  bool interleaved = false;
  RopeScaling scaling;
};

/// The configuration of a decoder. Sizes are positive once validate() has
/// passed, and tokens are inside the vocabulary once dropTokensOutside() has
/// run.
struct ModelConfig {
  std::string architecture; // Sluice's name: "llama"
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
  /// One line for each setting of the files that the model ignores.
  std::vector<std::string> warnings;

  NormKind norm = NormKind::Layer;
  double epsilon = 1e-5;
  Residual residual = Residual::Serial;

  QKVLayout qkv = QKVLayout::Separate;
  /// The factor of attention scores.
  double attentionScale = 0;
  /// Whether scores are also divided by the layer's number, counted from 1.
  bool scaleByLayer = false;
  /// The number of positions that a row attends to, for each layer; 0 means
  /// all. Empty means all in every layer.
  std::vector<int64_t> windows;
  PositionKind position = PositionKind::Rope;
  RopeConfig rope;
  /// The factor of ALiBi's slopes.
  double alibiScale = 1;

  Activation activation = Activation::Silu;
  /// Whether the feed-forward layer is down(activation(gate(x)) * up(x)).
  /// Otherwise it is down(activation(up(x))).
  bool gated = false;

  Bias queryKeyValueBias = Bias::None;
  Bias attentionOutputBias = Bias::None;
  Bias feedForwardBias = Bias::None;
  Bias outputBias = Bias::None;
  Tied tied = Tied::No;
  /// Whether the layers' matrices (not the tables) are stored as [in, out].
  bool transposed = false;

  /// Drops end-of-text tokens that are outside the vocabulary and adds a
  /// warning that begins with `place`.
  void dropTokensOutside(const std::string &place);

  /// Checks that the sizes fit together. The error names the first impossible
  /// value, such as a number of heads that does not divide, an odd rotary size
  /// or a scale that is not positive; it does not name the file.
  Status validate() const;
};

} // namespace sluice::importer

#endif // SLUICE_IMPORT_MODEL_MODELCONFIG_H
