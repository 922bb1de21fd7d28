//===- ServeOptions.cpp - the options of a server -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/ServeOptions.h"

#include "runtime/base/OptionChecks.h"

#include <CLI/CLI.hpp>
#include <algorithm>

using namespace sluice;
using namespace sluice::serve;

static constexpr int64_t maxCount = 1 << 20;
static constexpr int64_t maxBodyLimit = int64_t{1} << 30;
static constexpr int64_t maxHeldLimit = int64_t{1} << 40;
static constexpr double maxSeconds = 365.0 * 24 * 3600;

Expected<http::ServerOptions> ServeOptions::httpOptions() const {
  http::ServerOptions http;
  http.address = host == "localhost" ? "127.0.0.1" : host;
  http.port = port;
  http.certificateFile = tlsCertificate;
  http.keyFile = tlsKey;
  http.connections = maxConnections;
  http.headerBytes = maxHeaderBytes;
  http.bodyBytes = maxBodyBytes;
  http.allBodyBytes = std::max(http.allBodyBytes, 2 * maxBodyBytes);
  http.allHeldBytes = maxHeldBytes;
  SLUICE_RETURN_IF_ERROR(http.check());
  return http;
}

static void addAddress(CLI::App &command, ServeOptions &options) {
  const char *group = "Address";
  addText(command, "--host", options.host, "ADDRESS",
          "Address to listen on: 0.0.0.0 and :: are all")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--port", options.port, "Port to listen on; 0: any free one")
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  addText(command, "--tls-cert", options.tlsCertificate, "FILE",
          "Certificate and its chain (PEM); the port then speaks TLS only")
      ->group(group);
  addText(command, "--tls-key", options.tlsKey, "FILE",
          "The certificate's key (PEM)")
      ->group(group);
  command.get_option("--tls-cert")->needs("--tls-key");
  command.get_option("--tls-key")->needs("--tls-cert");
}

/// Adds an option that can be given several times, each time with one value.
static CLI::Option *addRepeated(CLI::App &command, const char *name,
                                std::vector<std::string> &values,
                                const char *help) {
  return command.add_option(name, values, help)
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(false)
      ->check(notEmpty());
}

static void addAccess(CLI::App &command, ServeOptions &options) {
  const char *group = "Access";
  addText(command, "--api-key-file", options.apiKeyFile, "FILE",
          "Keys that requests must carry one of, one a line; without keys "
          "everybody may use the server")
      ->group(group);
  addRepeated(command, "--api-key", options.apiKeys,
              "A key; can be given several times. Other users of the machine "
              "can see it")
      ->type_name("KEY")
      ->envname("SLUICE_API_KEY")
      ->group(group);
  addChoice<bool>(
      command, "--share-prefixes", options.sharesAmongKeys,
      {{"key", false}, {"all", true}}, "WHOSE",
      "Whose requests share cached prefixes of prompts, and compiled "
      "grammars: those of one API key (key), or of all, who can then find "
      "out what others ask (all)")
      ->default_str("key")
      ->group(group);
  addRepeated(command, "--cors-origin", options.corsOrigins,
              "Let web pages of this origin use the server; * for all; can be "
              "given several times")
      ->type_name("ORIGIN")
      ->group(group);
  command
      .add_flag_callback(
          "--no-page", [&options] { options.page = false; },
          "Leave out the web page at /")
      ->group(group);
}

static void addModel(CLI::App &command, ServeOptions &options) {
  const char *group = "Model";
  addRepeated(command, "--served-model-name", options.modelNames,
              "What requests call the model; can be given several times")
      ->type_name("NAME")
      ->group(group);
  addText(command, "--chat-template", options.chatTemplateFile, "FILE",
          "A Jinja template to use instead of the model's")
      ->group(group);
  command
      .add_flag("--parse-special-in-content", options.parsesSpecialInContent,
                "What messages spell of special tokens becomes these tokens "
                "instead of text")
      ->group(group);
}

static void addLimits(CLI::App &command, ServeOptions &options) {
  const char *group = "Limits";
  auto add = [&](const char *name, auto &value, const char *type, auto low,
                 auto high, const char *help) {
    command.add_option(name, value, help)
        ->type_name(type)
        ->check(within(low, high))
        ->capture_default_str()
        ->group(group);
  };
  add("--max-num-seqs", options.maxSequences, "N", int64_t{1}, maxCount,
      "Requests that run at once");
  add("--max-queue", options.maxQueue, "N", int64_t{1}, maxCount,
      "Requests that wait; further ones are refused with 429");
  add("--queue-timeout", options.queueTimeout, "SECONDS", 0.0, maxSeconds,
      "How long a request waits at most, then 503; 0: as long as it takes");
  add("--request-timeout", options.requestTimeout, "SECONDS", 0.0, maxSeconds,
      "How long a request takes at most, then 504; 0: as long as it takes");
  add("--drain-seconds", options.drainSeconds, "SECONDS", 0.0, maxSeconds,
      "How long requests may go on after SIGTERM");
  add("--stall-seconds", options.stallSeconds, "SECONDS", 0.1, maxSeconds,
      "How long nothing may move that has work before /health says 503");
  add("--max-connections", options.maxConnections, "N", int64_t{1}, maxCount,
      "Open connections; a further one takes the place of one without a "
      "request, or gets 503");
  add("--max-body-bytes", options.maxBodyBytes, "N", int64_t{1}, maxBodyLimit,
      "Size of a request's body");
  add("--max-held-bytes", options.maxHeldBytes, "N", int64_t{1}, maxHeldLimit,
      "Size of the prompts and grammars of all requests that wait or run; no "
      "key, or address, has more than it leaves free");
  add("--max-header-bytes", options.maxHeaderBytes, "N", int64_t{256}, maxCount,
      "Size of a request's header");
  command.add_flag("--log-requests", options.logRequests,
                   "Write a line to standard error for each request");
}

void serve::addServeOptions(CLI::App &command, ServeOptions &options) {
  addAddress(command, options);
  addModel(command, options);
  addAccess(command, options);
  addLimits(command, options);
}
