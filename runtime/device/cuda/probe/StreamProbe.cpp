//===- StreamProbe.cpp - the speed of instructions that read memory -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads more memory than any cache holds, once. Word i of it is i, so the sum
// over all words is known, and shows if a piece is missed or read twice.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/ProbeABI.h"
#include "runtime/device/cuda/probe/ProbeParts.h"

#include <algorithm>
#include <numeric>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::probe;

namespace {

/// Bytes of one block if blocks do not stay resident: about a part of a product
/// of few rows.
constexpr int64_t runBytes = 128 << 10;

/// A multiprocessor has 1 KiB more dynamic shared memory than the largest block
/// may request, and each block takes that much in addition.
constexpr int32_t blockOverhead = 1 << 10;

/// A kernel and the way to launch it.
struct Method {
  std::string name;
  std::string kernel;
  int32_t threads;
  int32_t warps; ///< warps that write sums
  int32_t pieceBytes;
  int32_t stages = 1;
  int32_t sharedBytes = 0;
  int32_t bytesInFlight = 0; ///< bytes of a block in flight
};

Method loadMethod(int32_t loads) {
  const int32_t bytes = loadPieceBytes(loads);
  return {"loads of 16 bytes, " + std::to_string(loads) + " in flight",
          "sluice_probe_stream_loads_" + std::to_string(loads),
          loadThreads,
          loadThreads / 32,
          bytes,
          1,
          0,
          bytes};
}

Method asyncMethod(int32_t stages) {
  return {"cp.async of 16 bytes, " + std::to_string(stages) + " stages",
          "sluice_probe_stream_async_" + std::to_string(stages),
          asyncThreads,
          asyncWarps,
          asyncPieceBytes,
          stages,
          asyncSharedBytes(stages),
          (stages - 1) * asyncPieceBytes};
}

Method bulkMethod(int32_t pieceBytes, int32_t ringBytes) {
  const int32_t stages = ringBytes / pieceBytes;
  return {"bulk copies of " + std::to_string(pieceBytes >> 10) + " KiB, " +
              std::to_string(stages) + " in flight",
          "sluice_probe_stream_bulk",
          bulkThreads,
          bulkWarps,
          pieceBytes,
          stages,
          bulkSharedBytes(pieceBytes, stages),
          stages * pieceBytes};
}

/// Returns the methods of which that many blocks fit on a multiprocessor.
std::vector<Method> methodsFor(int32_t blocksPerMultiprocessor,
                               int32_t sharedBytes) {
  const int32_t max =
      (sharedBytes + blockOverhead) / blocksPerMultiprocessor - blockOverhead;
  std::vector<Method> methods = {loadMethod(4), loadMethod(8)};
  for (int32_t stages : {3, 4})
    if (asyncSharedBytes(stages) <= max)
      methods.push_back(asyncMethod(stages));
  // The largest ring that fits, for each size of pieces, up to a limit.
  constexpr int32_t largestPiece = 16 << 10, largestRing = 64 << 10;
  const int32_t ring =
      std::min(largestRing, (max - 1024) / largestPiece * largestPiece);
  for (int32_t pieceBytes : {4 << 10, 8 << 10, largestPiece})
    methods.push_back(bulkMethod(pieceBytes, ring));
  return methods;
}

class StreamProbe {
public:
  explicit StreamProbe(const Bench &bench)
      : lab(bench.device, bench.kernels),
        multiprocessors(bench.device.properties().multiprocessors),
        bytes(bench.isTiny ? 9 * (32 << 10) : int64_t{4} << 30),
        repeats(bench.isTiny ? 1 : 9) {
    memory = lab.allocate(static_cast<uint64_t>(bytes));
    sums = lab.allocate(sumBytes());
    const FillArguments fill = {reinterpret_cast<uint32_t *>(memory),
                                bytes / 4};
    lab.run(std::vector<GraphNode>{lab.node(
        "sluice_probe_fill", {static_cast<uint32_t>(multiprocessors) * 8},
        fillThreads, 0, fill)});
  }

