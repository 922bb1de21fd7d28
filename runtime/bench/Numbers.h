//===- Numbers.h - parsing of numbers and lists ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_NUMBERS_H
#define SLUICE_RUNTIME_BENCH_NUMBERS_H

#include <charconv>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::bench {

/// Parses all of `text` as a finite number. Refuses blanks, a '+' and the
/// formats of other locales.
template <typename T> bool readWhole(std::string_view text, T &out) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size())
    return false;
  if constexpr (std::is_floating_point_v<T>)
    return std::isfinite(out);
  return true;
}

/// Splits a text at separators; keeps empty parts.
inline std::vector<std::string_view> splitAt(std::string_view text,
                                             char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_NUMBERS_H
