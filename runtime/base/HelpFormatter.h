//===- HelpFormatter.h - the layout of --help -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_HELPFORMATTER_H
#define SLUICE_RUNTIME_BASE_HELPFORMATTER_H

#include <CLI/CLI.hpp>

namespace sluice {

/// Formats the help of all command lines that CLI11 parses, in lines of 80
/// columns. Values are shown by the option's type_name, not by CLI11's types
/// and checks, and an entry that must be given exactly once (a group of
/// options) comes first. So an option's text has to say which values it takes.
///
///   app.formatter(std::make_shared<HelpFormatter>());
///
/// Commands that are added later use it too.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() { label("Positionals", "Arguments:"); }

  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App *app, std::string name) const override;
  std::string
  make_group(std::string group, bool isPositional,
             std::vector<const CLI::Option *> options) const override;
  std::string make_subcommand(const CLI::App *command) const override;
  std::string make_option(const CLI::Option *option,
                          bool isPositional) const override;
  std::string make_option_name(const CLI::Option *option,
                               bool isPositional) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
  std::string make_option_desc(const CLI::Option *option) const override;

private:
  /// Returns an entry with `left` on the left, and `text` beside it if there is
  /// room, else below.
  std::string entry(const std::string &left, const std::string &text) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_HELPFORMATTER_H
