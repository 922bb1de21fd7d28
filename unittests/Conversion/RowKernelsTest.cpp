//===- RowKernelsTest.cpp - generated row loops against their formulas ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "StepRunner.h"

#include "gtest/gtest.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Widths with and without a tail, for 8 and for 16 lanes.
constexpr int64_t widths[] = {4, 20, 65, 96, 256};

std::string rowsType(int64_t width) {
  return "tensor<?x" + std::to_string(width) + "xf32>";
}

/// A row-wise op on two inputs: %x, which depends on the row's token, and %z,
/// which depends on its position.
struct RowOp {
  int64_t width;       // width of the inputs
  int64_t resultWidth; // width of %y
  std::string weights; // weights other than the inputs' tables
  std::string text;    // the ops that make %y
};

class RowOpRunner {
public:
  RowOpRunner(const RowOp &op, ir::CpuLevel level)
      : runner(getWeights(op), getBody(op), op.resultWidth, level) {}

  Vector x(const TestRow &row) {
    return tableRow(runner.getMatrix("tokens"), row.token);
  }
  Vector z(const TestRow &row) {
    return tableRow(runner.getMatrix("positions"), row.position);
  }

  /// Compares every row with `expected`, then with itself beside other rows.
  template <typename Formula>
  void check(Formula expected, double tolerance, int64_t resultWidth) {
    std::vector<TestRow> rows = makeRows(19);
    runner.reset();
    Vector together = runner.run(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      Vector wanted = expected(rows[i]);
      const float *got = &together[i * resultWidth];
      for (int64_t c = 0; c < resultWidth; ++c)
        ASSERT_NEAR(got[c], wanted[c], tolerance)
            << "row " << i << " column " << c;
      Vector alone = runner.run({rows[i]});
      ASSERT_TRUE(sameBits(alone.data(), got, resultWidth))
          << "row " << i << " differs alone";
    }
    for (int64_t threads : {2, 5, 32}) {
      runner.reset(threads);
      Vector shared = runner.run(rows);
      ASSERT_TRUE(sameBits(shared.data(), together.data(), together.size()))
          << "differs with " << threads << " threads";
    }
  }

  StepRunner runner;

private:
  static std::string getWeights(const RowOp &op) {
    // The tables must have a row for each token and each position.
    return "tokens: " + std::to_string(op.resultWidth) + "x" +
           std::to_string(op.width) +
           "xf32\npositions: " + std::to_string(maxPositions) + "x" +
           std::to_string(op.width) + "xf32\n" + op.weights;
  }

  static std::string getBody(const RowOp &op) {
    auto embed = [&](const std::string &name, const std::string &by,
                     int64_t rows, const std::string &value) {
      std::string type = "tensor<" + std::to_string(rows) + "x" +
                         std::to_string(op.width) + "xf32>";
      return "%" + name + " = sluice.param @" + name + " : " + type + "\n" +
             value + " = sluice.embed %batch, %" + name + " by " + by + " : " +
             type + " -> " + rowsType(op.width) + "\n";
    };
    return embed("tokens", "token", op.resultWidth, "%x") +
           embed("positions", "position", maxPositions, "%z") + op.text +
           "\nsluice.return %y : " + rowsType(op.resultWidth);
  }

  std::vector<TestRow> makeRows(int64_t count) {
    int64_t tokens = runner.getMatrix("tokens").rows;
    std::vector<TestRow> rows;
    for (int64_t i = 0; i < count; ++i)
      rows.push_back(
          {i, (i * 7 + 3) % maxPositions, (i * 5 + 1) % tokens, true});
    return rows;
  }
};

/// Replaces the short names of types: $X is rows of the width, $W a vector.
std::string expand(std::string text, int64_t width) {
  auto replace = [&](const std::string &what, const std::string &by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;)
      text.replace(at, what.size(), by);
  };
  replace("$X", rowsType(width));
  replace("$W", "tensor<" + std::to_string(width) + "xf32>");
  return text;
}

class RowKernels : public testing::TestWithParam<ir::CpuLevel> {};

