#include "compare/torch_dump.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace opdump::compare {
namespace {

using format::H5Dataset;

constexpr std::size_t kMostOperators = 1000000;
constexpr std::uint64_t kMostZeros = 1 << 20;  // bytes that were never written, for each byte of the file
constexpr std::int64_t kTensor = 0;            // of the attribute Type

// Operators of other devices that are one on the accelerator: their executions are counted together.
constexpr std::array<std::string_view, 2> kConvolutions = {"CudnnConvolutionBackward",
                                                           "ThnnConvDepthwise2DBackward"};

constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
    {"CudnnBatchNormBackward", "NativeBatchNormBackward"},
    {"NativeBatchNormBackward", "CudnnBatchNormBackward"},
    {"CudnnConvolutionBackward", "NpuConvolutionBackward"},
    {"ThnnConvDepthwise2DBackward", "NpuConvolutionBackward"},
    {"NpuConvolutionBackward", "CudnnConvolutionBackward"},
    {"NpuConvolutionBackward", "ThnnConvDepthwise2DBackward"}};

struct Parameter {
  std::string_view op, name, other;
};
constexpr Parameter kParameters[] = {{"CudnnBatchNormBackward", "epsilon", "eps"},
                                     {"NativeBatchNormBackward", "eps", "epsilon"},
                                     {"CudnnConvolutionBackward", "self", "input"},
                                     {"ThnnConvDepthwise2DBackward", "self", "input"},
                                     {"NpuConvolutionBackward", "input", "self"}};

// "/{op}/{order}/{side}/{argument}"
struct Place {
  std::string op;
  std::int64_t order = 0;
  std::string side, argument;
};

std::optional<Place> place_of(std::string_view path) {
  const auto parts = split(path, '/');
  if (parts.size() < 5) return std::nullopt;
  const auto order = parse_int64(parts[2]);
  if (!order || *order < 0) return std::nullopt;
  const std::size_t argument = parts[1].size() + parts[2].size() + parts[3].size() + 4;
  return Place{std::string(parts[1]), *order, std::string(parts[3]), std::string(path.substr(argument))};
}

// The operator whose executions are counted with those of `op`.
std::string_view counted_as(std::string_view op) {
  return std::ranges::find(kConvolutions, op) != kConvolutions.end() ? kConvolutions[0] : op;
}

std::string replaced(const std::string& text, std::string_view what, std::string_view by) {
  return std::string(by) + text.substr(what.size());
}

}  // namespace

Outcome<TorchDump> TorchDump::open(const std::string& path, bool with_inputs, Journal& journal) {
  auto file = format::H5File::open(path);
  if (!file) {
    journal.error("Open " + path + " failed!");
    journal.error(file.error().message());
    return Failure{Status::open_file, ""};
  }
  TorchDump dump(path, std::move(*file));
  dump.add_calls(with_inputs);
  if (dump.calls_.size() <= kMostOperators) return dump;
  return journal.fail(Status::out_of_bounds, "The number of ops in " + path + " exceeds the range!");
}

void TorchDump::add_calls(bool with_inputs) {
  std::map<std::string, std::map<std::int64_t, std::string>, std::less<>> orders;  // by what is counted
  for (const H5Dataset& dataset : file_.datasets())
    if (const auto place = place_of(dataset.path)) {
      orders[std::string(counted_as(place->op))][place->order] = place->op;
      has_inputs_ = has_inputs_ || place->side == "input";
    }
  for (const auto& [counted, executions] : orders) {
    std::size_t index = 0;
    for (const auto& [order, op] : executions) {
      std::string key = op + ":" + std::to_string(index++);
      by_key_[key] = calls_.size();
      calls_.push_back({std::move(key), op, order, {}});
      last_order_ = std::max(last_order_, order);
    }
  }
  std::map<std::pair<std::string, std::int64_t>, std::size_t> by_place;
  for (std::size_t i = 0; i < calls_.size(); ++i) by_place[{calls_[i].op, calls_[i].order}] = i;
  for (const H5Dataset& dataset : file_.datasets()) {
    const auto place = place_of(dataset.path);
    if (!place || dataset.find_number("Type") != kTensor || (place->side == "input" && !with_inputs))
      continue;
    const auto call = by_place.find({place->op, place->order});
    if (call == by_place.end()) continue;
    calls_[call->second].tensors.push_back(&dataset);
    tensors_[dataset.path] = &dataset;
    if (device_ == kCpuDevice) device_ = dataset.find_number("DeviceType").value_or(device_);
  }
}

const TorchCall* TorchDump::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || calls_[found->second].tensors.empty()) return nullptr;
  return &calls_[found->second];
}

const H5Dataset* TorchDump::find_tensor(std::string_view path) const {
  const auto found = tensors_.find(path);
  return found == tensors_.end() ? nullptr : found->second;
}

