//===- KernelFilesTest.cpp - images of kernels from a folder --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/KernelFiles.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
namespace fs = std::filesystem;

namespace {

constexpr uint8_t first[] = {1, 2, 3}, second[] = {4};
constexpr KernelImage builtIn[] = {{"Linear", first}, {"Sample", second}};

class KernelFilesTest : public testing::Test {
protected:
  KernelFilesTest()
      : folder(fs::path(testing::TempDir()) /
               ("kernel-files-" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
    ::setenv("SLUICE_KERNEL_IMAGES", folder.c_str(), 1);
  }
  ~KernelFilesTest() override {
    ::unsetenv("SLUICE_KERNEL_IMAGES");
    fs::remove_all(folder);
  }

  void write(const char *name, const std::string &bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
  static std::string error() {
    return chooseKernelImages(builtIn).status().message();
  }
  static std::string textOf(const LoadedImage &image) {
    return {reinterpret_cast<const char *>(image.bytes.data()),
            image.bytes.size()};
  }

  fs::path folder;
};

} // namespace

TEST_F(KernelFilesTest, AFileReplacesTheImageOfItsName) {
  write("Sample.cubin", "mended");
  write("notes.txt", "is no image");
  Expected<std::vector<LoadedImage>> images = chooseKernelImages(builtIn);
  ASSERT_TRUE(images) << images.status().message();
  ASSERT_EQ(images->size(), 2u);
  EXPECT_EQ((*images)[0].source, "Linear");
  EXPECT_EQ(textOf((*images)[0]), "\1\2\3");
  EXPECT_EQ(textOf((*images)[1]), "mended");
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*images)[1].bytes.data()) % 8, 0u);
  // The text of PTX ends with a zero byte.
  EXPECT_EQ((*images)[1].bytes.data()[6], 0);
  fs::remove(folder / "Sample.cubin");
  write("Sample.fatbin", "12345678");
  EXPECT_EQ(textOf(chooseKernelImages(builtIn).take()[1]), "12345678");
}

TEST_F(KernelFilesTest, WithoutTheVariableAllAreBuiltIn) {
  write("Sample.cubin", "mended");
  ::unsetenv("SLUICE_KERNEL_IMAGES");
  EXPECT_EQ(textOf(chooseKernelImages(builtIn).take()[1]), "\4");
}

TEST_F(KernelFilesTest, AFolderThatReplacesNothingIsAMistake) {
  EXPECT_EQ(error(), "SLUICE_KERNEL_IMAGES: " + folder.string() +
                         " has no NAME.fatbin or NAME.cubin");
  ::setenv("SLUICE_KERNEL_IMAGES", "/nowhere", 1);
  EXPECT_EQ(error(),
            "SLUICE_KERNEL_IMAGES: /nowhere: No such file or directory");
}

TEST_F(KernelFilesTest, AFileThatReplacesNothingIsAMistake) {
  write("Sample.cubin", "mended");
  write("Liner.cubin", "nobody asks for it");
  EXPECT_EQ(error(),
            "SLUICE_KERNEL_IMAGES: " + (folder / "Liner.cubin").string() +
                " is named after no source of the kernels");
  fs::remove(folder / "Liner.cubin");
  write("Sample.fatbin", "mended, too");
  EXPECT_THAT(error(), testing::EndsWith(" is there as well"));
}

TEST_F(KernelFilesTest, FilesThatAreNoImagesAreNamed) {
  write("Linear.cubin", "");
  EXPECT_EQ(error(),
            "SLUICE_KERNEL_IMAGES: " + (folder / "Linear.cubin").string() +
                ": 0 bytes are no kernels' image");
  fs::remove(folder / "Linear.cubin");
  fs::create_directories(folder / "Linear.cubin");
  EXPECT_THAT(error(), testing::HasSubstr("Linear.cubin: "));
}
