//===- FuzzCluster.cpp - fuzzes the reader of clusters --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/ClusterFile.h"
#include "runtime/cluster/Partition.h"

#include <cstdlib>
#include <string_view>

using namespace sluice;
using namespace sluice::cluster;

/// What can be read has a name for each place and a way or none between any
/// two, and its models can be costed and cut.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Expected<ClusterFile> file = parseClusterFile(text, "fuzz.yaml");
  if (!file) {
    if (file.status().message().empty())
      std::abort();
    return 0;
  }
  const Cluster &cluster = file->cluster;
  for (Place from : cluster.stagePlaces()) {
    if (cluster.findPlace(cluster.placeName(from)) != from)
      std::abort();
    for (Place to : cluster.stagePlaces())
      if (cluster.link(from, to) != cluster.link(to, from))
        std::abort();
  }
  // Cutting takes long with many layers and places: other tests do that.
  for (const ModelShape &shape : file->models)
    if (shape.layers * int64_t(cluster.stagePlaces().size()) <= 512)
      if (Expected<Partition> cut = partition(shape.cost(), cluster, {}))
        if (cut->stages.empty() || !(cut->tokensPerSecond > 0))
          std::abort();
  return 0;
}