  /// Runs a method. If `blocksPerMultiprocessor` is 0, each block has
  /// contiguous bytes of its own.
  Status run(const Method &method, int32_t blocksPerMultiprocessor,
             Report &report) {
    StreamArguments arguments = {};
    arguments.from = reinterpret_cast<const uint8_t *>(memory);
    arguments.sums = reinterpret_cast<uint64_t *>(sums);
    arguments.pieces = bytes / method.pieceBytes;
    arguments.pieceBytes = method.pieceBytes;
    arguments.stages = method.stages;
    int64_t blocks = int64_t{blocksPerMultiprocessor} * multiprocessors;
    if (blocks > 0) {
      arguments.blockStride = 1;
      arguments.pieceStride = blocks;
      arguments.piecesOfBlock = (arguments.pieces + blocks - 1) / blocks;
    } else {
      arguments.piecesOfBlock = runBytes / method.pieceBytes;
      arguments.blockStride = arguments.piecesOfBlock;
      arguments.pieceStride = 1;
      blocks = (bytes + runBytes - 1) / runBytes;
    }
    lab.fillZeros(sums, sumBytes());
    const std::vector<GraphNode> nodes = {
        lab.node(method.kernel, {static_cast<uint32_t>(blocks)}, method.threads,
                 method.sharedBytes, arguments)};
    const Times times = lab.measure(nodes, repeats);
    const bool isRight = sumOf(blocks * method.warps) == expectedSum();
    if (!lab.status().ok())
      return lab.status().withContext(method.name);
    print(method, blocksPerMultiprocessor, blocks,
          arguments.piecesOfBlock * method.pieceBytes, times, isRight, report);
    return {};
  }

private:
  void print(const Method &method, int32_t blocksPerMultiprocessor,
             int64_t blocks, int64_t bytesOfBlock, const Times &times,
             bool isRight, Report &report) const {
    const std::string grid = blocksPerMultiprocessor == 0
                                 ? "blocks of 128 KiB"
                                 : std::to_string(blocksPerMultiprocessor) +
                                       " resident blocks a multiprocessor";
    report.add({{"case", method.name + "; " + grid},
                {"method", method.name},
                {"pieceBytes", method.pieceBytes},
                {"stages", method.stages},
                {"bytesInFlightOfBlock", method.bytesInFlight},
                {"blocksPerMultiprocessor", blocksPerMultiprocessor},
                {"blocks", blocks},
                {"bytesOfBlock", bytesOfBlock},
                {"bytes", bytes},
                {"launchUs", times.median * 1e6},
                {"launchLeastUs", times.min * 1e6},
                {"gigabytesPerSecond",
                 static_cast<double>(bytes) / times.median / 1e9}},
               isRight);
  }

  /// Returns the room for the sums of the grid with the most: blocks with
  /// contiguous bytes, of eight warps each; or all blocks that can be resident.
  uint64_t sumBytes() const {
    constexpr int64_t maxWarps = loadThreads / 32, maxResident = 4;
    const int64_t blocks =
        std::max(bytes / runBytes + 1, maxResident * multiprocessors);
    return static_cast<uint64_t>(blocks * maxWarps) * sizeof(uint64_t);
  }

  uint64_t sumOf(int64_t count) {
    const std::vector<uint64_t> parts =
        lab.download<uint64_t>(sums, static_cast<size_t>(count));
    return std::accumulate(parts.begin(), parts.end(), uint64_t{0});
  }

  /// Returns 0 + 1 + ... + (words - 1); there are fewer than 2^32 words.
  uint64_t expectedSum() const {
    const auto words = static_cast<uint64_t>(bytes) / 4;
    return words / 2 * (words - 1);
  }

  Lab lab;
  const int32_t multiprocessors;
  const int64_t bytes;
  const int repeats;
  DeviceAddress memory = 0, sums = 0;
};

} // namespace

Status probe::probeStreams(const Bench &bench, Report &report) {
  StreamProbe probe(bench);
  const int32_t sharedBytes = bench.device.properties().sharedBytes;
  for (int32_t blocksPerMultiprocessor : {1, 2, 4, 0})
    for (const Method &method :
         methodsFor(std::max(blocksPerMultiprocessor, 1), sharedBytes))
      SLUICE_RETURN_IF_ERROR(
          probe.run(method, blocksPerMultiprocessor, report));
  return {};
}
