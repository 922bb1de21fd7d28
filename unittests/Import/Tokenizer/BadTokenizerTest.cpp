//===- BadTokenizerTest.cpp - tokenizer files that must be refused --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything in a tokenizer's file that is not supported is refused with one
// line that says what and where.
//
//===----------------------------------------------------------------------===//

#include "../GGUFBytes.h"
#include "../TemporaryFolder.h"
#include "runtime/text/Tokenizer.h"
#include "sluice/Import/GGUF/GGUFTokenizer.h"
#include "sluice/Import/HuggingFace/TokenizerJson.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::text;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr const char *added =
    R"([{"id":2,"content":"<s>","single_word":false,"lstrip":false,)"
    R"("rstrip":false,"normalized":false,"special":true}])";

/// Returns a tokenizer.json with one part replaced.
std::string file(const std::string &name, const std::string &value) {
  std::vector<std::pair<std::string, std::string>> parts = {
      {"added_tokens", added},
      {"normalizer", "null"},
      {"pre_tokenizer", "null"},
      {"post_processor", "null"},
      {"decoder", "null"},
      {"model",
       R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":3},"merges":["a b"]})"}};
  std::string text = "{\"version\":\"1.0\"";
  bool found = false;
  for (auto &[part, content] : parts) {
    found |= part == name;
    text += ",\"" + part + "\":" + (part == name ? value : content);
  }
  if (!found && !name.empty())
    text += ",\"" + name + "\":" + value;
  return text + "}";
}

std::string problem(const std::string &name, const std::string &value,
                    const std::string &config = "") {
  Expected<TokenizerSpec> spec = hf::parseTokenizerJson(
      {.tokenizer = file(name, value), .config = config});
  if (!spec)
    EXPECT_THAT(spec.status().message(), Not(HasSubstr("\n")));
  return spec.status().message();
}

TEST(BadTokenizerJson, AcceptsTheFileThatTheOthersBreak) {
  EXPECT_EQ(problem("", ""), "");
}

TEST(BadTokenizerJson, RefusesVocabulariesWithHoles) {
  EXPECT_EQ(problem("added_tokens", "[]"),
            "tokenizer.json: the vocabulary has a hole: no token has the id 2, "
            "but 'ab' has 3");
  EXPECT_THAT(
      problem("model", R"({"type":"BPE","vocab":{"a":0,"b":0},"merges":[]})"),
      HasSubstr("the id 0 is both"));
  EXPECT_THAT(
      problem("model",
              R"({"type":"BPE","vocab":{"a":0,"b":4000000000},"merges":[]})"),
      HasSubstr("does not fit"));
  EXPECT_THAT(
      problem("model", R"({"type":"BPE","vocab":{"a":-1},"merges":[]})"),
      HasSubstr("the id of 'a' is not a token id"));
  EXPECT_THAT(
      problem("model", R"({"type":"BPE","vocab":{"a":0,"a":1},"merges":[]})"),
      HasSubstr("appears twice"));
  EXPECT_THAT(problem("model", R"({"type":"BPE","vocab":{},"merges":[]})"),
              HasSubstr("hole"));
  EXPECT_THAT(
      problem("model", R"({"type":"BPE","vocab":{"<s>":0},"merges":[]})"),
      HasSubstr("'<s>' has the ids 0 and 2"));
}

TEST(BadTokenizerJson, RefusesMergesOfUnknownTokens) {
  auto merges = [](const std::string &list) {
    return problem("model",
                   R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":3},"merges":)" +
                       list + "}");
  };
  EXPECT_THAT(merges(R"(["a c"])"),
              HasSubstr("model.merges[0]: 'c' is not in the vocabulary"));
  EXPECT_THAT(merges(R"([["b","a"]])"), HasSubstr("'ba' is not in"));
  EXPECT_THAT(merges(R"(["ab"])"), HasSubstr("not two tokens"));
  EXPECT_THAT(merges(R"(["a b c"])"), HasSubstr("not two tokens"));
  EXPECT_THAT(merges(R"([["a"]])"), HasSubstr("not two tokens"));
  EXPECT_THAT(merges(R"({})"), HasSubstr("model.merges: not an array"));
}

