//===- OptionChecks.h - checks of command-line options --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What CLI11's own checks let through, for all command lines that it reads, and
// an option with such a check. Help texts do not spell these out; their errors
// do.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_OPTIONCHECKS_H
#define SLUICE_RUNTIME_BASE_OPTIONCHECKS_H

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// A number from `low` to `high`. Not a number is in no range.
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

/// One of these words.
inline CLI::Validator oneOf(std::vector<std::string> words) {
  return CLI::IsMember(std::move(words)).description("");
}

/// A seed. The parser takes -1, and all that is too large, for the largest
/// number.
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

/// A text with something in it: an empty one is mostly a variable that is not
/// set.
inline CLI::Validator notEmpty() {
  return CLI::Validator(
      [](std::string &text) {
        return text.empty() ? std::string("is empty") : std::string();
      },
      "");
}

/// Adds an option whose value is such a text; `type` stands for it in the help.
inline CLI::Option *addText(CLI::App &command, const char *name,
                            std::string &value, const char *type,
                            const char *help) {
  return command.add_option(name, value, help)
      ->type_name(type)
      ->check(notEmpty());
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_OPTIONCHECKS_H
