//===- ServeOptions.h - how a server is asked for -------------------------===//
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

  std::string apiKeyFile;           ///< empty: none
  std::vector<std::string> apiKeys; ///< with those of the file
  std::string tlsCertificate;       ///< PEM files; both or none
  std::string tlsKey;
  std::vector<std::string> corsOrigins; ///< see CrossOrigin

  /// What requests may call the model; empty: as ModelOptions has it.
  std::vector<std::string> modelNames;
  /// A file that replaces the model's chat template; empty: none.
  std::string chatTemplateFile;
  /// See ModelOptions.
  bool parsesSpecialInContent = false;

  /// Requests that wait for their first row, and beside them HTTP requests that
  /// have not been read; further ones get 429.
  int64_t maxQueue = 1024;
  /// Requests that run at once. The engine's matter: the server only carries
  /// it.
  int64_t maxSequences = 16;
  int64_t maxBodyBytes = int64_t{32} << 20;
  int64_t maxHeaderBytes = int64_t{16} << 10;
  int64_t maxConnections = 2048;

  double requestTimeout = 0; ///< seconds from the arrival; 0: none
  double queueTimeout = 0;   ///< seconds to the first row; 0: none. Of those
                             ///< that have been read the engine's matter
  double drainSeconds = 30;  ///< that requests may go on when the server ends

  /// After how long without progress /health says so; see StallLimits.
  double stallSeconds = 10;

  bool sharesAmongKeys = false; ///< see PrefixScopes
  bool page = true;             ///< GET / and what belongs to it
  bool logRequests = false;
  /// Threads between the server's and the head's; see WorkPool.
  int threads = 2;

  /// Those of the HTTP server, but for `onRefusal`. Errors: a limit out of its
  /// range, a certificate without a key.
  Expected<http::ServerOptions> httpOptions() const;
};

/// Adds them to the command that starts a server. `options` outlives the
/// parsing.
void addServeOptions(CLI::App &command, ServeOptions &options);

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SERVEOPTIONS_H
