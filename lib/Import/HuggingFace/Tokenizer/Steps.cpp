//===- Steps.cpp - the steps of a tokenizer.json around its model ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "Base64.h"
#include "JsonFields.h"
#include "sluice/Import/Support/Quote.h"

#include <functional>

using namespace sluice;
using namespace sluice::hf;
using namespace sluice::text;
using nlohmann::json;

using ReadStage = Status(const json &, const std::string &, TokenizerSpec &);

/// Reads each stage of a Sequence in order.
static Status readSequence(JsonFields &fields, const char *name,
                           TokenizerSpec &spec, ReadStage *readOne) {
  const json &stages = fields.array(name);
  for (size_t i = 0; i < stages.size() && fields.ok(); ++i)
    fields.keep(readOne(stages[i],
                        fields.at(name) + "[" + std::to_string(i) + "]", spec));
  return fields.finish();
}

/// Reads a pattern, which is {"String": ...} or {"Regex": ...}. Returns whether
/// it is the latter.
static bool readPattern(JsonFields &fields, std::string &pattern) {
  JsonFields inner(fields.get("pattern"), fields.at("pattern"));
  std::optional<std::string> literal = inner.optionalString("String");
  std::optional<std::string> regex = inner.optionalString("Regex");
  if (literal.has_value() == regex.has_value())
    inner.fail("pattern", "neither a String nor a Regex");
  fields.keep(inner.finish());
  pattern = literal ? *literal : regex.value_or("");
  if (pattern.empty())
    fields.fail("pattern", "empty");
  return regex.has_value();
}

static PrependScheme readScheme(JsonFields &fields) {
  std::optional<std::string> name = fields.optionalString("prepend_scheme");
  PrependScheme scheme = PrependScheme::Always;
  if (name == "first")
    scheme = PrependScheme::First;
  else if (name == "never")
    scheme = PrependScheme::Never;
  else if (name && *name != "always")
    fields.fail("prepend_scheme", quote(*name) + " is not supported");
  // Older files have this field instead.
  if (!fields.flag("add_prefix_space", true)) {
    if (name && scheme != PrependScheme::Never)
      fields.fail("add_prefix_space", "does not agree with prepend_scheme");
    scheme = PrependScheme::Never;
  }
  return scheme;
}

static SplitBehavior readBehavior(JsonFields &fields, bool optional) {
  if (optional && !fields.find("behavior"))
    return SplitBehavior::Isolated;
  std::string name = fields.string("behavior");
  if (name == "Removed")
    return SplitBehavior::Removed;
  if (name == "Isolated")
    return SplitBehavior::Isolated;
  if (name == "MergedWithPrevious")
    return SplitBehavior::MergedWithPrevious;
  if (name == "MergedWithNext")
    return SplitBehavior::MergedWithNext;
  if (name == "Contiguous")
    return SplitBehavior::Contiguous;
  fields.fail("behavior", quote(name) + " is not supported");
  return SplitBehavior::Isolated;
}

Status hf::readNormalizer(const json &value, const std::string &place,
                          TokenizerSpec &spec) {
  using Kind = NormalizerStep::Kind;
  JsonFields fields(value, place);
  std::string type = fields.string("type");
  if (type == "Sequence")
    return readSequence(fields, "normalizers", spec, readNormalizer);
  NormalizerStep step;
  if (type == "NFC") {
    step.kind = Kind::NFC;
  } else if (type == "NFD") {
    step.kind = Kind::NFD;
  } else if (type == "NFKC") {
    step.kind = Kind::NFKC;
  } else if (type == "NFKD") {
    step.kind = Kind::NFKD;
  } else if (type == "Lowercase") {
    step.kind = Kind::Lowercase;
  } else if (type == "StripAccents") {
    step.kind = Kind::StripAccents;
  } else if (type == "ByteLevel") {
    step.kind = Kind::ByteLevel;
  } else if (type == "Strip") {
    step.kind = Kind::Strip;
    step.left = fields.flag("strip_left");
    step.right = fields.flag("strip_right");
  } else if (type == "Prepend") {
    step.kind = Kind::Prepend;
    step.content = fields.string("prepend");
  } else if (type == "Replace") {
    step.kind = readPattern(fields, step.pattern) ? Kind::ReplaceRegex
                                                  : Kind::ReplaceString;
    step.content = fields.string("content");
  } else if (type == "Precompiled") {
    step.kind = Kind::Precompiled;
    // A model without any normalization has an empty map.
    std::string encoded =
        fields.optionalString("precompiled_charsmap").value_or("");
    std::optional<std::string> bytes = decodeBase64(encoded);
    if (!bytes)
      fields.fail("precompiled_charsmap", "not base64");
    if (encoded.empty())
      return fields.finish();
    step.pattern = bytes.value_or("");
  } else {
    fields.fail("type", quote(type) + " is not supported");
    return fields.finish();
  }
  spec.normalizer.push_back(std::move(step));
  return fields.finish();
}

