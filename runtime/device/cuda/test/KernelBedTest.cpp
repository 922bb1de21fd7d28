//===- KernelBedTest.cpp - what the bed finds about kernels on a device ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device is an emulated one, in which one kernel behaves differently from
// the emulator's. The tests check what is reported about it, as on a GPU.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/device/cuda/kernels/GroupABI.h"
#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/test/bed/Comparison.h"
#include "runtime/device/cuda/test/bed/DeviceBed.h"
#include "runtime/device/cuda/test/bed/KernelFacts.h"

#include <atomic>
#include <cmath>
#include <gmock/gmock.h>
#include <limits>

using namespace sluice;
using namespace sluice::cuda;
using testing::HasSubstr;

namespace {

/// What the device's sluice_read_alive does after the emulator's code, once for
/// each block.
void (*fault)(const ReadAliveArguments &) = nullptr;

void readAlive(const uint64_t *words) {
  ReadAliveArguments arguments;
  std::memcpy(&arguments, words, sizeof(arguments));
  sluice_read_alive(arguments);
  if (emulator::threadPosition().thread == compactThreads - 1 && fault)
    fault(arguments);
}

constexpr SluiceEmulatedKernel replaced[] = {{"sluice_read_alive", readAlive}};

class KernelBedTest : public testing::Test {
protected:
  ~KernelBedTest() override {
    fault = nullptr;
    bed = nullptr;
    // A device that is given up is kept until the process ends.
    if (device && device->isGivenUp())
      (void)device.release();
  }

  void open(emulator::EmulatedOptions options = {},
            CopyPlace place = CopyPlace::Device) {
    options.program = replaced;
    device = (*emulator::openEmulated(options))->open(0).take();
    bed = DeviceBed::open(*device, place).take();
  }

  /// Returns a launch that reads the flags of the rows from `first` on.
  BedLaunch readAliveFrom(size_t first = 0) {
    ReadAliveArguments arguments = {alive.data() + first, decided.data(),
                                    int64_t(alive.size() - first)};
    emulator::LaunchOptions options;
    options.threads = compactThreads;
    return kernelLaunch("sluice_read_alive", options, arguments);
  }

