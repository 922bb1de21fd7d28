//===- NcclEnvelope.h - the trailer of each message -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trailer by which NcclCommunicator describes a message of the base
// communicator. It is 17 bytes long, follows the message's own bytes, and is
// packed and little-endian:
//
//   u8 kind; u64 first; u64 second
//
//   kind      lane     bytes before it                first        second
//   Message   both     the user's                     0            0
//   Payload   data     the user's; rows come by NCCL  offset of    bytes of
//                                                     the rows     the rows
//   Join      control  128: an NCCL unique id         ring's bytes version
//   Credit    control  none                           rows given   0
//                                                     back so far
//   Done      control  none                           data         control
//                                                     messages     messages
//                                                     sent         sent
//   Broken    control  the reason, as text            0            0
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLENVELOPE_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLENVELOPE_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Wire.h"

namespace sluice::comm {

struct NcclEnvelope {
  enum class Kind : uint8_t { Message, Payload, Join, Credit, Done, Broken };
  static constexpr size_t size = 1 + 8 + 8;

  Kind kind = Kind::Message;
  uint64_t first = 0;
  uint64_t second = 0;

  void close(Bytes &bytes) const {
    WireWriter writer(bytes);
    writer.put(static_cast<uint8_t>(kind));
    writer.put(first);
    writer.put(second);
  }

  /// Removes the envelope from `bytes` and returns it. Errors: the message is
  /// too short, or the kind is unknown or does not travel on `lane`.
  static Expected<NcclEnvelope> open(Bytes &bytes, Lane lane) {
    if (bytes.size() < size)
      return failure("a message of ", bytes.size(), " bytes has no envelope");
    WireReader reader(std::span<const uint8_t>(bytes).last(size));
    NcclEnvelope read;
    auto kind = reader.getInRange<uint8_t>("the kind of an envelope", 0,
                                           int64_t(Kind::Broken));
    read.kind = static_cast<Kind>(kind);
    read.first = reader.get<uint64_t>();
    read.second = reader.get<uint64_t>();
    SLUICE_RETURN_IF_ERROR(reader.finish());
    if (read.kind != Kind::Message &&
        (read.kind == Kind::Payload) != (lane == Lane::Data))
      return failure("an envelope of kind ", int(kind), " on the wrong lane");
    bytes.resize(bytes.size() - size);
    return read;
  }
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLENVELOPE_H