TEST(BadTokenizerJson, RefusesModelsByName) {
  EXPECT_THAT(problem("model", R"({"type":"WordPiece","vocab":{}})"),
              HasSubstr("model.type: 'WordPiece' is not supported"));
  EXPECT_THAT(problem("model", "null"), HasSubstr("model"));
  EXPECT_THAT(problem("model", "[]"), HasSubstr("not an object"));
  auto bpe = [](const std::string &option) {
    return problem("model", R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":3},)"
                            R"("merges":[],)" +
                                option + "}");
  };
  EXPECT_THAT(bpe(R"("dropout":0.1)"), HasSubstr("model.dropout"));
  EXPECT_EQ(bpe(R"("dropout":null)"), "");
  EXPECT_THAT(bpe(R"("end_of_word_suffix":"</w>")"),
              HasSubstr("model.end_of_word_suffix: not supported"));
  EXPECT_THAT(bpe(R"("unk_token":"<u>")"), HasSubstr("model.unk_token"));
  EXPECT_THAT(bpe(R"("novelty":1)"), HasSubstr("'novelty': not supported"));
  EXPECT_THAT(bpe(R"("byte_fallback":1)"), HasSubstr("not true or false"));
}

TEST(BadTokenizerJson, RefusesUnigramsThatDoNotFit) {
  auto unigram = [](const std::string &rest) {
    return problem("model", R"({"type":"Unigram",)" + rest + "}");
  };
  EXPECT_EQ(unigram(R"("unk_id":0,"vocab":[["a",0],["b",-1.5]])"), "");
  EXPECT_THAT(unigram(R"("unk_id":2,"vocab":[["a",0]])"),
              HasSubstr("model.unk_id: is outside"));
  EXPECT_THAT(unigram(R"("vocab":[["a"]])"), HasSubstr("model.vocab[0]"));
  EXPECT_THAT(unigram(R"("vocab":[["a",0],["a",1]])"),
              HasSubstr("has the ids"));
}

TEST(BadTokenizerJson, RefusesStepsByName) {
  EXPECT_THAT(problem("normalizer", R"({"type":"BertNormalizer"})"),
              HasSubstr("normalizer.type: 'BertNormalizer' is not supported"));
  EXPECT_THAT(problem("pre_tokenizer", R"({"type":"BertPreTokenizer"})"),
              HasSubstr("'BertPreTokenizer' is not supported"));
  EXPECT_THAT(problem("decoder", R"({"type":"WordPiece"})"),
              HasSubstr("decoder.type: 'WordPiece' is not supported"));
  EXPECT_THAT(problem("post_processor", R"({"type":"Other"})"),
              HasSubstr("post_processor.type"));
  EXPECT_THAT(
      problem("pre_tokenizer",
              R"({"type":"Sequence","pretokenizers":[{"type":"Digits"}]})"),
      HasSubstr("pre_tokenizer.pretokenizers[0].individual_digits: missing"));
  EXPECT_THAT(problem("pre_tokenizer",
                      R"({"type":"Split","pattern":{"Glob":"*"},)"
                      R"("behavior":"Isolated","invert":false})"),
              HasSubstr("pre_tokenizer.pattern"));
  EXPECT_THAT(problem("pre_tokenizer",
                      R"({"type":"Split","pattern":{"Regex":"a"},)"
                      R"("behavior":"Shuffled","invert":false})"),
              HasSubstr("'Shuffled' is not supported"));
  EXPECT_THAT(
      problem("pre_tokenizer", R"({"type":"Whitespace","novelty":true})"),
      HasSubstr("'novelty': not supported"));
  EXPECT_THAT(problem("pre_tokenizer",
                      R"({"type":"Metaspace","replacement":"_",)"
                      R"("prepend_scheme":"first","add_prefix_space":false})"),
              HasSubstr("does not agree"));
  EXPECT_THAT(problem("normalizer", R"({"type":"Precompiled",)"
                                    R"("precompiled_charsmap":"?"})"),
              HasSubstr("not base64"));
  EXPECT_THAT(problem("novelty", "{}"), HasSubstr("'novelty': not supported"));
}

TEST(BadTokenizerJson, RefusesTemplatesThatDoNotFit) {
  auto single = [](const std::string &pieces, const std::string &tokens) {
    return problem("post_processor", R"({"type":"TemplateProcessing","pair":)"
                                     R"([],"single":)" +
                                         pieces + R"(,"special_tokens":)" +
                                         tokens + "}");
  };
  std::string text = R"({"Sequence":{"id":"A","type_id":0}})";
  std::string token = R"({"SpecialToken":{"id":"<s>","type_id":0}})";
  std::string table = R"({"<s>":{"id":"<s>","ids":[2],"tokens":["<s>"]}})";
  EXPECT_EQ(single("[" + token + "," + text + "]", table), "");
  EXPECT_THAT(single("[" + token + "]", table), HasSubstr("no place for"));
  EXPECT_THAT(single("[" + text + "," + text + "]", table),
              HasSubstr("only one text"));
  EXPECT_THAT(single("[" + token + "," + text + "]", "{}"),
              HasSubstr("special_tokens"));
  EXPECT_THAT(single("[" + token + "," + text + "]",
                     R"({"<s>":{"id":"<s>","ids":[77],"tokens":["<s>"]}})"),
              HasSubstr("template's token 77"));
}

