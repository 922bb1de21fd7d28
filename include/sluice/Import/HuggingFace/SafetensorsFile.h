//===- SafetensorsFile.h - reading safetensors files ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A safetensors file is the length of a JSON header, the header, and the
// tensors' bytes without holes. The reader maps the file and checks all of it
// but the tensors' own bytes.
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
  /// As the file spells it: "BF16".
  std::string dtype;
  /// Ours for it; nothing for a type that no supported model uses.
  std::optional<Format> format;
  /// Outermost first; none negative, their product fits int64_t.
  std::vector<int64_t> shape;
  /// From the start of the file; not necessarily aligned.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// A checked safetensors file. Movable; reading from several threads is safe.
class SafetensorsFile {
public:
  /// Maps and checks the file at `path`. Errors: cannot be mapped, a header
  /// that is malformed or larger than 100 MB, a tensor twice, sizes that
  /// disagree, bytes outside the file, overlapping or unclaimed bytes.
  static Expected<SafetensorsFile> open(const std::string &path);

  /// Checks bytes that the caller keeps alive; `name` is used in messages.
  static Expected<SafetensorsFile> parse(std::string name,
                                         std::span<const uint8_t> bytes);

  const std::string &path() const { return name; }
  std::span<const uint8_t> bytes() const { return content; }
  /// In the order of their bytes.
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
