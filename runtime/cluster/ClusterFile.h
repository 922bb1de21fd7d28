//===- ClusterFile.h - descriptions of clusters as YAML -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a cluster's description. docs/Clusters.md says how it is written; in
// short:
//
//   name: two-nodes
//   models: models.yaml          # a file beside this one, or a list
//   target: llama-70b            # the models that it is meant for
//   draft: tinyllama-1.1b
//   nodes:
//     - name: n0
//       devices:
//         - {kind: cpu, memory: 128 GiB, bandwidth: 85 GB/s, flops: 450
//         GFLOP/s,
//            overhead: 50 us}
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
  std::string target; ///< names one of `models`, or empty
  std::string draft;  ///< likewise

  /// Error: no model has that name; lists those there are.
  Expected<ModelShape> findModel(std::string_view name) const;
};

/// Reads `path`, and the file that its `models` names. Errors, all with file
/// and line: not YAML, longer than 1 MiB, deeper than 16 or of more than
/// 100,000 values, aliases, unknown or doubled keys, values of another type or
/// unit, numbers out of their range, measured steps of no described model or
/// that RowCurve::fit() and weightCurve() refuse, `like` that names nobody
/// or itself over others (prints the cycle), and what Cluster::create() and
/// ModelShape::validate() refuse.
Expected<ClusterFile> readClusterFile(const std::string &path);

/// The same of a text; `name` is what messages call it and where a models file
/// is looked for.
Expected<ClusterFile> parseClusterFile(std::string_view text,
                                       const std::string &name);

/// Reads a file that has a list `models` only.
Expected<std::vector<ModelShape>> readModelFile(const std::string &path);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_CLUSTERFILE_H
