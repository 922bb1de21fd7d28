//===- HelpFormatter.h - what --help prints -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_HELPFORMATTER_H
#define SLUICE_RUNTIME_BASE_HELPFORMATTER_H

#include <CLI/CLI.hpp>

namespace sluice {

/// Formats help for all command lines that CLI11 reads: in lines of 80 columns,
/// a value by the name that stands for it (the option's type_name, and not what
/// CLI11 and its checks make of types), and what is given exactly once (a group
/// of options) first. An option's text has to say what values it takes.
///
///   app.formatter(std::make_shared<HelpFormatter>());
///
/// Commands that are added later have it too.
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
  /// What stands on the left, and what it means: beside it where there is room,
  /// else below.
  std::string entry(const std::string &left, const std::string &text) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_HELPFORMATTER_H
