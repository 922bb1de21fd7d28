//===- KernelFiles.cpp - kernels' images from a folder --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/KernelFiles.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace sluice::cuda {

namespace fs = std::filesystem;

static constexpr const char *variable = "SLUICE_KERNEL_IMAGES";
static constexpr uint64_t mostFileBytes = uint64_t{256} << 20;

/// The file that replaces the image, if there is one.
static std::optional<fs::path> findFile(const fs::path &folder,
                                        std::string_view source) {
  for (const char *ending : {".fatbin", ".cubin"}) {
    fs::path path = folder / (std::string(source) + ending);
    std::error_code ignored;
    if (fs::exists(path, ignored))
      return path;
  }
  return std::nullopt;
}

static Expected<LoadedImage> readFile(const fs::path &path,
                                      std::string_view source) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  if (error)
    return failure(path.string(), ": ", error.message());
  if (bytes == 0 || bytes > mostFileBytes)
    return failure(path.string(), ": ", bytes, " bytes are no kernels' image");
  // Zeros behind it, which text of PTX has to end with.
  std::vector<uint64_t> words(bytes / sizeof(uint64_t) + 1);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char *>(words.data()),
                 static_cast<std::streamsize>(bytes)))
    return failure(path.string(), ": cannot be read");
  LoadedImage image = {std::string(source), {}, std::move(words)};
  image.bytes = {reinterpret_cast<const uint8_t *>(image.fileBytes.data()),
                 bytes};
  return image;
}

Expected<std::vector<LoadedImage>>
chooseKernelImages(std::span<const KernelImage> builtIn) {
  const char *folder = std::getenv(variable);
  std::vector<LoadedImage> images;
  bool anyReplaced = false;
  for (const KernelImage &each : builtIn) {
    std::optional<fs::path> file;
    if (folder)
      file = findFile(folder, each.source);
    if (!file) {
      images.push_back({std::string(each.source), each.bytes, {}});
      continue;
    }
    Expected<LoadedImage> read = readFile(*file, each.source);
    if (!read)
      return read.status().withContext(variable);
    images.push_back(read.take());
    anyReplaced = true;
  }
  if (folder && !anyReplaced)
    return failure(variable, ": ", folder,
                   " has no NAME.fatbin or NAME.cubin of the kernels' sources");
  return images;
}

} // namespace sluice::cuda
