//===- ToolCommandLine.cpp - the command lines of the tools ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ToolCommandLine.h"

#include "runtime/base/InputFiles.h"
#include "runtime/base/ParseArguments.h"
#include "runtime/base/WrapText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <deque>
#include <vector>

using namespace sluice;
namespace cl = llvm::cl;

std::string sluice::versionOf(llvm::StringRef tool) {
  return (tool + " " SLUICE_VERSION ", LLVM " LLVM_VERSION_STRING).str();
}

void sluice::setVersion(llvm::StringRef tool) {
  cl::SetVersionPrinter([text = versionOf(tool)](llvm::raw_ostream &out) {
    out << text << '\n';
  });
}

void sluice::wrapHelp() {
  // LLVM puts " - " before an option's text, and aligns its lines by itself.
  constexpr size_t separator = 3;
  static std::deque<std::string> texts; // options keep references
  size_t width = 0;
  for (auto [name, option] : cl::getRegisteredOptions())
    if (option->getOptionHiddenFlag() == cl::NotHidden)
      width = std::max(width, option->getOptionWidth());
  for (auto [name, option] : cl::getRegisteredOptions())
    option->setDescription(texts.emplace_back(
        wrapText(option->HelpStr, helpColumns - width - separator)));
}

/// Returns the options that --help shows, in alphabetical order.
static std::vector<std::string> shownOptions() {
  std::vector<std::string> names;
  for (auto [name, option] : cl::getRegisteredOptions())
    if (option->getOptionHiddenFlag() == cl::NotHidden)
      names.push_back(name.str());
  llvm::sort(names);
  return names;
}

/// Fails on the first word that is neither an option or its value nor a
/// positional argument. LLVM would report every such word, some of them in
/// several lines, and would not name those that are no options. The content of
/// response files is left to LLVM.
static Status findStrayWord(int argc, char **argv) {
  auto &options = cl::getRegisteredOptions();
  size_t positional = cl::SubCommand::getTopLevel().PositionalOpts.size();
  bool isBehindDashes = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word.starts_with("@"))
      return {};
    if (!isBehindDashes && word == "--") {
      isBehindDashes = true;
      continue;
    }
    if (isBehindDashes || !word.starts_with("-") || word == "-") {
      if (positional == 0)
        return failure("'", word.str(), "' is not an argument of this program");
      --positional;
      continue;
    }
    auto [name, value] = word.ltrim('-').split('=');
    const cl::Option *option = options.lookup(name);
    if (!option)
      return failure(unknownOption(word.str(), shownOptions()));
    if (option->getValueExpectedFlag() == cl::ValueRequired &&
        !word.contains('='))
      ++i;
  }
  return {};
}

bool sluice::parseCommandLine(llvm::StringRef tool, int argc, char **argv,
                              llvm::StringRef overview) {
  auto refuse = [&](const std::string &reason) {
    complain(tool, Status::error(wrongUsage(reason, tool.str()).error));
    return false;
  };
  if (Status status = findStrayWord(argc, argv); !status.ok())
    return refuse(status.message());
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    return true;
  // LLVM has reported wrong values already. Of its other errors only the first
  // line is reported, without the tool's name.
  llvm::StringRef line = llvm::StringRef(message).ltrim().split('\n').first;
  line.consume_front(tool);
  line.consume_front(": ");
  return line.empty() ? false : refuse(line.str());
}

void sluice::shortenDiagnostics() {
  cl::Option *option =
      cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  assert(option && "registerMLIRContextCLOptions() has not been called");
  static_cast<cl::opt<bool> *>(option)->setInitialValue(false);
}

Status sluice::checkOutput(int argc, char **argv) {
  std::string output;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (llvm::StringRef name = word.ltrim('-');
        word.starts_with("-") && (name == "o" || name.starts_with("o="))) {
      output = name == "o" && i + 1 < argc ? argv[++i] : name.drop_front(2);
      continue;
    }
    noteInput(word.str());
    llvm::SmallVector<llvm::StringRef> pieces;
    llvm::SplitString(word, pieces, "= ,{}\"'");
    for (llvm::StringRef piece : pieces)
      noteInput(piece.str());
  }
  return output == "-" ? Status() : checkIsNoInput(output);
}

int sluice::complain(llvm::StringRef tool, const Status &status, int exitCode) {
  llvm::errs() << tool << ": error: " << status.message() << '\n';
  return exitCode;
}
