// What PyTorch's dumper writes into HDF5 (torch_tf_frontends.md D.3), and which tensors of two such files
// belong together: the k-th execution of an operator in one and in the other (D.8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text/text_arena.h"
#include "format/tensors/h5.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/dumped_tensor.h"

namespace opdump::msaccucmp {

inline constexpr std::int64_t kCpuDevice = 0, kGpuDevice = 1, kNpuDevice = 10;

// One execution of an operator.
struct TorchCall {
  std::string key;  // "add_Tensor:2": its third execution
  std::string op;
  std::int64_t order = 0;          // its number in the file
  std::size_t begin = 0, end = 0;  // its tensors, by number
  std::uint64_t stored_bytes = 0;  // of them
  bool is_empty() const { return begin == end; }
};

// There may be millions of tensors: they are packed, and unpacked when they are asked for, by several threads
// at once.
class TorchDump {
 public:
  // Failures: open_file -- no HDF5 file; out_of_bounds -- too many operators.
  // With `with_inputs` also tensors that operators read.
  static Outcome<TorchDump> open(const std::string& path, bool with_inputs, Log& log);

  std::size_t call_count() const { return calls_.size(); }
  std::size_t tensor_count() const { return tensors_.size(); }
  TorchCall call(std::size_t i) const;  // by operator, then as executed
  format::H5Dataset tensor(std::size_t i) const;

  std::int64_t device() const { return device_; }
  bool has_inputs() const { return has_inputs_; }
  std::int64_t order_after_all() const { return last_order_ + 1; }

  // An execution that has tensors.
  std::optional<TorchCall> find(std::string_view key) const;
  std::optional<format::H5Dataset> find_tensor(std::string_view path) const;

  // The elements. Failure: parse_dump; what it is is said and not for the table.
  Outcome<TensorData> read(const format::H5Dataset& dataset, Log& log) const;

 private:
  struct StoredCall {
    ArenaText op = nullptr;
    std::uint32_t index = 0;  // how many there were before
    std::int64_t order = 0;
    std::uint64_t begin = 0;  // of its tensors, which end where those of the next one begin
    std::uint64_t stored_bytes = 0;
  };

  struct Listed {  // a dataset, as the file lists it
    ArenaText op = nullptr;
    ArenaText packed = nullptr;  // null if it is not kept
    std::int64_t order = 0;
    std::uint64_t number = 0;  // from 1 on
  };

  explicit TorchDump(std::string path) : path_(std::move(path)) {}
  Result<> add_all(bool with_inputs);
  void add(const Listed& dataset);
  void add_call(ArenaText op, std::int64_t order);
  std::size_t tensors_end(std::size_t call) const;
  std::size_t call_from(std::string_view op, std::int64_t order) const;

  std::string path_;
  TextArena texts_;
  std::vector<StoredCall> calls_;
  std::vector<ArenaText> tensors_;  // packed; of each call in the order of the file
  std::int64_t device_ = kCpuDevice, last_order_ = -1;
  std::uint64_t device_from_ = 0;  // the dataset that says it, by number
  bool has_inputs_ = false;
  std::string state_;  // how the file ended: see format::H5State
};

// Which tensors of the two files belong together.
class TorchPairing {
 public:
  TorchPairing(const TorchDump& mine, const TorchDump& golden) : mine_(mine), golden_(golden) {}

  // Whether the other file has the same execution of the operator.
  bool has_golden(const TorchCall& call) const;
  // The golden tensor of `tensor`.
  std::optional<format::H5Dataset> golden_of(const TorchCall& call, const format::H5Dataset& tensor) const;

  // A golden tensor that nothing of mine belongs to.
  struct Unmatched {
    std::int64_t order = 0;
    std::string op = "NaN";
    std::string path, message;
  };
  // Calls take(unmatched) for each.
  void visit_unmatched(const std::function<void(const Unmatched&)>& take) const;

 private:
  std::string golden_key(const TorchCall& call) const;
  std::string other_key(const std::string& key, const std::string& op, std::int64_t device) const;
  std::string path_in(const TorchDump& other, const TorchCall& call, const std::string& other_key,
                      const format::H5Dataset& tensor) const;

  const TorchDump& mine_;
  const TorchDump& golden_;
};

}  // namespace opdump::msaccucmp
