//===- GGUFFile.h - reading GGUF model files ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GGUF file is a header, typed metadata, a list of tensors and their bytes.
// The reader maps the file and checks all of it but the tensors' own bytes:
// what it hands out lies inside the file, no two tensors overlap, and nothing
// was allocated for a count before the file was seen to be long enough.
//
//   Expected<gguf::GGUFFile> file = gguf::GGUFFile::open(path);
//   if (!file)
//     return file.status();                     // "path: place: reason"
//   const gguf::MetadataValue *tokens = file->find("tokenizer.ggml.tokens");
//   if (tokens && tokens->asStrings()) ...
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_GGUF_GGUFFILE_H
#define SLUICE_IMPORT_GGUF_GGUFFILE_H

#include "runtime/base/MappedFile.h"
#include "runtime/base/Status.h"
#include "runtime/formats/BlockFormat.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::gguf {

/// The types of metadata values, with the file format's numbers.
enum class ValueType : uint32_t {
  UInt8 = 0,
  Int8 = 1,
  UInt16 = 2,
  Int16 = 3,
  UInt32 = 4,
  Int32 = 5,
  Float32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  UInt64 = 10,
  Int64 = 11,
  Float64 = 12,
};

/// "uint32", "string", ... as the format's documentation spells them.
std::string_view valueTypeName(ValueType type);

/// One metadata value: a typed view of bytes of the file, valid as long as the
/// GGUFFile it came from (moving the file keeps it valid). An accessor gives
/// nothing where the value is of another kind; none of them converts between
/// kinds, except that integers of every width are integers.
class MetadataValue {
public:
  ValueType type() const { return kind; }
  bool isArray() const { return kind == ValueType::Array; }

  /// "uint32", "array of string", ... for messages.
  std::string typeName() const;

  /// An integer that is not negative and fits.
  std::optional<uint64_t> asUInt() const;
  /// An integer that fits.
  std::optional<int64_t> asInt() const;
  /// A float32 or float64.
  std::optional<double> asFloat() const;
  std::optional<bool> asBool() const;
  /// The bytes are as in the file: they need not be valid UTF-8.
  std::optional<std::string_view> asString() const;

  /// The number of elements of an array, 0 for a scalar.
  uint64_t arraySize() const { return isArray() ? count : 0; }

  /// The strings of an array of strings, or null.
  const std::vector<std::string_view> *asStrings() const;
  /// The elements of an array of integers of any width (an element that does
  /// not fit makes it nothing).
  std::optional<std::vector<int64_t>> asInts() const;
  /// The elements of an array of float32 or float64.
  std::optional<std::vector<float>> asFloats() const;
  /// The elements of an array of bools.
  std::optional<std::vector<bool>> asBools() const;

private:
  friend class GGUFParser;

  ValueType kind = ValueType::UInt8;
  ValueType element = ValueType::UInt8;
  uint64_t count = 1;
  // The scalar, the string's bytes, or the array's elements.
  std::span<const uint8_t> payload;
  std::vector<std::string_view> strings;
};

/// One metadata entry, in the file's order.
struct MetadataEntry {
  std::string_view key;
  MetadataValue value;
};

/// One tensor: its bytes lie at [offset, offset + bytes) of the file.
struct TensorInfo {
  std::string_view name;
  /// As in the file, the fastest-varying first: a matrix of `out` rows of `in`
  /// values is {in, out}. One to four, none zero; their product fits int64_t.
  std::vector<int64_t> dims;
  Format format = Format::F32;
  /// From the start of the file.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// A checked GGUF file of version 2 or 3, little-endian. Movable; reading from
/// several threads is safe.
class GGUFFile {
public:
  /// Maps and checks the file at `path`. Errors: cannot be mapped, not GGUF,
  /// another version or byte order, anything malformed or out of bounds, a
  /// tensor type that is not supported.
  static Expected<GGUFFile> open(const std::string &path);

  /// Checks bytes that the caller keeps alive; `name` is used in messages.
  static Expected<GGUFFile> parse(std::string name,
                                  std::span<const uint8_t> bytes);

  const std::string &path() const { return name; }
  std::span<const uint8_t> bytes() const { return content; }
  uint32_t version() const { return formatVersion; }

  const std::vector<MetadataEntry> &metadata() const { return entries; }
  /// The value of `key`, or null.
  const MetadataValue *find(std::string_view key) const;

  /// The value of `key`: nothing where it is absent, an error that names file
  /// and key where it is of another type. These are what readers of particular
  /// keys should use.
  Expected<std::optional<uint64_t>> uintValue(std::string_view key) const;
  Expected<std::optional<bool>> boolValue(std::string_view key) const;
  Expected<std::optional<std::string_view>>
  stringValue(std::string_view key) const;

  const std::vector<TensorInfo> &tensors() const { return infos; }
  /// A tensor's bytes.
  std::span<const uint8_t> tensorBytes(const TensorInfo &info) const {
    return content.subspan(info.offset, info.bytes);
  }

private:
  friend class GGUFParser;
  GGUFFile() = default;

  std::string name;
  std::optional<MappedFile> mapping;
  std::span<const uint8_t> content;
  uint32_t formatVersion = 0;
  std::vector<MetadataEntry> entries;
  std::vector<TensorInfo> infos;
  std::unordered_map<std::string_view, size_t> entryIndex;
};

} // namespace sluice::gguf

#endif // SLUICE_IMPORT_GGUF_GGUFFILE_H
