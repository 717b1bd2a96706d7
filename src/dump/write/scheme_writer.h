// A directory scheme: where tensors and statistics of a run lie. The writing half; dump_set.h reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "math/stats/stats.h"
#include "model/graph.h"
#include "model/operator.h"
#include "model/tensor_view.h"

namespace opdump::dump {

// SlotAddress::step has this value for what a graph has of no step, its constants.
inline constexpr std::int64_t kConstantsStep = -1;

// One tensor of one operator in one step: everything its file name and its CSV row need. Views are borrowed
// for the call.
struct SlotAddress {
  const model::Operator* op = nullptr;
  std::int64_t graph_id = 0;
  std::int64_t step = 0;
  std::uint64_t timestamp_us = 0;  // microseconds since the Unix epoch
  model::Side side = model::Side::input;
  std::uint32_t index = 0;  // operand index
  std::string_view format = "DefaultFormat";
  model::Shape original_shape{};  // of a tensor whose shape is that of a device's layout; else of rank 0
};

// Receives a file chunk by chunk, instead of the disk.
struct FileChunk {
  const std::filesystem::path& path;  // absolute: where it would lie
  std::int64_t offset = 0;            // -1: it is added to the end
  std::span<const std::byte> bytes;
  bool is_last = false;
};
using FileSink = std::function<Result<>(const FileChunk&)>;

// A row of statistic.csv beyond the address.
// Who computed statistics, which MindSpore's tables spell accordingly; the last one in the tensor's own type.
enum class StatisticSource : std::uint8_t { host, device, device_low };

struct StatisticRow {
  std::uint64_t data_bytes = 0;  // in the tensor's own dtype
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  math::Statistics values{};
  std::string md5{}, sha1{}, xxh128{};  // empty if not asked for
  bool first_is_nan = false;            // the first element; known where the scheme lists all tensors
  StatisticSource source = StatisticSource::host;
};

class SchemeWriter {
 public:
  virtual ~SchemeWriter() = default;

  // Writes one tensor (any strides) and returns the file's path. Thread-safe for different addresses.
  // Errors: io (disk full, permission, vanished directory), unsupported (a dtype .npy cannot hold).
  virtual Result<std::filesystem::path> write_tensor(const SlotAddress& address,
                                                     const model::TensorView& view) = 0;

  // Gives `file`, which this scheme wrote for a tensor of equal bytes and shape, a second name (a hard link):
  // operators read what others wrote, and nobody wants it on disk twice. Thread-safe. Errors: io, also where
  // links are refused.
  virtual Result<> link_tensor(const SlotAddress& address, model::DType dtype, const model::Shape& shape,
                               const std::filesystem::path& file) = 0;

  // A step begins: writes what the scheme has for it, before anything of the step is written. `selected` says
  // whether anything of it will be; `operators` are those that were asked for, empty for all. One caller at a
  // time. Errors: io.
  virtual Result<> begin_step(std::int64_t step, bool selected, std::span<const std::string> operators);

  // The directory of a graph bears this name, where the scheme has names for graphs. Comes before anything of
  // the graph; kAnyGraph names all that have no name of their own. Thread-safe.
  virtual void name_graph(std::int64_t graph_id, std::string_view name);

  // True if the scheme lists tensors without statistics (complex numbers), too.
  virtual bool lists_all_tensors() const { return false; }

  // True if all tensors of an execution go into one file: write_call() is called instead of write_tensor()
  // and link_tensor() then.
  virtual bool writes_calls() const { return false; }

  // A tensor of an execution: where it belongs, and its data.
  struct Member {
    SlotAddress address;
    model::TensorView view;
  };
  // Writes the file of an execution and returns its path. `members` are of one operator and step, not empty:
  // inputs by index, then outputs by index. The file bears the first one's time. Thread-safe for different
  // executions. Errors: as write_tensor.
  virtual Result<std::filesystem::path> write_call(std::span<const Member> members);

  // Writes the arguments of an execution that are not tensors, where the scheme has a file for them; else
  // does nothing. One caller at a time.
  virtual Result<> write_arguments(const SlotAddress& address, std::span<const model::Argument> arguments);

  // Writes which operator overflowed, where the scheme has a file for it; else does nothing.
  // `output` is the address of its first output that did. One caller at a time.
  virtual Result<> write_overflow(const SlotAddress& output);

  // A step turned out to be an execution of graph `to` rather than `from`: moves its files. What `to` has of
  // this step already (an earlier recording) is added to. Not while anything else of the step is written.
  virtual Result<> move_step(std::int64_t step, std::int64_t from, std::int64_t to) = 0;

  // Appends a row of statistics; rows appear in the order of the calls. One caller at a time.
  virtual Result<> write_statistics(const SlotAddress& address, const StatisticRow& row) = 0;

  // Hands buffered rows to the system. One caller at a time, not during write_statistics.
  virtual Result<> flush() = 0;
};

}  // namespace opdump::dump
