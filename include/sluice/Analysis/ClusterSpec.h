//===- ClusterSpec.h - a cluster as a DLTI attribute ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a cluster description to and from MLIR's target_system_spec. The
// attribute has one device spec for each device of each node, and one called
// "links" for the network between them.
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
// Units are bytes, seconds, bytes per second and operations per second. A
// device whose steps were measured also has the seconds that a step takes per
// byte of weights, by the number of rows in the step:
//
//   "weight_seconds" = #dlti.map<"1" = 4.7e-11, "8" = 5.1e-11>
//
// The devices of a node with several are called "n0/0", "n0/1" and so on. A
// path through switches appears as one link between its ends.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_ANALYSIS_CLUSTERSPEC_H
#define SLUICE_ANALYSIS_CLUSTERSPEC_H

#include "runtime/cluster/Cluster.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Returns the cluster as an attribute. Loads the dialect DLTI into `context`.
mlir::TargetSystemSpecAttr toSystemSpec(mlir::MLIRContext *context,
                                        const cluster::Cluster &cluster);

/// Returns the cluster that `spec` describes; the attribute may be written by
/// hand. Fails if an entry is missing, unknown or of another type, or if
/// cluster::ClusterBuilder refuses the cluster.
Expected<cluster::Cluster> fromSystemSpec(mlir::TargetSystemSpecAttr spec);

/// Sets the cluster as an attribute of the module.
void setCluster(mlir::ModuleOp module, const cluster::Cluster &cluster);
/// Returns whether the module has a cluster.
bool hasCluster(mlir::ModuleOp module);
/// Returns the module's cluster. Fails if the module has none, and where
/// fromSystemSpec() fails.
Expected<cluster::Cluster> getCluster(mlir::ModuleOp module);

/// These convert between a place of the cluster and its name in the IR.
/// fromPlaceAttr() fails if the cluster has no such node or device.
ir::PlaceAttr toPlaceAttr(mlir::MLIRContext *context,
                          const cluster::Cluster &cluster,
                          cluster::Place place);
Expected<cluster::Place> fromPlaceAttr(const cluster::Cluster &cluster,
                                       ir::PlaceAttr place);

/// Returns the device that computes a stage. For a stage on a tensor-parallel
/// group, that is the group seen as one device (cluster::groupDevice). Fails
/// where fromPlaceAttr() and groupDevice() fail.
Expected<cluster::DeviceSpec> deviceOf(const cluster::Cluster &cluster,
                                       ir::StageOp stage);

} // namespace sluice

#endif // SLUICE_ANALYSIS_CLUSTERSPEC_H
