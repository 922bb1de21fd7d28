//===- AccessTest.cpp - keys, and pages of other origins ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/ApiKeys.h"
#include "runtime/serve/CrossOrigin.h"
#include "runtime/serve/test/ServeFixture.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

namespace {

class AccessTest : public ServeTest {
protected:
  /// Returns the path of a file that is deleted after the test.
  std::string file(const std::string &text, mode_t mode = 0600) {
    std::string path = testing::TempDir() + "sluice-keys-" +
                       std::to_string(::getpid()) + '-' +
                       std::to_string(paths.size());
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms(mode));
    paths.push_back(path);
    return path;
  }
  ~AccessTest() override {
    for (const std::string &path : paths)
      std::remove(path.c_str());
  }

private:
  std::vector<std::string> paths;
};

std::optional<size_t> find(const ApiKeys &keys, const std::string &value) {
  return keys.find(&value);
}

} // namespace

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

TEST_F(AccessTest, FilesHaveAKeyALine) {
  ApiKeys keys;
  std::string warning;
  EXPECT_FALSE(keys.required());
  ASSERT_TRUE(
      keys.addFile(file("# who\n\n  one \r\n\t# more\ntwo"), &warning).ok());
  EXPECT_EQ(warning, "");
  EXPECT_TRUE(keys.required());
  EXPECT_FALSE(keys.find(nullptr));
  EXPECT_EQ(find(keys, "Bearer one"), 0u);
  EXPECT_EQ(find(keys, "bearer   two"), 1u);
  for (const char *value :
       {"", "Bearer", "Bearer ", "one", "Basic one", "Bearer on", "Bearer onee",
        "Bearer one two", "Bearer # who", "Bearerone"})
    EXPECT_FALSE(find(keys, value)) << value;
}

TEST_F(AccessTest, BadKeyFilesSayWhatIsWrong) {
  auto problem = [&](const std::string &path) {
    ApiKeys keys;
    std::string warning;
    Status status = keys.addFile(path, &warning);
    EXPECT_FALSE(status.ok());
    std::string text = status.message();
    size_t at = text.find(path);
    return at == text.npos ? text : text.replace(at, path.size(), "FILE");
  };
  EXPECT_EQ(problem("/nowhere"),
            "API key file 'FILE': cannot open: No such file or directory");
  EXPECT_EQ(problem(file("# none\n")), "API key file 'FILE': has no key");
  // The error names the line and not the key.
  EXPECT_EQ(problem(file("ok\nse cret\n")),
            "API key file 'FILE': line 2: behind the key there is something "
            "other than 'priority=', 'weight=' and 'max-running='");
  EXPECT_EQ(problem(file("ok\nse\x7f"
                         "cret\n")),
            "API key file 'FILE': line 2: an API key has a character that is "
            "not visible ASCII");
  EXPECT_EQ(problem(file(std::string(513, 'x'))),
            "API key file 'FILE': line 1: an API key is longer than 512 bytes");
  EXPECT_EQ(problem(testing::TempDir()),
            "API key file 'FILE': cannot read: Is a directory");
}

TEST_F(AccessTest, AFileThatOthersCanReadIsWarnedOf) {
  ApiKeys keys;
  std::string warning;
  EXPECT_TRUE(keys.addFile(file("one", 0644), &warning).ok());
  EXPECT_NE(warning.find("can be read by others"), warning.npos);
}

TEST_F(AccessTest, OneKeysRequestsAreNotThereForAnother) {
  options.apiKeys = {"one", "two"};
  start();
  auto with = [](const std::string &key) {
    return "Authorization: Bearer " + key + "\r\n";
  };
  auto running = send("/v1/completions", {{"prompt", "p"}},
                      with("one") + "X-Request-Id: mine\r\n");
  ASSERT_TRUE(engine.wait(0));
  // Another key may use the same id.
  auto others = send("/v1/completions", {{"prompt", "p"}},
                     with("two") + "X-Request-Id: mine\r\n");
  ASSERT_TRUE(engine.wait(1));
  engine.end(1, FinishReason::Stop);
  EXPECT_EQ(others->read().status, 200);
  const json mine = {{"request_id", "mine"}};
  EXPECT_EQ(post("/abort_request", mine, with("two")).status, 404);
  EXPECT_FALSE(engine.finished(0));
  EXPECT_EQ(post("/abort_request", mine, with("one")).status, 200);
  EXPECT_EQ(running->read().status, 499);
}

