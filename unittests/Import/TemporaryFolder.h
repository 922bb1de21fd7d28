//===- TemporaryFolder.h - folders that tests fill ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_IMPORT_TEMPORARYFOLDER_H
#define SLUICE_UNITTESTS_IMPORT_TEMPORARYFOLDER_H

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sluice {

/// A new folder. The destructor removes it with its content.
class TemporaryFolder {
public:
  TemporaryFolder() {
    name = testing::TempDir() + "sluice-XXXXXX";
    if (!::mkdtemp(name.data()))
      ADD_FAILURE() << "cannot make a folder like " << name;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(name); }

  const std::string &path() const { return name; }

  void write(std::string_view file, std::string_view content) const {
    std::ofstream(name + "/" + std::string(file), std::ios::binary) << content;
  }

  /// Writes a safetensors file of `header` and `data` zero bytes.
  void writeSafetensors(std::string_view file, std::string_view header,
                        size_t data) const {
    std::string content;
    for (uint64_t length = header.size(); content.size() < 8; length >>= 8)
      content += static_cast<char>(length);
    content += header;
    write(file, content + std::string(data, '\0'));
  }

private:
  std::string name;
};

} // namespace sluice

#endif // SLUICE_UNITTESTS_IMPORT_TEMPORARYFOLDER_H
