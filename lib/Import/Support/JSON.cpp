//===- JSON.cpp - parser of untrusted JSON --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library's own tree builder keeps the last of two equal keys and does not
// limit nesting. So the tree is built here, from the library's events.
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Support/JSON.h"

#include "runtime/base/MappedFile.h"
#include "sluice/Import/Support/Quote.h"

#include <vector>

using namespace sluice;
using nlohmann::json;

namespace {

/// Receives a document's values in order and builds its tree. Every handler
/// returns whether parsing should continue.
class TreeBuilder : public nlohmann::json_sax<json> {
public:
  json root;
  std::string problem;
  /// Whether `problem` comes from this class. It has no position then.
  bool needsPlace = false;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t &) override {
    return put(value);
  }
  bool string(string_t &value) override { return put(std::move(value)); }
  bool binary(binary_t &) override { return fail("binary data"); }

  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &value) override {
    auto [place, inserted] = containers.back()->emplace(value, nullptr);
    if (!inserted)
      return fail("key " + quote(value) + " appears twice");
    slot = &*place;
    return true;
  }

  bool parse_error(std::size_t, const std::string &,
                   const nlohmann::detail::exception &error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view text = error.what();
    size_t end = text.find("] ");
    if (end != std::string_view::npos)
      text.remove_prefix(end + 2);
    for (char c : text)
      problem += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return false;
  }

private:
  static constexpr size_t deepest = 64;

  bool fail(std::string reason) {
    problem = std::move(reason);
    needsPlace = true;
    return false;
  }

  /// Puts a value at the next position in the tree and leaves its address in
  /// `placed`.
  bool put(json value) {
    if (containers.empty()) {
      root = std::move(value);
      placed = &root;
    } else if (containers.back()->is_array()) {
      containers.back()->push_back(std::move(value));
      placed = &containers.back()->back();
    } else {
      *slot = std::move(value);
      placed = slot;
    }
    return true;
  }

  // A container's address stays valid while it is open, because nothing is
  // added to its parent meanwhile.
  bool open(json value) {
    if (containers.size() >= deepest)
      return fail("nested deeper than 64 levels");
    put(std::move(value));
    containers.push_back(placed);
    return true;
  }

  bool close() {
    containers.pop_back();
    return true;
  }

  std::vector<json *> containers;
  json *slot = nullptr;
  json *placed = nullptr;
};

} // namespace

Expected<json> sluice::parseJSON(std::string_view text) {
  TreeBuilder builder;
  if (json::sax_parse(text.begin(), text.end(), &builder))
    return std::move(builder.root);
  if (builder.needsPlace)
    return failure("malformed JSON: ", builder.problem);
  return Status::error(builder.problem);
}

Expected<json> sluice::readJSONFile(const std::string &path, uint64_t limit) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  std::span<const uint8_t> bytes = file->bytes();
  if (bytes.size() > limit)
    return failure(path, ": ", bytes.size(),
                   " bytes is more than the limit of ", limit);
  Expected<json> parsed =
      parseJSON({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  if (!parsed)
    return parsed.status().withContext(path);
  return parsed;
}
