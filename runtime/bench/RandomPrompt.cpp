//===- RandomPrompt.cpp - random prompts of requests ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/RandomPrompt.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::bench;

namespace {

/// Words so common that vocabularies have each, with a blank before it, as one
/// token.
constexpr const char *words[] = {
    "the",   "of",    "and",    "to",     "in",    "is",    "that",  "for",
    "it",    "was",   "on",     "are",    "as",    "with",  "his",   "they",
    "at",    "be",    "this",   "from",   "have",  "or",    "by",    "one",
    "had",   "not",   "but",    "what",   "all",   "were",  "when",  "we",
    "there", "can",   "an",     "your",   "which", "their", "said",  "if",
    "do",    "will",  "each",   "about",  "how",   "up",    "out",   "them",
    "then",  "she",   "many",   "some",   "so",    "these", "would", "other",
    "into",  "has",   "more",   "her",    "two",   "like",  "him",   "see",
    "time",  "could", "no",     "make",   "than",  "first", "been",  "its",
    "who",   "now",   "people", "my",     "made",  "over",  "did",   "down",
    "only",  "way",   "find",   "use",    "may",   "water", "long",  "little",
    "very",  "after", "words",  "called", "just",  "where", "most",  "know"};
constexpr auto wordCount = static_cast<int64_t>(std::size(words));

/// Draws a number below `count` for each token: for the shared prefix from the
/// workload's seed, for the rest from the request's.
template <typename Fn>
void drawEach(const PromptShape &options, const BenchRequest &spec,
              uint64_t workloadSeed, int64_t count, Fn take) {
  int64_t shared = std::min(options.sharedPrefixTokens, spec.promptTokens);
  RandomStream prefix(workloadSeed, Purpose::SharedPrefix, 0);
  RandomStream own(spec.seed, Purpose::PromptTokens, 0);
  for (int64_t i = 0; i < spec.promptTokens; ++i)
    take((i < shared ? prefix : own).whole(0, count - 1));
}

} // namespace

std::vector<int32_t> bench::promptTokens(const PromptShape &options,
                                         const BenchRequest &spec,
                                         uint64_t workloadSeed) {
  std::vector<int32_t> tokens;
  tokens.reserve(static_cast<size_t>(spec.promptTokens));
  drawEach(options, spec, workloadSeed, options.vocabularySize,
           [&](int64_t id) { tokens.push_back(static_cast<int32_t>(id)); });
  return tokens;
}

std::string bench::promptText(const PromptShape &options,
                              const BenchRequest &spec, uint64_t workloadSeed) {
  std::string text;
  drawEach(options, spec, workloadSeed, wordCount, [&](int64_t word) {
    if (!text.empty())
      text += ' ';
    text += words[word];
  });
  return text;
}
