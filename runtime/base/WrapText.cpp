//===- WrapText.cpp - wrapping of text ------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/WrapText.h"

using namespace sluice;

std::string sluice::wrapText(std::string_view text, size_t width,
                             std::string_view separator) {
  constexpr std::string_view blanks = " \n";
  std::string wrapped;
  size_t column = 0;
  for (size_t begin = text.find_first_not_of(blanks);
       begin != std::string_view::npos;) {
    std::string_view word =
        text.substr(begin, text.find_first_of(blanks, begin) - begin);
    bool fits = column + 1 + word.size() <= width;
    if (column > 0)
      wrapped += fits ? std::string_view(" ") : separator;
    column = column > 0 && fits ? column + 1 + word.size() : word.size();
    wrapped += word;
    begin = text.find_first_not_of(blanks, begin + word.size());
  }
  return wrapped;
}
