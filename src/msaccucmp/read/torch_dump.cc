#include "msaccucmp/read/torch_dump.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <system_error>
#include <tuple>
#include <vector>

#include "base/file/file.h"
#include "base/text/concat.h"
#include "base/text/packing.h"
#include "base/text/text.h"
#include "dump/read/files/h5_path.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

using format::H5Attribute;
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

struct RenamedParameter {
  std::string_view op, name, other;
};
constexpr RenamedParameter kParameters[] = {{"CudnnBatchNormBackward", "epsilon", "eps"},
                                            {"NativeBatchNormBackward", "eps", "epsilon"},
                                            {"CudnnConvolutionBackward", "self", "input"},
                                            {"ThnnConvDepthwise2DBackward", "self", "input"},
                                            {"NpuConvolutionBackward", "input", "self"}};

// The operator whose executions are counted with those of `op`.
std::string_view counted_as(std::string_view op) {
  return std::ranges::find(kConvolutions, op) != kConvolutions.end() ? kConvolutions[0] : op;
}

std::string replaced(const std::string& text, std::string_view what, std::string_view by) {
  return std::string(by) + text.substr(what.size());
}

// The order of list_h5.
bool is_before(std::string_view left, std::string_view right) {
  const auto rank = [](char c) { return c == '/' ? 0U : static_cast<unsigned char>(c); };
  return std::ranges::lexicographical_compare(left, right, {}, rank, rank);
}

std::string pack(const H5Dataset& dataset) {
  std::string bytes;
  Packer out(bytes);
  const auto put = [&](std::span<const std::int64_t> values) {
    out.number(values.size());
    for (const std::int64_t value : values) out.signed_number(value);
  };
  out.text(dataset.path);
  out.object(dataset.dtype);
  put(dataset.shape.dims());
  out.number(dataset.stored_bytes);
  out.number(dataset.extent ? 1 : 0);
  if (dataset.extent) out.object(*dataset.extent);
  out.text(dataset.fault);
  for (const H5Attribute& attribute : dataset.attributes) {
    out.text(attribute.name);
    out.number(attribute.is_list ? 1 : 0);
    put(attribute.values);
  }
  return bytes;
}

std::string_view path_of(std::string_view packed) { return Unpacker(packed).text(); }

H5Dataset unpack(std::string_view packed) {
  Unpacker in(packed);
  const auto numbers = [&] {
    std::vector<std::int64_t> values(in.number());
    for (std::int64_t& value : values) value = in.signed_number();
    return values;
  };
  H5Dataset dataset;
  dataset.path = in.text();
  dataset.dtype = in.object<model::DType>();
  dataset.shape = model::Shape(numbers());
  dataset.stored_bytes = in.number();
  if (in.number() != 0) dataset.extent = in.object<format::Extent>();
  dataset.fault = in.text();
  while (!in.is_empty()) {
    H5Attribute& attribute = dataset.attributes.emplace_back();
    attribute.name = in.text();
    attribute.is_list = in.number() != 0;
    attribute.values = numbers();
  }
  return dataset;
}

}  // namespace

Outcome<TorchDump> TorchDump::open(const std::string& path, bool with_inputs, Log& log) {
  TorchDump dump(path);
  if (const auto added = dump.add_all(with_inputs); !added) {
    log.error("Open " + path + " failed!");
    log.error(added.error().message());
    return Failure{Status::open_file, ""};
  }
  if (dump.state_ == "recording")
    log.warn("The recording of " + path + " did not end, what it lacks may have been there.");
  else if (!dump.state_.empty() && dump.state_ != "complete")
    log.warn("The recording of " + path + " is incomplete, what it lacks may have been there.");
  if (dump.call_count() <= kMostOperators) return dump;
  return log.fail(Status::out_of_bounds, "The number of ops in " + path + " exceeds the range!");
}

