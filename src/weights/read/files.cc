#include "weights/read/files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/file/file.h"
#include "base/text/expansion.h"
#include "base/text/text.h"
#include "dump/read/files/container_files.h"
#include "format/tensors/npz.h"
#include "format/tensors/onnx_tensor.h"
#include "format/tensors/safetensors.h"
#include "format/tensors/torch/torch_read.h"
#include "model/tensor_view.h"

namespace opdump::weights {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kNpy = ".npy";

dump::Slot new_slot(model::DType dtype, model::Shape shape) {
  dump::Slot slot;
  slot.dtype = dtype;
  slot.shape = std::move(shape);
  return slot;
}

void read_safetensors(const fs::path& path, std::span<const std::byte> file, Checkpoint& to,
                      std::vector<WeightTensor>& found) {
  const auto add = [&](format::StoredSafetensors stored) {
    WeightTensor tensor{std::move(stored.entry.name), TensorOwner::model,
                        new_slot(stored.entry.dtype, std::move(stored.entry.shape)), std::move(stored.fault)};
    tensor.slot.file = path;
    tensor.slot.part = stored.data;
    found.push_back(std::move(tensor));
  };
  if (auto read = format::decode_safetensors(file, add); !read)
    to.problems.push_back(path.string() + ": " + read.error().message());
  // The format allows no tensor to have bytes of another one: a file that does was not written by its
  // library.
  std::vector<const WeightTensor*> order;
  for (const WeightTensor& tensor : found)
    if (tensor.fault.empty() && tensor.slot.part->bytes > 0) order.push_back(&tensor);
  std::ranges::sort(order, {}, [](const WeightTensor* tensor) { return tensor->slot.part->offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const format::Extent &before = *order[i - 1]->slot.part, &after = *order[i]->slot.part;
    if (before.offset + before.bytes <= after.offset) continue;
    to.problems.push_back(path.string() + ": " + order[i - 1]->name + " and " + order[i]->name +
                          " overlap, which the format does not allow");
    return;
  }
}

void read_torch(const fs::path& path, Checkpoint& to, std::vector<WeightTensor>& found) {
  dump::Problems problems;
  dump::read_torch_file(path, problems, [&](const std::string& name, dump::Slot slot) {
    WeightTensor tensor{name, TensorOwner::model, std::move(slot), {}};
    tensor.fault = std::exchange(tensor.slot.undumped_reason, {});
    if (tensor.name.empty()) tensor.name = "tensor";
    found.push_back(std::move(tensor));
  });
  for (const dump::Problem& problem : problems.list())
    to.problems.push_back(problem.path.string() + ": " + problem.what);
}

void read_npz(const fs::path& path, std::span<const std::byte> file, Checkpoint& to,
              std::vector<WeightTensor>& found) {
  const auto add = [&](const format::NpzMember& member) {
    WeightTensor tensor;
    tensor.name = member.name.substr(0, member.name.size() - kNpy.size());
    auto header = format::read_npz_header(file, member);
    if (header)
      tensor.slot = new_slot(header->dtype, std::move(header->shape));
    else
      tensor.fault = header.error().message();
    tensor.slot.file = path;
    tensor.slot.part = member.stored;
    tensor.slot.packing = member.is_deflated ? dump::Packing::deflated : dump::Packing::npy;
    tensor.slot.unpacked_bytes = member.bytes;
    found.push_back(std::move(tensor));
  };
  if (auto read = format::list_npz(file, add); !read)
    to.problems.push_back(path.string() + ": " + read.error().message());
}

void read_npy(const fs::path& path, std::span<const std::byte> file, std::vector<WeightTensor>& found) {
  WeightTensor tensor;
  tensor.name = path.stem();
  auto header = format::decode_npy_header(file);
  if (header)
    tensor.slot = new_slot(header->dtype, std::move(header->shape));
  else
    tensor.fault = header.error().message();
  tensor.slot.file = path;
  tensor.slot.part = format::Extent{0, file.size()};
  tensor.slot.packing = dump::Packing::npy;
  found.push_back(std::move(tensor));
}

// Elements beside the model: the file must lie in the model's folder. Returns what is wrong.
std::string place_external(const fs::path& model, const format::OnnxExternal& external, dump::Slot& slot) {
  const fs::path location(external.location);
  const bool leaves = std::ranges::any_of(location, [](const fs::path& part) { return part == ".."; });
  if (location.empty() || location.is_absolute() || leaves)
    return "its elements lie outside of the model's folder, in " + external.location;
  const fs::path file = model.parent_path() / location;
  auto opened = open_input(file);
  if (!opened) return opened.error().message();
  const std::uint64_t bytes = model::TensorView{slot.dtype, *slot.shape, {}, nullptr}.byte_count();
  if (external.offset > opened->size || bytes > opened->size - external.offset ||
      external.bytes.value_or(bytes) != bytes)
    return "torn file: its elements are not in " + external.location;
  slot.file = file;
  slot.part = format::Extent{external.offset, bytes};
  return {};
}

void read_onnx(const fs::path& path, std::span<const std::byte> file, Checkpoint& to,
               std::vector<WeightTensor>& found) {
  const auto add = [&](format::OnnxInitializer initializer) {
    format::OnnxTensor& stored = initializer.tensor;
    WeightTensor tensor{std::move(stored.name), TensorOwner::model,
                        new_slot(stored.dtype, std::move(stored.shape)), std::move(initializer.fault)};
    const auto count = model::element_count(tensor.shape());
    tensor.is_sure = model::is_floating(tensor.dtype()) && count.value_or(2) > 1;
    if (tensor.fault.empty() && stored.external) {
      tensor.fault = place_external(path, *stored.external, tensor.slot);
    } else {
      tensor.slot.file = path;
      tensor.slot.part = stored.raw.value_or(initializer.message);
      if (!stored.raw) tensor.slot.packing = dump::Packing::onnx;
    }
    found.push_back(std::move(tensor));
  };
  if (auto read = format::list_onnx_initializers(file, add); !read)
    to.problems.push_back(path.string() + ": " + read.error().message());
}

// The bytes that all tensors of a file have together; more than a file can hold if they share memory.
std::uint64_t bytes_of(const std::vector<WeightTensor>& tensors) {
  std::uint64_t sum = 0;
  for (const WeightTensor& tensor : tensors) {
    if (!tensor.fault.empty()) continue;
    const std::uint64_t bytes = model::TensorView{tensor.dtype(), tensor.shape(), {}, nullptr}.byte_count();
    if (__builtin_add_overflow(sum, bytes, &sum)) return UINT64_MAX;
  }
  return sum;
}

}  // namespace

WeightFile find_weight_file(const fs::path& path) {
  const std::string name = path.filename();
  if (name.ends_with(".index.json")) return WeightFile::index;
  if (path.extension() == ".onnx") return WeightFile::onnx;
  auto opened = open_input(path);
  if (!opened) return WeightFile::none;
  const auto file = MappedFile::open_part(path, 0, std::min<std::uint64_t>(opened->size, 512));
  if (!file) return WeightFile::none;
  const auto start = file->bytes();
  const auto is_ending = [&](std::initializer_list<std::string_view> ends) {
    return std::ranges::find(ends, path.extension().string()) != ends.end();
  };
  if (format::is_torch_file(start)) return WeightFile::torch;
  if (is_ending({".pt", ".pth", ".ckpt", ".bin"})) return WeightFile::torch;
  if (format::is_npz(start) || is_ending({".npz"})) return WeightFile::npz;
  constexpr std::array kNumpy{std::byte{0x93}, std::byte{'N'}, std::byte{'U'}, std::byte{'M'}};
  if (std::ranges::equal(start.first(std::min(start.size(), kNumpy.size())), kNumpy) || is_ending({kNpy}))
    return WeightFile::npy;
  if (format::is_safetensors(start) || is_ending({".safetensors"})) return WeightFile::safetensors;
  return WeightFile::none;
}

void read_weight_file(const fs::path& path, WeightFile kind, const std::string& prefix,
                      Checkpoint& checkpoint) {
  const auto file = MappedFile::open(path);
  if (!file) return checkpoint.problems.push_back(path.string() + ": " + file.error().message());
  std::vector<WeightTensor> found;
  if (kind == WeightFile::safetensors) read_safetensors(path, file->bytes(), checkpoint, found);
  if (kind == WeightFile::torch) read_torch(path, checkpoint, found);
  if (kind == WeightFile::npz) read_npz(path, file->bytes(), checkpoint, found);
  if (kind == WeightFile::npy) read_npy(path, file->bytes(), found);
  if (kind == WeightFile::onnx) read_onnx(path, file->bytes(), checkpoint, found);
  for (WeightTensor& tensor : found) {
    if (!tensor.slot.shape) tensor.slot.shape = model::Shape();
    if (tensor.fault.empty() && model::dtype_info(tensor.dtype()).bits == 0)
      tensor.fault = "elements of an unknown dtype";
  }
  // Tensors that share elements may be many times as large as their file.
  if (auto possible = check_expansion(file->bytes().size(), bytes_of(found), "tensors"); !possible)
    return checkpoint.problems.push_back(path.string() + ": " + possible.error().message());
  for (WeightTensor& tensor : found) {
    tensor.name.insert(0, prefix);
    tensor.owner = owner_of(tensor.name);
    checkpoint.tensors.push_back(std::move(tensor));
  }
}

TensorOwner owner_of(std::string_view name) {
  constexpr std::string_view kMoments[] = {"exp_avg",         "exp_avg_sq",    "max_exp_avg_sq", "exp_inf",
                                           "momentum_buffer", "square_avg",    "acc_delta",      "grad_avg",
                                           "exp_avg_sq_row",  "exp_avg_sq_col"};
  constexpr std::string_view kOther[] = {"scheduler",      "lr_scheduler", "lr_schedulers", "scaler",
                                         "grad_scaler",    "rng_state",    "rng_states",    "rng",
                                         "loops",          "callbacks",    "amp",           "torch_rng_state",
                                         "cuda_rng_state", "random_state", "cpu_rng_state"};
  const auto parts = split(name, '.');
  // "state.0.exp_avg" is what Optimizer.state_dict() has at its root.
  if (parts.size() >= 3 && parts[0] == "state" && is_digits(parts[1])) return TensorOwner::optimizer;
  if (std::ranges::find(kMoments, parts.back()) != std::end(kMoments)) return TensorOwner::optimizer;
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size() - 1, 2); ++i) {
    const std::string part = to_lower(parts[i]);
    if (part.starts_with("optim")) return TensorOwner::optimizer;
    if (part == "ema" || part.starts_with("ema_") || part.ends_with("_ema") || part == "averaged_model")
      return TensorOwner::ema;
    if (i == 0 && std::ranges::find(kOther, part) != std::end(kOther)) return TensorOwner::other;
  }
  if (parts.size() == 1 && std::ranges::find(kOther, to_lower(parts[0])) != std::end(kOther))
    return TensorOwner::other;
  return TensorOwner::model;
}

}  // namespace opdump::weights