TEST(BadTokenizerJson, RefusesConfigurationsThatDoNotFit) {
  EXPECT_EQ(problem("", "", R"({"bos_token":{"content":"<s>"}})"), "");
  EXPECT_EQ(problem("", "", R"({"eos_token":5})"),
            "tokenizer_config.json: eos_token: not a token");
  EXPECT_THAT(problem("", "", "[]"), HasSubstr("tokenizer_config.json"));
  EXPECT_THAT(problem("", "", R"({"chat_template":5})"),
              HasSubstr("chat_template"));
  EXPECT_THAT(problem("", "", R"({"chat_template":[{"name":"default"}]})"),
              HasSubstr("chat_template.template: missing"));
  EXPECT_THAT(problem("", "", "{"), HasSubstr("tokenizer_config.json"));
  EXPECT_EQ(problem("", "", R"({"added_tokens_decoder":[]})"),
            "tokenizer_config.json: added_tokens_decoder: not an object");
}

TEST(BadTokenizerJson, RefusesAddedTokensThatAreNone) {
  Status status =
      hf::parseTokenizerJson({.tokenizer = file("", ""), .addedTokens = "[]"})
          .status();
  EXPECT_EQ(status.message(), "added_tokens.json: not an object");
}

TEST(BadTokenizerJson, RefusesFilesThatAreNotJson) {
  TemporaryFolder folder;
  Expected<TokenizerSpec> spec = hf::readTokenizerJson(folder.path());
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.status().message(),
              HasSubstr("tokenizer.json: cannot open"));
  folder.write("tokenizer.json", "{\"model\":");
  spec = hf::readTokenizerJson(folder.path());
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.status().message(), HasSubstr("/tokenizer.json: "));
  folder.write("tokenizer.json", std::string("\0\xFF", 2));
  EXPECT_FALSE(hf::readTokenizerJson(folder.path()).ok());
}

