//===- ApiServer.h - the OpenAI-compatible server -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serves a model over HTTP: the API of OpenAI, metrics and a web page.
// Endpoints.h lists the endpoints.
//
//   HeadEngine engine(failure("the model is being loaded"));
//   Expected<std::unique_ptr<ApiServer>> server =
//       ApiServer::create(options, modelOptions, version, engine);
//   Status started = (*server)->start();
//   engine.ready(headLoop, weights);
//   ... until a signal comes ...
//   (*server)->drain([] { return aSecondSignalCame(); });
//   headLoop.close();
//
// The server uses the threads of the HTTP server, those of the work pool
// (ServeOptions::threads), and one for the metrics, the log and /status/events.
// None of them computes anything of the model, and the engine waits for none.
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

/// Belongs to one thread; any thread may call url() and port().
class ApiServer {
public:
  /// Makes a server that listens; connections wait until start(). A model name
  /// or a template file in `options` replaces what `model` has. `engine` must
  /// outlive the server and need not be ready yet. Fails if an option is not
  /// valid, a file cannot be read, the address cannot be listened on, or a
  /// template does not compile.
  static Expected<std::unique_ptr<ApiServer>>
  create(const ServeOptions &options, openai::ModelOptions model,
         const std::string &version, ServingEngine &engine);
  /// Calls stop().
  ~ApiServer();
  ApiServer(const ApiServer &) = delete;
  ApiServer &operator=(const ApiServer &) = delete;

  /// Starts all threads. Fails if the system gives no threads.
  Status start();

  uint16_t port() const;
  /// Returns the URL of the server on this machine: "http://127.0.0.1:8000".
  std::string url() const;
  /// Returns messages that the user should see.
  const std::vector<std::string> &warnings() const;

  /// Ends the server gracefully. Refuses new requests (503, and /health says
  /// so) and waits until the running requests have ended, for at most
  /// ServeOptions::drainSeconds or until `hurry`, which is called every 50 ms,
  /// returns true. Requests that still run then end as cancelled, with an error
  /// for their clients. Finally calls stop().
  void drain(const std::function<bool()> &hurry);

  /// Ends all requests and connections. Blocks until the engine has reported
  /// the end of every request. May be called again.
  void stop();

private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_APISERVER_H