Status hf::readPreTokenizer(const json &value, const std::string &place,
                            TokenizerSpec &spec) {
  using Kind = PreTokenizerStep::Kind;
  JsonFields fields(value, place);
  std::string type = fields.string("type");
  if (type == "Sequence")
    return readSequence(fields, "pretokenizers", spec, readPreTokenizer);
  PreTokenizerStep step;
  if (type == "Split") {
    step.kind = readPattern(fields, step.pattern) ? Kind::SplitRegex
                                                  : Kind::SplitString;
    step.behavior = readBehavior(fields, /*optional=*/false);
    step.invert = fields.flag("invert", false);
  } else if (type == "ByteLevel") {
    step.kind = Kind::ByteLevel;
    step.prefixSpace = fields.flag("add_prefix_space");
    step.flag = fields.flag("use_regex", true);
    fields.ignore("trim_offsets");
  } else if (type == "Metaspace") {
    step.kind = Kind::Metaspace;
    step.pattern = fields.string("replacement");
    step.scheme = readScheme(fields);
    step.flag = fields.flag("split", true);
    fields.ignore("str_rep");
  } else if (type == "Whitespace") {
    step.kind = Kind::Whitespace;
  } else if (type == "WhitespaceSplit") {
    step.kind = Kind::WhitespaceSplit;
  } else if (type == "Digits") {
    step.kind = Kind::Digits;
    step.flag = fields.flag("individual_digits");
  } else if (type == "Punctuation") {
    step.kind = Kind::Punctuation;
    step.behavior = readBehavior(fields, /*optional=*/true);
  } else {
    fields.fail("type", quote(type) + " is not supported");
  }
  spec.preTokenizer.push_back(std::move(step));
  return fields.finish();
}

Status hf::readDecoder(const json &value, const std::string &place,
                       TokenizerSpec &spec) {
  using Kind = DecoderStep::Kind;
  JsonFields fields(value, place);
  std::string type = fields.string("type");
  if (type == "Sequence")
    return readSequence(fields, "decoders", spec, readDecoder);
  DecoderStep step;
  if (type == "ByteLevel") {
    step.kind = Kind::ByteLevel;
    fields.ignore("add_prefix_space");
    fields.ignore("trim_offsets");
    fields.ignore("use_regex");
  } else if (type == "Metaspace") {
    step.kind = Kind::Metaspace;
    step.pattern = fields.string("replacement");
    step.scheme = readScheme(fields);
    fields.ignore("split");
    fields.ignore("str_rep");
  } else if (type == "ByteFallback") {
    step.kind = Kind::ByteFallback;
  } else if (type == "Fuse") {
    step.kind = Kind::Fuse;
  } else if (type == "Replace") {
    step.kind = readPattern(fields, step.pattern) ? Kind::ReplaceRegex
                                                  : Kind::ReplaceString;
    step.content = fields.string("content");
  } else if (type == "Strip") {
    step.kind = Kind::Strip;
    step.content = fields.string("content");
    step.start = fields.number("start");
    step.stop = fields.number("stop");
  } else {
    fields.fail("type", quote(type) + " is not supported");
  }
  spec.decoder.push_back(std::move(step));
  return fields.finish();
}

/// Appends an id of a post-processor. Whether it is in the vocabulary is
/// checked later, with the whole description.
static void appendId(const json &value, JsonFields &fields, const char *name,
                     std::vector<TokenId> &ids) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= INT32_MAX)
    ids.push_back(static_cast<TokenId>(value.get<uint64_t>()));
  else
    fields.fail(name, "not a token id");
}

static const json noTokens = json::object();

/// Reads the ids around a single text from a TemplateProcessing.
static void readTemplate(JsonFields &fields, std::vector<TokenId> &before,
                         std::vector<TokenId> &after) {
  fields.ignore("pair");
  const json &special =
      fields.find("special_tokens") ? fields.get("special_tokens") : noTokens;
  const json &pieces = fields.array("single");
  bool sawText = false;
  for (const json &piece : pieces) {
    if (!fields.ok())
      return;
    JsonFields pieceFields(piece, fields.at("single"));
    if (const json *text = pieceFields.find("Sequence")) {
      JsonFields textFields(*text, pieceFields.at("Sequence"));
      if (textFields.string("id") != "A" || sawText)
        textFields.fail("id", "only one text, A, is supported");
      textFields.ignore("type_id");
      pieceFields.keep(textFields.finish());
      sawText = true;
    } else {
      JsonFields tokenFields(pieceFields.get("SpecialToken"),
                             pieceFields.at("SpecialToken"));
      std::string name = tokenFields.string("id");
      tokenFields.ignore("type_id");
      pieceFields.keep(tokenFields.finish());
      JsonFields table(special, fields.at("special_tokens"));
      JsonFields entry(table.get(name.c_str()), table.at(quote(name)));
      fields.keep(table.error());
      for (const json &id : entry.array("ids"))
        appendId(id, entry, "ids", sawText ? after : before);
      entry.ignore("id");
      entry.ignore("tokens");
      fields.keep(entry.finish());
    }
    fields.keep(pieceFields.finish());
  }
  if (!sawText)
    fields.fail("single", "has no place for the text");
}

Status hf::readPostProcessor(const json &value, const std::string &place,
                             TokenizerSpec &spec) {
  JsonFields fields(value, place);
  std::string type = fields.string("type");
  if (type == "Sequence")
    return readSequence(fields, "processors", spec, readPostProcessor);
  std::vector<TokenId> before, after;
  if (type == "ByteLevel") {
    fields.ignore("add_prefix_space");
    fields.ignore("trim_offsets");
    fields.ignore("use_regex");
  } else if (type == "TemplateProcessing") {
    readTemplate(fields, before, after);
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    for (const char *name : {"cls", "sep"}) {
      const json &pair = fields.array(name);
      if (pair.size() != 2)
        fields.fail(name, "not a token and its id");
      else
        appendId(pair[1], fields, name, name[0] == 'c' ? before : after);
    }
    fields.ignore("trim_offsets");
    fields.ignore("add_prefix_space");
  } else {
    fields.fail("type", quote(type) + " is not supported");
  }
  spec.prefix.insert(spec.prefix.begin(), before.begin(), before.end());
  spec.suffix.insert(spec.suffix.end(), after.begin(), after.end());
  return fields.finish();
}
