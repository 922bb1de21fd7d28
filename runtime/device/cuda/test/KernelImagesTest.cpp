//===- KernelImagesTest.cpp - ptxas's report on the kernels ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel exists for every chip and keeps its numbers in registers: spills
// would go through memory, whose rate is what limits the kernels.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/images/KernelImages.h"
#include "runtime/base/test/BesideProgram.h"
#include "runtime/device/cuda/driver/FatBinary.h"
#include "runtime/device/cuda/kernels/Kernels.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

using namespace sluice;
using namespace sluice::cuda;

namespace {

std::vector<std::string> partsOf(const std::string &list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  return parts;
}

struct Compiled {
  std::string kernel, chip;
  int stackBytes = -1, spilledBytes = -1, registers = -1;
};

/// Reads the report's paragraphs: the kernel, then stack and spills, then
/// registers.
std::vector<Compiled> readReport(const std::string &path) {
  static const std::regex whose(
      "Compiling entry function '(\\w+)' for 'sm_(\\w+)'");
  static const std::regex frame("(\\d+) bytes stack frame, (\\d+) bytes spill "
                                "stores, (\\d+) bytes spill loads");
  static const std::regex used("Used (\\d+) registers");
  std::vector<Compiled> kernels;
  std::ifstream file(path);
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_search(line, match, whose)) {
      kernels.push_back({match[1], match[2]});
    } else if (kernels.empty()) {
      continue;
    } else if (std::regex_search(line, match, frame)) {
      kernels.back().stackBytes = std::stoi(match[1]);
      kernels.back().spilledBytes = std::stoi(match[2]) + std::stoi(match[3]);
    } else if (std::regex_search(line, match, used)) {
      kernels.back().registers = std::stoi(match[1]);
    }
  }
  return kernels;
}

