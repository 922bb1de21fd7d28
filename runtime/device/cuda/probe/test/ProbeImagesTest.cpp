//===- ProbeImagesTest.cpp - ptxas's report on the probe's kernels --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel exists and keeps its numbers in registers, and ptxas has no
// warnings. It would warn, for instance, if it made products wait for each
// other.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/ProbeImages.h"
#include "runtime/device/cuda/driver/FatBinary.h"
#include "runtime/device/cuda/probe/ProbeKernels.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>

using namespace sluice::cuda;
using namespace sluice::cuda::probe;

TEST(ProbeImagesTest, KernelsSpillNothingAndNothingIsWarnedOf) {
  if (std::string_view(SLUICE_PROBE_REPORT).empty())
    GTEST_SKIP() << "built without nvcc";
  std::map<std::string, int> threads;
#define SLUICE_THREADS(name, Arguments, count)                                 \
  threads["sluice_probe_" #name] = count;
  SLUICE_FOR_EACH_PROBE_KERNEL(SLUICE_THREADS)
#undef SLUICE_THREADS
  const size_t kernels = threads.size();
  const std::regex whose("entry function '(\\w+)' for 'sm_90a'");
  const std::regex frame("(\\d+) bytes stack frame, (\\d+) bytes spill stores, "
                         "(\\d+) bytes spill loads");
  const std::regex used("Used (\\d+) registers");
  std::ifstream file(SLUICE_PROBE_REPORT);
  std::smatch match;
  std::string kernel;
  size_t frames = 0, counted = 0;
  for (std::string line; std::getline(file, line);) {
    EXPECT_EQ(line.find("arning"), std::string::npos) << line;
    if (std::regex_search(line, match, whose)) {
      kernel = match[1];
      EXPECT_EQ(threads.count(kernel), 1u) << kernel;
    } else if (std::regex_search(line, match, frame)) {
      EXPECT_EQ(match[1].str() + match[2].str() + match[3].str(), "000")
          << kernel;
      ++frames;
    } else if (std::regex_search(line, match, used)) {
      // The registers of a multiprocessor; a warp gets them in pieces of 256.
      // Four blocks of kernels that stream must fit.
      const bool streams = kernel.find("_stream_") != std::string::npos;
      const int registers = (std::stoi(match[1]) + 7) / 8 * 8;
      EXPECT_LE(registers * threads[kernel] * (streams ? 4 : 1), 65536)
          << kernel;
      ++counted;
    }
  }
  EXPECT_EQ(frames, kernels);
  EXPECT_EQ(counted, kernels);
}

TEST(ProbeImagesTest, ThereIsOneImageForOneChip) {
  if (std::string_view(SLUICE_PROBE_REPORT).empty()) {
    EXPECT_TRUE(probeImages().empty());
    return;
  }
  ASSERT_EQ(probeImages().size(), 1u);
  EXPECT_EQ(chipsOf(probeImages()[0].bytes),
            (std::vector<std::string>{"sm_90"}));
}