Outcome<TensorData> TorchDump::read(const H5Dataset& dataset, Journal& journal) const {
  TensorData data{dataset.dtype, dataset.shape, nullptr, nullptr};
  const auto failed = [&] {
    journal.error("Read dataset:" + dataset.path + " failed!");
    return Failure{Status::parse_dump, ""};
  };
  if (!dataset.fault.empty() || dataset.dtype == model::DType::undefined) return failed();
  if (dataset.extent) {
    auto mapped = MappedFile::open(path_);
    if (!mapped) return journal.fail(Status::invalid_dump, mapped.error().message());
    const auto file = std::make_shared<MappedFile>(std::move(*mapped));
    data.bytes = file->bytes().data() + dataset.extent->offset;
    data.owner = file;
    return data;
  }
  if (dataset.stored_bytes == 0) {  // never written: zeros
    std::error_code error;
    const std::uint64_t in_file = std::filesystem::file_size(path_, error);
    if (error || data.view().byte_count() / kMostZeros > in_file) return failed();
    OPDUMP_TRY(const auto memory, make_memory(data.view().byte_count(), journal));
    data.bytes = memory.get();
    data.owner = memory;
    return data;
  }
  auto elements = file_.read(dataset);
  if (!elements) return failed();
  const auto memory = std::make_shared<Scratch>(std::move(*elements));
  data.bytes = memory->data();
  data.owner = memory;
  return data;
}

// The key that the same execution has on the other device.
std::string TorchPairing::other_key(const std::string& key, const std::string& op,
                                    std::int64_t device) const {
  const TorchDump& other = device == kNpuDevice ? mine_ : golden_;
  for (const auto& [from, to] : kOperators)
    if (from == op)
      if (std::string changed = replaced(key, from, to); other.find(changed) != nullptr) return changed;
  if (key.starts_with("Npu") && device == kCpuDevice) return replaced(key, "Npu", "Thnn");
  if (key.starts_with("Npu") && device == kGpuDevice) return replaced(key, "Npu", "Cudnn");
  if (key.starts_with("Thnn")) return replaced(key, "Thnn", "Npu");
  if (key.starts_with("Cudnn")) return replaced(key, "Cudnn", "Npu");
  return key;
}

// Where `tensor` would be in the other file; "" if its argument has no counterpart.
std::string TorchPairing::path_in(const TorchDump& other, const TorchCall& call, const std::string& other_key,
                                  const H5Dataset& tensor) const {
  const auto place = place_of(tensor.path);
  if (!place) return "";
  const TorchCall* target = other.find(other_key);
  std::int64_t order = target == nullptr ? other.order_after_all() : target->order;
  if (!mine_.has_inputs()) order = place->order;  // mine was loaded: the numbers are the same
  const std::string op = other_key.substr(0, other_key.find(':'));
  const std::string begin = "/" + op + "/" + std::to_string(order) + "/" + place->side + "/";
  if (other.find_tensor(begin + place->argument) != nullptr) return begin + place->argument;
  const std::string name = place->argument.substr(place->argument.rfind('/') + 1);
  for (const Parameter& parameter : kParameters)
    if (parameter.op == call.op && parameter.name == name)
      return begin + place->argument.substr(0, place->argument.size() - name.size()) +
             std::string(parameter.other);
  return "";
}

std::string TorchPairing::golden_key(const TorchCall& call) const {
  return golden_.find(call.key) != nullptr ? call.key : other_key(call.key, call.op, golden_.device());
}

bool TorchPairing::has_golden(const TorchCall& call) const {
  return golden_.find(golden_key(call)) != nullptr;
}

const H5Dataset* TorchPairing::golden_of(const TorchCall& call, const H5Dataset& tensor) const {
  const std::string key = golden_key(call);
  if (golden_.find(key) == nullptr) return nullptr;
  return golden_.find_tensor(path_in(golden_, call, key, tensor));
}

std::vector<TorchPairing::Unmatched> TorchPairing::unmatched() const {
  std::vector<Unmatched> all;
  for (const TorchCall& call : golden_.calls()) {
    if (call.tensors.empty()) continue;
    std::string key = call.key;
    if (mine_.find(key) == nullptr) key = other_key(call.key, call.op, kNpuDevice);
    const TorchCall* mine = mine_.find(key);
    std::vector<Unmatched> failed;
    for (const H5Dataset* tensor : call.tensors) {
      const std::string message = "No data match with " + tensor->path + " in my dump data.";
      if (mine == nullptr && mine_.has_inputs()) {
        failed.push_back({mine_.order_after_all(), "NaN", tensor->path, message});
        continue;
      }
      if (mine_.find_tensor(path_in(mine_, call, key, *tensor)) != nullptr) continue;
      failed.push_back({mine == nullptr ? mine_.order_after_all() : mine->order, key.substr(0, key.find(':')),
                        tensor->path, message});
    }
    if (failed.size() == call.tensors.size()) {
      const std::string path = "/" + call.op + "/" + std::to_string(call.order);
      failed = {{mine_.order_after_all(), "NaN", path, "No data match with " + path + " in my dump data."}};
    }
    all.insert(all.end(), failed.begin(), failed.end());
  }
  return all;
}

}  // namespace opdump::compare
