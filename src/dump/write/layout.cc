#include "dump/write/layout.h"

namespace opdump::dump {

Result<> Layout::begin_step(std::int64_t, bool, std::span<const std::string>) { return ok(); }

Result<std::filesystem::path> Layout::write_call(std::span<const Member>) {
  return Error(Code::internal, "this directory scheme has no file for an execution");
}

void Layout::name_graph(std::int64_t, std::string_view) {}

Result<> Layout::write_arguments(const SlotAddress&, std::span<const model::Argument>) { return ok(); }

Result<> Layout::write_overflow(const SlotAddress&) { return ok(); }

}  // namespace opdump::dump
