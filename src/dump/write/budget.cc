#include "dump/write/budget.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file/file.h"
#include "base/text/text.h"
#include "dump/write/npy_file.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::uint64_t kHeaderBytes = 128;  // of a .npy file
constexpr std::uint64_t kRowBytes = 160;     // of a row of statistics, beside the operator's type and name
constexpr std::uint64_t kReservedPart = 20;  // one of so many parts of the free space stays free
constexpr std::uint64_t kModestPart = 5, kModestBytes = std::uint64_t{10} << 30;

std::uint64_t in_blocks(std::uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

class LimitedWriter : public SchemeWriter {
 public:
  LimitedWriter(std::unique_ptr<SchemeWriter> scheme, std::shared_ptr<Budget> budget,
                std::optional<std::uint64_t> row_bytes)
      : scheme_(std::move(scheme)), budget_(std::move(budget)), row_bytes_(row_bytes) {}

  Result<fs::path> write_tensor(const SlotAddress& address, const model::TensorView& view) override {
    if (auto spent = budget_->spend(in_blocks(kHeaderBytes + stored_bytes(view))); !spent)
      return spent.take_error();
    return scheme_->write_tensor(address, view);
  }

  Result<fs::path> write_call(std::span<const Member> members) override {
    std::uint64_t bytes = kHeaderBytes;
    for (const Member& member : members) bytes += member.view.byte_count();
    if (auto spent = budget_->spend(in_blocks(bytes)); !spent) return spent.take_error();
    return scheme_->write_call(members);
  }

  Result<> write_statistics(const SlotAddress& address, const StatisticRow& row) override {
    OPDUMP_CHECK_OK(
        budget_->spend(row_bytes_.value_or(kRowBytes + address.op->type.size() + address.op->name.size())));
    return scheme_->write_statistics(address, row);
  }

  Result<> link_tensor(const SlotAddress& address, model::DType dtype, const model::Shape& shape,
                       const fs::path& file) override {
    return scheme_->link_tensor(address, dtype, shape, file);
  }
  Result<> begin_step(std::int64_t step, bool selected, std::span<const std::string> operators) override {
    return scheme_->begin_step(step, selected, operators);
  }
  void name_graph(std::int64_t graph_id, std::string_view name) override {
    scheme_->name_graph(graph_id, name);
  }
  bool lists_all_tensors() const override { return scheme_->lists_all_tensors(); }
  bool writes_calls() const override { return scheme_->writes_calls(); }
  Result<> write_arguments(const SlotAddress& address, std::span<const model::Argument> arguments) override {
    return scheme_->write_arguments(address, arguments);
  }
  Result<> write_overflow(const SlotAddress& output) override { return scheme_->write_overflow(output); }
  Result<> move_step(std::int64_t step, std::int64_t from, std::int64_t to) override {
    return scheme_->move_step(step, from, to);
  }
  Result<> flush() override { return scheme_->flush(); }

 private:
  const std::unique_ptr<SchemeWriter> scheme_;
  const std::shared_ptr<Budget> budget_;
  const std::optional<std::uint64_t> row_bytes_;
};

fs::path nearest_existing(const fs::path& directory) {
  std::error_code failure;
  fs::path existing = directory;
  while (!fs::exists(existing, failure) && existing.has_relative_path()) existing = existing.parent_path();
  return existing.empty() ? "." : existing;
}

}  // namespace

Result<std::uint64_t> writable_bytes(const fs::path& directory) {
  std::error_code failure;
  const fs::path existing = nearest_existing(directory);
  const fs::space_info space = fs::space(existing, failure);
  if (failure) return Error(Code::io, existing.string() + ": free space: " + failure.message());
  return space.available - space.available / kReservedPart;
}

Result<> check_budget(std::uint64_t limit_bytes, const fs::path& directory) {
  const fs::path existing = nearest_existing(directory);
  std::error_code ignored;
  if (fs::space(existing, ignored).capacity == 0)
    return Error(Code::usage,
                 directory.string() + ": the file system of " + existing.string() + " holds no files");
  if (::access(existing.c_str(), W_OK) != 0)
    return Error(Code::usage, io_error(existing, "write to it").message());
  OPDUMP_TRY(const std::uint64_t writable, writable_bytes(directory));
  if (writable < kBlockBytes) return Error(Code::usage, directory.string() + ": the disk is full");
  if (limit_bytes < kModest && limit_bytes > writable)
    return Error(Code::usage, directory.string() + ": the budget is " + format_bytes(limit_bytes) +
                                  ", and the disk has room for " + format_bytes(writable) +
                                  " (5 % of what is free stay free)");
  return ok();
}

Budget::Budget(std::uint64_t limit_bytes, fs::path directory, std::uint64_t freed_bytes)
    : directory_(std::move(directory)), limit_bytes_(limit_bytes), freed_bytes_(freed_bytes) {
  const auto most = writable();
  if (limit_bytes == kModest)
    limit_bytes = limit_bytes_ = most ? std::min(*most / kModestPart, kModestBytes) : kModestBytes;
  is_free_space_ = most && *most < limit_bytes;
  if (is_free_space_) limit_bytes_ = *most;
}

Result<std::uint64_t> Budget::writable() const {
  OPDUMP_TRY(const std::uint64_t bytes, writable_bytes(directory_));
  return bytes + freed_bytes_;
}

Result<> Budget::spend(std::uint64_t bytes) {
  std::uint64_t spent = spent_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ - spent)
      return Error(Code::limit, (is_free_space_ ? "the free space of " : "the budget of ") +
                                    format_bytes(limit_bytes_) + " would be exceeded");
  } while (!spent_.compare_exchange_weak(spent, spent + bytes, std::memory_order_relaxed));
  return ok();
}

std::uint64_t Budget::left() const {
  const auto most = writable();
  const std::uint64_t left = limit_bytes_ - spent_;
  return most ? std::min(left, *most) : left;
}

std::string Budget::describe_left() const {
  const std::string amount = format_bytes(left());
  return is_free_space_ ? amount + " are free"
                        : amount + " are left of the budget of " + format_bytes(limit_bytes_);
}

std::unique_ptr<SchemeWriter> limit_writes(std::unique_ptr<SchemeWriter> scheme,
                                           std::shared_ptr<Budget> budget,
                                           std::optional<std::uint64_t> row_bytes) {
  return std::make_unique<LimitedWriter>(std::move(scheme), std::move(budget), row_bytes);
}

}  // namespace opdump::dump