// Puts the datasets in the order of calls. If several operators that are counted together have the same
// number in the file, the last one has it.
Result<> TorchDump::add_all(bool with_inputs) {
  std::vector<Listed> datasets;
  InternedTexts operators;
  std::vector<ArenaText> names;  // of them
  const auto add_dataset = [&](const H5Dataset& dataset) {
    const auto place = dump::parse_h5_path(dataset.path);
    if (!place || place->call > INT64_MAX) return;
    const bool is_input = place->side == "input";
    has_inputs_ = has_inputs_ || is_input;
    const bool is_kept = dataset.find_number("Type") == kTensor && (!is_input || with_inputs);
    const std::uint32_t op = operators.add(place->op);
    if (op == names.size()) names.push_back(texts_.add(place->op));
    datasets.push_back({names[op], is_kept ? texts_.add(pack(dataset)) : nullptr,
                        static_cast<std::int64_t>(place->call), datasets.size() + 1});
  };
  OPDUMP_CHECK_OK(
      format::list_h5(path_, add_dataset, [&](format::H5State state) { state_ = std::move(state.state); }));
  std::ranges::sort(datasets, {}, [](const Listed& dataset) {
    const std::string_view op = TextArena::view(dataset.op), counted = counted_as(op);
    return std::tuple(counted, dataset.order, op == counted, dataset.number);
  });
  for (const Listed& dataset : datasets)
    if (call_count() <= kMostOperators) add(dataset);
  return ok();
}

// Adds a dataset of the last call, or of a new one behind it.
void TorchDump::add(const Listed& dataset) {
  const std::string_view op = TextArena::view(dataset.op);
  if (call_from(op, dataset.order) == call_count()) add_call(dataset.op, dataset.order);
  StoredCall& call = calls_.back();
  if (dataset.packed == nullptr || call.op != dataset.op) return;
  tensors_.push_back(dataset.packed);
  const H5Dataset unpacked = unpack(TextArena::view(dataset.packed));
  call.stored_bytes += unpacked.stored_bytes;
  const std::int64_t device = unpacked.find_number("DeviceType").value_or(kCpuDevice);
  if (device == kCpuDevice || (device_from_ != 0 && device_from_ < dataset.number)) return;
  device_ = device;
  device_from_ = dataset.number;
}

void TorchDump::add_call(ArenaText op, std::int64_t order) {
  StoredCall call{op, 0, order, tensors_.size(), 0};
  if (!calls_.empty()) {
    const StoredCall& last = calls_.back();
    if (counted_as(TextArena::view(last.op)) == counted_as(TextArena::view(op))) call.index = last.index + 1;
  }
  last_order_ = std::max(last_order_, order);
  calls_.push_back(call);
}

std::size_t TorchDump::tensors_end(std::size_t call) const {
  return call + 1 < call_count() ? calls_[call + 1].begin : tensor_count();
}

// The first call of those that are counted with `op` that has the number `order` or a later one, or the one
// behind them.
std::size_t TorchDump::call_from(std::string_view op, std::int64_t order) const {
  const auto place_of = [](const StoredCall& call) {
    return std::pair(counted_as(TextArena::view(call.op)), call.order);
  };
  const auto found = std::ranges::lower_bound(calls_, std::pair(counted_as(op), order), {}, place_of);
  return static_cast<std::size_t>(found - calls_.begin());
}

TorchCall TorchDump::call(std::size_t i) const {
  const StoredCall& call = calls_[i];
  const std::string op(TextArena::view(call.op));
  return {
      op + ":" + std::to_string(call.index), op, call.order, call.begin, tensors_end(i), call.stored_bytes};
}

H5Dataset TorchDump::tensor(std::size_t i) const { return unpack(TextArena::view(tensors_[i])); }

std::optional<TorchCall> TorchDump::find(std::string_view key) const {
  const std::size_t colon = key.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto index = parse_int64(key.substr(colon + 1));
  const std::size_t first = call_from(key.substr(0, colon), 0);
  if (!index || static_cast<std::uint64_t>(*index) >= call_count() - first) return std::nullopt;
  TorchCall found = call(first + static_cast<std::uint64_t>(*index));
  if (found.key != key || found.is_empty()) return std::nullopt;
  return found;
}

std::optional<H5Dataset> TorchDump::find_tensor(std::string_view path) const {
  const auto place = dump::parse_h5_path(path);
  const std::size_t call =
      place ? call_from(place->op, static_cast<std::int64_t>(place->call)) : call_count();
  if (call == call_count()) return std::nullopt;
  const auto tensors =
      std::span(tensors_).subspan(calls_[call].begin, tensors_end(call) - calls_[call].begin);
  const auto path_at = [](ArenaText packed) { return path_of(TextArena::view(packed)); };
  const auto found = std::ranges::lower_bound(tensors, path, is_before, path_at);
  if (found == tensors.end() || path_at(*found) != path) return std::nullopt;
  return unpack(TextArena::view(*found));
}

