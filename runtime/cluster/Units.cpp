//===- Units.cpp - parsing and formatting of quantities -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

using namespace sluice;
using namespace sluice::cluster;

namespace {

/// A unit, worth `factor` / `divisor` SI units. One of them is 1, so that "50
/// us" is the same double as 50e-6.
struct Unit {
  std::string_view name;
  double factor;
  double divisor = 1;
};

constexpr double kibi = 1024;
constexpr Unit byteUnits[] = {{"B", 1},
                              {"kB", 1e3},
                              {"MB", 1e6},
                              {"GB", 1e9},
                              {"TB", 1e12},
                              {"KiB", kibi},
                              {"MiB", kibi * kibi},
                              {"GiB", kibi * kibi * kibi},
                              {"TiB", kibi * kibi * kibi * kibi}};
constexpr Unit byteRateUnits[] = {{"B/s", 1},
                                  {"kB/s", 1e3},
                                  {"MB/s", 1e6},
                                  {"GB/s", 1e9},
                                  {"TB/s", 1e12},
                                  {"MiB/s", kibi * kibi},
                                  {"GiB/s", kibi * kibi * kibi},
                                  {"b/s", 1, 8},
                                  {"kb/s", 1e3 / 8},
                                  {"Mb/s", 1e6 / 8},
                                  {"Gb/s", 1e9 / 8},
                                  {"Tb/s", 1e12 / 8}};
constexpr Unit flopUnits[] = {{"FLOP/s", 1},
                              {"MFLOP/s", 1e6},
                              {"GFLOP/s", 1e9},
                              {"TFLOP/s", 1e12},
                              {"PFLOP/s", 1e15}};
constexpr Unit secondUnits[] = {
    {"ns", 1, 1e9}, {"us", 1, 1e6}, {"ms", 1, 1e3}, {"s", 1}};

std::span<const Unit> unitsOf(Quantity quantity) {
  switch (quantity) {
  case Quantity::Bytes:
    return byteUnits;
  case Quantity::BytesPerSecond:
    return byteRateUnits;
  case Quantity::FlopsPerSecond:
    return flopUnits;
  case Quantity::Seconds:
    return secondUnits;
  }
  return {};
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Removes the number at the start of `text` and returns it.
std::optional<double> takeNumber(std::string_view &text) {
  // from_chars would also take a sign, "inf" and "nan".
  if (text.empty() || !isDigit(text.front()))
    return std::nullopt;
  double value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value))
    return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return value;
}

/// Formats three significant digits in the largest of `units` that is not
/// larger.
std::string format(double value, std::span<const Unit> units) {
  const Unit *best = &units.front();
  for (const Unit &unit : units)
    // A value that rounds up to the next unit is written in that unit.
    if (value * unit.divisor >= unit.factor * 0.9995)
      best = &unit;
  char text[48];
  double scaled = value * best->divisor / best->factor;
  int digits = scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", digits, scaled);
  std::string number = text;
  // "50.0" is written as "50".
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.')
      number.pop_back();
  }
  return number + " " + std::string(best->name);
}

} // namespace

Expected<double> cluster::parseQuantity(std::string_view text,
                                        Quantity quantity) {
  std::string_view rest = text;
  std::optional<double> number = takeNumber(rest);
  if (!number)
    return failure("'", text, "' does not start with a number");
  while (!rest.empty() && rest.front() == ' ')
    rest.remove_prefix(1);
  std::string names;
  for (const Unit &unit : unitsOf(quantity)) {
    if (unit.name == rest)
      return *number * unit.factor / unit.divisor;
    names += (names.empty() ? "" : ", ") + std::string(unit.name);
  }
  if (rest.empty())
    return failure("'", text, "' has no unit: expected one of ", names);
  return failure("'", text, "' has the unit '", rest, "', not one of ", names);
}

std::optional<double> cluster::parseNumber(std::string_view text) {
  std::optional<double> value = takeNumber(text);
  return text.empty() ? value : std::nullopt;
}

std::optional<int64_t> cluster::parseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      text.empty() || !isDigit(text.front()))
    return std::nullopt;
  return value;
}

std::string cluster::formatBytes(double bytes) {
  static constexpr Unit units[] = {{"B", 1},
                                   {"KiB", kibi},
                                   {"MiB", kibi * kibi},
                                   {"GiB", kibi * kibi * kibi},
                                   {"TiB", kibi * kibi * kibi * kibi}};
  return format(bytes, units);
}

std::string cluster::formatSeconds(double seconds) {
  return format(seconds, secondUnits);
}
