//===- ExplainLaunches.cpp - tables of the launches of steps --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/ExplainLaunches.h"

#include "StepParts.h"
#include "runtime/cluster/Units.h"
#include "sluice/Support/TextTable.h"
#include "sluice/Target/DescriptorBuilder.h"
#include "sluice/Target/StepLaunches.h"

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
using Part = StepPart<Line>;

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

/// Returns whether two lines are equal except for their places in the step.
static bool areEqual(const Line &a, const Line &b) {
  auto isEqual = [](std::optional<StepLaunch> x, std::optional<StepLaunch> y) {
    for (std::optional<StepLaunch> *each : {&x, &y})
      if (*each) {
        (*each)->layer = std::nullopt;
        (*each)->work = 0;
      }
    return x == y;
  };
  return isEqual(a.few, b.few) && isEqual(a.many, b.many);
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
    if (line.few && !line.few->product.empty())
      products.push_back(line.few->product);
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
    add(part.heading(), sums, nameProducts(part.lines));
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
  return "\n" + part.heading() + "\n" + table.print();
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
  std::vector<Part> parts = splitByLayers<Line>(
      join(*few, *many), [](const Line &line) { return line.any().layer; },
      areEqual);
  std::string text = printSums(parts, promptRows);
  for (const Part &part : parts)
    text += printList(part, promptRows);
  return text;
}

Expected<std::string> sluice::explainLaunches(ModuleOp kernels) {
  Expected<ExecutableDescriptor> executable = buildDescriptor(kernels);
  if (!executable)
    return executable.status();
  ProgramTables tables;
  for (const ProgramDescriptor &program : executable->programs) {
    if (program.target != ProgramTarget::Cuda)
      continue;
    Expected<std::string> text = explainProgram(kernels, *executable, program);
    if (!text)
      return text.status().withContext("program '" + program.name + "'");
    tables.add(program.name, text.take());
  }
  return tables.print("launches of a step of ", " on a GPU");
}
