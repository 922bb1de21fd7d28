//===- LengthDistribution.cpp - distributions of numbers of tokens --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/LengthDistribution.h"

#include "runtime/bench/Numbers.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::bench;

namespace {

constexpr size_t maxChoices = 4096;

Status parseLength(std::string_view text, int64_t &length) {
  if (!readWhole(text, length) || length < 1 || length > maxLength)
    return failure("'", text, "' is not a number from 1 to ", maxLength);
  return {};
}

} // namespace

/// Parses MEAN:SD.
Status LengthDistribution::parseNumbers(std::string_view rest) {
  size_t colon = std::min(rest.find(':'), rest.size());
  std::string_view first = rest.substr(0, colon);
  std::string_view second = rest.substr(std::min(colon + 1, rest.size()));
  auto limit = static_cast<double>(maxLength);
  if (!readWhole(first, mean) || !(mean >= 1 && mean <= limit))
    return failure("the mean '", first, "' is not a number from 1 to ",
                   maxLength);
  if (!readWhole(second, deviation) || !(deviation >= 0 && deviation <= limit))
    return failure("the standard deviation '", second,
                   "' is not a number from 0 to ", maxLength);
  if (kind == Kind::LogNormal) {
    // Converts the lengths' mean and deviation to those of their logarithms.
    double ratio = deviation / mean;
    double variance = portableLog(1 + ratio * ratio);
    mean = portableLog(mean) - variance / 2;
    deviation = std::sqrt(variance);
  }
  return {};
}

Status LengthDistribution::parseParts(std::string_view name,
                                      std::string_view rest) {
  if (name == "normal" || name == "lognormal") {
    kind = name == "normal" ? Kind::Normal : Kind::LogNormal;
    return parseNumbers(rest);
  }
  kind = name == "uniform" ? Kind::Uniform : Kind::Choice;
  for (std::string_view part : splitAt(rest, kind == Kind::Uniform ? ':' : ','))
    SLUICE_RETURN_IF_ERROR(parseLength(part, values.emplace_back()));
  if (kind == Kind::Uniform && values.size() != 2)
    return failure("it needs a lowest and a highest length");
  if (kind == Kind::Uniform && values[0] > values[1])
    return failure("the lowest length is above the highest");
  if (values.size() > maxChoices)
    return failure("more than ", maxChoices, " choices");
  return {};
}

Expected<LengthDistribution> LengthDistribution::parse(std::string_view text) {
  LengthDistribution made;
  made.text = text;
  size_t colon = text.find(':');
  Status parsed;
  if (colon == std::string_view::npos) {
    parsed = parseLength(text, made.values.emplace_back());
  } else {
    std::string_view name = text.substr(0, colon);
    bool known = name == "uniform" || name == "normal" || name == "lognormal" ||
                 name == "choice";
    parsed = known ? made.parseParts(name, text.substr(colon + 1))
                   : failure("it is none of N, uniform:LOW:HIGH, "
                             "normal:MEAN:SD, lognormal:MEAN:SD, choice:A,B,C");
  }
  if (!parsed.ok())
    return failure("'", text.substr(0, 100),
                   "' is not a length: ", parsed.message());
  return made;
}

int64_t LengthDistribution::draw(RandomStream &random) const {
  switch (kind) {
  case Kind::Choice:
    return values[static_cast<size_t>(
        random.whole(0, static_cast<int64_t>(values.size()) - 1))];
  case Kind::Uniform:
    return random.whole(values[0], values[1]);
  case Kind::Normal:
  case Kind::LogNormal:
    break;
  }
  double drawn = mean + deviation * random.normal();
  if (kind == Kind::LogNormal)
    drawn = portableExp(std::clamp(drawn, -700.0, 700.0));
  double rounded = std::floor(drawn + 0.5);
  return static_cast<int64_t>(
      std::clamp(rounded, 1.0, static_cast<double>(maxLength)));
}
