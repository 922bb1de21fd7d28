//===- MpiLaunchTest.cpp - tests of detecting a launcher ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiCommunicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace sluice;
using namespace sluice::comm;
using testing::HasSubstr;

namespace {

using Variables = std::map<std::string, std::string>;

Expected<std::optional<MpiLaunch>> detect(const Variables &variables) {
  return detectMpiLaunch([&](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

MpiLaunch detected(const Variables &variables) {
  Expected<std::optional<MpiLaunch>> launch = detect(variables);
  EXPECT_TRUE(launch.ok()) << launch.status().message();
  if (!launch || !*launch) {
    ADD_FAILURE() << "no launch detected";
    return {};
  }
  return **launch;
}

TEST(MpiLaunch, ByHand) {
  for (const Variables &variables :
       {Variables{},
        // A shell that Slurm has started, and environments that lack half of
        // the variables.
        Variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
        Variables{{"PMI_RANK", "0"}}, Variables{{"PMIX_RANK", "0"}}}) {
    Expected<std::optional<MpiLaunch>> launch = detect(variables);
    ASSERT_TRUE(launch.ok()) << launch.status().message();
    EXPECT_FALSE(launch->has_value());
  }
}

TEST(MpiLaunch, OpenMpi) {
  MpiLaunch launch = detected({{"OMPI_COMM_WORLD_SIZE", "5"},
                               {"OMPI_COMM_WORLD_RANK", "3"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"PMIX_RANK", "3"}});
  EXPECT_EQ(launch.flavour, MpiFlavour::OpenMpi);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 5);
  EXPECT_EQ(launch.localSize, 2);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.library, "libmpi.so.40");
}

/// Only the launcher knows a rank's place on its machine: where ranks alternate
/// between machines (`mpirun --map-by node` over two machines of two ranks), 0
/// and 2 share one.
TEST(MpiLaunch, PlacesOfACyclicMapping) {
  const char *places[] = {"0", "0", "1", "1"};
  for (int rank = 0; rank < 4; ++rank) {
    const std::string number = std::to_string(rank);
    const std::string place = places[rank];
    for (const Variables &variables :
         {Variables{{"OMPI_COMM_WORLD_SIZE", "4"},
                    {"OMPI_COMM_WORLD_RANK", number},
                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                    {"OMPI_COMM_WORLD_LOCAL_RANK", place}},
          Variables{{"PMI_SIZE", "4"},
                    {"PMI_RANK", number},
                    {"MPI_LOCALNRANKS", "2"},
                    {"MPI_LOCALRANKID", place}},
          Variables{{"PMIX_RANK", number},
                    {"SLURM_NTASKS", "4"},
                    {"SLURM_PROCID", number},
                    {"SLURM_LOCALID", place}}})
      EXPECT_EQ(detected(variables).localRank, rank / 2);
  }
}

TEST(MpiLaunch, Mpich) {
  MpiLaunch launch = detected(
      {{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(launch.flavour, MpiFlavour::Mpich);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 2);
  EXPECT_EQ(launch.localSize, 2);
  EXPECT_FALSE(launch.localRank);
  EXPECT_EQ(launch.library, "libmpich.so.12");
}

TEST(MpiLaunch, SlurmWithPmix) {
  MpiLaunch launch =
      detected({{"PMIX_RANK", "2"}, {"SLURM_NTASKS", "4"}, {"PATH", "x"}});
  EXPECT_EQ(launch.flavour, MpiFlavour::OpenMpi);
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
  EXPECT_FALSE(launch.localSize);
  EXPECT_FALSE(launch.localRank);
}

TEST(MpiLaunch, PlacesThatSlurmSays) {
  for (Variables variables :
       {Variables{{"PMIX_RANK", "5"}, {"SLURM_NTASKS", "8"}},
        // srun --mpi=pmi2
        Variables{{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}}) {
    variables["SLURM_PROCID"] = "5";
    variables["SLURM_LOCALID"] = "1";
    MpiLaunch launch = detected(variables);
    EXPECT_EQ(launch.localRank, 1);
    EXPECT_FALSE(launch.localSize);
    // The variables of the daemon that has started the rank do not count; MPI's
    // own do.
    variables["SLURM_PROCID"] = "1";
    EXPECT_FALSE(detected(variables).localRank);
  }
  // Hydra's variables come first, since its daemons are Slurm's tasks.
  EXPECT_EQ(detected({{"PMI_RANK", "0"},
                      {"PMI_SIZE", "8"},
                      {"MPI_LOCALRANKID", "3"},
                      {"SLURM_PROCID", "0"},
                      {"SLURM_LOCALID", "0"}})
                .localRank,
            3);
}

TEST(MpiLaunch, Overrides) {
  Variables variables = {{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}};
  variables["SLUICE_MPI"] = "openmpi";
  variables["SLUICE_MPI_LIBRARY"] = "/opt/mpi.so";
  MpiLaunch launch = detected(variables);
  EXPECT_EQ(launch.flavour, MpiFlavour::OpenMpi);
  EXPECT_EQ(launch.library, "/opt/mpi.so");

  variables["SLUICE_MPI"] = "none";
  Expected<std::optional<MpiLaunch>> none = detect(variables);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

TEST(MpiLaunch, Refusals) {
  EXPECT_THAT(
      detect({{"PMI_SIZE", "two"}, {"PMI_RANK", "1"}}).status().message(),
      HasSubstr("PMI_SIZE is 'two', not a number in 1.."));
  EXPECT_THAT(detect({{"PMI_SIZE", "2"}, {"PMI_RANK", "2"}}).status().message(),
              HasSubstr("PMI_RANK is '2', not a number in 0..1"));
  EXPECT_THAT(
      detect({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}, {"MPI_LOCALNRANKS", "3"}})
          .status()
          .message(),
      HasSubstr("MPI_LOCALNRANKS is '3', not a number in 1..2"));
  EXPECT_THAT(detect({{"PMI_SIZE", "4"},
                      {"PMI_RANK", "1"},
                      {"MPI_LOCALNRANKS", "2"},
                      {"MPI_LOCALRANKID", "2"}})
                  .status()
                  .message(),
              HasSubstr("MPI_LOCALRANKID is '2', not a number in 0..1"));
  EXPECT_THAT(detect({{"PMIX_RANK", "1"},
                      {"SLURM_NTASKS", "4"},
                      {"SLURM_PROCID", "1"},
                      {"SLURM_LOCALID", "-1"}})
                  .status()
                  .message(),
              HasSubstr("SLURM_LOCALID is '-1', not a number in 0..3"));
  EXPECT_THAT(detect({{"SLUICE_MPI", "lam"}}).status().message(),
              HasSubstr("SLUICE_MPI is 'lam'"));
  EXPECT_THAT(detect({{"SLUICE_MPI", "mpich"}}).status().message(),
              HasSubstr("no MPI launcher has started this process"));
}

TEST(MpiLaunch, LibraryThatIsNotThere) {
  for (MpiFlavour flavour : {MpiFlavour::OpenMpi, MpiFlavour::Mpich}) {
    MpiLaunch launch{flavour, 0, 1, 1, 0, "/nowhere/libmpi.so"};
    Expected<std::unique_ptr<Communicator>> made = connectMpi(launch);
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(made.status().message(),
                HasSubstr(std::string(mpiFlavourName(flavour))));
  }
}

TEST(MpiLaunch, LibraryThatIsNoMpi) {
  for (MpiFlavour flavour : {MpiFlavour::OpenMpi, MpiFlavour::Mpich}) {
    MpiLaunch launch{flavour, 0, 1, 1, 0, "libm.so.6"};
    Expected<std::unique_ptr<Communicator>> made = connectMpi(launch);
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(
        made.status().message(),
        testing::AnyOf(HasSubstr("is not"), HasSubstr("built without")));
  }
}

} // namespace
