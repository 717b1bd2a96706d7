// The contents of CANN's files, the same in every tree that has them: an execution as a DumpData container,
// and the record of an operator that overflowed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file/file.h"
#include "base/result.h"
#include "dump/write/scheme_writer.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/op_debug.h"

namespace opdump::dump {

// "20241121113153", in local time.
std::string format_local_time(std::uint64_t us);

// The format of a tensor: what its address says, else that of memory as programs see it, NCHW or ND.
std::string_view format_of(const SlotAddress& address, const model::Shape& shape);

// The dimensions that the program means: they differ from the shape if that is of a device's layout.
std::span<const std::int64_t> original_dims(const SchemeWriter::Member& member);

// What an execution's file says of it; the bytes follow in the order of `members`, which are not empty. In
// the file a tensor's index is its place: of operands that are absent there is an entry without a type and
// without bytes. Errors: unsupported (no dtype), limit.
Result<format::DumpData> describe_call(std::span<const SchemeWriter::Member> members);

// Writes the new file `fd`: `header`, then the elements of all members. Errors: io.
Result<> write_container(const Fd& fd, std::string_view header, std::span<const SchemeWriter::Member> members,
                         const std::filesystem::path& path);

// The record of the operator that `output` belongs to. What only a device knows is 0.
format::OpDebug overflow_record(const SlotAddress& output);

// All of a file that holds such a record, as older devices write it or as newer ones do.
std::string encode_overflow_file(const SlotAddress& output, bool newer = false);

}  // namespace opdump::dump
