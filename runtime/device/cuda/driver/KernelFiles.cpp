//===- KernelFiles.cpp - images of kernels from a folder ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/KernelFiles.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace sluice::cuda {

namespace fs = std::filesystem;

static constexpr const char *variable = "SLUICE_KERNEL_IMAGES";
static constexpr uint64_t maxFileBytes = uint64_t{256} << 20;

/// Returns the files of the folder whose endings are those of images, by the
/// sources that they are named after.
static Expected<std::map<std::string, fs::path>>
listFiles(const std::string &folder) {
  std::map<std::string, fs::path> files;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    const fs::path &path = entries->path();
    if (path.extension() != ".fatbin" && path.extension() != ".cubin")
      continue;
    auto [other, isNew] = files.emplace(path.stem().string(), path);
    if (!isNew)
      return failure(path.string(), ": ", other->second.filename().string(),
                     " is there as well");
  }
  if (error)
    return failure(folder, ": ", error.message());
  return files;
}

static Expected<LoadedImage> readFile(const fs::path &path,
                                      std::string_view source) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  if (error)
    return failure(path.string(), ": ", error.message());
  if (bytes == 0 || bytes > maxFileBytes)
    return failure(path.string(), ": ", bytes, " bytes are no kernels' image");
  // Zeros follow the file, since the text of PTX must end with a zero byte.
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
  std::map<std::string, fs::path> files;
  if (folder) {
    Expected<std::map<std::string, fs::path>> listed = listFiles(folder);
    if (!listed)
      return listed.status().withContext(variable);
    files = listed.take();
    if (files.empty())
      return failure(variable, ": ", folder,
                     " has no NAME.fatbin or NAME.cubin");
  }
  std::vector<LoadedImage> images;
  for (const KernelImage &each : builtIn) {
    auto file = files.extract(std::string(each.source));
    if (file.empty()) {
      images.push_back({std::string(each.source), each.bytes, {}});
      continue;
    }
    Expected<LoadedImage> read = readFile(file.mapped(), each.source);
    if (!read)
      return read.status().withContext(variable);
    images.push_back(read.take());
  }
  if (!files.empty())
    return failure(variable, ": ", files.begin()->second.string(),
                   " is named after no source of the kernels");
  return images;
}

} // namespace sluice::cuda