TEST_P(RowKernels, RmsNorm) {
  for (int64_t width : widths) {
    RowOpRunner op(
        {width, width, "w: " + std::to_string(width) + "xf32",
         expand("%w = sluice.param @w : $W\n"
                "%s = sluice.add %x, %z : $X\n"
                "%y = sluice.rms_norm %s, %w epsilon 1.0e-5 : $X, $W",
                width)},
        GetParam());
    op.check(
        [&](const TestRow &row) {
          return rmsNorm(add(op.x(row), op.z(row)), op.runner.getWeight("w"),
                         1e-5);
        },
        2e-6, width);
  }
}

/// Returns what `norm` makes of each of the equal heads of a row.
template <typename Norm>
Vector forEachHead(const Vector &row, size_t heads, Norm norm) {
  Vector all;
  const size_t width = row.size() / heads;
  for (auto head = row.begin(); head != row.end();
       head += static_cast<ptrdiff_t>(width)) {
    Vector one = norm(Vector(head, head + static_cast<ptrdiff_t>(width)));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST_P(RowKernels, NormsOfHeads) {
  for (auto [width, heads] : std::initializer_list<std::pair<int64_t, int64_t>>{
           {4, 2}, {20, 4}, {65, 5}, {96, 3}, {256, 2}}) {
    const std::string head = std::to_string(width / heads) + "xf32";
    std::string text =
        "%w = sluice.param @w : $V\n%b = sluice.param @b : $V\n"
        "%s = sluice.add %x, %z : $X\n"
        "%r = sluice.rms_norm %s, %w heads $H epsilon 1.0e-5 : $X, $V\n"
        "%l = sluice.layer_norm %r, %w bias %b heads $H epsilon 1.0e-5"
        " : $X, $V, $V\n%y = sluice.add %l, %x : $X";
    for (auto [what, by] :
         {std::pair<std::string, std::string>{"$V", "tensor<" + head + ">"},
          {"$H", std::to_string(heads)}})
      for (size_t at; (at = text.find(what)) != std::string::npos;)
        text.replace(at, what.size(), by);
    RowOpRunner op(
        {width, width, "w: " + head + "\nb: " + head, expand(text, width)},
        GetParam());
    const auto count = static_cast<size_t>(heads);
    op.check(
        [&](const TestRow &row) {
          const Vector &w = op.runner.getWeight("w");
          const Vector &b = op.runner.getWeight("b");
          Vector rms = forEachHead(
              add(op.x(row), op.z(row)), count,
              [&](const Vector &one) { return rmsNorm(one, w, 1e-5); });
          return add(forEachHead(rms, count,
                                 [&](const Vector &one) {
                                   return layerNorm(one, w, b, 1e-5);
                                 }),
                     op.x(row));
        },
        1e-5, width);
  }
}

TEST_P(RowKernels, LayerNorm) {
  for (int64_t width : widths)
    for (bool hasBias : {false, true}) {
      std::string w = std::to_string(width) + "xf32";
      RowOpRunner op(
          {width, width, "w: " + w + (hasBias ? "\nb: " + w : ""),
           expand(std::string("%w = sluice.param @w : $W\n") +
                      (hasBias ? "%b = sluice.param @b : $W\n" : "") +
                      "%y = sluice.layer_norm %x, %w " +
                      (hasBias ? "bias %b " : "") + "epsilon 1.0e-5 : $X, $W" +
                      (hasBias ? ", $W" : ""),
                  width)},
          GetParam());
      op.check(
          [&](const TestRow &row) {
            return layerNorm(op.x(row), op.runner.getWeight("w"),
                             hasBias ? op.runner.getWeight("b") : Vector(),
                             1e-5);
          },
          4e-6, width);
    }
}

// A sum is normed: the loop over the columns of the sum and that of the norm's
// first pass are fused, and the sum is used again after the norm.
TEST_P(RowKernels, ResidualAroundNorm) {
  for (int64_t width : {20, 256}) {
    RowOpRunner op({width, width, "w: " + std::to_string(width) + "xf32",
                    expand("%w = sluice.param @w : $W\n"
                           "%s = sluice.add %x, %z : $X\n"
                           "%n = sluice.layer_norm %s, %w epsilon 1.0e-5 : $X, "
                           "$W\n"
                           "%a = sluice.activation silu %n : $X\n"
                           "%y = sluice.add %a, %s : $X",
                           width)},
                   GetParam());
    op.check(
        [&](const TestRow &row) {
          Vector sum = add(op.x(row), op.z(row));
          Vector y = layerNorm(sum, op.runner.getWeight("w"), {}, 1e-5);
          for (float &value : y)
            value = activate(ir::ActivationKind::Silu, value);
          return add(y, sum);
        },
        4e-6, width);
  }
}

TEST_P(RowKernels, Activations) {
  for (uint32_t kind = 0; kind < 4; ++kind)
    for (int64_t width : {20, 96}) {
      auto activation = static_cast<ir::ActivationKind>(kind);
      std::string name = ir::stringifyActivationKind(activation).str();
      RowOpRunner op(
          {width, width, "",
           expand("%y = sluice.activation " + name + " %x : $X", width)},
          GetParam());
      op.check(
          [&](const TestRow &row) {
            Vector y = op.x(row);
            for (float &value : y)
              value = activate(activation, value);
            return y;
          },
          1e-6, width);
      RowOpRunner gate(
          {width, width, "",
           expand("%y = sluice.gate " + name + " %x, %z : $X", width)},
          GetParam());
      gate.check(
          [&](const TestRow &row) {
            Vector y = gate.x(row), z = gate.z(row);
            for (size_t i = 0; i < y.size(); ++i)
              y[i] = activate(activation, y[i]) * z[i];
            return y;
          },
          1e-6, width);
    }
}

TEST_P(RowKernels, Rope) {
  struct Shape {
    int64_t heads, headDim, rotary;
  };
  for (Shape shape : {Shape{1, 4, 2}, Shape{3, 20, 20}, Shape{4, 64, 64},
                      Shape{2, 65, 36}, Shape{3, 32, 8}})
    for (ir::RopeStyle style :
         {ir::RopeStyle::Half, ir::RopeStyle::Interleaved}) {
      int64_t width = shape.heads * shape.headDim;
      RowOpRunner op(
          {width, width, "",
           expand("%y = sluice.rope %x, %batch " +
                      ir::stringifyRopeStyle(style).str() + " heads " +
                      std::to_string(shape.heads) + " head_dim " +
                      std::to_string(shape.headDim) + " rotary_dim " +
                      std::to_string(shape.rotary) + " base 10000.0 : $X",
                  width)},
          GetParam());
      op.check(
          [&](const TestRow &row) {
            return rope(op.x(row), style, shape.headDim, shape.rotary,
                        row.position);
          },
          1e-5, width);
    }
}

TEST_P(RowKernels, SplitQKV) {
  struct Shape {
    int64_t heads, kvHeads, headDim;
  };
  for (Shape shape : {Shape{4, 2, 20}, Shape{6, 1, 5}, Shape{2, 2, 16}})
    for (bool isGrouped : {false, true})
      for (int64_t part : {0, 1, 2}) {
        auto [heads, kvHeads, dim] = shape;
        int64_t width = (heads + 2 * kvHeads) * dim;
        int64_t partWidth = (part == 0 ? heads : kvHeads) * dim;
        const char *names[3][3] = {
            {"%y", "%k", "%v"}, {"%q", "%y", "%v"}, {"%q", "%k", "%y"}};
        auto &name = names[part];
        std::string text =
            std::string(name[0]) + ", " + name[1] + ", " + name[2] +
            " = sluice.split_qkv %x " + (isGrouped ? "grouped" : "concat") +
            " heads " + std::to_string(heads) + " kv_heads " +
            std::to_string(kvHeads) + " head_dim " + std::to_string(dim) +
            " : $X -> " + rowsType(heads * dim) + ", " +
            rowsType(kvHeads * dim) + ", " + rowsType(kvHeads * dim);
        RowOpRunner op({width, partWidth, "", expand(text, width)}, GetParam());
        op.check(
            [&](const TestRow &row) {
              Vector x = op.x(row), y;
              int64_t groups = isGrouped ? kvHeads : 1;
              int64_t queries = heads / groups * dim;
              int64_t keys = kvHeads / groups * dim;
              for (int64_t g = 0; g < groups; ++g) {
                auto from = x.begin() + g * (queries + 2 * keys);
                if (part > 0)
                  from += queries + (part - 1) * keys;
                y.insert(y.end(), from, from + (part == 0 ? queries : keys));
              }
              return y;
            },
            0, partWidth);
      }
}

INSTANTIATE_TEST_SUITE_P(Levels, RowKernels, testing::ValuesIn(allLevels),
                         [](const auto &info) {
                           return ir::stringifyCpuLevel(info.param).str();
                         });

} // namespace
