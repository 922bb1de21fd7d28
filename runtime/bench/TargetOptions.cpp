//===- TargetOptions.cpp - the options of a benchmark of a server ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/TargetOptions.h"

#include "runtime/base/OptionChecks.h"
#include "runtime/base/ReadFile.h"

#include <CLI/CLI.hpp>

using namespace sluice;
using namespace sluice::bench;

namespace {

constexpr size_t maxKeyBytes = 4096;
constexpr size_t maxFileBytes = size_t{1} << 20;

void addServer(CLI::App &command, HttpOptions &http) {
  const char *group = "Server";
  auto add = [&](const char *name, std::string &value, const char *type,
                 const char *help) {
    return addText(command, name, value, type, help)->group(group);
  };
  addText(command, "URL", http.url, "URL",
          "A server with the OpenAI API, as http://127.0.0.1:8081")
      ->required();
  add("--model", http.api.model, "NAME", "Default: the server's first");
  CLI::Option *key =
      add("--api-key", http.apiKey, "KEY",
          "Sent as a bearer token; others can see it in the list of processes");
  // settleTargetOptions() reads the file.
  command.add_option("--api-key-file", "The same, the first line of a file")
      ->type_name("FILE")
      ->check(notEmpty())
      ->group(group)
      ->excludes(key);
  add("--ca-file", http.caFile, "FILE",
      "Certificates to trust, instead of the system's");
  addChoice<BenchEndpoint>(command, "--endpoint", http.api.endpoint,
                           {{"completions", BenchEndpoint::Completions},
                            {"chat", BenchEndpoint::Chat}},
                           "NAME", "completions, the default, or chat")
      ->group(group);
}

Status checkPrompt(const CLI::App &command, TargetOptions &options) {
  if (options.http.api.endpoint != BenchEndpoint::Chat)
    return {};
  PromptForm &form = options.bench.prompt.form;
  if (command.count("--prompt-form") > 0 && form == PromptForm::Tokens)
    return failure("--prompt-form tokens: not with --endpoint chat");
  form = PromptForm::Text;
  return {};
}

Status readKeyFile(const std::string &path, std::string &key) {
  Expected<std::string> file = readFile(path, maxFileBytes);
  if (!file)
    return file.status().withContext(path);
  std::string_view text = *file;
  text = text.substr(0, text.find_first_of("\r\n"));
  if (text.empty() || text.size() > maxKeyBytes)
    return failure(path, ": its first line is not a key of 1 to ", maxKeyBytes,
                   " bytes");
  key = text;
  return {};
}

/// Returns what the report says of the server.
std::vector<std::pair<std::string, std::string>>
targetOf(const HttpOptions &http) {
  std::vector<std::pair<std::string, std::string>> target = {{"url", http.url}};
  if (!http.api.model.empty())
    target.emplace_back("model", http.api.model);
  target.emplace_back("endpoint", http.api.endpoint == BenchEndpoint::Chat
                                      ? "chat"
                                      : "completions");
  return target;
}

} // namespace

void bench::addTargetOptions(CLI::App &command, TargetOptions &options) {
  addServer(command, options.http);
  addBenchOptions(command, options.bench);
}

Status bench::settleTargetOptions(const CLI::App &command,
                                  TargetOptions &options) {
  SLUICE_RETURN_IF_ERROR(checkPrompt(command, options));
  SLUICE_RETURN_IF_ERROR(settleBenchOptions(command, options.bench));
  options.http.api.temperature = options.bench.temperature;
  options.bench.target = targetOf(options.http);
  if (command.count("--api-key-file") > 0)
    return readKeyFile(command.get_option("--api-key-file")->as<std::string>(),
                       options.http.apiKey);
  return {};
}