  /// Returns the error of a launch in which the device's kernel also does
  /// `what`.
  std::string messageWith(void (*what)(const ReadAliveArguments &)) {
    fault = what;
    return bed->run(readAliveFrom()).message();
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceBed> bed;
  DeviceArray<uint8_t> alive{std::vector<uint8_t>{1, 1, 0, 1, 0, 0, 1}};
  DeviceArray<uint8_t> decided{7};
};

} // namespace

TEST_F(KernelBedTest, TheDevicesNumbersAreTheTests) {
  open();
  Status status = bed->run(readAliveFrom());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(decided.values(), alive.values());
  // An address in the middle of an array.
  status = bed->run(readAliveFrom(3));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(decided.values(), (std::vector<uint8_t>{1, 0, 0, 1, 0, 0, 1}));
  BedFigures figures = bed->takeFigures();
  EXPECT_EQ(figures.launches, 2);
  EXPECT_TRUE(figures.equalBits);
  EXPECT_EQ(figures.difference, 0);
  EXPECT_EQ(bed->takeFigures().launches, 0);
}

TEST_F(KernelBedTest, WhatIsWrittenBesideAnArrayIsSaid) {
  open();
  const std::string beside =
      "sluice_read_alive: the device has written beside its arrays, ";
  EXPECT_EQ(messageWith([](const ReadAliveArguments &arguments) {
              arguments.decided[arguments.rows + 2] = 1;
            }),
            beside + "2 bytes behind the end of decided");
  EXPECT_EQ(messageWith([](const ReadAliveArguments &arguments) {
              arguments.decided[-3] = 1;
            }),
            beside + "3 bytes before decided");
  EXPECT_EQ(messageWith([](const ReadAliveArguments &arguments) {
              const_cast<uint8_t *>(arguments.alive)[-256] = 1;
            }),
            beside + "256 bytes before alive");
  fault = nullptr;
  EXPECT_TRUE(bed->run(readAliveFrom()).ok());
}

TEST_F(KernelBedTest, OtherNumbersAreSaid) {
  open();
  EXPECT_EQ(messageWith([](const ReadAliveArguments &arguments) {
              arguments.decided[3] = 0;
              arguments.decided[5] = 4;
            }),
            "sluice_read_alive: decided: element 3 is 1 in the emulator and 0 "
            "on the device; the largest difference is 4 of the largest "
            "magnitude");
  EXPECT_FALSE(bed->takeFigures().equalBits);
  // The test goes on with the device's numbers.
  EXPECT_EQ(decided[5], 4);
  // The kernel changes an array that it should only read.
  EXPECT_THAT(messageWith([](const ReadAliveArguments &arguments) {
                const_cast<uint8_t *>(arguments.alive)[0] = 9;
              }),
              HasSubstr(" alive: element 0 is 1 in the emulator and 9 on"));
}

TEST_F(KernelBedTest, OtherBitsTheSecondTimeAreSaid) {
  open();
  EXPECT_EQ(messageWith([](const ReadAliveArguments &arguments) {
              static std::atomic<uint8_t> calls{0};
              arguments.decided[6] = ++calls;
            }),
            "sluice_read_alive: decided: element 6 is 1 the first time and 2 "
            "the second time on the device; the largest difference is 1 of the "
            "largest magnitude");
}

TEST_F(KernelBedTest, AKernelThatDoesNotEndIsNamed) {
  emulator::EmulatedOptions options;
  options.stickKernel = 3;
  options.patience = std::chrono::milliseconds(100);
  open(options);
  ASSERT_TRUE(bed->run(readAliveFrom()).ok());
  const std::string stuck = "sluice_read_alive has not ended within 0.1 s";
  EXPECT_EQ(bed->run(readAliveFrom()).message(), stuck);
  EXPECT_EQ(bed->broken().message(), stuck);
  EXPECT_TRUE(device->isGivenUp());
  // All kernels now fail at once.
  BedLaunch other = readAliveFrom();
  other.kernel = "sluice_append_cache";
  EXPECT_EQ(bed->run(other).message(), stuck);
}

TEST_F(KernelBedTest, AKernelThatBreaksTheDeviceIsNamed) {
  emulator::EmulatedOptions options;
  options.failKernel = 1;
  open(options);
  const std::string broken = "sluice_read_alive: cuGraphLaunch: an illegal "
                             "memory access was encountered";
  EXPECT_EQ(bed->run(readAliveFrom()).message(), broken);
  EXPECT_EQ(bed->broken().message(), broken);
  BedLaunch other = readAliveFrom();
  other.kernel = "sluice_append_cache";
  EXPECT_EQ(bed->run(other).message(), broken);
}

TEST_F(KernelBedTest, WhatCannotBeLaunchedBreaksNothing) {
  open();
  BedLaunch launch = readAliveFrom();
  launch.kernel = "sluice_nothing";
  EXPECT_EQ(bed->run(launch).message(),
            "sluice_nothing: there is no kernel sluice_nothing");
  EXPECT_EQ(emulateKernel(launch).message(),
            "the emulator has no kernel sluice_nothing");

  std::vector<uint8_t> loose(7);
  ReadAliveArguments arguments = {loose.data(), decided.data(), 7};
  EXPECT_EQ(bed->run(kernelLaunch("sluice_read_alive", readAliveFrom().options,
                                  arguments))
                .message(),
            "sluice_read_alive: alive is an address of the host that no array "
            "has");

  DeviceArray<uint8_t> large(maxCopiedBytes);
  arguments.alive = large.data();
  EXPECT_EQ(bed->run(kernelLaunch("sluice_read_alive", readAliveFrom().options,
                                  arguments))
                .message(),
            "sluice_read_alive: its arrays take 104858624 bytes, the limit is "
            "104857600");

  // The launch needs more shared memory than the device has, so it runs in the
  // emulator only.
  launch = readAliveFrom();
  launch.options.sharedBytes = (227 << 10) + 16;
  EXPECT_TRUE(bed->run(launch).ok());
  EXPECT_EQ(decided.values(), alive.values());
  BedFigures figures = bed->takeFigures();
  EXPECT_EQ(figures.tooLarge, 1);
  EXPECT_EQ(figures.launches, 0);

  EXPECT_TRUE(bed->broken().ok());
  EXPECT_TRUE(bed->run(readAliveFrom()).ok());
}

/// Mapped memory is not copied: the kernel reads and writes it in place.
TEST_F(KernelBedTest, MemoryOfTheHostIsMapped) {
  emulator::EmulatedOptions options;
  uint64_t copied = 0;
  options.onCopy = [&](emulator::CopyKind, uint64_t bytes) { copied += bytes; };
  open(options);
  alive = DeviceArray<uint8_t>(alive.values()).inHostMemory();
  decided = DeviceArray<uint8_t>(7).inHostMemory();
  Status status = bed->run(readAliveFrom());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(decided.values(), alive.values());
  EXPECT_EQ(copied, 0u);
  EXPECT_THAT(messageWith([](const ReadAliveArguments &arguments) {
                arguments.decided[arguments.rows] = 1;
              }),
              HasSubstr("0 bytes behind the end of decided"));
}

/// Each array is as large on the device as on the host, and is released.
TEST_F(KernelBedTest, ArraysMayLieApart) {
  open({}, CopyPlace::Apart);
  const uint64_t free = device->memory()->freeBytes;
  for (size_t first : {0, 3}) {
    Status status = bed->run(readAliveFrom(first));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(device->memory()->freeBytes, free - 14);
  }
  EXPECT_EQ(decided.values(), (std::vector<uint8_t>{1, 0, 0, 1, 0, 0, 1}));
  EXPECT_THAT(messageWith([](const ReadAliveArguments &arguments) {
                arguments.decided[3] = 0;
              }),
              HasSubstr("decided: element 3 is 1 in the emulator and 0 on"));
}

/// The pages of two layers, whose addresses are in one array.
TEST_F(KernelBedTest, AddressesInArraysLeadToTheDevice) {
  open();
  DeviceArray<uint8_t> caches[2];
  auto layers = DeviceArray<LayerPages>(2).holdingAddresses();
  for (size_t i = 0; i < 2; ++i) {
    caches[i] = DeviceArray<uint8_t>(std::vector<uint8_t>(48, uint8_t(i + 1)));
    layers[i] = {caches[i].data(), 16};
    std::fill_n(caches[i].data(), 16, uint8_t(i + 7));
  }
  DeviceArray<int32_t> copies(std::vector<int32_t>{0, 2}),
      count(std::vector{1});
  PageCopyArguments arguments = {layers.data(), copies.data(), count.data()};
  emulator::LaunchOptions options;
  options.grid = {1, 2, 1};
  options.threads = copyThreads;
  Status status =
      bed->run(kernelLaunch("sluice_copy_pages", options, arguments));
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(caches[i][15], i + 7);
    EXPECT_EQ(caches[i][31], i + 1);
    EXPECT_EQ(caches[i][32], i + 7);
    EXPECT_EQ(layers[i].cache, caches[i].data());
  }
}

