//===- OptionChecks.h - checks of command-line options --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of options that CLI11 lacks, for all command lines that it parses, and
// options that have such a check. The checks do not appear in help texts, only
// in errors.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_OPTIONCHECKS_H
#define SLUICE_RUNTIME_BASE_OPTIONCHECKS_H

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Checks that a value is a number from `low` to `high`; NaN is not.
template <typename T> CLI::Validator within(T low, T high) {
  return CLI::Validator(
      [low, high](std::string &text) {
        T value{};
        if (CLI::detail::lexical_cast(text, value) && value >= low &&
            value <= high)
          return std::string();
        return "Value " + text + " not in range " + std::to_string(low) +
               " to " + std::to_string(high);
      },
      "");
}

/// Checks that a value is one of these words.
inline CLI::Validator oneOf(std::vector<std::string> words) {
  return CLI::IsMember(std::move(words)).description("");
}

/// Checks that a value is a seed. CLI11 would take -1, and every number that is
/// too large, as the largest number.
inline CLI::Validator seed() {
  return CLI::Validator(
      [](std::string &text) {
        uint64_t number = 0;
        const char *end = text.data() + text.size();
        auto [read, error] = std::from_chars(text.data(), end, number);
        return error == std::errc() && read == end
                   ? std::string()
                   : "is not a number from 0 to 2^64-1: " + text;
      },
      "");
}

/// Checks that a text is not empty, which it mostly is because a variable of
/// the shell is not set.
inline CLI::Validator notEmpty() {
  return CLI::Validator(
      [](std::string &text) {
        return text.empty() ? std::string("is empty") : std::string();
      },
      "");
}

/// Adds an option whose value is a non-empty text; `type` stands for it in the
/// help.
inline CLI::Option *addText(CLI::App &command, const char *name,
                            std::string &value, const char *type,
                            const char *help) {
  return command.add_option(name, value, help)
      ->type_name(type)
      ->check(notEmpty());
}

/// Adds an option whose value is one of the words in `choices`, and sets
/// `value` to what the given word stands for; `type` stands for it in the help.
/// An error lists the words in their order here.
template <typename T>
CLI::Option *addChoice(CLI::App &command, const char *name, T &value,
                       std::vector<std::pair<std::string, T>> choices,
                       const char *type, const char *help) {
  std::vector<std::string> words;
  for (const auto &[word, meaning] : choices)
    words.push_back(word);
  return command
      .add_option_function<std::string>(
          name,
          [&value, choices = std::move(choices)](const std::string &given) {
            value = std::ranges::find(choices, given,
                                      &std::pair<std::string, T>::first)
                        ->second;
          },
          help)
      ->type_name(type)
      ->check(oneOf(std::move(words)));
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_OPTIONCHECKS_H
