//===- MpiAdapter.cpp - the calls of one MPI library ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled once against the mpi.h of Open MPI (SLUICE_MPI_OPENMPI) and once
// against that of MPICH, since their handles, constants and structs differ. No
// MPI library is linked: the functions are looked up by name in the opened
// library, as are the objects whose addresses are Open MPI's predefined
// handles.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/SharedLibrary.h"
#include "runtime/comm/mpi/MpiLibrary.h"

// The old C++ bindings would need symbols of the library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace sluice;
using namespace sluice::comm;

#ifdef SLUICE_MPI_OPENMPI
#define SLUICE_OPEN openOpenMpi
#else
#define SLUICE_OPEN openMpich
#endif

namespace {

#ifdef SLUICE_MPI_OPENMPI
constexpr MpiFlavour flavour = MpiFlavour::OpenMpi;
/// A text by which MPI_Get_library_version names this MPI.
constexpr const char *versionMark = "Open MPI";
#else
constexpr MpiFlavour flavour = MpiFlavour::Mpich;
constexpr const char *versionMark = "MPICH";
#endif

/// The functions and predefined handles of an opened MPI library.
struct Symbols {
  decltype(&MPI_Get_library_version) libraryVersion = nullptr;
  decltype(&MPI_Init_thread) initThread = nullptr;
  decltype(&MPI_Comm_set_errhandler) setErrorHandler = nullptr;
  decltype(&MPI_Error_string) errorString = nullptr;
  decltype(&MPI_Comm_rank) commRank = nullptr;
  decltype(&MPI_Comm_size) commSize = nullptr;
  decltype(&MPI_Comm_dup) commDup = nullptr;
  decltype(&MPI_Comm_split_type) commSplitType = nullptr;
  decltype(&MPI_Comm_free) commFree = nullptr;
  decltype(&MPI_Isend) isend = nullptr;
  decltype(&MPI_Issend) issend = nullptr;
  decltype(&MPI_Improbe) improbe = nullptr;
  decltype(&MPI_Imrecv) imrecv = nullptr;
  decltype(&MPI_Get_count) getCount = nullptr;
  decltype(&MPI_Test) test = nullptr;
  decltype(&MPI_Finalize) finalize = nullptr;
  decltype(&MPI_Abort) abort = nullptr;
  MPI_Comm world{};
  MPI_Datatype byte{};
  MPI_Errhandler errorsReturn{};
  MPI_Info noInfo{};

  Status load(const SharedLibrary &library);
};

Status Symbols::load(const SharedLibrary &library) {
  Status status;
  auto find = [&](const char *name, auto &symbol) {
    Status found = library.find(name, symbol);
    if (status.ok())
      status = found;
  };
  find("MPI_Get_library_version", libraryVersion);
  find("MPI_Init_thread", initThread);
  find("MPI_Comm_set_errhandler", setErrorHandler);
  find("MPI_Error_string", errorString);
  find("MPI_Comm_rank", commRank);
  find("MPI_Comm_size", commSize);
  find("MPI_Comm_dup", commDup);
  find("MPI_Comm_split_type", commSplitType);
  find("MPI_Comm_free", commFree);
  find("MPI_Isend", isend);
  find("MPI_Issend", issend);
  find("MPI_Improbe", improbe);
  find("MPI_Imrecv", imrecv);
  find("MPI_Get_count", getCount);
  find("MPI_Test", test);
  find("MPI_Finalize", finalize);
  find("MPI_Abort", abort);
#ifdef SLUICE_MPI_OPENMPI
  find("ompi_mpi_comm_world", world);
  find("ompi_mpi_byte", byte);
  find("ompi_mpi_errors_return", errorsReturn);
  find("ompi_mpi_info_null", noInfo);
#else
  world = MPI_COMM_WORLD;
  byte = MPI_BYTE;
  errorsReturn = MPI_ERRORS_RETURN;
  noInfo = MPI_INFO_NULL;
#endif
  return status;
}

// Handles are pointers in Open MPI and numbers in MPICH.
template <typename T> MpiHandle toHandle(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<uintptr_t>(value);
  else
    return static_cast<MpiHandle>(value);
}

template <typename T> T fromHandle(MpiHandle handle) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(handle);
  else
    return static_cast<T>(handle);
}

