//===- ApiServer.h - the OpenAI-compatible server -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serves a model over HTTP: the API of OpenAI, metrics, a web page. Endpoints.h
// says what is where.
//
//   HeadEngine engine(headLoop);
//   Expected<std::unique_ptr<ApiServer>> server =
//       ApiServer::create(options, modelOptions, version, engine);
//   Status started = (*server)->start();
//   engine.ready();
//   ... until a signal comes ...
//   (*server)->drain([] { return aSecondSignalCame(); });
//   headLoop.close();
//
// Threads: the HTTP server's, those of the pool (ServeOptions::threads), and
// one that looks after the metrics, the log and /status/events. None of them
// computes anything of the model, and the engine waits for none.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_APISERVER_H
#define SLUICE_RUNTIME_SERVE_APISERVER_H

#include "runtime/openai/Model.h"
#include "runtime/serve/ServeOptions.h"
#include "runtime/serve/ServingEngine.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::serve {

/// Belongs to one thread; url() and port() may be asked by any.
class ApiServer {
public:
  /// Listens; connections wait until start(). Where the options name the model
  /// or a template file, that replaces what `model` has. `engine` outlives the
  /// server; it need not be ready. Errors: an option that is not valid, a file
  /// that cannot be read, an address that cannot be listened on, a template
  /// that does not compile.
  static Expected<std::unique_ptr<ApiServer>>
  create(const ServeOptions &options, openai::ModelOptions model,
         const std::string &version, ServingEngine &engine);
  /// stop().
  ~ApiServer();
  ApiServer(const ApiServer &) = delete;
  ApiServer &operator=(const ApiServer &) = delete;

  /// Errors: there are no threads to be had.
  Status start();

  uint16_t port() const;
  /// Where it can be reached from this machine: "http://127.0.0.1:8000".
  std::string url() const;
  /// What the user should know: lines for people.
  const std::vector<std::string> &warnings() const;

  /// Takes no new requests (503, and /health says so) and waits until those
  /// that are under way have ended, for ServeOptions::drainSeconds at most or
  /// until `hurry` is true, which is asked every 50 ms. What is left then ends
  /// as cancelled, with an error for its client. Then stop().
  void drain(const std::function<bool()> &hurry);

  /// Ends what is under way and all connections. Waits until the engine has
  /// told the ends of all requests. May be called again.
  void stop();

private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_APISERVER_H