Outcome<TensorData> TorchDump::read(const H5Dataset& dataset, Log& log) const {
  TensorData data{dataset.dtype, dataset.shape, nullptr, nullptr};
  const auto failed = [&] {
    log.error("Read dataset:" + dataset.path + " failed!");
    return Failure{Status::parse_dump, ""};
  };
  if (!dataset.fault.empty() || dataset.dtype == model::DType::undefined) return failed();
  if (dataset.extent) {
    auto mapped = MappedFile::open(path_);
    if (!mapped) return log.fail(Status::invalid_dump, mapped.error().message());
    const auto file = std::make_shared<MappedFile>(std::move(*mapped));
    data.bytes = file->bytes().data() + dataset.extent->offset;
    data.owner = file;
    return data;
  }
  if (dataset.stored_bytes == 0) {  // never written: zeros
    std::error_code error;
    const std::uint64_t in_file = std::filesystem::file_size(path_, error);
    if (error || data.view().byte_count() / kMostZeros > in_file) return failed();
    OPDUMP_TRY(const auto memory, make_memory(data.view().byte_count(), log));
    data.bytes = memory.get();
    data.owner = memory;
    return data;
  }
  auto elements = format::read_h5_elements(path_, dataset);
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
      if (std::string changed = replaced(key, from, to); other.find(changed)) return changed;
  if (key.starts_with("Npu") && device == kCpuDevice) return replaced(key, "Npu", "Thnn");
  if (key.starts_with("Npu") && device == kGpuDevice) return replaced(key, "Npu", "Cudnn");
  if (key.starts_with("Thnn")) return replaced(key, "Thnn", "Npu");
  if (key.starts_with("Cudnn")) return replaced(key, "Cudnn", "Npu");
  return key;
}

// Says where `tensor` would be in the other file; "" if its argument has no counterpart.
std::string TorchPairing::path_in(const TorchDump& other, const TorchCall& call, const std::string& other_key,
                                  const H5Dataset& tensor) const {
  const auto place = dump::parse_h5_path(tensor.path);
  if (!place) return "";
  const auto target = other.find(other_key);
  std::int64_t order = target ? target->order : other.order_after_all();
  if (!mine_.has_inputs())
    order = static_cast<std::int64_t>(place->call);  // mine was loaded: the numbers are the same
  const std::string op = other_key.substr(0, other_key.find(':'));
  const std::string argument(place->argument);
  const std::string begin = concat({"/", op, "/", std::to_string(order), "/", place->side, "/"});
  if (other.find_tensor(begin + argument)) return begin + argument;
  const std::string name = argument.substr(argument.rfind('/') + 1);
  for (const RenamedParameter& parameter : kParameters)
    if (parameter.op == call.op && parameter.name == name)
      return begin + argument.substr(0, argument.size() - name.size()) + std::string(parameter.other);
  return "";
}

std::string TorchPairing::golden_key(const TorchCall& call) const {
  return golden_.find(call.key) ? call.key : other_key(call.key, call.op, golden_.device());
}

bool TorchPairing::has_golden(const TorchCall& call) const {
  return golden_.find(golden_key(call)).has_value();
}

std::optional<H5Dataset> TorchPairing::golden_of(const TorchCall& call, const H5Dataset& tensor) const {
  const std::string key = golden_key(call);
  if (!golden_.find(key)) return std::nullopt;
  return golden_.find_tensor(path_in(golden_, call, key, tensor));
}

void TorchPairing::visit_unmatched(const std::function<void(const Unmatched&)>& take) const {
  const auto message = [](const std::string& path) {
    return "No data match with " + path + " in my dump data.";
  };
  for (std::size_t i = 0; i < golden_.call_count(); ++i) {
    const TorchCall call = golden_.call(i);
    if (call.is_empty()) continue;
    const std::string key = mine_.find(call.key) ? call.key : other_key(call.key, call.op, kNpuDevice);
    const auto mine = mine_.find(key);
    const auto is_matched = [&](std::size_t tensor) {
      return (mine || !mine_.has_inputs()) &&
             mine_.find_tensor(path_in(mine_, call, key, golden_.tensor(tensor)));
    };
    bool any_matched = false;
    for (std::size_t i = call.begin; i < call.end && !any_matched; ++i) any_matched = is_matched(i);
    if (!any_matched) {
      const std::string path = "/" + call.op + "/" + std::to_string(call.order);
      take({mine_.order_after_all(), "NaN", path, message(path)});
      continue;
    }
    for (std::size_t tensor = call.begin; tensor < call.end; ++tensor) {
      if (is_matched(tensor)) continue;
      const std::string path = golden_.tensor(tensor).path;
      take({mine ? mine->order : mine_.order_after_all(), key.substr(0, key.find(':')), path, message(path)});
    }
  }
}

}  // namespace opdump::msaccucmp
