#include "dump/fingerprint_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "dump/file_name.h"
#include "dump/write/tree_file.h"
#include "format/tables/fingerprints.h"

namespace opdump::dump {
namespace {

constexpr std::size_t kMaxMovedSteps = 256;  // of which some thread may not know that they were moved

// Makes a number of the process and the moment, so that no other writer has the same.
std::uint64_t make_stream_number() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return static_cast<std::uint64_t>(ns) << 16 ^ static_cast<std::uint64_t>(::getpid());
}

// The 16 bytes that 32 lower-case digits say.
std::array<std::byte, 16> parse_hash(std::string_view digits) {
  const auto value = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size() && 2 * i + 1 < digits.size(); ++i)
    bytes[i] = static_cast<std::byte>(value(digits[2 * i]) << 4 | value(digits[2 * i + 1]));
  return bytes;
}

class FingerprintWriter final : public SchemeWriter {
 public:
  FingerprintWriter(std::unique_ptr<SchemeWriter> scheme, KeptFile file)
      : scheme_(std::move(scheme)), file_(std::move(file)), encoder_(make_stream_number()) {}
  FingerprintWriter(const FingerprintWriter&) = delete;
  FingerprintWriter& operator=(const FingerprintWriter&) = delete;
  ~FingerprintWriter() override {
    (void)write_block();
    if (auto fd = file_.use()) ::fchmod((*fd)->get(), 0400);
  }

  Result<> write_statistics(const SlotAddress& address, const StatisticRow& row) override {
    const model::Operator& op = *address.op;
    if (last_.type != op.type || last_.name != op.name)
      last_ = {op.type, op.name, file_type(op), file_op_name(op)};
    const math::Statistics& values = row.values;
    encoder_.add(
        {address.step, graph_of(address), address.timestamp_us},
        {last_.file_type, last_.file_name, op.stream, address.side, address.index, row.dtype, row.shape},
        {values.max, values.min, values.avg, values.l2norm, values.nan_count, parse_hash(row.xxh128)});
    return encoder_.is_full() ? write_block() : ok();
  }

  Result<> move_step(std::int64_t step, std::int64_t from, std::int64_t to) override {
    encoder_.move(step, from, to);
    moved_.erase({step, to});
    moved_[{step, from}] = to;
    if (moved_.size() > kMaxMovedSteps) moved_.erase(moved_.begin());
    return has_files_ ? scheme_->move_step(step, from, to) : ok();
  }

  Result<> flush() override {
    OPDUMP_CHECK_OK(scheme_->flush());
    return write_block();
  }

  Result<std::filesystem::path> write_tensor(const SlotAddress& address,
                                             const model::TensorView& view) override {
    has_files_ = true;
    return scheme_->write_tensor(address, view);
  }
  Result<> link_tensor(const SlotAddress& address, model::DType dtype, const model::Shape& shape,
                       const std::filesystem::path& file) override {
    return scheme_->link_tensor(address, dtype, shape, file);
  }
  Result<> write_arguments(const SlotAddress& address, std::span<const model::Argument> arguments) override {
    has_files_ = true;
    return scheme_->write_arguments(address, arguments);
  }

 private:
  // An operator, and what its rows are called: they come one after the other.
  struct Named {
    std::string type, name, file_type, file_name;
  };

  std::int64_t graph_of(const SlotAddress& address) const {
    const auto moved = moved_.find({address.step, address.graph_id});
    return moved == moved_.end() ? address.graph_id : moved->second;
  }

  // One call for a whole block: other processes may append to the same file.
  Result<> write_block() {
    if (encoder_.is_empty()) return ok();
    const std::string block = encoder_.take_block();
    OPDUMP_TRY(const Fd* const fd, file_.use());
    if (auto written = write_all(*fd, std::as_bytes(std::span(block)), file_.path()); !written)
      return Error(Code::io, written.error().message());
    return ok();
  }

  const std::unique_ptr<SchemeWriter> scheme_;
  std::atomic<bool> has_files_{false};  // beside the rows
  KeptFile file_;
  format::FingerprintEncoder encoder_;
  Named last_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> moved_;  // steps and graphs, the last ones
};

}  // namespace

Result<std::unique_ptr<SchemeWriter>> write_fingerprints(std::unique_ptr<SchemeWriter> scheme,
                                                         const std::filesystem::path& rank_directory) {
  OPDUMP_TRY(KeptFile file, keep_append_bytes(rank_directory / format::kFingerprintsName));
  return std::unique_ptr<SchemeWriter>(
      std::make_unique<FingerprintWriter>(std::move(scheme), std::move(file)));
}

}  // namespace opdump::dump