/// Priorities are limited to those of the key; the engine applies the other
/// terms.
TEST_F(AccessTest, AKeysTermsStandBehindIt) {
  engine.answerAll("ok");
  options.apiKeyFile =
      file("one weight=2.5 max-running=3 priority=-5..7\ntwo\n");
  start();
  auto ask = [&](const std::string &key, int priority) {
    return post("/v1/completions", {{"prompt", "p"}, {"priority", priority}},
                "Authorization: Bearer " + key + "\r\n");
  };
  EXPECT_EQ(ask("one", -5).status, 200);
  EXPECT_EQ(ask("two", -1000).status, 200);
  const ScheduledRequest &one = engine.request(0), &two = engine.request(1);
  EXPECT_EQ(one.terms.weight, 2.5);
  EXPECT_EQ(one.terms.maxRunning, 3);
  EXPECT_EQ(two.terms.weight, 1);
  EXPECT_EQ(two.terms.maxRunning, 0);
  EXPECT_NE(one.spec.tenant, two.spec.tenant);
  EXPECT_NE(one.spec.tenant, 0u);
  ReadAnswer refused = ask("one", -6);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(errorOf(refused)["param"], "priority");
  EXPECT_EQ(errorOf(refused)["message"],
            "'priority' is -6, and with this key it can be -5 to 7");
}

TEST_F(AccessTest, TermsThatAreNoneAreRefused) {
  auto problem = [&](const std::string &line) {
    ApiKeys keys;
    std::string warning;
    std::string message =
        keys.addFile(file("one\n" + line), &warning).message();
    size_t at = message.find("line 2: ");
    return at == message.npos ? message : message.substr(at + 8);
  };
  EXPECT_EQ(problem("two\tpriority=3 weight=0.5"), "");
  for (const char *priority : {"", "x", "1..", "2..1", "-1001", "0..1001"})
    EXPECT_EQ(problem("two priority=" + std::string(priority)),
              "'priority' is not LOW..HIGH within -1000..1000")
        << priority;
  for (const char *weight : {"", "0", "-1", "nan", "1e9", "1x"})
    EXPECT_EQ(problem("two weight=" + std::string(weight)),
              "'weight' is not a number from 0.001 to 1000")
        << weight;
  for (const char *number : {"", "0", "-1", "1.5"})
    EXPECT_EQ(problem("two max-running=" + std::string(number)),
              "'max-running' is not a number above 0")
        << number;
  EXPECT_EQ(problem("two secret"),
            "behind the key there is something other than 'priority=', "
            "'weight=' and 'max-running='");
}

/// A client that shares prefixes with another could find out what that one has
/// asked.
TEST_F(AccessTest, KeysAndSaltsShareNoPrefixes) {
  engine.answerAll("ok");
  options.apiKeys = {"one", "two"};
  start();
  auto scopeOf = [&](const std::string &key, const json &body) {
    size_t index = engine.submitted();
    EXPECT_EQ(
        post("/v1/completions", body, "Authorization: Bearer " + key + "\r\n")
            .status,
        200);
    return engine.request(index).spec.prefixScope;
  };
  const json plain = {{"prompt", "p"}};
  const json salted = {{"prompt", "p"}, {"cache_salt", "s"}};
  const uint64_t own = scopeOf("one", plain);
  EXPECT_EQ(scopeOf("one", plain), own);
  EXPECT_NE(scopeOf("two", plain), own);
  EXPECT_NE(scopeOf("one", salted), own);
  EXPECT_EQ(scopeOf("one", salted), scopeOf("one", salted));
  EXPECT_NE(scopeOf("two", salted), scopeOf("one", salted));
}

TEST_F(AccessTest, KeysOfOneTenantShareAllThatIsCached) {
  engine.answerAll("ok");
  options.apiKeys = {"one", "two"};
  options.sharesAmongKeys = true;
  start();
  for (const char *key : {"one", "two"})
    post("/v1/completions", {{"prompt", "p"}, {"grammar", "root ::= \"ok\""}},
         std::string("Authorization: Bearer ") + key + "\r\n");
  ASSERT_EQ(engine.submitted(), 2u);
  const RequestSpec one = engine.request(0).spec, two = engine.request(1).spec;
  EXPECT_EQ(one.prefixScope, two.prefixScope);
  EXPECT_EQ(one.grammar, two.grammar);
  EXPECT_NE(one.tenant, two.tenant); // their shares are their own
}

TEST_F(AccessTest, KeysShareNoGrammars) {
  engine.answerAll("ok");
  options.apiKeys = {"one", "two"};
  start();
  auto scopeOf = [&](const std::string &key, const std::string &endpoint,
                     json body) {
    size_t index = engine.submitted();
    EXPECT_EQ(
        post(endpoint, body, "Authorization: Bearer " + key + "\r\n").status,
        200);
    return engine.request(index).spec.grammar.scope;
  };
  const json gbnf = {{"prompt", "p"}, {"grammar", "root ::= \"ok\""}};
  const json chat = {{"messages", {{{"role", "user"}, {"content", "c"}}}},
                     {"response_format", {{"type", "json_object"}}}};
  const json schema = {{"prompt", "p"}, {"json_schema", {{"const", 1}}}};
  const uint64_t own = scopeOf("one", "/v1/completions", gbnf);
  EXPECT_NE(own, 0u);
  EXPECT_EQ(scopeOf("one", "/v1/completions", schema), own);
  EXPECT_NE(scopeOf("two", "/v1/completions", gbnf), own);
  // In this one is nothing of a user.
  EXPECT_EQ(scopeOf("one", "/v1/chat/completions", chat), 0u);
}

