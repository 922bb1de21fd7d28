//===- ContentMarks.cpp - keeps special tokens out of user text -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ContentMarks.h"

#include <algorithm>
#include <type_traits>

using namespace sluice;
using namespace sluice::openai;
using nlohmann::ordered_json;

namespace {

/// Calls `visit` for each text of the value until it returns true. Returns
/// whether it did.
template <typename Json, typename Visit>
bool anyText(Json &value, const Visit &visit) {
  if (value.is_string())
    return visit(
        value.template get_ref<std::conditional_t<
            std::is_const_v<Json>, const std::string &, std::string &>>());
  if (!value.is_structured())
    return false;
  return std::any_of(value.begin(), value.end(),
                     [&](auto &each) { return anyText(each, visit); });
}

/// Returns the n-th of the 32 characters from U+FDD0 on, in UTF-8.
std::string markNumber(int number) {
  return {'\xEF', '\xB7', static_cast<char>(0x90 + number)};
}

} // namespace

SpecialSpellings::SpecialSpellings(const text::Tokenizer &tokenizer) {
  for (const text::AddedToken &added : tokenizer.spec().addedTokens)
    if (std::string_view spelling = tokenizer.tokenText(added.id);
        added.special && !spelling.empty())
      trie.insert(spelling, added.id);
}

bool SpecialSpellings::beginsAt(std::string_view text, size_t at) const {
  uint32_t node = text::ByteTrie::root;
  while (at < text.size()) {
    node = trie.child(node, static_cast<uint8_t>(text[at++]));
    if (node == text::ByteTrie::none)
      return false;
    if (trie.value(node) >= 0)
      return true;
  }
  return false;
}

bool ContentMarks::isAnyIn(const Json &value) const {
  return anyText(value, [this](const std::string &text) {
    for (size_t at = 0; at < text.size(); ++at)
      if (spellings->beginsAt(text, at))
        return true;
    return false;
  });
}

void ContentMarks::markTexts(Json &value) const {
  anyText(value, [this](std::string &text) {
    std::string marked;
    for (size_t at = 0; at < text.size(); ++at) {
      if (spellings->beginsAt(text, at))
        marked += mark;
      marked += text[at];
    }
    text = std::move(marked);
    return false;
  });
}

void ContentMarks::putInto(std::initializer_list<Json *> values) {
  if (!spellings || std::ranges::none_of(values, [this](const Json *each) {
        return isAnyIn(*each);
      }))
    return;
  constexpr int characters = 32;
  for (int number = 0; number < characters; ++number) {
    mark = markNumber(number);
    auto has = [this](const std::string &text) {
      return text.find(mark) != std::string::npos;
    };
    if (std::ranges::none_of(
            values, [&](const Json *each) { return anyText(*each, has); }))
      break;
  }
  for (Json *each : values)
    markTexts(*each);
}

std::vector<size_t> ContentMarks::takeOutOf(std::string &prompt) const {
  std::vector<size_t> places;
  if (mark.empty())
    return places;
  std::string text;
  for (size_t at = 0;;) {
    const size_t next = prompt.find(mark, at);
    text.append(prompt, at, next - at);
    if (next == std::string::npos)
      break;
    places.push_back(text.size());
    at = next + mark.size();
  }
  prompt = std::move(text);
  return places;
}