std::set<std::string> kernelNames() {
  std::set<std::string> names = {SLUICE_OTHER_KERNELS};
#define SLUICE_NAME(kind, name, rows)                                          \
  names.insert("sluice_linear_" #name "_" #rows);
  SLUICE_FOR_EACH_LINEAR(SLUICE_NAME)
#undef SLUICE_NAME
#define SLUICE_NAME(kind, name) names.insert("sluice_linear_tile_" #name);
  SLUICE_FOR_EACH_LINEAR_TILE(SLUICE_NAME)
#undef SLUICE_NAME
#define SLUICE_NAME(kind, name) names.insert("sluice_dense_weight_" #name);
  SLUICE_FOR_EACH_DENSE_WEIGHT(SLUICE_NAME)
#undef SLUICE_NAME
#define SLUICE_NAME(kind, name) names.insert("sluice_dense_results_" #name);
  SLUICE_FOR_EACH_DENSE_RESULTS(SLUICE_NAME)
#undef SLUICE_NAME
#define SLUICE_NAME(kind, name) names.insert("sluice_embed_" #name);
  SLUICE_FOR_EACH_EMBED(SLUICE_NAME)
#undef SLUICE_NAME
#define SLUICE_NAME(kind, name) names.insert("sluice_random_" #name);
  SLUICE_FOR_EACH_RANDOM(SLUICE_NAME)
#undef SLUICE_NAME
#define SLUICE_NAME(kind, name) names.insert("sluice_random_e4m3_of_" #name);
  SLUICE_FOR_EACH_RANDOM_E4M3_OF(SLUICE_NAME)
#undef SLUICE_NAME
#define SLUICE_NAME(kind, name, dim)                                           \
  names.insert("sluice_attend_" #name "_" #dim);                               \
  names.insert("sluice_attend_tile_" #name "_" #dim);
  SLUICE_FOR_EACH_ATTEND(SLUICE_NAME)
#undef SLUICE_NAME
  return names;
}

/// Returns how many blocks of sluice_linear_<kind>_<rows> must have registers.
int linearBlocksOf(const std::string &name) {
  constexpr std::pair<const char *, WeightKind> bounded[] = {
      {"_q4_0_8", WeightKind::Q4_0},
      {"_q4_k_8", WeightKind::Q4_K},
      {"_q6_k_8", WeightKind::Q6_K}};
  for (auto [end, kind] : bounded)
    if (name.ends_with(end))
      return linearResidentBlocks(kind, 8);
  return 1;
}

/// Returns the threads for which a multiprocessor must have registers: those of
/// the largest block with which the kernel is launched, or of several blocks.
int threadsOf(const std::string &name) {
  auto has = [&](const char *part) {
    return name.find(part) != std::string::npos;
  };
  if (has("_linear_tile_"))
    return linearTileThreads;
  if (has("_dense_results_"))
    return linearThreads;
  if (has("_linear_"))
    return linearThreads * linearBlocksOf(name);
  if (has("_dense_weight_"))
    return denseThreads;
  if (has("_embed_"))
    return embedThreads;
  if (has("_random_"))
    return randomThreads;
  if (has("_attend_")) {
    const int dim = std::stoi(name.substr(name.rfind('_') + 1));
    return attendThreads(dim) * (has("_tile_") ? 1 : attendResidentBlocks(dim));
  }
  return maxOperandThreads; // No other kernel has more.
}

} // namespace

TEST(KernelImagesTest, EachKernelIsThereForEachChipAndSpillsNothing) {
  std::vector<std::string> reports = partsOf(SLUICE_CUDA_REPORTS);
  if (reports.empty())
    GTEST_SKIP() << "built without nvcc";
  for (const std::string &report : reports)
    if (std::string why = notBesideProgram({report}); !why.empty())
      GTEST_SKIP() << "of ptxas' reports " << why;
  std::set<std::string> missing;
  for (const std::string &chip : partsOf(SLUICE_CUDA_CHIPS))
    for (const std::string &name : kernelNames())
      missing.insert(name + " for sm_" + chip);
  for (const std::string &report : reports)
    for (const Compiled &kernel : readReport(besideProgram(report))) {
      std::string name = kernel.kernel + " for sm_" + kernel.chip;
      EXPECT_EQ(missing.erase(name), 1u) << name << " is in no list";
      EXPECT_EQ(kernel.spilledBytes, 0) << name;
      EXPECT_EQ(kernel.stackBytes, 0) << name;
      EXPECT_GT(kernel.registers, 0) << name;
      // The registers of a multiprocessor; a warp gets them in pieces of 256.
      EXPECT_LE((kernel.registers + 7) / 8 * 8 * threadsOf(kernel.kernel),
                65536)
          << name;
    }
  EXPECT_TRUE(missing.empty()) << *missing.begin();
}

TEST(KernelImagesTest, ImagesSayWhichChipsTheyAreFor) {
  if (kernelImages().empty())
    GTEST_SKIP() << "built without nvcc";
  for (const KernelImage &image : kernelImages()) {
    std::vector<std::string> chips = chipsOf(image.bytes);
    ASSERT_FALSE(chips.empty()) << image.source;
    EXPECT_TRUE(chips.front().starts_with("sm_")) << chips.front();
    EXPECT_GT(codeBytesOf(image.bytes), 0u);
    // If the image is truncated anywhere, nothing after its end is read.
    for (size_t length = 0; length < std::min<size_t>(200, image.bytes.size());
         ++length)
      EXPECT_LE(chipsOf(image.bytes.first(length)).size(), chips.size());
  }
}

TEST(FatBinaryTest, TellsCubinsFromTheTextForLaterChips) {
  // A header of 16 bytes, then entries: kind, bytes of header and of the rest,
  // chip, and bytes of the unpacked rest.
  std::vector<uint8_t> image = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0,
                                0,    0,    0,    0,    0, 0, 0,  0};
  auto add = [&](uint8_t kind, uint8_t chip, uint8_t bytes) {
    std::vector<uint8_t> entry(64 + bytes);
    entry[0] = kind;
    entry[4] = 64;
    entry[8] = bytes;
    entry[28] = chip;
    entry[56] = 3 * bytes;
    image.insert(image.end(), entry.begin(), entry.end());
  };
  add(1, 80, 5);
  add(2, 100, 0);
  add(2, 90, 7);
  add(2, 90, 1);
  EXPECT_EQ(chipsOf(image),
            (std::vector<std::string>{"sm_90", "sm_100", "compute_80"}));
  EXPECT_EQ(codeBytesOf(image), 21u);
  image[16 + 8] = 255; // the first is longer than the image
  EXPECT_EQ(chipsOf(image), (std::vector<std::string>{"compute_80"}));
  image[16 + 4] = 0; // and has no header
  EXPECT_EQ(chipsOf(image), (std::vector<std::string>{"compute_80"}));
  image[0] = 0;
  EXPECT_TRUE(chipsOf(image).empty());
  EXPECT_TRUE(chipsOf({}).empty());
  EXPECT_EQ(codeBytesOf(image), image.size());
}

TEST(KernelImagesTest, ImagesAreFatBinaries) {
  if (partsOf(SLUICE_CUDA_REPORTS).empty())
    EXPECT_TRUE(kernelImages().empty());
  for (const KernelImage &image : kernelImages()) {
    ASSERT_GT(image.bytes.size(), 1000u) << image.source;
    uint32_t magic;
    std::memcpy(&magic, image.bytes.data(), 4);
    EXPECT_EQ(magic, 0xba55ed50u) << image.source;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(image.bytes.data()) % 16, 0u);
  }
}
