//===- Yaml.cpp - YAML as a tree with line numbers ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Yaml.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

using namespace sluice;
using namespace sluice::cluster;

std::string_view YamlValue::kindName() const {
  switch (kind) {
  case Kind::Null:
    return "nothing";
  case Kind::Scalar:
    return "a text";
  case Kind::List:
    return "a list";
  case Kind::Map:
    return "a map";
  }
  return "nothing";
}

const YamlValue *YamlValue::find(std::string_view key) const {
  for (const Entry &entry : entries)
    if (entry.key == key)
      return &entry.value;
  return nullptr;
}

namespace {

/// Stops the parser; caught in parseYaml().
struct Refused : std::exception {
  explicit Refused(Status status) : status(std::move(status)) {}
  Status status;
};

/// Builds the tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
public:
  explicit TreeBuilder(const std::string &name) : name(name) {}

  YamlValue take() { return std::move(root); }

  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark &mark, const std::string &) override {
    refuse(mark, "anchors and aliases are not understood");
  }
  void OnAlias(const YAML::Mark &mark, YAML::anchor_t) override {
    refuse(mark, "anchors and aliases are not understood");
  }
  void OnNull(const YAML::Mark &mark, YAML::anchor_t) override {
    add(mark, YamlValue::Kind::Null, "");
  }
  void OnScalar(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t,
                const std::string &value) override {
    checkTag(mark, tag);
    add(mark, YamlValue::Kind::Scalar, value);
  }
  void OnSequenceStart(const YAML::Mark &mark, const std::string &tag,
                       YAML::anchor_t, YAML::EmitterStyle::value) override {
    checkTag(mark, tag);
    open(mark, YamlValue::Kind::List);
  }
  void OnSequenceEnd() override { levels.pop_back(); }
  void OnMapStart(const YAML::Mark &mark, const std::string &tag,
                  YAML::anchor_t, YAML::EmitterStyle::value) override {
    checkTag(mark, tag);
    open(mark, YamlValue::Kind::Map);
  }
  void OnMapEnd() override { levels.pop_back(); }

private:
  /// A list or map that is being filled.
  struct Level {
    YamlValue *value = nullptr;
    bool expectsKey = false; // for a map
    std::set<std::string> keys;
  };

  template <typename... Parts>
  [[noreturn]] void refuse(const YAML::Mark &mark, const Parts &...parts) {
    throw Refused(failureAt(name, mark.line + 1, parts...));
  }

  /// Quoted texts have the tag "!", others "?".
  void checkTag(const YAML::Mark &mark, const std::string &tag) {
    if (!tag.empty() && tag != "!" && tag != "?")
      refuse(mark, "tags are not understood");
  }

  /// Returns where the next value goes; null if it is a map's key.
  YamlValue *slot(const YAML::Mark &mark) {
    if (++values > maxYamlValues)
      refuse(mark, "more than ", maxYamlValues, " values");
    if (levels.empty())
      return &root;
    Level &level = levels.back();
    if (level.value->kind == YamlValue::Kind::List)
      return &level.value->items.emplace_back();
    level.expectsKey = !level.expectsKey;
    return level.expectsKey ? &level.value->entries.back().value : nullptr;
  }

  void add(const YAML::Mark &mark, YamlValue::Kind kind,
           const std::string &text) {
    if (YamlValue *value = slot(mark)) {
      value->kind = kind;
      value->line = mark.line + 1;
      value->text = text;
      return;
    }
    if (kind != YamlValue::Kind::Scalar)
      refuse(mark, "a key must be a text");
    Level &level = levels.back();
    if (!level.keys.insert(text).second)
      refuse(mark, "'", text, "' is there twice");
    level.value->entries.push_back({text, mark.line + 1, {}});
  }

  void open(const YAML::Mark &mark, YamlValue::Kind kind) {
    if (int64_t(levels.size()) >= maxYamlDepth)
      refuse(mark, "deeper than ", maxYamlDepth, " lists and maps");
    YamlValue *value = slot(mark);
    if (!value)
      refuse(mark, "a key must be a text");
    value->kind = kind;
    value->line = mark.line + 1;
    levels.push_back({value, kind == YamlValue::Kind::Map, {}});
  }

  const std::string &name;
  YamlValue root;
  std::vector<Level> levels;
  int64_t values = 0;
};

} // namespace

Expected<YamlValue> cluster::parseYaml(std::string_view text,
                                       const std::string &name) {
  if (int64_t(text.size()) > maxYamlBytes)
    return failure(name, ": longer than ", maxYamlBytes, " bytes");
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(name);
    parser.HandleNextDocument(builder);
    YamlValue root = builder.take();
    TreeBuilder second(name);
    if (parser.HandleNextDocument(second))
      return failure(name, ": holds more than one document");
    return root;
  } catch (const Refused &refused) {
    return refused.status;
  } catch (const YAML::Exception &error) {
    return failureAt(name, std::max(error.mark.line, -1) + 1, error.msg);
  } catch (const std::exception &error) {
    return failure(name, ": ", error.what());
  }
}