TEST(DeviceArrayTest, IsFoundAsLongAsItLives) {
  uint64_t first = 0;
  {
    DeviceArray<float> array(3), none(0);
    first = reinterpret_cast<uint64_t>(array.data());
    ArrayMemory *found = ArrayMemory::at(first);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->bytes(), 12u);
    EXPECT_EQ(found->elements, Elements::Float);
    EXPECT_EQ(ArrayMemory::at(first + 11), found);
    EXPECT_EQ(ArrayMemory::at(first + 12), found);
    EXPECT_NE(ArrayMemory::at(first + 13), found);
    EXPECT_NE(ArrayMemory::at(first - 1), found);
    DeviceArray<float> moved = std::move(array);
    EXPECT_EQ(ArrayMemory::at(first), found);
    // An array without elements has an address of its own.
    EXPECT_NE(ArrayMemory::at(reinterpret_cast<uint64_t>(none.data())),
              nullptr);
    EXPECT_TRUE(std::isnan(moved[2]));
  }
  EXPECT_EQ(ArrayMemory::at(first), nullptr);
  EXPECT_EQ(ArrayMemory::at(0), nullptr);
}

namespace {

Comparison compareFloats(const std::vector<float> &expected,
                         const std::vector<float> &found, double allowed) {
  auto bytesOf = [](const std::vector<float> &values) {
    return std::span(reinterpret_cast<const uint8_t *>(values.data()),
                     values.size() * sizeof(float));
  };
  return compareArrays(Elements::Float, {bytesOf(expected), "here"},
                       {bytesOf(found), "there"}, allowed);
}

} // namespace

TEST(ComparisonTest, DifferencesAreSharesOfTheLargestMagnitude) {
  const float nan = NAN, infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compareFloats({}, {}, 0).equalBits);
  Comparison near = compareFloats({1, -8, 0}, {1.25f, -8, 0}, 0.05);
  EXPECT_FALSE(near.equalBits);
  EXPECT_EQ(near.difference, 0.03125);
  EXPECT_EQ(near.complaint, "");
  EXPECT_EQ(compareFloats({1, -8, 0}, {1.25f, -8, 0.5f}, 0.05).complaint,
            "element 2 is 0 here and 0.5 there; the largest difference is "
            "0.0625 of the largest magnitude, and 0.05 is allowed");
  // If no difference is allowed, the bits count.
  EXPECT_EQ(compareFloats({0}, {-0.0f}, 0).complaint,
            "element 0 is 0 here and -0 there; the largest difference is 0 of "
            "the largest magnitude");
  EXPECT_EQ(compareFloats({0}, {-0.0f}, 1e-9).complaint, "");
  // NaNs are equal; an infinity is no magnitude.
  Comparison broken =
      compareFloats({nan, -infinity, 2}, {-nan, -infinity, 2}, 0);
  EXPECT_TRUE(broken.equalBits);
  EXPECT_EQ(compareFloats({-infinity, 2}, {-infinity, 3}, 0.6).difference, 0.5);
  for (auto [one, other] :
       {std::pair{nan, 1.0f}, {1.0f, nan}, {infinity, 1.0f}}) {
    Comparison worst = compareFloats({one, 2}, {other, 2}, 0.5);
    EXPECT_EQ(worst.difference, std::numeric_limits<double>::infinity());
    EXPECT_THAT(worst.complaint, HasSubstr("the largest difference is inf"));
  }
}

