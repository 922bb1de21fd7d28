//===- StepParts.h - a step's lines by layers -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of `--explain` list what a step does, a line for each task or
// launch. Most layers of a model do the same, so that such a table shows each
// kind of layer once.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_TARGET_STEPPARTS_H
#define SLUICE_LIB_TARGET_STEPPARTS_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The lines before the layers, of a kind of layer, or behind the layers.
template <typename Line> struct StepPart {
  std::string name;
  std::vector<Line> lines; ///< of one layer, or outside layers
  int64_t layers = 1;      ///< the number of equal layers, or 1 outside layers

  /// Returns the name as it stands before the numbers of one layer.
  std::string heading() const { return layers > 1 ? name + ", each" : name; }
};

/// Returns "layers 0-2, 5" for ascending numbers.
std::string nameLayers(llvm::ArrayRef<int64_t> layers);

/// Returns the part before the layers, a part for each kind of layer in the
/// order of their first layers, and the part behind the layers. Parts without
/// lines are left out. A line without a layer that stands between layers
/// belongs to the one before it. Layers are of one kind if their lines are
/// equal.
template <typename Line>
std::vector<StepPart<Line>>
splitByLayers(llvm::ArrayRef<Line> all,
              llvm::function_ref<std::optional<int64_t>(const Line &)> layerOf,
              llvm::function_ref<bool(const Line &, const Line &)> areEqual) {
  using Lines = std::vector<Line>;
  auto isOfLayer = [&](const Line &line) { return layerOf(line).has_value(); };
  const auto first = std::find_if(all.begin(), all.end(), isOfLayer);
  const auto last =
      std::find_if(all.rbegin(), std::make_reverse_iterator(first), isOfLayer)
          .base();
  llvm::MapVector<int64_t, Lines> layers;
  int64_t current = 0;
  for (const Line &line : llvm::make_range(first, last)) {
    current = layerOf(line).value_or(current);
    layers[current].push_back(line);
  }
  std::vector<std::pair<Lines, llvm::SmallVector<int64_t>>> kinds;
  for (auto &[layer, lines] : layers) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](auto &each) {
      return std::equal(each.first.begin(), each.first.end(), lines.begin(),
                        lines.end(), areEqual);
    });
    if (kind == kinds.end())
      kind = kinds.insert(kinds.end(), {lines, {}});
    kind->second.push_back(layer);
  }
  std::vector<StepPart<Line>> parts;
  if (first != all.begin())
    parts.push_back({"before", Lines(all.begin(), first)});
  for (auto &[lines, numbers] : kinds)
    parts.push_back(
        {nameLayers(numbers), lines, static_cast<int64_t>(numbers.size())});
  if (last != all.end())
    parts.push_back({"behind", Lines(last, all.end())});
  return parts;
}

/// The tables of a module's programs. Programs with equal tables share them.
class ProgramTables {
public:
  void add(std::string program, std::string tables);

  /// Returns all tables, each behind an empty line and a line that names its
  /// programs between `before` and `behind`.
  std::string print(llvm::StringRef before, llvm::StringRef behind) const;

private:
  std::vector<std::pair<std::string, std::string>> all; ///< names, tables
};

/// Returns what is left of a weight's name without the parts that all weights
/// of its layer share: "attn_q" for "blk.3.attn_q.weight" in layer 3.
std::string shortWeightName(llvm::StringRef name, std::optional<int64_t> layer);

} // namespace sluice

#endif // SLUICE_LIB_TARGET_STEPPARTS_H
