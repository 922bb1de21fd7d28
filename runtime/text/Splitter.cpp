//===- Splitter.cpp - splits a text at the matches of a pattern -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Splitter.h"

#include <algorithm>

using namespace sluice::text;

namespace {

struct Part {
  Span span;
  bool match = false;
};

/// Returns the whole text as matches and the parts between them.
std::vector<Part> cover(size_t size, const std::vector<Span> &matches,
                        bool invert) {
  std::vector<Part> parts;
  parts.reserve(2 * matches.size() + 1);
  size_t from = 0;
  for (const Span &match : matches) {
    if (from != match.begin)
      parts.push_back({{from, match.begin}, invert});
    parts.push_back({match, !invert});
    from = match.end;
  }
  if (from != size)
    parts.push_back({{from, size}, invert});
  return parts;
}

/// Joins neighbouring parts of the same kind.
std::vector<Part> joinContiguous(const std::vector<Part> &parts) {
  std::vector<Part> out;
  for (const Part &part : parts) {
    if (!out.empty() && out.back().match == part.match)
      out.back().span.end = part.span.end;
    else
      out.push_back(part);
  }
  return out;
}

/// Joins each match with the part before it, unless that is a match too.
std::vector<Part> joinWithPrevious(const std::vector<Part> &parts) {
  std::vector<Part> out;
  bool previous = false;
  for (const Part &part : parts) {
    if (part.match && !previous && !out.empty())
      out.back().span.end = part.span.end;
    else
      out.push_back(part);
    previous = part.match;
  }
  return out;
}

/// Joins each match with the part after it, unless that is a match too.
std::vector<Part> joinWithNext(const std::vector<Part> &parts) {
  std::vector<Part> out;
  bool next = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->match && !next && !out.empty())
      out.back().span.begin = part->span.begin;
    else
      out.push_back(*part);
    next = part->match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

} // namespace

void sluice::text::splitAt(std::string_view text,
                           const std::vector<Span> &matches,
                           SplitBehavior behavior, bool invert,
                           std::vector<std::string_view> &out) {
  auto emit = [&](const Span &span) {
    if (span.begin < span.end)
      out.push_back(text.substr(span.begin, span.end - span.begin));
  };
  // Isolated, which tokenizers use most, needs no list of parts.
  if (behavior == SplitBehavior::Isolated) {
    size_t from = 0;
    for (const Span &match : matches) {
      emit({from, match.begin});
      emit(match);
      from = match.end;
    }
    emit({from, text.size()});
    return;
  }
  std::vector<Part> parts = cover(text.size(), matches, invert);
  if (behavior == SplitBehavior::Contiguous)
    parts = joinContiguous(parts);
  else if (behavior == SplitBehavior::MergedWithPrevious)
    parts = joinWithPrevious(parts);
  else if (behavior == SplitBehavior::MergedWithNext)
    parts = joinWithNext(parts);
  for (const Part &part : parts)
    if (behavior != SplitBehavior::Removed || !part.match)
      emit(part.span);
}
