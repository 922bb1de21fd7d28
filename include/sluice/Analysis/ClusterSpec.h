//===- ClusterSpec.h - a cluster as a DLTI spec ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster in the IR: MLIR's target_system_spec, one device spec for each
// device of each node, and one called "links" for what is between them.
//
//   module attributes {dlti.target_system_spec = #dlti.target_system_spec<
//     "n0" = #dlti.target_device_spec<
//       "kind" = "cpu", "memory" = 128849018880 : i64,
//       "bandwidth" = 8.5e+10, "flops" = 4.5e+11,
//       "overhead" = 5.0e-05, "row_overhead" = 0.0>,
//     "head" = #dlti.target_device_spec<..., "draft" = true>,
//     "links" = #dlti.target_device_spec<
//       "cluster" = "cpu8-1g",
//       "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>,
//       "default" = #dlti.map<"latency" = 6.0e-05, "bandwidth" = 1.18e+08>,
//       "n0 - n1" = #dlti.map<...>>>}
//
// Bytes, seconds, and operations a second. A device whose steps were measured
// has "weight_seconds" = #dlti.map<"1" = 4.7e-11, "8" = 5.1e-11> as well: what
// a byte of weights takes, by the rows of a step. A node with several devices
// has them as "n0/0", "n0/1" and so on. Paths through switches appear as links
// between their ends.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_ANALYSIS_CLUSTERSPEC_H
#define SLUICE_ANALYSIS_CLUSTERSPEC_H

#include "runtime/cluster/Cluster.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// The cluster as an attribute; the dialect DLTI is loaded.
mlir::TargetSystemSpecAttr toSystemSpec(mlir::MLIRContext *context,
                                        const cluster::Cluster &cluster);

/// The cluster of an attribute that toSystemSpec() made, or somebody by hand.
/// Errors: entries that are missing, unknown or of another type, and what
/// cluster::ClusterBuilder refuses.
Expected<cluster::Cluster> fromSystemSpec(mlir::TargetSystemSpecAttr spec);

/// Puts the cluster on the module.
void setCluster(mlir::ModuleOp module, const cluster::Cluster &cluster);
/// Whether the module has one.
bool hasCluster(mlir::ModuleOp module);
/// The module's cluster. Errors: it has none, and as fromSystemSpec().
Expected<cluster::Cluster> getCluster(mlir::ModuleOp module);

/// A place of the cluster as the IR names it, and back. Error: the cluster has
/// no such node or device.
ir::PlaceAttr toPlaceAttr(mlir::MLIRContext *context,
                          const cluster::Cluster &cluster,
                          cluster::Place place);
Expected<cluster::Place> fromPlaceAttr(const cluster::Cluster &cluster,
                                       ir::PlaceAttr place);

/// What a stage is computed on: its device, or what its group is to it
/// (cluster::groupDevice). Errors: as fromPlaceAttr() and groupDevice().
Expected<cluster::DeviceSpec> deviceOf(const cluster::Cluster &cluster,
                                       ir::StageOp stage);

} // namespace sluice

#endif // SLUICE_ANALYSIS_CLUSTERSPEC_H
