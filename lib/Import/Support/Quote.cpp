//===- Quote.cpp - safe printing of names from files ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Support/Quote.h"

using namespace sluice;

std::string sluice::quote(std::string_view text) {
  constexpr size_t longest = 80;
  static constexpr char digits[] = "0123456789abcdef";
  std::string result = "'";
  for (char c : text.substr(0, longest)) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\' && c != '\'')
      result += c;
    else
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  if (text.size() > longest)
    result += "...";
  return result + "'";
}