TEST(ComparisonTest, OtherElementsHaveTheSameBits) {
  auto compare = [](Elements elements, const std::vector<uint8_t> &expected,
                    const std::vector<uint8_t> &found) {
    return compareArrays(elements, {expected, "here"}, {found, "there"}, 0.5)
        .complaint;
  };
  EXPECT_THAT(compare(Elements::Int8, {1, 200}, {1, 201}),
              HasSubstr("element 1 is 200 here and 201 there"));
  EXPECT_THAT(compare(Elements::Int16, {0, 0, 1, 1}, {0, 0, 2, 1}),
              HasSubstr("element 1 is 257 here and 258 there"));
  EXPECT_THAT(compare(Elements::Int32, {255, 255, 255, 255}, {1, 0, 0, 0}),
              HasSubstr("element 0 is -1 here and 1 there"));
  EXPECT_THAT(compare(Elements::Int64, {1, 0, 0, 0, 1, 0, 0, 0},
                      {1, 0, 0, 0, 0, 0, 0, 0}),
              HasSubstr("element 0 is 4.29497e+09 here and 1 there"));
  EXPECT_THAT(compare(Elements::Half, {0, 0x3c}, {0, 0x40}),
              HasSubstr("element 0 is 1 here and 2 there"));
  EXPECT_THAT(compare(Elements::Bfloat, {0x80, 0x3f}, {0, 0x40}),
              HasSubstr("element 0 is 1 here and 2 there"));
  // 16-bit NaNs with other signs, and one that marks unwritten memory.
  EXPECT_EQ(compare(Elements::Half, {1, 0x7e}, {0, 0xfe}), "");
  EXPECT_EQ(compare(Elements::Bfloat, {0xc0, 0x7f}, {0xc0, 0xff}), "");
  EXPECT_THAT(compare(Elements::Bfloat, {0xc0, 0x7f}, {0xff, 0xff}),
              HasSubstr("element 0 is nan here and -nan there; the largest "
                        "difference is inf"));
}

TEST(KernelFactsTest, KernelsAreExactButForTheTensorUnits) {
  for (const char *kernel :
       {"sluice_linear_f32_8", "sluice_operand_rows", "sluice_append_cache",
        "sluice_embed_q4_k", "sluice_compact", "sluice_move_values",
        "sluice_sample_search", "sluice_sample_merge", "sluice_copy_pages",
        "sluice_sum_parts", "sluice_join_columns", "sluice_read_alive",
        "sluice_dense_weight_f16", "sluice_dense_results_bf16"})
    EXPECT_EQ(differenceAllowed(kernel), 0) << kernel;
  for (const char *kernel : {"sluice_linear_f16_8", "sluice_linear_q4_k_64",
                             "sluice_linear_tile_bf16"})
    EXPECT_EQ(differenceAllowed(kernel), 1e-4) << kernel;
  for (const char *kernel :
       {"sluice_attend_f16_128", "sluice_attend_tile_e4m3_64"})
    EXPECT_EQ(differenceAllowed(kernel), 2e-3) << kernel;
}

TEST(KernelFactsTest, ArgumentsHaveTheirFieldsNames) {
  auto wordOf = [](size_t offset) { return offset / sizeof(uint64_t); };
  EXPECT_EQ(fieldName("sluice_attend_tile_f16_64",
                      wordOf(offsetof(AttendArguments, rows.pages))),
            "rows.pages");
  EXPECT_EQ(fieldName("sluice_linear_q6_k_8",
                      wordOf(offsetof(JoinedLinearArguments, columns[1].y))),
            "columns[1].y");
  EXPECT_EQ(fieldName("sluice_read_alive", 2), "argument word 2");
  EXPECT_EQ(fieldName("sluice_nothing", 0), "argument word 0");
}
