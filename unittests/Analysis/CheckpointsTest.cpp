//===- CheckpointsTest.cpp - tests of checkpoints -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks two promises of --sluice-insert-checkpoints on random models: by the
// cost model no stretch is too long, and the number of checkpoints is the
// lowest possible if only products that exceed a stretch are split.
//
//===----------------------------------------------------------------------===//

#include "AnalysisModels.h"
#include "sluice/Analysis/ClusterSpec.h"
#include "sluice/Analysis/StepCost.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace sluice;
using namespace sluice::cluster;

namespace {

struct Case {
  ModelShape shape;
  DeviceSpec device;
  int64_t stages = 1, latencyMicros = 500, rows = 512;
};

Case randomCase(std::mt19937_64 &random) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  auto scale = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(
        std::log(low), std::log(high))(random));
  };
  Case test;
  int64_t kvHeads = pick(1, 4);
  test.shape = {.name = "m",
                .layers = pick(1, 4),
                .hidden = 32 * pick(2, 12),
                .feedForward = 32 * pick(2, 20),
                .heads = kvHeads * pick(1, 3),
                .kvHeads = kvHeads,
                .headDim = 32,
                .vocab = pick(33, 900),
                .bitsPerWeight = 8.5,
                .gated = pick(0, 1) == 0,
                .tied = pick(0, 1) == 0};
  test.device = {.memoryBytes = uint64_t(1) << 50,
                 .bytesPerSecond = scale(1e8, 1e10),
                 .flopsPerSecond = scale(1e9, 1e11),
                 .overheadSeconds = double(pick(0, 1)) * 1e-5};
  test.stages = pick(1, test.shape.layers);
  // With the lowest limit some models need a checkpoint in every product, with
  // the highest no model needs one.
  test.latencyMicros = int64_t(scale(60, 3000));
  test.rows = pick(0, 3) ? 512 : pick(1, 8);
  return test;
}

/// The number of positions that a row attends to in the pass.
constexpr int64_t positions = 1024;

/// Finds the lowest number of stretches of a part without checkpoints, by
/// trying all ends of each stretch.
class FewestStretches {
public:
  FewestStretches(Operation *part, const Case &test, int64_t rows)
      : test(test), rows(rows), limit(double(test.latencyMicros) * 1e-6) {
    double step =
        test.device.overheadSeconds + double(rows) * test.device.rowSeconds;
    overhead = step < limit ? step : 0;
    for (const ExecutedOp &op : executedOps(part))
      add(op);
  }

  size_t find() const {
    std::vector<size_t> fewest(atoms.size() + 1, SIZE_MAX);
    fewest[0] = 0;
    for (size_t first = 0; first < atoms.size(); ++first) {
      if (fewest[first] == SIZE_MAX)
        continue;
      for (size_t end = first + 1; end <= atoms.size(); ++end) {
        // An atom that is too long has to be a stretch of its own.
        if (end > first + 1 && secondsOf(first, end) > limit)
          break;
        fewest[end] = std::min(fewest[end], fewest[first] + 1);
      }
    }
    return fewest.back();
  }

private:
  /// An op, or sixteen columns of a product that does not fit into a stretch.
  struct Atom {
    OpCost cost;
    ir::LinearOp product;
    int64_t columns = 0;
  };

  double secondsOf(const OpCost &cost) const {
    return opSeconds(cost, rows, positions, test.device);
  }

  void add(const ExecutedOp &op) {
    auto product = dyn_cast<ir::LinearOp>(op.op);
    double before = atoms.empty() ? overhead : 0;
    if (!product || before + secondsOf(op.cost) <= limit ||
        product.getOutFeatures() <= 16)
      return atoms.push_back({op.cost, {}, 0});
    int64_t all = product.getOutFeatures();
    for (int64_t first = 0; first < all; first += 16)
      atoms.push_back({{}, product, std::min<int64_t>(16, all - first)});
    atoms.push_back({costOfJoining(all), {}, 0});
  }

  double secondsOf(size_t first, size_t end) const {
    double sum = first == 0 ? overhead : 0;
    for (size_t i = first; i < end;) {
      ir::LinearOp product = atoms[i].product;
      if (!product) {
        sum += secondsOf(atoms[i++].cost);
        continue;
      }
      int64_t columns = 0;
      for (; i < end && atoms[i].product == product; ++i)
        columns += atoms[i].columns;
      sum += secondsOf(costOfColumns(product, columns));
    }
    return sum;
  }

  const Case &test;
  int64_t rows;
  double limit;
  double overhead = 0;
  std::vector<Atom> atoms;
};

class Part {
public:
  /// To be called before the stage has checkpoints.
  Part(ir::StageOp op, const Case &test)
      : op(op), test(test),
        rows(rowsOfStretches(op, test.rows, positions, test.device,
                             double(test.latencyMicros) * 1e-6)),
        fewest(FewestStretches(op, test, rows).find()) {}

