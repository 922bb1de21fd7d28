//===- CaseMapping.cpp - Python's changes of case -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/PythonText.h"
#include "runtime/text/Utf8.h"

#include <utf8proc.h>
#include <utility>

using namespace sluice::text;
using namespace sluice::text::jinja;

namespace {
enum class Case : uint8_t { Upper, Lower, Title };
} // namespace

/// Appends the character in the case `to`.
static void appendInCase(std::string &out, uint32_t code, Case to) {
  auto point = static_cast<utf8proc_int32_t>(code);
  if (code == 0xDF && to != Case::Lower) {
    out += to == Case::Upper ? "SS" : "Ss";
  } else if (code == 0x130 && to == Case::Lower) {
    appendCodePoint(out, 'i');
    appendCodePoint(out, 0x307);
  } else {
    utf8proc_int32_t mapped = to == Case::Upper   ? utf8proc_toupper(point)
                              : to == Case::Lower ? utf8proc_tolower(point)
                                                  : utf8proc_totitle(point);
    appendCodePoint(out, static_cast<uint32_t>(mapped));
  }
}

/// Returns `text` with each character in the case that `choose` returns for it.
template <typename Choose>
static std::string mapCase(std::string_view text, Choose choose) {
  std::string out;
  out.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    uint32_t code = nextCodePoint(text, offset);
    appendInCase(out, code, choose(code));
  }
  return out;
}

std::string jinja::upperCase(std::string_view text) {
  return mapCase(text, [](uint32_t) { return Case::Upper; });
}

std::string jinja::lowerCase(std::string_view text) {
  return mapCase(text, [](uint32_t) { return Case::Lower; });
}

std::string jinja::capitalize(std::string_view text) {
  bool first = true;
  return mapCase(text, [&](uint32_t) {
    return std::exchange(first, false) ? Case::Title : Case::Lower;
  });
}

/// Returns whether a letter has cases, so that title() counts the next letter
/// as the rest of the word.
static bool isCased(uint32_t code) {
  utf8proc_category_t category =
      utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

std::string jinja::titleCase(std::string_view text) {
  bool inWord = false;
  return mapCase(text, [&](uint32_t code) {
    return std::exchange(inWord, isCased(code)) ? Case::Lower : Case::Title;
  });
}

std::string jinja::titleWords(std::string_view text) {
  // The runs of separators are pieces too, but have no case.
  bool inWord = false;
  return mapCase(text, [&](uint32_t code) {
    bool separates = isPythonSpace(code) || code == '-' || code == '(' ||
                     code == '{' || code == '[' || code == '<';
    return std::exchange(inWord, !separates) ? Case::Lower : Case::Upper;
  });
}
