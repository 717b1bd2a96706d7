// What PyTorch's dumper writes into HDF5 (torch_tf_frontends.md D.3), and which tensors of two such files
// belong together: the k-th execution of an operator in one and in the other (D.8).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compare/dumped_tensor.h"
#include "compare/failure.h"
#include "format/h5.h"

namespace opdump::compare {

inline constexpr std::int64_t kCpuDevice = 0, kGpuDevice = 1, kNpuDevice = 10;

// The tensors of one execution of an operator.
struct TorchCall {
  std::string key;  // "add_Tensor:2": its third execution
  std::string op;
  std::int64_t order = 0;  // its number in the file
  std::vector<const format::H5Dataset*> tensors;
};

class TorchDump {
 public:
  // Failures: open_file -- no HDF5 file; out_of_bounds -- too many operators. With `with_inputs` also tensors
  // that operators read.
  static Outcome<TorchDump> open(const std::string& path, bool with_inputs, Journal& journal);

  const std::vector<TorchCall>& calls() const { return calls_; }  // by operator, then as executed
  std::int64_t device() const { return device_; }
  bool has_inputs() const { return has_inputs_; }
  std::int64_t order_after_all() const { return last_order_ + 1; }

  const TorchCall* find(std::string_view key) const;
  // The tensor `path`, which belongs to the call or to another one of the same number.
  const format::H5Dataset* find_tensor(std::string_view path) const;

  // The elements. Failure: parse_dump; what it is is said and not for the table.
  Outcome<TensorData> read(const format::H5Dataset& dataset, Journal& journal) const;

 private:
  explicit TorchDump(std::string path, format::H5File file)
      : path_(std::move(path)), file_(std::move(file)) {}
  void add_calls(bool with_inputs);

  std::string path_;
  format::H5File file_;
  std::vector<TorchCall> calls_;
  std::map<std::string, std::size_t, std::less<>> by_key_;
  std::map<std::string, const format::H5Dataset*, std::less<>> tensors_;
  std::int64_t device_ = kCpuDevice, last_order_ = -1;
  bool has_inputs_ = false;
};

// Which tensors of the two files belong together.
class TorchPairing {
 public:
  TorchPairing(const TorchDump& mine, const TorchDump& golden) : mine_(mine), golden_(golden) {}

  // Whether the other file has the same execution of the operator.
  bool has_golden(const TorchCall& call) const;
  // The golden tensor of `tensor`, or nullptr.
  const format::H5Dataset* golden_of(const TorchCall& call, const format::H5Dataset& tensor) const;

  // Golden tensors that nothing of mine belongs to.
  struct Unmatched {
    std::int64_t order = 0;
    std::string op = "NaN";
    std::string path, message;
  };
  std::vector<Unmatched> unmatched() const;

 private:
  std::string golden_key(const TorchCall& call) const;
  std::string other_key(const std::string& key, const std::string& op, std::int64_t device) const;
  std::string path_in(const TorchDump& other, const TorchCall& call, const std::string& other_key,
                      const format::H5Dataset& tensor) const;

  const TorchDump& mine_;
  const TorchDump& golden_;
};

}  // namespace opdump::compare