class Adapter final : public MpiLibrary {
public:
  explicit Adapter(const Symbols &symbols) : mpi(symbols) {}

  Status initialize() override;
  int rank() const override { return self; }
  int size() const override { return ranks; }
  int localRank() const override { return selfHere; }
  int localSize() const override { return ranksHere; }
  Status send(MpiSpace space, int to, int tag, std::span<const uint8_t> bytes,
              bool synchronous, MpiHandle &request) override;
  Status probe(MpiSpace space, int source, bool &found,
               MpiArrival &arrival) override;
  Status receive(MpiArrival &arrival, std::span<uint8_t> into,
                 MpiHandle &request) override;
  Status test(MpiHandle &request, bool &done) override;
  Status finalize() override;
  void abort(int status) override { mpi.abort(mpi.world, status); }

private:
  Status findNeighbours();
  /// Returns success, or MPI's text for `code`.
  Status check(int code, const char *call) const;
  MPI_Comm space(MpiSpace which) const {
    return spaces[static_cast<size_t>(which)];
  }

  Symbols mpi;
  std::array<MPI_Comm, mpiSpaces> spaces{}; ///< by MpiSpace
  int self = 0;
  int ranks = 1;
  int selfHere = 0; ///< this rank's number among those on this machine
  int ranksHere = 1;
};

Status Adapter::check(int code, const char *call) const {
  if (code == MPI_SUCCESS)
    return {};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (mpi.errorString(code, text, &length) != MPI_SUCCESS)
    return failure("MPI: ", call, ": error ", code);
  return failure("MPI: ", call, ": ", std::string_view(text, length));
}

Status Adapter::initialize() {
  // The calling thread becomes MPI's main thread: the only one that makes calls
  // in a process with several threads.
  int level = MPI_THREAD_SINGLE;
  SLUICE_RETURN_IF_ERROR(
      check(mpi.initThread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level),
            "MPI_Init_thread"));
  if (level < MPI_THREAD_FUNNELED)
    return failure("MPI: this library does not support threads");
  SLUICE_RETURN_IF_ERROR(check(mpi.setErrorHandler(mpi.world, mpi.errorsReturn),
                               "MPI_Comm_set_errhandler"));
  SLUICE_RETURN_IF_ERROR(
      check(mpi.commRank(mpi.world, &self), "MPI_Comm_rank"));
  SLUICE_RETURN_IF_ERROR(
      check(mpi.commSize(mpi.world, &ranks), "MPI_Comm_size"));
  // The duplicates inherit the error handler.
  for (MPI_Comm &each : spaces)
    SLUICE_RETURN_IF_ERROR(
        check(mpi.commDup(mpi.world, &each), "MPI_Comm_dup"));
  return findNeighbours();
}

/// Finds the ranks on this machine. All ranks take part, since the call is
/// collective, even if the launcher has told them.
Status Adapter::findNeighbours() {
  MPI_Comm here{};
  SLUICE_RETURN_IF_ERROR(
      check(mpi.commSplitType(mpi.world, MPI_COMM_TYPE_SHARED, self, mpi.noInfo,
                              &here),
            "MPI_Comm_split_type"));
  SLUICE_RETURN_IF_ERROR(check(mpi.commRank(here, &selfHere), "MPI_Comm_rank"));
  SLUICE_RETURN_IF_ERROR(
      check(mpi.commSize(here, &ranksHere), "MPI_Comm_size"));
  return check(mpi.commFree(&here), "MPI_Comm_free");
}

