//===- SafetensorsFile.h - reader of safetensors files --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads safetensors files. A file consists of the length of a JSON header, the
// header, and the tensors' bytes without gaps. The reader maps the file and
// checks everything except the tensors' bytes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_HUGGINGFACE_SAFETENSORSFILE_H
#define SLUICE_IMPORT_HUGGINGFACE_SAFETENSORSFILE_H

#include "runtime/base/MappedFile.h"
#include "runtime/base/Status.h"
#include "runtime/formats/BlockFormat.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::hf {

/// One tensor: its bytes lie at [offset, offset + bytes) of the file.
struct SafetensorsTensor {
  std::string name;
  /// The type's name in the file: "BF16".
  std::string dtype;
  /// Sluice's format for `dtype`. Empty for a type that no supported model
  /// uses.
  std::optional<Format> format;
  /// The dimensions, outermost first. None is negative, and their product fits
  /// into int64_t.
  std::vector<int64_t> shape;
  /// The offset from the start of the file, which may be unaligned.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// A checked safetensors file. Movable. Several threads may read from it.
class SafetensorsFile {
public:
  /// Maps and checks the file at `path`. Fails if the file cannot be mapped, if
  /// the header is malformed or larger than 100 MB, if a tensor appears twice,
  /// if sizes disagree, or if bytes are outside the file, overlap or belong to
  /// no tensor.
  static Expected<SafetensorsFile> open(const std::string &path);

  /// Checks `bytes`, which must outlive the result. `name` is used in messages.
  static Expected<SafetensorsFile> parse(std::string name,
                                         std::span<const uint8_t> bytes);

  const std::string &path() const { return name; }
  std::span<const uint8_t> bytes() const { return content; }
  /// Returns the tensors in the order of their bytes.
  const std::vector<SafetensorsTensor> &tensors() const { return infos; }

private:
  SafetensorsFile() = default;

  std::string name;
  std::optional<MappedFile> mapping;
  std::span<const uint8_t> content;
  std::vector<SafetensorsTensor> infos;
};

} // namespace sluice::hf

#endif // SLUICE_IMPORT_HUGGINGFACE_SAFETENSORSFILE_H
