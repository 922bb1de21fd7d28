//===- GGUFBytes.h - GGUF files made in memory ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_IMPORT_GGUFBYTES_H
#define SLUICE_UNITTESTS_IMPORT_GGUFBYTES_H

#include "sluice/Import/GGUF/GGUFFile.h"

#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Builds the bytes of a file, value by value. It checks nothing, so that tests
/// can make malformed files.
class GGUFBytes {
public:
  /// Writes the header.
  GGUFBytes(uint64_t tensors, uint64_t entries, uint32_t version = 3) {
    raw("GGUF").number(version).number(tensors).number(entries);
  }

  template <typename T> GGUFBytes &number(T value) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
    content.insert(content.end(), bytes, bytes + sizeof(T));
    return *this;
  }
  GGUFBytes &raw(std::string_view text) {
    content.insert(content.end(), text.begin(), text.end());
    return *this;
  }
  GGUFBytes &string(std::string_view text) {
    return number(uint64_t(text.size())).raw(text);
  }
  GGUFBytes &key(std::string_view name, gguf::ValueType type) {
    return string(name).number(uint32_t(type));
  }
  template <typename T>
  GGUFBytes &entry(std::string_view name, gguf::ValueType type, T value) {
    return key(name, type).number(value);
  }
  GGUFBytes &text(std::string_view name, std::string_view value) {
    return key(name, gguf::ValueType::String).string(value);
  }
  GGUFBytes &u32(std::string_view name, uint32_t value) {
    return entry(name, gguf::ValueType::UInt32, value);
  }
  GGUFBytes &f32(std::string_view name, float value) {
    return entry(name, gguf::ValueType::Float32, value);
  }
  GGUFBytes &tensor(std::string_view name, std::initializer_list<uint64_t> dims,
                    uint32_t type, uint64_t offset) {
    string(name).number(uint32_t(dims.size()));
    for (uint64_t dim : dims)
      number(dim);
    return number(type).number(offset);
  }
  /// Appends zeroes up to a multiple of `alignment`, then `count` more.
  GGUFBytes &data(size_t count, size_t alignment = 32) {
    content.resize((content.size() + alignment - 1) / alignment * alignment);
    content.resize(content.size() + count);
    return *this;
  }

  const std::vector<uint8_t> &bytes() const { return content; }
  Expected<gguf::GGUFFile> parse() const {
    return gguf::GGUFFile::parse("m.gguf", content);
  }
  /// Returns the message of parse()'s error, or "" if there is none.
  std::string error() const { return parse().status().message(); }

private:
  std::vector<uint8_t> content;
};

} // namespace sluice

#endif // SLUICE_UNITTESTS_IMPORT_GGUFBYTES_H