/// It also reads no body of a request to an unknown path.
TEST_F(AccessTest, WhoHasNoKeyDoesNotMakeTheServerReadABody) {
  options.apiKeys = {"one"};
  start();
  auto statusOf = [&](const std::string &line, const std::string &fields) {
    TestClient client(server->port());
    client.send(line + " HTTP/1.1\r\nHost: localhost\r\n" + fields +
                "Content-Type: application/json\r\n"
                "Content-Length: 1000000\r\n\r\n{");
    return client.read().status;
  };
  const std::string key = "Authorization: Bearer one\r\n";
  EXPECT_EQ(statusOf("POST /v1/completions", ""), 401);
  EXPECT_EQ(statusOf("POST /nothing", key), 404);
  EXPECT_EQ(statusOf("PUT /v1/completions", key), 405);
}

TEST_F(AccessTest, RequestsNeedAKeyWhereThereAreSome) {
  engine.answerAll("ok");
  options.apiKeyFile = file("one\n");
  options.apiKeys = {"two"};
  start();
  json body = {{"prompt", "p"}};
  for (const char *fields : {"", "Authorization: Bearer three\r\n"}) {
    for (const char *path :
         {"/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize",
          "/v1/embeddings", "/abort_request", "/nothing"}) {
      ReadAnswer answer = post(path, body, fields);
      EXPECT_EQ(answer.status, 401) << path;
      EXPECT_EQ(answer.field("WWW-Authenticate"), "Bearer realm=\"sluice\"");
      EXPECT_EQ(errorOf(answer)["type"], "authentication_error");
    }
    for (const char *path : {"/v1/models", "/v1/models/demo", "/status/events"})
      EXPECT_EQ(get(path, fields).status, 401) << path;
  }
  EXPECT_EQ(engine.submitted(), 0u);
  for (const char *key : {"one", "two"})
    EXPECT_EQ(post("/v1/completions", body,
                   "Authorization: Bearer " + std::string(key) + "\r\n")
                  .status,
              200);
  // Probes, metrics collectors and browsers ask for these.
  for (const char *path :
       {"/health", "/version", "/metrics", "/", "/page.js", "/page.css"})
    EXPECT_EQ(get(path).status, 200) << path;
}

TEST_F(AccessTest, AnOpenServerWithoutKeysIsWarnedOf) {
  options.host = "0.0.0.0";
  start();
  ASSERT_EQ(server->warnings().size(), 1u);
  EXPECT_EQ(server->warnings()[0], "everybody who reaches 0.0.0.0 may use the "
                                   "server: there is no API key");
  EXPECT_EQ(server->url(),
            "http://127.0.0.1:" + std::to_string(server->port()));
}

//===----------------------------------------------------------------------===//
// Pages of other origins
//===----------------------------------------------------------------------===//

static const std::string fromPage = "Origin: https://page.example\r\n";
static const std::string asksFirst =
    fromPage + "Access-Control-Request-Method: POST\r\n"
               "Access-Control-Request-Headers: authorization\r\n";

static std::string preflight(const std::string &fields) {
  return "OPTIONS /v1/completions HTTP/1.1\r\nHost: localhost\r\n" + fields +
         "\r\n";
}

TEST_F(AccessTest, WithoutOriginsNothingIsSaid) {
  start();
  EXPECT_EQ(get("/health", fromPage).field("Access-Control-Allow-Origin"), "");
  ReadAnswer answer = ask(preflight(asksFirst));
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.field("Access-Control-Allow-Origin"), "");
}

TEST_F(AccessTest, ListedOriginsMayAskAndRead) {
  options.corsOrigins = {"https://other.example", "https://page.example"};
  options.apiKeys = {"one"};
  start();
  ReadAnswer answer = ask(preflight(asksFirst)); // a preflight carries no key
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.field("Access-Control-Allow-Origin"),
            "https://page.example");
  EXPECT_EQ(answer.field("Access-Control-Allow-Methods"), "GET, POST");
  EXPECT_EQ(answer.field("Access-Control-Allow-Headers"), "authorization");
  EXPECT_EQ(answer.field("Access-Control-Allow-Credentials"), "");
  EXPECT_EQ(answer.field("Vary"), "Origin");
  // Errors also need permission, or the page could not show them.
  ReadAnswer refused = get("/v1/models", fromPage);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.field("Access-Control-Allow-Origin"),
            "https://page.example");
}

