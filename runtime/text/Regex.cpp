//===- Regex.cpp - regular expressions over UTF-8 -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define PCRE2_CODE_UNIT_WIDTH 8

#include "runtime/text/Regex.h"

#include "runtime/text/NewCharacters.h"
#include "runtime/text/RegexSyntax.h"
#include "runtime/text/Utf8.h"

#include <pcre2.h>

#include <algorithm>
#include <string>

using namespace sluice;
using namespace sluice::text;

namespace {

constexpr size_t maxPatternBytes = 16384;
constexpr uint32_t maxHeapKiB = 128 * 1024;
constexpr size_t jitStackBytes = 16 * 1024 * 1024;

/// Returns how many backtracking steps one match may take: enough for a few
/// passes over the text, and far too few for a pattern of exponential time.
uint32_t stepLimit(size_t textBytes) {
  return static_cast<uint32_t>(std::min<uint64_t>(
      100'000 + 64 * static_cast<uint64_t>(textBytes), 400'000'000));
}

std::string describe(int error) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(error, buffer, sizeof(buffer));
  return reinterpret_cast<const char *>(buffer);
}

struct Deleter {
  void operator()(pcre2_compile_context *p) { pcre2_compile_context_free(p); }
  void operator()(pcre2_match_context *p) { pcre2_match_context_free(p); }
  void operator()(pcre2_match_data *p) { pcre2_match_data_free(p); }
  void operator()(pcre2_jit_stack *p) { pcre2_jit_stack_free(p); }
};
template <typename T> using Owned = std::unique_ptr<T, Deleter>;

} // namespace

struct Regex::Code {
  explicit Code(pcre2_code *compiled) : code(compiled) {}
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code() { pcre2_code_free(code); }

  pcre2_code *code;
};

Regex::Regex(std::shared_ptr<const Code> code) : code(std::move(code)) {}

Expected<Regex> Regex::fromOniguruma(std::string_view pattern) {
  if (pattern.size() > maxPatternBytes)
    return failure("a pattern of ", pattern.size(), " bytes is too long");
  if (!isValidUtf8(pattern))
    return failure("a pattern that is not UTF-8");
  Expected<std::string> translated = translateOniguruma(pattern);
  if (!translated)
    return translated.status();
  Expected<Regex> regex = fromPcre2(*translated);
  if (!regex)
    return failure("pattern '", pattern, "': ", regex.status().message());
  return regex;
}

Expected<Regex> Regex::fromPcre2(std::string_view pattern) {
  Owned<pcre2_compile_context> context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // In Ruby, ^ and $ match at every line.
  pcre2_code *compiled = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
      context.get());
  if (!compiled)
    return failure(describe(error), " at character ", offset);
  // If executable memory is not allowed, PCRE2 interprets the pattern.
  (void)pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
  return Regex(std::make_shared<const Code>(compiled));
}

Status Regex::findAll(std::string_view text, std::vector<Span> &matches) const {
  std::optional<std::string> replaced = replaceNewCharacters(text);
  if (replaced)
    text = *replaced;
  Owned<pcre2_match_data> data(pcre2_match_data_create(1, nullptr));
  Owned<pcre2_match_context> context(pcre2_match_context_create(nullptr));
  if (!data || !context)
    throw std::bad_alloc();
  pcre2_set_match_limit(context.get(), stepLimit(text.size()));
  pcre2_set_heap_limit(context.get(), maxHeapKiB);
  Owned<pcre2_jit_stack> stack;
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t from = 0;
  size_t lastEnd = std::string_view::npos; // where the last match ended
  while (from <= text.size()) {
    int count = pcre2_match(code->code, subject, text.size(), from,
                            PCRE2_NO_UTF_CHECK, data.get(), context.get());
    if (count == PCRE2_ERROR_NOMATCH)
      break;
    if (count == PCRE2_ERROR_JIT_STACKLIMIT && !stack) {
      stack.reset(pcre2_jit_stack_create(64 * 1024, jitStackBytes, nullptr));
      pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
      continue;
    }
    if (count < 0)
      return failure("the pattern cannot be matched within its limits: ",
                     describe(count));
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data.get());
    Span match{ends[0], ends[1]};
    if (match.begin == match.end && match.end == lastEnd) {
      if (from == text.size())
        break;
      from += characterLength(text[from]);
      continue;
    }
    matches.push_back(match);
    lastEnd = match.end;
    from = match.end;
  }
  return {};
}
