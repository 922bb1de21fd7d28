//===- ClusterFile.h - descriptions of clusters as YAML -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a cluster's description. docs/Clusters.md defines the format; in short:
//
//   name: two-nodes
//   models: models.yaml          # a file beside this one, or a list
//   target: llama-70b            # the models that it is meant for
//   draft: tinyllama-1.1b
//   nodes:
//     - name: n0
//       devices:
//         - kind: cpu
//           memory: 128 GiB
//           bandwidth: 85 GB/s
//           flops: 450 GFLOP/s
//           overhead: 50 us
//     - {name: n1, like: n0}     # n0's devices
//     - {name: d, like: n0, draft: true}
//   switches: [s]
//   links:
//     default: {latency: 50 us, bandwidth: 1 Gb/s}
//     local: {latency: 2 us, bandwidth: 20 GB/s}
//     between:
//       - {nodes: [n0, s], latency: 5 us, bandwidth: 10 Gb/s}
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_CLUSTERFILE_H
#define SLUICE_RUNTIME_CLUSTER_CLUSTERFILE_H

#include "runtime/base/Status.h"
#include "runtime/cluster/Cluster.h"
#include "runtime/cluster/ModelShape.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::cluster {

/// A cluster, and the models that it is meant for.
struct ClusterFile {
  Cluster cluster;
  std::vector<ModelShape> models;
  std::string target; ///< the name of one of `models`, or empty
  std::string draft;  ///< the name of one of `models`, or empty

  /// Returns the model with this name. Fails if there is none, and lists the
  /// names.
  Expected<ModelShape> findModel(std::string_view name) const;
};

/// Reads `path`, and the file that its `models` names. Fails, with file and
/// line, if the text is not YAML, is longer than 1 MiB, nested deeper than 16,
/// or has more than 100,000 values; for aliases, unknown or repeated keys,
/// values of the wrong type or unit, and numbers out of range; for measured
/// steps of a model that is not described, or that RowCurve::fit() or
/// weightCurve() refuses; for a `like` that names no node or forms a cycle
/// (which is printed); and for what ClusterBuilder and ModelShape::validate()
/// refuse.
Expected<ClusterFile> readClusterFile(const std::string &path);

/// Like readClusterFile(), for a text. `name` is its name in messages, and the
/// file of models is looked for beside it.
Expected<ClusterFile> parseClusterFile(std::string_view text,
                                       const std::string &name);

/// Reads a file that only has a list `models`.
Expected<std::vector<ModelShape>> readModelFile(const std::string &path);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_CLUSTERFILE_H
