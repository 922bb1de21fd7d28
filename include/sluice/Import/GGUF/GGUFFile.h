//===- GGUFFile.h - reader of GGUF model files ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads GGUF files. A file consists of a header, typed metadata, a list of
// tensors and the tensors' bytes. The reader maps the file and checks
// everything except the tensors' bytes: all that it returns lies inside the
// file, and no two tensors overlap. It allocates memory for a count from the
// file only after it has checked that the file is long enough.
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

/// Returns "uint32", "string" and so on, as the format's documentation spells
/// them.
std::string_view valueTypeName(ValueType type);

/// One metadata value: a typed view of bytes of the file. It is valid as long
/// as the GGUFFile that it came from, also after the GGUFFile was moved. An
/// accessor returns nothing if the value is of another kind. Accessors do not
/// convert between kinds, except that they accept integers of every width.
class MetadataValue {
public:
  ValueType type() const { return kind; }
  bool isArray() const { return kind == ValueType::Array; }

  /// Returns the type for messages: "uint32", "array of string".
  std::string typeName() const;

  /// Returns an integer that is not negative and fits.
  std::optional<uint64_t> asUInt() const;
  /// Returns an integer that fits.
  std::optional<int64_t> asInt() const;
  /// Returns a float32 or float64.
  std::optional<double> asFloat() const;
  std::optional<bool> asBool() const;
  /// Returns the bytes as they are in the file. They may be invalid UTF-8.
  std::optional<std::string_view> asString() const;

  /// Returns the number of elements of an array, or 0 for a scalar.
  uint64_t arraySize() const { return isArray() ? count : 0; }

  /// Returns the strings of an array of strings, or null.
  const std::vector<std::string_view> *asStrings() const;
  /// Returns the elements of an array of integers of any width, or nothing if
  /// an element does not fit.
  std::optional<std::vector<int64_t>> asInts() const;
  /// Returns the elements of an array of float32 or float64.
  std::optional<std::vector<float>> asFloats() const;
  /// Returns the elements of an array of bools.
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
  /// The dimensions in the file's order, the fastest-varying first: a matrix of
  /// `out` rows of `in` values is {in, out}. There are one to four, none is
  /// zero, and their product fits into int64_t.
  std::vector<int64_t> dims;
  Format format = Format::F32;
  /// The offset from the start of the file.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// A checked GGUF file of version 2 or 3, little-endian. Movable. Several
/// threads may read from it.
class GGUFFile {
public:
  /// Maps and checks the file at `path`. Fails if the file cannot be mapped, is
  /// not GGUF, has another version or byte order, has anything malformed or out
  /// of bounds, or has a tensor type that is not supported.
  static Expected<GGUFFile> open(const std::string &path);

  /// Checks `bytes`, which must outlive the result. `name` is used in messages.
  static Expected<GGUFFile> parse(std::string name,
                                  std::span<const uint8_t> bytes);

  const std::string &path() const { return name; }
  std::span<const uint8_t> bytes() const { return content; }
  uint32_t version() const { return formatVersion; }

  const std::vector<MetadataEntry> &metadata() const { return entries; }
  /// Returns the value of `key`, or null.
  const MetadataValue *find(std::string_view key) const;

  /// These return the value of `key`, or nothing if it is absent. They fail if
  /// it is of another type; the error names file and key. Use these to read
  /// particular keys.
  Expected<std::optional<uint64_t>> uintValue(std::string_view key) const;
  Expected<std::optional<bool>> boolValue(std::string_view key) const;
  Expected<std::optional<std::string_view>>
  stringValue(std::string_view key) const;

  const std::vector<TensorInfo> &tensors() const { return infos; }
  /// Returns a tensor's bytes.
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