/// Clients in browsers send fields of their own; OpenAI's sends about ten.
TEST_F(AccessTest, PagesMaySendWhatTheyAskFor) {
  options.corsOrigins = {"https://page.example"};
  start();
  auto allowed = [&](const std::string &asked) {
    ReadAnswer answer = ask(preflight(
        fromPage + "Access-Control-Request-Method: POST\r\n" + asked));
    EXPECT_EQ(answer.status, 204);
    return answer.field("Access-Control-Allow-Headers");
  };
  const std::string name = "Access-Control-Request-Headers: ";
  EXPECT_EQ(allowed(name + "authorization,content-type,openai-organization,"
                           "openai-project,x-request-id,x-stainless-arch,"
                           "x-stainless-lang,x-stainless-retry-count\r\n"),
            "authorization, content-type, openai-organization, "
            "openai-project, x-request-id, x-stainless-arch, "
            "x-stainless-lang, x-stainless-retry-count");
  EXPECT_EQ(allowed(name + " a , b \r\n"), "a, b");
  // Without a valid list, or with one that is too long, the usual names are
  // allowed.
  std::string tooLong;
  for (int i = 0; i < 300; ++i)
    tooLong += "x-name-" + std::to_string(i) + ',';
  const std::string usual = "Authorization, Content-Type, X-Request-Id";
  for (const std::string &asked :
       {std::string(), name + "\r\n", name + "a b\r\n", name + "a, b;c\r\n",
        name + "a(\r\n", name + tooLong + "z\r\n"})
    EXPECT_EQ(allowed(asked), usual) << asked;
}

TEST_F(AccessTest, OtherOriginsMayNot) {
  options.corsOrigins = {"https://other.example"};
  start();
  ReadAnswer answer = ask(preflight(asksFirst));
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.field("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(answer.field("Access-Control-Allow-Methods"), "");
  EXPECT_EQ(get("/health", fromPage).field("Vary"), "Origin");
}

TEST_F(AccessTest, AllOriginsMay) {
  options.corsOrigins = {"*"};
  start();
  EXPECT_EQ(get("/health", fromPage).field("Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(get("/health").field("Access-Control-Allow-Origin"), "*");
}

TEST_F(AccessTest, WhatIsNoOriginIsRefused) {
  for (const char *origin :
       {"", "example.org", "https://", "https://example.org/",
        "https://Example.org", "https://a b", "://x", "https://a,https://b"})
    EXPECT_FALSE(CrossOrigin::create({origin}).ok()) << origin;
  EXPECT_TRUE(CrossOrigin::create({"http://localhost:3000"}).ok());
}

/// A request that is answered with 431 has no known origin.
TEST_F(AccessTest, WhereAllMayTheyMayReadWhatCouldNotBeRead) {
  options.corsOrigins = {"*"};
  start();
  std::string many;
  for (int i = 0; i < 200; ++i)
    many += "X-" + std::to_string(i) + ": 1\r\n";
  ReadAnswer answer = get("/health", many + fromPage);
  EXPECT_EQ(answer.status, 431);
  EXPECT_EQ(answer.field("Access-Control-Allow-Origin"), "*");
}

//===----------------------------------------------------------------------===//
// Names of the server
//===----------------------------------------------------------------------===//

static std::string asHost(const std::string &host) {
  return "GET /health HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}

/// The owner of a page can let the page's name point to this machine.
TEST_F(AccessTest, ALocalServerHasLocalNamesOnly) {
  start();
  for (const char *host : {"localhost", "LocalHost:8000", "127.0.0.1:8000",
                           "127.1.2.3", "[::1]", "[::1]:8000"})
    EXPECT_EQ(ask(asHost(host)).status, 200) << host;
  for (const char *host :
       {"evil.example", "evil.example:8000", "127.0.0.1.evil.example",
        "127.evil.example", "localhost.evil.example", "[::2]", "10.0.0.1"}) {
    ReadAnswer answer = ask(asHost(host));
    EXPECT_EQ(answer.status, 403) << host;
    EXPECT_EQ(errorOf(answer)["type"], "permission_error");
  }
  EXPECT_EQ(ask("GET /health HTTP/1.0\r\n\r\n").status, 200);
}

TEST_F(AccessTest, WithKeysOrOpenlyAnyNameWillDo) {
  options.apiKeys = {"one"};
  start();
  EXPECT_EQ(ask(asHost("example.org")).status, 200);
  options.apiKeys.clear();
  options.host = "0.0.0.0";
  start();
  EXPECT_EQ(ask(asHost("example.org")).status, 200);
}