TEST(BadTokenizerJson, PatternsAreCheckedWhenTheTokenizerIsMade) {
  std::string text =
      file("pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"(a"},)"
                            R"("behavior":"Isolated","invert":false})");
  Expected<TokenizerSpec> spec = hf::parseTokenizerJson({.tokenizer = text});
  EXPECT_FALSE(spec.ok() && Tokenizer::create(spec.take()).ok());
}

/// Builds a GGUF file with a tokenizer of the tokens a, b and ab.
class Metadata {
public:
  Metadata &text(const std::string &key, const std::string &value) {
    return add(
        [=](GGUFBytes &out) { out.text("tokenizer.ggml." + key, value); });
  }
  Metadata &u32(const std::string &key, uint32_t value) {
    return add(
        [=](GGUFBytes &out) { out.u32("tokenizer.ggml." + key, value); });
  }
  Metadata &flag(const std::string &key, bool value) {
    return add([=](GGUFBytes &out) {
      out.key("tokenizer.ggml." + key, gguf::ValueType::Bool);
      out.number(static_cast<uint8_t>(value));
    });
  }
  Metadata &strings(const std::string &key, std::vector<std::string> values) {
    return add([=](GGUFBytes &out) {
      array(out, key, gguf::ValueType::String, values.size());
      for (const std::string &value : values)
        out.string(value);
    });
  }
  Metadata &ints(const std::string &key, std::vector<int32_t> values) {
    return add([=](GGUFBytes &out) {
      array(out, key, gguf::ValueType::Int32, values.size());
      for (int32_t value : values)
        out.number(value);
    });
  }
  Metadata &floats(const std::string &key, std::vector<float> values) {
    return add([=](GGUFBytes &out) {
      array(out, key, gguf::ValueType::Float32, values.size());
      for (float value : values)
        out.number(value);
    });
  }
  std::string problem() const {
    return read([](const gguf::GGUFFile &file) {
      return gguf::readTokenizer(file).status().message();
    });
  }
  /// Returns the first warning about a file that can be read.
  std::string warning() const {
    return read([](const gguf::GGUFFile &file) {
      std::vector<std::string> warnings;
      Status status = gguf::readTokenizer(file, &warnings).status();
      return warnings.empty() ? status.message() : warnings[0];
    });
  }

private:
  using Entry = std::function<void(GGUFBytes &)>;
  using Reader = std::string (*)(const gguf::GGUFFile &file);
  std::string read(Reader reader) const {
    GGUFBytes out(0, entries.size());
    for (const auto &entry : entries)
      entry(out);
    Expected<gguf::GGUFFile> file = out.parse();
    return file ? reader(*file) : file.status().message();
  }
  Metadata &add(Entry entry) {
    entries.push_back(std::move(entry));
    return *this;
  }
  static void array(GGUFBytes &out, const std::string &key,
                    gguf::ValueType type, size_t count) {
    out.key("tokenizer.ggml." + key, gguf::ValueType::Array);
    out.number(static_cast<uint32_t>(type)).number(uint64_t(count));
  }
  std::vector<Entry> entries;
};

Metadata bpe() {
  return Metadata()
      .text("model", "gpt2")
      .text("pre", "gpt-2")
      .strings("tokens", {"a", "b", "ab"});
}

Metadata llama() {
  return Metadata().text("model", "llama").strings("tokens", {"a", "b", "ab"});
}

TEST(BadGGUFTokenizer, RefusesWhatIsMissing) {
  EXPECT_EQ(Metadata().problem(), "m.gguf: has no tokenizer");
  EXPECT_EQ(Metadata().text("model", "gpt2").problem(),
            "m.gguf: tokenizer.ggml.tokens: missing");
  EXPECT_EQ(bpe().problem(), "m.gguf: tokenizer.ggml.merges: missing");
  EXPECT_EQ(bpe().strings("merges", {"a b"}).problem(), "");
  EXPECT_EQ(llama().problem(), "m.gguf: tokenizer.ggml.scores: missing");
  EXPECT_EQ(llama().floats("scores", {0, 0, 0}).problem(), "");
}

TEST(BadGGUFTokenizer, RefusesByName) {
  EXPECT_THAT(
      Metadata().text("model", "rwkv").strings("tokens", {"a"}).problem(),
      HasSubstr("the tokenizer 'rwkv' is not supported"));
  EXPECT_THAT(Metadata()
                  .text("model", "gpt2")
                  .text("pre", "novelty")
                  .strings("tokens", {"a"})
                  .problem(),
              HasSubstr("the pre-tokenizer 'novelty' is not supported"));
}

TEST(BadGGUFTokenizer, RefusesListsThatDoNotFit) {
  EXPECT_THAT(bpe().ints("token_type", {1, 1}).problem(),
              HasSubstr("token_type: not as long"));
  EXPECT_THAT(bpe().ints("token_type", {1, 1, 9}).problem(),
              HasSubstr("token 2 has the unknown type 9"));
  EXPECT_THAT(llama().floats("scores", {0}).problem(),
              HasSubstr("scores: not as long"));
  EXPECT_THAT(llama().floats("scores", {0, 0, NAN}).problem(),
              HasSubstr("a score that is not a number"));
  EXPECT_THAT(bpe().strings("merges", {"a c"}).problem(),
              HasSubstr("merge 0 needs 'c', which is not in the vocabulary"));
  EXPECT_THAT(bpe().strings("merges", {"ab"}).problem(),
              HasSubstr("is not two tokens"));
  EXPECT_THAT(bpe().strings("merges", {""}).problem(),
              HasSubstr("is not two tokens"));
}

TEST(BadGGUFTokenizer, RefusesBadTokensAndIds) {
  EXPECT_THAT(Metadata()
                  .text("model", "gpt2")
                  .strings("tokens", {"a", "a"})
                  .strings("merges", {})
                  .problem(),
              HasSubstr("are both 'a'"));
  EXPECT_THAT(Metadata()
                  .text("model", "gpt2")
                  .strings("tokens", {"a", ""})
                  .strings("merges", {})
                  .problem(),
              HasSubstr("token 1 has no text"));
  EXPECT_THAT(Metadata()
                  .text("model", "gpt2")
                  .strings("tokens", {"a", "\xFF"})
                  .strings("merges", {})
                  .problem(),
              HasSubstr("is not UTF-8"));
}

TEST(BadGGUFTokenizer, LeavesOutTokensBeyondTheVocabulary) {
  EXPECT_EQ(bpe().u32("bos_token_id", 3).strings("merges", {}).warning(),
            "m.gguf: tokenizer.ggml.bos_token_id: the id 3 is outside the "
            "vocabulary and is left out");
  // For tokens that end a text, the model's configuration gives the warning.
  EXPECT_EQ(bpe().u32("eos_token_id", 3).strings("merges", {}).warning(), "");
  EXPECT_EQ(Metadata()
                .text("model", "llama")
                .strings("tokens", {"a", "b", "ab"})
                .floats("scores", {0, 0, 0})
                .u32("bos_token_id", 0)
                .u32("eos_token_id", 3)
                .flag("add_eos_token", true)
                .warning(),
            "m.gguf: tokenizer.ggml.eos_token_id: outside the vocabulary, so "
            "that texts go without the token that is to be added to them");
}

} // namespace
