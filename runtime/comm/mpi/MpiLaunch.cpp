//===- MpiLaunch.cpp - detects a launch by MPI ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiLaunch.h"

#include <charconv>
#include <cstdlib>
#include <limits>

using namespace sluice;
using namespace sluice::comm;

std::string_view comm::mpiFlavourName(MpiFlavour flavour) {
  return flavour == MpiFlavour::OpenMpi ? "Open MPI" : "MPICH";
}

namespace {

using Environment = std::function<const char *(const char *)>;

/// The variables that a launcher sets for its ranks.
struct Launcher {
  MpiFlavour flavour;
  const char *rank, *size; ///< names of variables
  /// For the place among the ranks on this machine; null if the launcher does
  /// not set them.
  const char *localRank, *localSize;
};

constexpr Launcher launchers[] = {
    {MpiFlavour::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {MpiFlavour::Mpich, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS"},
    {MpiFlavour::OpenMpi, "PMIX_RANK", "SLURM_NTASKS", nullptr, nullptr},
};

/// Returns whether srun has started this rank itself, by PMIx or PMI-2, and not
/// the daemon of a launcher that started it. Then Slurm's variables are those
/// of the rank.
bool isSlurmTask(const Environment &environment, int64_t rank) {
  const char *task = environment("SLURM_PROCID");
  return task && environment("SLURM_LOCALID") && task == std::to_string(rank);
}

/// Reads a whole number in [low, high] from a variable, which must be set.
Expected<int64_t> readNumber(const Environment &environment, const char *name,
                             int64_t low, int64_t high) {
  std::string_view text = environment(name);
  int64_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() ||
      number < low || number > high)
    return failure("MPI: ", name, " is '", text, "', not a number in ", low,
                   "..", high);
  return number;
}

/// Reads this rank's number among the ranks on its machine, and how many they
/// are.
Status readPlace(const Environment &environment, const Launcher &launcher,
                 MpiLaunch &launch) {
  if (launcher.localSize && environment(launcher.localSize)) {
    Expected<int64_t> size =
        readNumber(environment, launcher.localSize, 1, launch.size);
    if (!size)
      return size.status();
    launch.localSize = *size;
  }
  const char *name = nullptr;
  if (launcher.localRank && environment(launcher.localRank))
    name = launcher.localRank;
  else if (isSlurmTask(environment, launch.rank))
    name = "SLURM_LOCALID";
  if (!name)
    return {};
  Expected<int64_t> rank = readNumber(
      environment, name, 0, launch.localSize.value_or(launch.size) - 1);
  if (!rank)
    return rank.status();
  launch.localRank = *rank;
  return {};
}

Expected<MpiLaunch> readLaunch(const Environment &environment,
                               const Launcher &launcher) {
  Expected<int64_t> size = readNumber(environment, launcher.size, 1,
                                      std::numeric_limits<int32_t>::max());
  if (!size)
    return size.status();
  Expected<int64_t> rank = readNumber(environment, launcher.rank, 0, *size - 1);
  if (!rank)
    return rank.status();
  MpiLaunch launch{launcher.flavour, *rank, *size, {}, {}, {}};
  SLUICE_RETURN_IF_ERROR(readPlace(environment, launcher, launch));
  return launch;
}

Status applyOverride(const Environment &environment,
                     std::optional<MpiLaunch> &launch) {
  const char *wanted = environment("SLUICE_MPI");
  if (!wanted || !*wanted)
    return {};
  std::string_view flavour = wanted;
  if (flavour == "none") {
    launch.reset();
    return {};
  }
  if (flavour != "openmpi" && flavour != "mpich")
    return failure("MPI: SLUICE_MPI is '", flavour,
                   "', not openmpi, mpich or none");
  if (!launch)
    return failure("MPI: SLUICE_MPI is '", flavour,
                   "', but no MPI launcher has started this process");
  launch->flavour =
      flavour == "openmpi" ? MpiFlavour::OpenMpi : MpiFlavour::Mpich;
  return {};
}

} // namespace

Expected<std::optional<MpiLaunch>>
comm::detectMpiLaunch(const Environment &environment) {
  Environment get = environment;
  if (!get)
    get = [](const char *name) -> const char * { return std::getenv(name); };
  std::optional<MpiLaunch> launch;
  for (const Launcher &launcher : launchers) {
    if (!get(launcher.rank) || !get(launcher.size))
      continue;
    Expected<MpiLaunch> read = readLaunch(get, launcher);
    if (!read)
      return read.status();
    launch = *read;
    break;
  }
  SLUICE_RETURN_IF_ERROR(applyOverride(get, launch));
  if (!launch)
    return launch;
  const char *library = get("SLUICE_MPI_LIBRARY");
  if (library && *library)
    launch->library = library;
  else
    launch->library = launch->flavour == MpiFlavour::OpenMpi ? "libmpi.so.40"
                                                             : "libmpich.so.12";
  return launch;
}
