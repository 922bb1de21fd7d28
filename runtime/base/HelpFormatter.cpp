//===- HelpFormatter.cpp - the layout of --help ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/HelpFormatter.h"

#include "runtime/base/WrapText.h"

using namespace sluice;

/// Returns the commands, or the groups of options, which are apps without a
/// name.
static std::vector<const CLI::App *> commandsOf(const CLI::App &app,
                                                bool areNamed) {
  return app.get_subcommands([areNamed](const CLI::App *each) {
    return each->get_name().empty() != areNamed;
  });
}

/// Returns the options of a group without --help, which the command also has.
static std::vector<const CLI::Option *> ownOptions(const CLI::App &group) {
  return group.get_options([&group](const CLI::Option *option) {
    return option != group.get_help_ptr();
  });
}

static std::string paragraph(const std::string &text) {
  return text.empty() ? text : wrapText(text, helpColumns) + "\n";
}

std::string HelpFormatter::make_help(const CLI::App *app, std::string name,
                                     CLI::AppFormatMode /*mode*/) const {
  std::string help =
      paragraph(app->get_description()) + "\n" + make_usage(app, name);
  help += make_positionals(app);
  for (const CLI::App *group : commandsOf(*app, /*areNamed=*/false))
    help += make_group(group->get_group() + ": " + group->get_description(),
                       false, ownOptions(*group));
  for (const std::string &group : app->get_groups()) {
    auto isOfGroup = [&group](const CLI::Option *option) {
      return option->get_group() == group && option->nonpositional();
    };
    help += make_group(group + ":", false, app->get_options(isOfGroup));
  }
  std::vector<const CLI::App *> commands = commandsOf(*app, /*areNamed=*/true);
  if (!commands.empty())
    help += "\nCommands:\n";
  for (const CLI::App *command : commands)
    help += make_subcommand(command);
  if (!commands.empty())
    help += "\n" + paragraph(name + " COMMAND --help has a command's options.");
  if (!app->get_footer().empty())
    help += "\n" + paragraph(app->get_footer());
  return help;
}

std::string HelpFormatter::make_usage(const CLI::App *app,
                                      std::string name) const {
  std::string usage = "Usage: " + name;
  if (!commandsOf(*app, /*areNamed=*/true).empty())
    usage += " COMMAND";
  usage += " [OPTIONS]";
  for (const CLI::Option *option : app->get_options(
           [](const CLI::Option *each) { return each->get_positional(); }))
    usage += " " + make_option_usage(option);
  return usage + "\n";
}

std::string
HelpFormatter::make_group(std::string group, bool isPositional,
                          std::vector<const CLI::Option *> options) const {
  if (options.empty())
    return "";
  std::string text = "\n" + paragraph(group);
  for (const CLI::Option *option : options)
    text += make_option(option, isPositional);
  return text;
}

std::string HelpFormatter::make_subcommand(const CLI::App *command) const {
  return entry(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_option(const CLI::Option *option,
                                       bool isPositional) const {
  std::string left = make_option_name(option, isPositional);
  return entry(isPositional ? left : left + make_option_opts(option),
               make_option_desc(option));
}

std::string HelpFormatter::make_option_name(const CLI::Option *option,
                                            bool isPositional) const {
  return isPositional ? option->get_type_name()
                      : CLI::Formatter::make_option_name(option, false);
}

std::string HelpFormatter::make_option_opts(const CLI::Option *option) const {
  if (option->get_type_size() == 0)
    return "";
  std::string value = " " + option->get_type_name();
  if (!option->get_default_str().empty())
    value += "=" + option->get_default_str();
  return value;
}

std::string HelpFormatter::make_option_desc(const CLI::Option *option) const {
  std::string text = option->get_description();
  std::string needed;
  for (const CLI::Option *other : option->get_needs())
    needed += (needed.empty() ? "needs " : ", ") + other->get_name();
  if (!needed.empty())
    text += " (" + needed + ")";
  if (!option->get_envname().empty())
    text += " (also the variable " + option->get_envname() + ")";
  return text;
}

std::string HelpFormatter::entry(const std::string &left,
                                 const std::string &text) const {
  constexpr size_t indent = 2;
  const size_t column = get_column_width();
  std::string line = std::string(indent, ' ') + left;
  if (text.empty())
    return line + "\n";
  const std::string below = "\n" + std::string(column, ' ');
  if (line.size() + 1 < column)
    line += std::string(column - line.size(), ' ');
  else
    line += below;
  return line + wrapText(text, helpColumns - column, below) + "\n";
}
