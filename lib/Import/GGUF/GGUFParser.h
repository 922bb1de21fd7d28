//===- GGUFParser.h - checks of a GGUF file's bytes -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_GGUF_GGUFPARSER_H
#define SLUICE_LIB_IMPORT_GGUF_GGUFPARSER_H

#include "sluice/Import/GGUF/GGUFFile.h"

#include <string_view>
#include <unordered_set>

namespace sluice::gguf {

/// Returns the bytes of one value of a scalar type, or 0 for strings and
/// arrays.
uint64_t valueTypeBytes(ValueType type);

/// Reads the bytes of a file from the front, checks them and fills a GGUFFile.
class GGUFParser {
public:
  GGUFParser(GGUFFile &file) : file(file), bytes(file.content) {}

  /// Errors do not name the file; the caller adds its path.
  Status parse();

private:
  Status parseHeader();
  Status parseEntry(uint64_t index);
  Status parseValue(MetadataValue &value, std::string_view key);
  Status parseScalar(MetadataValue &value, const std::string &place);
  Status parseArray(MetadataValue &value, const std::string &place);
  Status parseTensor(uint64_t index);
  Status parseDimensions(TensorInfo &info, const std::string &place);
  Status placeTensors();

  uint64_t remaining() const { return bytes.size() - position; }
  /// Reads a number, or fails with "`what` at byte N: the file ends".
  template <typename T> Status read(T &value, const std::string &what);
  Status readString(std::string_view &text, const std::string &what);
  Status endsIn(const std::string &what) const;

  GGUFFile &file;
  std::span<const uint8_t> bytes;
  uint64_t position = 0;
  uint64_t entryCount = 0;
  uint64_t tensorCount = 0;
  uint64_t alignment = 32;
  std::unordered_set<std::string_view> tensorNames;
};

} // namespace sluice::gguf

#endif // SLUICE_LIB_IMPORT_GGUF_GGUFPARSER_H
