//===- ExplainLaunches.cpp - tables of the launches of steps --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/ExplainLaunches.h"

#include "runtime/cluster/Units.h"
#include "sluice/Support/TextTable.h"
#include "sluice/Target/DescriptorBuilder.h"
#include "sluice/Target/StepLaunches.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <bit>

using namespace mlir;
using namespace sluice;

namespace {

/// A launch of a step of one row (`few`), of a step of a prompt (`many`), or of
/// both.
struct Line {
  std::optional<StepLaunch> few, many;

  const StepLaunch &any() const { return few ? *few : *many; }
};

using Lines = std::vector<Line>;

/// The launches that one line of the table counts.
struct Part {
  std::string name;
  Lines lines;        ///< the launches of one layer, or outside layers
  int64_t layers = 1; ///< the number of equal layers, or 1 outside layers
};

/// The sums of the table.
struct Sums {
  int64_t few = 0, many = 0, generated = 0;
  uint64_t weightBytes = 0;

  Sums() = default;
  explicit Sums(const Lines &lines) {
    for (const Line &line : lines) {
      few += line.few.has_value();
      many += line.many.has_value();
      generated += line.few && line.few->isGenerated;
      weightBytes += line.few ? line.few->weightBytes : 0;
    }
  }
  void add(const Sums &other, int64_t times) {
    few += other.few * times;
    many += other.many * times;
    generated += other.generated * times;
    weightBytes += other.weightBytes * uint64_t(times);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Puts the launches of two steps side by side. If a piece of work has more
/// launches in one step, as attention has in a prompt's, its last launches are
/// aligned.
static Lines join(const std::vector<StepLaunch> &few,
                  const std::vector<StepLaunch> &many) {
  Lines lines;
  auto left = few.rbegin(), leftEnd = few.rend();
  auto right = many.rbegin(), rightEnd = many.rend();
  while (left != leftEnd || right != rightEnd) {
    bool isLeft =
        left != leftEnd && (right == rightEnd || left->work >= right->work);
    bool isRight =
        right != rightEnd && (left == leftEnd || right->work >= left->work);
    Line line;
    if (isLeft)
      line.few = *left++;
    if (isRight)
      line.many = *right++;
    lines.push_back(std::move(line));
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

/// Returns whether the lines of two layers are equal except for their places in
/// the step.
static bool areEqual(const Lines &a, const Lines &b) {
  auto isEqual = [](std::optional<StepLaunch> x, std::optional<StepLaunch> y) {
    for (std::optional<StepLaunch> *each : {&x, &y})
      if (*each) {
        (*each)->layer = std::nullopt;
        (*each)->work = 0;
      }
    return x == y;
  };
  return llvm::equal(a, b, [&](const Line &x, const Line &y) {
    return isEqual(x.few, y.few) && isEqual(x.many, y.many);
  });
}

/// Returns "layers 0-2, 5" for ascending numbers.
static std::string nameLayers(ArrayRef<int64_t> layers) {
  SmallVector<std::string> ranges;
  for (size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
    for (end = begin + 1;
         end < layers.size() && layers[end] == layers[end - 1] + 1;)
      ++end;
    std::string range = std::to_string(layers[begin]);
    if (end > begin + 1)
      range += "-" + std::to_string(layers[end - 1]);
    ranges.push_back(std::move(range));
  }
  return (layers.size() == 1 ? "layer " : "layers ") + llvm::join(ranges, ", ");
}

/// Returns the lines of each layer, including those between it and the next
/// layer.
static llvm::MapVector<int64_t, Lines> takeLayers(ArrayRef<Line> lines) {
  llvm::MapVector<int64_t, Lines> layers;
  int64_t current = 0;
  for (const Line &line : lines) {
    current = line.any().layer.value_or(current);
    layers[current].push_back(line);
  }
  return layers;
}

/// Returns the part before the layers, a part for each kind of layer in the
/// order of their first layers, and the part behind the layers. Parts without
/// launches are left out.
static std::vector<Part> split(const Lines &all) {
  auto isOfLayer = [](const Line &line) {
    return line.any().layer.has_value();
  };
  auto first = llvm::find_if(all, isOfLayer);
  auto last =
      std::find_if(all.rbegin(), std::make_reverse_iterator(first), isOfLayer)
          .base();
  std::vector<Part> parts;
  if (first != all.begin())
    parts.push_back({"before", Lines(all.begin(), first)});
  std::vector<std::pair<Lines, SmallVector<int64_t>>> kinds;
  for (auto &[layer, lines] : takeLayers(
           llvm::ArrayRef(all).slice(first - all.begin(), last - first))) {
    auto kind = llvm::find_if(
        kinds, [&](auto &each) { return areEqual(each.first, lines); });
    if (kind == kinds.end())
      kind = kinds.insert(kinds.end(), {lines, {}});
    kind->second.push_back(layer);
  }
  for (auto &[lines, layers] : kinds)
    parts.push_back({nameLayers(layers), lines, int64_t(layers.size())});
  if (last != all.end())
    parts.push_back({"behind", Lines(last, all.end())});
  return parts;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string formatRows(int64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

/// Returns an empty string if no weights are read.
static std::string formatWeights(uint64_t bytes) {
  return bytes == 0 ? "" : cluster::formatBytes(double(bytes));
}

static std::string nameProducts(const Lines &lines) {
  SmallVector<std::string> products;
  for (const Line &line : lines)
    if (const StepLaunch &launch = line.any(); !launch.product.empty())
      products.push_back(launch.product);
  return llvm::join(products, ", ");
}

static std::string printSums(ArrayRef<Part> parts, int64_t promptRows) {
  TextTable table({"part", formatRows(1), formatRows(promptRows), "generated",
                   "weights", "products"},
                  /*left=*/{0, 5});
  auto add = [&](const std::string &name, const Sums &sums,
                 const std::string &products) {
    table.add({name, std::to_string(sums.few), std::to_string(sums.many),
               std::to_string(sums.generated), formatWeights(sums.weightBytes),
               products});
  };
  Sums step;
  for (const Part &part : parts) {
    Sums sums(part.lines);
    step.add(sums, part.layers);
    add(part.name + (part.layers > 1 ? ", each" : ""), sums,
        nameProducts(part.lines));
  }
  add("step", step, "");
  return table.print();
}

static std::string printList(const Part &part, int64_t promptRows) {
  TextTable table({"", formatRows(1), formatRows(promptRows), "for", "weights"},
                  /*left=*/{1, 2, 3});
  for (auto [index, line] : llvm::enumerate(part.lines))
    table.add({std::to_string(index + 1), line.few ? line.few->node : "",
               line.many ? line.many->node : "", line.any().purpose,
               formatWeights(line.few ? line.few->weightBytes : 0)});
  return "\n" + part.name + (part.layers > 1 ? ", each" : "") + "\n" +
         table.print();
}

/// Returns the tables of one program.
static Expected<std::string>
explainProgram(ModuleOp kernels, const ExecutableDescriptor &executable,
               const ProgramDescriptor &program) {
  // The runtime makes graphs for powers of two.
  const auto promptRows =
      int64_t(std::bit_ceil(uint64_t(executable.plan.stepRows)));
  Expected<std::vector<StepLaunch>> few =
      listLaunches(kernels, executable, program, 1);
  if (!few)
    return few.status();
  Expected<std::vector<StepLaunch>> many =
      listLaunches(kernels, executable, program, promptRows);
  if (!many)
    return many.status();
  std::vector<Part> parts = split(join(*few, *many));
  std::string text = printSums(parts, promptRows);
  for (const Part &part : parts)
    text += printList(part, promptRows);
  return text;
}

Expected<std::string> sluice::explainLaunches(ModuleOp kernels) {
  Expected<ExecutableDescriptor> executable = buildDescriptor(kernels);
  if (!executable)
    return executable.status();
  // The names of programs with equal tables, and the tables.
  std::vector<std::pair<std::string, std::string>> all;
  for (const ProgramDescriptor &program : executable->programs) {
    if (program.target != ProgramTarget::Cuda)
      continue;
    Expected<std::string> text = explainProgram(kernels, *executable, program);
    if (!text)
      return text.status().withContext("program '" + program.name + "'");
    auto same =
        llvm::find_if(all, [&](auto &each) { return each.second == *text; });
    if (same == all.end())
      all.emplace_back(program.name, text.take());
    else
      same->first += ", " + program.name;
  }
  std::string text;
  for (auto &[programs, tables] : all)
    text += "\nlaunches of a step of " + programs + " on a GPU\n" + tables;
  return text;
}
