//===- WgmmaProbe.cpp - whether wgmma has the bits of mma.sync ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Multiplies the same tiles by both instructions. If products of integers are
// exact, each number went where it was meant to go; the other results mean
// nothing otherwise. The kernels rely on a result's bits depending only on its
// row and column, and not on their place or on other rows and columns, so that
// must hold. The bits of the two instructions need not be the same.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/ProbeParts.h"
#include "runtime/device/cuda/probe/WgmmaTiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::probe;

namespace {

constexpr const char *instructions[wgmmaWayCount] = {
    "mma.sync", "wgmma, A in registers", "wgmma, A in shared memory"};

/// The kernel's results for the tiles.
class Results {
public:
  explicit Results(std::vector<float> values) : values(std::move(values)) {}

  float at(int32_t tile, int32_t way, int32_t row, int32_t column) const {
    const int32_t rows = (tile * wgmmaWayCount + way) * wgmmaRows + row;
    return values[size_t(rows) * wgmmaColumns + size_t(column)];
  }

private:
  std::vector<float> values;
};

bool sameBits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

/// The findings about one way's results.
struct Found {
  bool integersAreExact = true;
  int64_t elements = 0, movedUnequal = 0, companyUnequal = 0;
  int64_t unequalToMma = 0;
  double largestDifference = 0, largestShare = 0;
};

class Comparison {
public:
  Comparison(const WgmmaTiles &tiles, const Results &results)
      : tiles(tiles), results(results) {}

  Found compare(int32_t way) const {
    Found found;
    for (int32_t tile = 0; tile < tiles.originals(); ++tile)
      for (int32_t row = 0; row < wgmmaRows; ++row)
        for (int32_t column = 0; column < wgmmaColumns; ++column) {
          if (tile < tiles.integers())
            found.integersAreExact &= isExact(tile, way, row, column);
          else
            compareElement(found, tile, way, row, column);
        }
    return found;
  }

private:
  bool isExact(int32_t tile, int32_t way, int32_t row, int32_t column) const {
    double sum = 0;
    for (int32_t k = 0; k < tiles.features(); ++k)
      sum += double{tiles.aValue(tile, row, k)} * tiles.bValue(tile, column, k);
    return double{results.at(tile, way, row, column)} == sum;
  }

  void compareElement(Found &found, int32_t tile, int32_t way, int32_t row,
                      int32_t column) const {
    const float value = results.at(tile, way, row, column);
    ++found.elements;
    found.movedUnequal += !sameBits(
        value, results.at(tiles.movedOf(tile), way, tiles.movedRow(row),
                          tiles.movedColumn(column)));
    found.companyUnequal +=
        WgmmaTiles::keeps(row, column) &&
        !sameBits(value, results.at(tiles.replacedOf(tile), way, row, column));
    const float mma =
        results.at(tile, static_cast<int32_t>(WgmmaWay::MmaSync), row, column);
    if (sameBits(value, mma))
      return;
    ++found.unequalToMma;
    const double difference = std::abs(double{value} - double{mma});
    double magnitudes = 0;
    for (int32_t k = 0; k < tiles.features(); ++k)
      magnitudes += std::abs(double{tiles.aValue(tile, row, k)} *
                             tiles.bValue(tile, column, k));
    // A NaN counts as the largest difference.
    found.largestDifference =
        std::max(found.largestDifference,
                 std::isnan(difference) ? HUGE_VAL : difference);
    found.largestShare =
        std::max(found.largestShare,
                 std::isnan(difference) ? HUGE_VAL : difference / magnitudes);
  }

  const WgmmaTiles &tiles;
  const Results &results;
};

/// Returns a number for JSON, which has no infinity.
ProbeJson numberOf(double value) {
  return std::isfinite(value) ? ProbeJson(value) : ProbeJson("infinite");
}

void printWay(int32_t way, const char *factors, int32_t steps,
              const Found &found, Report &report) {
  const std::string name = std::string(instructions[way]) + "; " + factors +
                           ", " + std::to_string(steps) +
                           (steps == 1 ? " step" : " steps");
  report.add({{"case", name},
              {"factors", factors},
              {"steps", steps},
              {"instruction", instructions[way]},
              {"integersAreExact", found.integersAreExact},
              {"elements", found.elements},
              {"movedUnequal", found.movedUnequal},
              {"companyUnequal", found.companyUnequal},
              {"unequalToMma", found.unequalToMma},
              {"largestDifference", numberOf(found.largestDifference)},
              {"largestShareOfTerms", numberOf(found.largestShare)}},
             found.integersAreExact && found.movedUnequal == 0 &&
                 found.companyUnequal == 0);
}

Status probeSteps(const Bench &bench, bool isBfloat, int32_t steps,
                  Report &report) {
  const WgmmaTiles tiles(isBfloat, steps, bench.isTiny ? 2 : 16);
  Lab lab(bench.device, bench.kernels);
  const auto count = static_cast<uint32_t>(tiles.count());
  const size_t numbers =
      size_t{count} * wgmmaWayCount * wgmmaRows * wgmmaColumns;
  WgmmaArguments arguments = {};
  arguments.a = reinterpret_cast<const uint16_t *>(
      lab.upload(std::span<const uint16_t>(tiles.a())));
  arguments.b = reinterpret_cast<const uint16_t *>(
      lab.upload(std::span<const uint16_t>(tiles.b())));
  const DeviceAddress made = lab.zeros(numbers * sizeof(float));
  arguments.d = reinterpret_cast<float *>(made);
  arguments.steps = steps;
  lab.run(std::vector<GraphNode>{
      lab.node(isBfloat ? "sluice_probe_wgmma_bf16" : "sluice_probe_wgmma_f16",
               {count}, wgmmaThreads, wgmmaSharedBytes(steps), arguments)});
  const Results results(lab.download<float>(made, numbers));
  if (!lab.status().ok())
    return lab.status();
  const Comparison comparison(tiles, results);
  for (int32_t way = 0; way < wgmmaWayCount; ++way)
    printWay(way, isBfloat ? "bf16" : "f16", steps, comparison.compare(way),
             report);
  return {};
}

} // namespace

Status probe::probeWgmma(const Bench &bench, Report &report) {
  for (bool isBfloat : {false, true})
    for (int32_t steps : {1, 2, 8, 32})
      SLUICE_RETURN_IF_ERROR(probeSteps(bench, isBfloat, steps, report));
  return {};
}