Status Adapter::send(MpiSpace which, int to, int tag,
                     std::span<const uint8_t> bytes, bool synchronous,
                     MpiHandle &request) {
  auto count = static_cast<int>(bytes.size());
  MPI_Request made{};
  auto call = synchronous ? mpi.issend : mpi.isend;
  Status status =
      check(call(bytes.data(), count, mpi.byte, to, tag, space(which), &made),
            synchronous ? "MPI_Issend" : "MPI_Isend");
  request = toHandle(made);
  return status;
}

Status Adapter::probe(MpiSpace which, int source, bool &found,
                      MpiArrival &arrival) {
  int flag = 0;
  MPI_Message message{};
  MPI_Status about{};
  Status status =
      check(mpi.improbe(source == anySource ? MPI_ANY_SOURCE : source,
                        MPI_ANY_TAG, space(which), &flag, &message, &about),
            "MPI_Improbe");
  found = status.ok() && flag != 0;
  if (!found)
    return status;
  int count = 0;
  status = check(mpi.getCount(&about, mpi.byte, &count), "MPI_Get_count");
  if (status.ok() && count < 0)
    status = failure("MPI: a message of unknown length");
  arrival = {about.MPI_SOURCE, about.MPI_TAG, count, toHandle(message)};
  return status;
}

Status Adapter::receive(MpiArrival &arrival, std::span<uint8_t> into,
                        MpiHandle &request) {
  auto message = fromHandle<MPI_Message>(arrival.message);
  MPI_Request made{};
  Status status = check(mpi.imrecv(into.data(), static_cast<int>(into.size()),
                                   mpi.byte, &message, &made),
                        "MPI_Imrecv");
  request = toHandle(made);
  return status;
}

Status Adapter::test(MpiHandle &request, bool &done) {
  auto handle = fromHandle<MPI_Request>(request);
  int flag = 0;
  Status status =
      check(mpi.test(&handle, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  request = toHandle(handle);
  done = flag != 0;
  return status;
}

Status Adapter::finalize() {
#ifndef SLUICE_MPI_OPENMPI
  // Over TCP, MPI_Finalize of MPICH 4.0 flushes its connections. The peer must
  // answer each flush, and a rank stops answering once its own connections are
  // flushed. If a rank answered before it entered MPI_Finalize, its peers could
  // be gone when it flushes in turn, and it would hang. So no rank may answer
  // from outside MPI_Finalize: all ranks stay away from MPI for longer than the
  // arrival times of the last message at them can differ.
  constexpr std::chrono::milliseconds pause{50};
  std::this_thread::sleep_for(pause);
#endif
  return check(mpi.finalize(), "MPI_Finalize");
}

} // namespace

Expected<std::unique_ptr<MpiLibrary>>
comm::SLUICE_OPEN(const std::string &path) {
  // UCX, if MPI uses it, would write its log to stdout, into the output.
  ::setenv("UCX_LOG_FILE", "stderr", /*overwrite=*/0);
  // The library is opened globally, because plugins of Open MPI look up its
  // symbols.
  Expected<SharedLibrary> library =
      SharedLibrary::open(path, SharedLibrary::Symbols::Global);
  if (!library)
    return failure(
        "MPI: launched by ", mpiFlavourName(flavour),
        ", but its library cannot be opened: ", library.status().message());
  Symbols symbols;
  if (Status status = symbols.load(*library); !status.ok())
    return failure("MPI: ", path, " is not ", mpiFlavourName(flavour), ": it ",
                   status.message());
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (symbols.libraryVersion(version, &length) != MPI_SUCCESS ||
      !std::strstr(version, versionMark))
    return failure("MPI: ", path, " is not ", mpiFlavourName(flavour),
                   ": it calls itself '", std::string_view(version, length),
                   "'");
  return std::unique_ptr<MpiLibrary>(std::make_unique<Adapter>(symbols));
}
