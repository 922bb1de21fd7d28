//===- RopeFrequencies.cpp - the frequencies of a rope op -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/RopeFrequencies.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sluice::ir;

/// Returns base^(-2 pair / rotaryDim), computed in float32 as in training.
static float plainFrequency(double base, int64_t pair, int64_t rotaryDim) {
  float exponent = static_cast<float>(2 * pair) / static_cast<float>(rotaryDim);
  return 1.0f / std::pow(static_cast<float>(base), exponent);
}

static float scaleLlama3(float frequency, Llama3ScalingAttr scaling) {
  double wavelength = 2 * std::numbers::pi / frequency;
  double factor = scaling.getFactor().convertToDouble();
  double low = scaling.getLowFreqFactor().convertToDouble();
  double high = scaling.getHighFreqFactor().convertToDouble();
  double context = static_cast<double>(scaling.getOriginalContext());
  if (wavelength < context / high)
    return frequency;
  if (wavelength > context / low)
    return static_cast<float>(frequency / factor);
  double blend = (context / wavelength - low) / (high - low);
  return static_cast<float>((1 - blend) * frequency / factor +
                            blend * frequency);
}

/// Returns the dimension that makes `rotations` turns within the original
/// context.
static double yarnDimension(double rotations, double base, int64_t rotaryDim,
                            int64_t context) {
  return rotaryDim * std::log(context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(base));
}

static void scaleYarn(RopeFrequencies &result, YarnScalingAttr scaling,
                      double base, int64_t rotaryDim) {
  int64_t context = scaling.getOriginalContext();
  double first = yarnDimension(scaling.getBetaFast().convertToDouble(), base,
                               rotaryDim, context);
  double last = yarnDimension(scaling.getBetaSlow().convertToDouble(), base,
                              rotaryDim, context);
  if (scaling.getTruncate()) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(rotaryDim - 1));
  if (first == last)
    last += 0.001; // This keeps the ramp's slope finite.
  double factor = scaling.getFactor().convertToDouble();
  for (auto [pair, frequency] : llvm::enumerate(result.inverse)) {
    double ramp = std::clamp((pair - first) / (last - first), 0.0, 1.0);
    frequency =
        static_cast<float>(frequency / factor * ramp + frequency * (1 - ramp));
  }
  result.attentionFactor =
      static_cast<float>(scaling.getAttentionFactor().convertToDouble());
}

RopeFrequencies sluice::ir::computeRopeFrequencies(RopeOp op,
                                                   ArrayRef<float> factors) {
  int64_t rotaryDim = op.getRotaryDim();
  double base = op.getBase().convertToDouble();
  RopeFrequencies result;
  for (int64_t pair = 0; pair < rotaryDim / 2; ++pair)
    result.inverse.push_back(plainFrequency(base, pair, rotaryDim));
  for (auto [frequency, factor] : llvm::zip(result.inverse, factors))
    frequency /= factor;

  if (Attribute scaling = op.getScalingAttr())
    llvm::TypeSwitch<Attribute>(scaling)
        .Case([&](LinearScalingAttr linear) {
          float factor =
              static_cast<float>(linear.getFactor().convertToDouble());
          for (float &frequency : result.inverse)
            frequency /= factor;
        })
        .Case([&](Llama3ScalingAttr llama3) {
          for (float &frequency : result.inverse)
            frequency = scaleLlama3(frequency, llama3);
        })
        .Case([&](YarnScalingAttr yarn) {
          scaleYarn(result, yarn, base, rotaryDim);
        });
  return result;
}
