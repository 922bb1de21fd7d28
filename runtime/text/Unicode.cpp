//===- Unicode.cpp - character classes ------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Unicode.h"

#include "runtime/text/NewCharacters.h"

#include <algorithm>
#include <iterator>
#include <utf8proc.h>

using namespace sluice::text;

static utf8proc_category_t categoryOf(uint32_t codePoint) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(standIn(codePoint)));
}

namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// The numbers that are new in Unicode 17, which Rust's standard library has.
constexpr Range newNumbers[] = {{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}};

// Punctuation that is newer than the table of Hugging Face's Punctuation, and
// two characters that only that table counts as punctuation.
constexpr Range newPunctuation[] = {
    {0x61D, 0x61D},     {0x9FD, 0x9FD},     {0xA76, 0xA76},
    {0xC77, 0xC77},     {0xC84, 0xC84},     {0x1B4E, 0x1B4F},
    {0x1B7D, 0x1B7F},   {0x2E43, 0x2E4F},   {0x2E52, 0x2E5D},
    {0x10D6E, 0x10D6E}, {0x10EAD, 0x10EAD}, {0x10F55, 0x10F59},
    {0x10F86, 0x10F89}, {0x113D4, 0x113D5}, {0x113D7, 0x113D8},
    {0x1144B, 0x1144F}, {0x1145A, 0x1145B}, {0x1145D, 0x1145D},
    {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1183B, 0x1183B},
    {0x11944, 0x11946}, {0x119E2, 0x119E2}, {0x11A3F, 0x11A46},
    {0x11A9A, 0x11A9C}, {0x11A9E, 0x11AA2}, {0x11B00, 0x11B09},
    {0x11BE1, 0x11BE1}, {0x11C41, 0x11C45}, {0x11C70, 0x11C71},
    {0x11EF7, 0x11EF8}, {0x11F43, 0x11F4F}, {0x11FFF, 0x11FFF},
    {0x12FF1, 0x12FF2}, {0x16D6D, 0x16D6F}, {0x16E97, 0x16E9A},
    {0x16FE2, 0x16FE2}, {0x1E5FF, 0x1E5FF}, {0x1E95E, 0x1E95F},
};
constexpr uint32_t oldPunctuation[] = {0x166D, 0x111C9};

template <size_t Size>
bool isIn(const Range (&ranges)[Size], uint32_t codePoint) {
  const Range *range =
      std::lower_bound(std::begin(ranges), std::end(ranges), codePoint,
                       [](const Range &candidate, uint32_t value) {
                         return candidate.last < value;
                       });
  return range != std::end(ranges) && codePoint >= range->first;
}

} // namespace

bool sluice::text::isWhiteSpace(uint32_t codePoint) {
  if (codePoint < 0x80)
    return codePoint == ' ' || (codePoint >= 0x09 && codePoint <= 0x0D);
  return codePoint == 0x85 || codePoint == 0xA0 || codePoint == 0x1680 ||
         (codePoint >= 0x2000 && codePoint <= 0x200A) || codePoint == 0x2028 ||
         codePoint == 0x2029 || codePoint == 0x202F || codePoint == 0x205F ||
         codePoint == 0x3000;
}

bool sluice::text::isNumber(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return (category >= UTF8PROC_CATEGORY_ND &&
          category <= UTF8PROC_CATEGORY_NO) ||
         isIn(newNumbers, codePoint);
}

bool sluice::text::isPunctuation(uint32_t codePoint) {
  if (codePoint < 0x80)
    return (codePoint >= 0x21 && codePoint <= 0x2F) ||
           (codePoint >= 0x3A && codePoint <= 0x40) ||
           (codePoint >= 0x5B && codePoint <= 0x60) ||
           (codePoint >= 0x7B && codePoint <= 0x7E);
  utf8proc_category_t category = categoryOf(codePoint);
  if (category < UTF8PROC_CATEGORY_PC || category > UTF8PROC_CATEGORY_PO)
    return codePoint == oldPunctuation[0] || codePoint == oldPunctuation[1];
  return !isIn(newPunctuation, codePoint);
}

bool sluice::text::isMark(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool sluice::text::isWordCharacter(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return (category >= UTF8PROC_CATEGORY_LU &&
          category <= UTF8PROC_CATEGORY_ND) ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC ||
         codePoint == 0x200C || codePoint == 0x200D ||
         (codePoint >= 0x24B6 && codePoint <= 0x24E9) || // circled letters
         (codePoint >= 0x1F130 && codePoint <= 0x1F149) ||
         (codePoint >= 0x1F150 && codePoint <= 0x1F169) ||
         (codePoint >= 0x1F170 && codePoint <= 0x1F189);
}
