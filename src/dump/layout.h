// A directory scheme: where tensors and statistics of a run lie. The writing half; dump_set.h reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "math/stats.h"
#include "model/operator.h"
#include "model/tensor_view.h"

namespace opdump::dump {

// One tensor of one operator in one step: everything its file name and its CSV row need. Views are borrowed
// for the call.
struct SlotAddress {
  const model::Operator* op = nullptr;
  std::int64_t step = 0;
  std::uint64_t timestamp_us = 0;  // microseconds since the Unix epoch
  model::Side side = model::Side::input;
  std::uint32_t index = 0;  // operand index
  std::string_view format = "DefaultFormat";
};

// A row of statistic.csv beyond the address.
struct StatisticRow {
  std::uint64_t data_bytes = 0;  // in the tensor's own dtype
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  math::Statistics values{};
  std::string md5;  // empty if not asked for
};

class Layout {
 public:
  virtual ~Layout() = default;

  // Writes one tensor (any strides) and returns the file's path. Thread-safe for different addresses.
  // Errors: io (disk full, permission, vanished directory), unsupported (a dtype .npy cannot hold).
  virtual Result<std::filesystem::path> write_tensor(const SlotAddress& address,
                                                     const model::TensorView& view) = 0;

  // Gives `file`, which this layout wrote for a tensor of equal bytes, a second name (a hard link): operators
  // read what others wrote, and nobody wants it on disk twice. Thread-safe. Errors: io, also where links are
  // refused.
  virtual Result<> link_tensor(const SlotAddress& address, model::DType dtype,
                               const std::filesystem::path& file) = 0;

  // Appends a row of statistics; rows appear in the order of the calls. One caller at a time.
  virtual Result<> write_statistics(const SlotAddress& address, const StatisticRow& row) = 0;

  // Hands buffered rows to the system. One caller at a time, not during write_statistics.
  virtual Result<> flush() = 0;
};

}  // namespace opdump::dump
