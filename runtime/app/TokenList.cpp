//===- TokenList.cpp - parsing of token ids from users --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/TokenList.h"

#include <charconv>
#include <cmath>

using namespace sluice;

namespace {

constexpr std::string_view separators = ", \t\r\n";

/// Parses all of `text` as a number.
template <typename T> bool readWhole(std::string_view text, T &out) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

Expected<std::vector<int32_t>> app::parseTokenList(std::string_view text) {
  std::vector<int32_t> tokens;
  size_t at = text.find_first_not_of(separators);
  while (at != std::string_view::npos) {
    size_t end = std::min(text.find_first_of(separators, at), text.size());
    std::string_view word = text.substr(at, end - at);
    int32_t token = 0;
    if (!readWhole(word, token) || token < 0)
      return failure("word ", tokens.size() + 1, " '", word.substr(0, 40),
                     "' is not a token id");
    tokens.push_back(token);
    at = text.find_first_not_of(separators, end);
  }
  return tokens;
}

Expected<std::pair<int32_t, double>>
app::parseLogitBias(std::string_view text) {
  size_t split = text.find_first_of("+-=");
  int32_t token = 0;
  double value = 0;
  if (split == std::string_view::npos ||
      !readWhole(text.substr(0, split), token) || token < 0 ||
      !readWhole(text.substr(split + 1), value) || std::isnan(value))
    return failure("'", text,
                   "' is not of the form ID+VALUE, ID-VALUE or "
                   "ID=VALUE");
  return std::pair(token, text[split] == '-' ? -value : value);
}