  /// Checks both promises. Returns the number of checkpoints.
  size_t check() {
    auto stepRows = int64_t(op.getStepRows().value());
    double limit = double(test.latencyMicros) * 1e-6;
    SmallVector<double> seconds = stretches(rows);
    auto ops = stretchesOf(op);
    for (size_t i = 0; i < seconds.size(); ++i) {
      bool cannotBeCut = ops[i].size() == 1 && !canBeCut(ops[i].front().op);
      if (!cannotBeCut)
        EXPECT_LE(seconds[i], limit);
      else
        tooLong |= seconds[i] > limit;
      // Two neighbouring stretches never fit into one, even if one of them is
      // too long by itself.
      if (i > 0)
        EXPECT_GT(seconds[i - 1] + seconds[i], limit);
    }
    EXPECT_EQ(seconds.size(), fewest);
    checkStepRows(stepRows, limit);
    return seconds.size() - 1;
  }

private:
  SmallVector<double> stretches(int64_t count) {
    return stretchSeconds(op, count, positions, test.device);
  }
  static bool canBeCut(Operation *op) {
    auto linear = dyn_cast<ir::LinearOp>(op);
    return linear && linear.getEndColumn() - linear.getFirstColumn() > 16;
  }
  void checkStepRows(int64_t stepRows, double limit) {
    EXPECT_GE(stepRows, rows);
    EXPECT_LE(stepRows, test.rows);
    auto longest = [&](int64_t count) {
      return *llvm::max_element(stretches(count));
    };
    if (!tooLong)
      EXPECT_LE(longest(stepRows), limit);
    if (stepRows < test.rows)
      EXPECT_GT(longest(stepRows + 1), limit);
  }

  ir::StageOp op;
  const Case &test;
  int64_t rows;
  size_t fewest;
  bool tooLong = false;
};

TEST(CheckpointsTest, NoStretchIsTooLongAndThereAreNoFewer) {
  std::mt19937_64 random(2407);
  size_t checkpoints = 0, without = 0, pieces = 0;
  for (int i = 0; i < 300; ++i) {
    Case test = randomCase(random);
    MLIRContext context;
    OwningOpRef<ModuleOp> module = parse(&context, modelText(test.shape));
    ASSERT_TRUE(module);
    setCluster(*module, *makeEqualCluster(test.stages, false, test.device,
                                          defaultLink()));
    ASSERT_TRUE(runPasses(*module, "sluice-partition-stages{stages=" +
                                       std::to_string(test.stages) + "}"));
    std::vector<Part> parts;
    for (auto stage : module->getOps<ir::StageOp>())
      parts.emplace_back(stage, test);
    ASSERT_TRUE(runPasses(*module, "sluice-insert-checkpoints{max-latency-us=" +
                                       std::to_string(test.latencyMicros) +
                                       " rows=" + std::to_string(test.rows) +
                                       "}"));
    ASSERT_TRUE(succeeded(verify(*module)));
    for (Part &part : parts) {
      SCOPED_TRACE("case " + std::to_string(i));
      size_t count = part.check();
      checkpoints += count;
      without += count == 0;
    }
    module->walk(
        [&](ir::ConcatOp concat) { pieces += concat.getInputs().size(); });
  }
  // The random cases differ enough.
  EXPECT_GT(checkpoints, 1000u);
  EXPECT_GT(without, 50u);
  EXPECT_GT(pieces, 200u);
}

TEST(CheckpointsTest, RowsAreAsManyAsKeepTheLimitWhereThatCanBeKept) {
  std::mt19937_64 random(1117);
  size_t bounded = 0;
  for (int i = 0; i < 200; ++i) {
    Case test = randomCase(random);
    MLIRContext context;
    OwningOpRef<ModuleOp> module = parse(&context, modelText(test.shape));
    ASSERT_TRUE(module);
    auto model = *module->getOps<ir::ModelOp>().begin();
    double limit = double(test.latencyMicros) * 1e-6;
    int64_t full =
        stageCostOf(model, test.device).fullRows(test.rows, positions);
    int64_t rows =
        rowsOfStretches(model, test.rows, positions, test.device, limit);
    EXPECT_GE(rows, 1);
    EXPECT_LE(rows, full);
    // Only ops that cannot be cut, such as attention and norms, limit the rows.
    for (const ExecutedOp &op : executedOps(model)) {
      double one = op.seconds(1, positions, test.device);
      if (!isa<ir::LinearOp>(op.op) && one <= limit &&
          test.device.overheadSeconds == 0)
        EXPECT_LE(op.seconds(rows, positions, test.device), limit);
    }
    bounded += rows < full;
  }
  EXPECT_GT(bounded, 20u);
}

TEST(CheckpointsTest, ColumnsAreTheWholeProduct) {
  std::mt19937_64 random(11798);
  for (int i = 0; i < 100; ++i) {
    Case test = randomCase(random);
    test.latencyMicros = 60;
    MLIRContext context;
    OwningOpRef<ModuleOp> module = parse(&context, modelText(test.shape));
    setCluster(*module,
               *makeEqualCluster(1, false, test.device, defaultLink()));
    ASSERT_TRUE(runPasses(*module, "sluice-partition-stages,sluice-insert-"
                                   "checkpoints{max-latency-us=60}"));
    module->walk([&](ir::ConcatOp concat) {
      // Checkpoints only move rows, so the search passes through them.
      auto pieceOf = [](Value value) {
        while (auto at = value.getDefiningOp<ir::CheckpointOp>())
          value = at->getOperand(cast<OpResult>(value).getResultNumber());
        return value.getDefiningOp<ir::LinearOp>();
      };
      int64_t next = 0;
      for (Value input : concat.getInputs()) {
        ir::LinearOp piece = pieceOf(input);
        ASSERT_TRUE(piece);
        EXPECT_EQ(piece.getFirstColumn(), next);
        next = piece.getEndColumn();
      }
      EXPECT_EQ(next, pieceOf(concat.getInputs().front()).getOutFeatures());
    });
  }
}

} // namespace
