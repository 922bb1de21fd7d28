//===- ServeOptions.h - the options of a server ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_SERVEOPTIONS_H
#define SLUICE_RUNTIME_SERVE_SERVEOPTIONS_H

#include "runtime/base/Status.h"
#include "runtime/http/ServerOptions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::serve {

struct ServeOptions {
  /// A numeric address, or "localhost".
  std::string host = "127.0.0.1";
  uint16_t port = 8000; ///< 0: any free one

  std::string apiKeyFile;           ///< empty: no file
  std::vector<std::string> apiKeys; ///< in addition to those of the file
  std::string tlsCertificate;       ///< PEM files; both or none
  std::string tlsKey;
  std::vector<std::string> corsOrigins; ///< see CrossOrigin

  /// The names by which requests may call the model; if empty, ModelOptions'
  /// name.
  std::vector<std::string> modelNames;
  /// A file that replaces the model's chat template; if empty, none does.
  std::string chatTemplateFile;
  /// See ModelOptions.
  bool parsesSpecialInContent = false;

  /// The largest number of requests that wait for their first row, and
  /// separately of HTTP requests that wait to be read. Further ones get 429.
  int64_t maxQueue = 1024;
  /// The largest number of requests that run at once. The server only carries
  /// it to the engine.
  int64_t maxSequences = 16;
  int64_t maxBodyBytes = int64_t{32} << 20;
  int64_t maxHeldBytes = int64_t{512} << 20;
  int64_t maxHeaderBytes = int64_t{16} << 10;
  int64_t maxConnections = 2048;

  double requestTimeout = 0; ///< seconds from the arrival; 0: none
  /// Seconds until the first row; 0: none. For requests that have been read,
  /// the engine enforces it.
  double queueTimeout = 0;
  /// Seconds that running requests get to end when the server drains.
  double drainSeconds = 30;

  /// After how many seconds without progress /health fails; see StallLimits.
  double stallSeconds = 10;

  bool sharesAmongKeys = false; ///< see PrefixScopes
  bool page = true;             ///< whether to serve the web page
  bool logRequests = false;
  /// Threads of the work pool; see WorkPool.
  int threads = 2;

  /// Returns the options of the HTTP server, except `onRefusal`. Fails if a
  /// limit is out of range, or if only one of certificate and key is given.
  Expected<http::ServerOptions> httpOptions() const;
};

/// Adds the options to the command that starts a server. `options` must outlive
/// the parsing.
void addServeOptions(CLI::App &command, ServeOptions &options);

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SERVEOPTIONS_H
