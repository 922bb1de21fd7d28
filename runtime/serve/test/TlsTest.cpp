//===- TlsTest.cpp - the server under TLS ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestCertificate.h"
#include "runtime/serve/test/ServeFixture.h"

#include <filesystem>

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

namespace {

class TlsTest : public ServeTest {
protected:
  TlsTest() {
    std::string name = testing::TempDir() + "sluice-serve-tls-XXXXXX";
    folder = ::mkdtemp(name.data());
    http::test::makeCertificate(folder, "a");
    options.tlsCertificate = folder + "/a.crt";
    options.tlsKey = folder + "/a.key";
  }
  ~TlsTest() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

} // namespace

TEST_F(TlsTest, AnswersAndStreams) {
  engine.answerAll("some text");
  options.apiKeys = {"one"};
  start();
  EXPECT_EQ(server->url(),
            "https://127.0.0.1:" + std::to_string(server->port()));
  TestClient client(server->port(), /*usesTls=*/true);
  ASSERT_TRUE(client.connected());
  const std::string fields = jsonField + "Authorization: Bearer one\r\n";
  json body = {{"prompt", "p"}};
  client.send(http::test::post("/v1/completions", body.dump(), fields));
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(bodyOf(answer)["choices"][0]["text"], "some text");
  body["stream"] = true;
  client.send(http::test::post("/v1/completions", body.dump(), fields));
  answer = client.read();
  EXPECT_TRUE(answer.complete);
  std::vector<std::string> events = eventsOf(answer.body);
  EXPECT_EQ(textOf(events), "some text");
  EXPECT_EQ(events.back(), "[DONE]");
  client.send(http::test::post("/v1/completions", body.dump(), jsonField));
  EXPECT_EQ(client.read().status, 401);
}

TEST_F(TlsTest, AClientThatLeavesEndsItsRequest) {
  start();
  {
    TestClient client(server->port(), /*usesTls=*/true);
    client.send(http::test::post(
        "/v1/completions", R"({"prompt": "p", "stream": true})", jsonField));
    ASSERT_TRUE(engine.wait(0));
    engine.tell(0, "some");
    client.readUntil("\n\n");
  }
  EXPECT_TRUE(http::test::eventually([&] { return engine.open() == 0; }));
  EXPECT_EQ(engine.finished(0), FinishReason::Cancelled);
}

/// The answer is in the API's format, and counted.
TEST_F(TlsTest, PlainHttpIsToldSo) {
  start();
  ReadAnswer answer = get("/health");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(errorOf(answer)["message"],
            "plain HTTP was sent to a port that speaks TLS; use https");
  TestClient client(server->port(), /*usesTls=*/true);
  client.send(http::test::get("/metrics"));
  EXPECT_NE(client.read().body.find("code=\"400\"} 1\n"), std::string::npos);
}

TEST_F(TlsTest, AFileThatIsNoCertificateIsNamed) {
  options.tlsCertificate = options.tlsKey;
  auto made = ApiServer::create(options, model, "1", engine);
  ASSERT_FALSE(made);
  EXPECT_NE(made.status().message().find("certificate '" + options.tlsKey),
            std::string::npos)
      << made.status().message();
}
