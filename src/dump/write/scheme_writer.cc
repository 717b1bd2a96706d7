#include "dump/write/scheme_writer.h"

namespace opdump::dump {

Result<> SchemeWriter::begin_step(std::int64_t, bool, std::span<const std::string>) { return ok(); }

Result<std::filesystem::path> SchemeWriter::write_call(std::span<const Member>) {
  return Error(Code::internal, "this directory scheme has no file for an execution");
}

void SchemeWriter::name_graph(std::int64_t, std::string_view) {}

Result<> SchemeWriter::write_arguments(const SlotAddress&, std::span<const model::Argument>) { return ok(); }

Result<> SchemeWriter::write_overflow(const SlotAddress&) { return ok(); }

}  // namespace opdump::dump
