//===- ServeFixture.cpp - a server over loopback, for tests ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/test/ServeFixture.h"

#include "runtime/text/ByteAlphabet.h"

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

const char *const test::testTemplate =
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

text::Tokenizer test::testTokenizer() {
  text::TokenizerSpec spec;
  for (int byte = 0; byte < 256; ++byte)
    spec.tokens.push_back(
        {std::string(text::byteSpelling(static_cast<uint8_t>(byte)))});
  for (const char *name : {"<|end|>", "<|user|>", "<|assistant|>"}) {
    spec.tokens.push_back({name, 0, text::TokenType::Control});
    spec.addedTokens.push_back(
        {.id = static_cast<int32_t>(spec.tokens.size() - 1), .special = true});
  }
  spec.endOfText = {256};
  spec.preTokenizer = {{.kind = text::PreTokenizerStep::Kind::ByteLevel}};
  spec.decoder = {{.kind = text::DecoderStep::Kind::ByteLevel}};
  Expected<text::Tokenizer> tokenizer = text::Tokenizer::create(spec);
  EXPECT_TRUE(tokenizer) << tokenizer.status().message();
  return tokenizer.take();
}

openai::ModelOptions test::testModel() {
  openai::ModelOptions model{.names = {"demo"}, .tokenizer = testTokenizer()};
  model.vocabularySize = 259;
  model.contextLength = 4096;
  model.chatTemplate = testTemplate;
  model.created = 1700000000;
  return model;
}

ServeTest::ServeTest() { options.port = 0; }

void ServeTest::start() {
  auto made = ApiServer::create(options, model, "1.2.3", engine);
  ASSERT_TRUE(made) << made.status().message();
  server = made.take();
  Status started = server->start();
  ASSERT_TRUE(started.ok()) << started.message();
}

ReadAnswer ServeTest::ask(const std::string &request) {
  TestClient client(server->port());
  client.send(request);
  return client.read(request.starts_with("HEAD"));
}

ReadAnswer ServeTest::get(const std::string &path, const std::string &fields) {
  return ask(http::test::get(path, fields));
}

ReadAnswer ServeTest::post(const std::string &path, const json &body,
                           const std::string &fields) {
  return ask(http::test::post(path, body.dump(), jsonField + fields));
}

std::unique_ptr<TestClient> ServeTest::send(const std::string &path,
                                            const json &body,
                                            const std::string &fields) {
  auto client = std::make_unique<TestClient>(server->port());
  client->send(http::test::post(path, body.dump(), jsonField + fields));
  return client;
}

std::string ServeTest::metric(const std::string &sample) {
  std::string text = '\n' + get("/metrics").body;
  std::string name = sample.substr(0, sample.find('{'));
  std::string labels = "model_name=\"" + model.names.front() + '"';
  if (name != sample)
    labels +=
        ',' + sample.substr(name.size() + 1, sample.size() - name.size() - 2);
  std::string line = '\n' + name + '{' + labels + "} ";
  size_t at = text.find(line);
  if (at == text.npos)
    return "";
  at += line.size();
  return text.substr(at, text.find('\n', at) - at);
}

bool ServeTest::becomes(const std::string &sample, const std::string &value) {
  return http::test::eventually([&] { return metric(sample) == value; });
}

json test::bodyOf(const ReadAnswer &answer) {
  json body = json::parse(answer.body, nullptr, false);
  return body.is_discarded() ? json() : body;
}

json test::errorOf(const ReadAnswer &answer) {
  json body = bodyOf(answer);
  EXPECT_EQ(answer.field("Content-Type"), "application/json");
  if (!body.is_object() || !body.contains("error")) {
    ADD_FAILURE() << "no error: " << answer.status << ' ' << answer.body;
    return json::object();
  }
  for (const char *name : {"message", "type", "param", "code"})
    EXPECT_TRUE(body["error"].contains(name)) << answer.body;
  return body["error"];
}

std::vector<std::string> test::eventsOf(const std::string &body) {
  std::vector<std::string> events;
  for (size_t at = 0; at < body.size();) {
    size_t end = body.find("\n\n", at);
    std::string event = body.substr(at, end - at);
    EXPECT_TRUE(event.starts_with("data: ") && end != body.npos) << event;
    if (end == body.npos || !event.starts_with("data: "))
      break;
    events.push_back(event.substr(6));
    at = end + 2;
  }
  return events;
}

std::string test::textOf(const std::vector<std::string> &events, int index) {
  std::string text;
  for (const std::string &event : events) {
    json chunk = json::parse(event, nullptr, false);
    if (!chunk.is_object() || !chunk.contains("choices"))
      continue;
    for (const json &choice : chunk["choices"])
      if (choice["index"] == index)
        text += choice.value("text", "");
  }
  return text;
}
