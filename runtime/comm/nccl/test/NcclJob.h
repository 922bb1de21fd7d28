//===- NcclJob.h - jobs whose ranks are threads with a device each --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_TEST_NCCLJOB_H
#define SLUICE_RUNTIME_COMM_NCCL_TEST_NCCLJOB_H

#include "runtime/comm/inproc/InprocCommunicator.h"
#include "runtime/comm/nccl/NcclCommunicator.h"

#include <functional>
#include <thread>

namespace sluice::comm::test {

/// Returns options with every way between `size` ranks.
inline NcclOptions optionsForAll(int64_t size) {
  NcclOptions options;
  for (int64_t from = 0; from < size; ++from)
    for (int64_t to = 0; to < size; ++to)
      options.ways.push_back({from, to});
  options.ringBytes = int64_t{9} << 20;
  return options;
}

/// Connects as an application does, and breaks the job if that fails.
inline Expected<std::unique_ptr<NcclCommunicator>>
connected(std::unique_ptr<Communicator> base, const NcclLibrary &library,
          cuda::Device *device, const NcclOptions &options) {
  std::unique_ptr<NcclCommunicator> made =
      layNcclOver(std::move(base), library, device, options);
  Status status = made->connect();
  if (status.ok())
    return made;
  made->abort(status);
  return status;
}

/// Runs `body(rank, base)` for each rank of an in-process job, each on its own
/// thread, and returns their results.
inline std::vector<Status> runJob(
    int64_t size,
    const std::function<Status(int64_t, std::unique_ptr<Communicator>)> &body) {
  std::vector<std::unique_ptr<Communicator>> job = makeInprocJob(size);
  std::vector<Status> results(job.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < job.size(); ++rank)
    threads.emplace_back([&, rank] {
      results[rank] = body(static_cast<int64_t>(rank), std::move(job[rank]));
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_NCCL_TEST_NCCLJOB_H
