//===- ServeFixture.h - a server over loopback, for tests -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_TEST_SERVEFIXTURE_H
#define SLUICE_RUNTIME_SERVE_TEST_SERVEFIXTURE_H

#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"
#include "runtime/serve/ApiServer.h"
#include "runtime/serve/test/FakeEngine.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::serve::test {

using http::test::ReadAnswer;
using http::test::TestClient;
using nlohmann::json;

/// Returns a tokenizer whose token i < 256 is byte i; 256 is <|end|>. Templates
/// can use <|user|> and <|assistant|>.
text::Tokenizer testTokenizer();
/// Renders "<|user|>Hello<|assistant|>" for a user's Hello.
extern const char *const testTemplate;
openai::ModelOptions testModel();

/// A server with a fake engine. Tests change `options`, then call start().
class ServeTest : public testing::Test {
protected:
  ServeTest();
  void start();

  /// Returns the answer to one request, sent on its own connection.
  ReadAnswer ask(const std::string &request);
  ReadAnswer get(const std::string &path, const std::string &fields = "");
  ReadAnswer post(const std::string &path, const json &body,
                  const std::string &fields = "");
  /// Sends a request without waiting for the answer.
  std::unique_ptr<TestClient> send(const std::string &path, const json &body,
                                   const std::string &fields = "");
  /// Returns the value of a metric, which is written as name{labels}, without
  /// model_name; "" if there is none.
  std::string metric(const std::string &sample);
  bool becomes(const std::string &sample, const std::string &value);

  FakeEngine engine; ///< outlives the server
  ServeOptions options;
  openai::ModelOptions model = testModel();
  std::unique_ptr<ApiServer> server;
};

/// Returns the JSON body of a complete answer; null if it is not JSON.
json bodyOf(const ReadAnswer &answer);
/// Returns the `error` of an answer, which must have all four members.
json errorOf(const ReadAnswer &answer);
/// Returns the data of a stream's events.
std::vector<std::string> eventsOf(const std::string &body);
/// Returns the text of choice `index` in a stream of completions.
std::string textOf(const std::vector<std::string> &events, int index = 0);

/// A field for requests with a JSON body.
inline const std::string jsonField = "Content-Type: application/json\r\n";

} // namespace sluice::serve::test

#endif // SLUICE_RUNTIME_SERVE_TEST_SERVEFIXTURE_H
