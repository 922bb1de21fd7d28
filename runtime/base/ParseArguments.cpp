//===- ParseArguments.cpp - parsing of command lines by CLI11 -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ParseArguments.h"

#include "runtime/base/NearestName.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <sstream>

using namespace sluice;

namespace {

constexpr int usageError = 2;

std::string oneLine(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return text;
}

/// Returns the command that the user chose, or the program itself.
const CLI::App &chosenCommand(const CLI::App &app) {
  return app.get_subcommands().empty() ? app : *app.get_subcommands().front();
}

/// Returns the name for the help's request: "demo", "demo serve".
std::string pathOf(const CLI::App &command) {
  const CLI::App *parent = command.get_parent();
  return (parent ? pathOf(*parent) + " " : "") + command.get_name();
}

/// Returns the options of a command, without their dashes.
std::vector<std::string> optionNames(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options()) {
    names.insert(names.end(), option->get_lnames().begin(),
                 option->get_lnames().end());
    names.insert(names.end(), option->get_snames().begin(),
                 option->get_snames().end());
  }
  for (const CLI::App *each : command.get_subcommands({}))
    if (each->get_name().empty())
      std::ranges::copy(optionNames(*each), std::back_inserter(names));
  return names;
}

std::vector<std::string> commandNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *each : app.get_subcommands({}))
    if (!each->get_name().empty())
      names.push_back(each->get_name());
  return names;
}

std::string didYouMean(const std::string &nearest) {
  return nearest.empty() ? "" : ", did you mean '" + nearest + "'?";
}

/// Returns the message for a word that `command` does not take.
std::string explainStray(const CLI::App &command, const std::string &word) {
  const bool isProgram = command.get_parent() == nullptr;
  std::string where = isProgram ? "" : command.get_name() + ": ";
  if (word.starts_with('-') && word.size() > 1)
    return where + unknownOption(word, optionNames(command));
  const std::vector<std::string> commands = commandNames(command);
  if (!commands.empty() && command.get_subcommands().empty())
    return "'" + word + "' is not a command of this program" +
           didYouMean(nearestName(word, commands));
  return where + "'" + word + "' is not an argument of this " +
         (isProgram ? "program" : "command");
}

/// Reports the first unknown word. The program's own options come before the
/// command.
std::optional<ExitNow> findStray(const CLI::App &app) {
  for (const CLI::App *command : {&app, &chosenCommand(app)})
    for (const std::string &word : command->remaining())
      if (word != "--")
        return wrongUsage(explainStray(*command, word), pathOf(*command));
  return std::nullopt;
}

} // namespace

std::string sluice::unknownOption(const std::string &word,
                                  std::span<const std::string> names) {
  const std::string spelling = word.substr(0, word.find('='));
  std::string bare = spelling;
  bare.erase(0, bare.find_first_not_of('-'));
  std::string nearest = nearestName(bare, names);
  if (!nearest.empty())
    nearest = (nearest.size() == 1 ? "-" : "--") + nearest;
  return "unknown option '" + spelling + "'" + didYouMean(nearest);
}

ExitNow sluice::wrongUsage(const std::string &message,
                           const std::string &command) {
  return {usageError, "", message + " (see " + command + " --help)"};
}

std::optional<ExitNow> sluice::parseArguments(CLI::App &app, int argc,
                                              const char *const *argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream out, ignored;
      app.exit(error, out, ignored);
      return ExitNow{0, out.str(), ""};
    }
    // Another error may only be a consequence of an unknown word.
    if (std::optional<ExitNow> stray = findStray(app))
      return stray;
    return wrongUsage(oneLine(error.what()), pathOf(chosenCommand(app)));
  }
}
