#include "dump/read/files/container_files.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/file/content.h"
#include "base/text/text.h"
#include "dump/file_name.h"
#include "dump/read/files/file_kind.h"
#include "dump/read/files/h5_path.h"
#include "dump/read/slot_store.h"
#include "format/tensors/h5.h"
#include "format/tensors/npz.h"
#include "format/tensors/onnx_tensor.h"
#include "format/tensors/polygraphy.h"
#include "format/tensors/safetensors.h"
#include "format/tensors/torch/torch_read.h"
#include "opdump/opdump_h5.h"

namespace opdump::dump {
namespace fs = std::filesystem;
namespace {

using model::DType;

void refuse(Slot& slot, const fs::path& path, const std::string& member, std::string reason,
            Problems& problems) {
  problems.push_back({path, member + ": " + reason});
  slot.undumped_reason = std::move(reason);
}

// ---- HDF5

// What DataType says; undefined if it says nothing.
DType dumper_dtype(const format::H5Dataset& dataset) {
  switch (dataset.find_number("DataType").value_or(0)) {
    case OPDUMP_H5_FLOAT32:
      return DType::float32;
    case OPDUMP_H5_UINT8:
      return DType::uint8;
    case OPDUMP_H5_INT8:
      return DType::int8;
    case OPDUMP_H5_INT16:
      return DType::int16;
    case OPDUMP_H5_INT32:
      return DType::int32;
    case OPDUMP_H5_INT64:
      return DType::int64;
    case OPDUMP_H5_BOOL:
      return DType::boolean;
    case OPDUMP_H5_FLOAT16:
      return DType::float16;
    case OPDUMP_H5_FLOAT64:
      return DType::float64;
    case OPDUMP_H5_COMPLEX64:
      return DType::complex64;
    case OPDUMP_H5_COMPLEX128:
      return DType::complex128;
    case OPDUMP_H5_BFLOAT16:
      return DType::bfloat16;
    default:
      return DType::undefined;
  }
}

// Pairs of floats that lie in the file as they are: these are complex numbers in memory, too.
bool holds_complex(DType original, const format::H5Dataset& dataset) {
  const DType part = original == DType::complex64    ? DType::float32
                     : original == DType::complex128 ? DType::float64
                                                     : DType::undefined;
  return part != DType::undefined && part == dataset.dtype && dataset.shape.rank() > 0 &&
         dataset.shape.dims().back() == 2 && dataset.extent;
}

// Values of the attribute Type: an argument that is a boolean; options of a new tensor, which have no
// elements.
constexpr std::int64_t kBooleanType = 4, kOptionsType = 18;

// This says where a dataset belongs.
struct H5Place {
  std::uint64_t call = 0;
  std::string op;
  model::Side side = model::Side::output;
  std::string argument;
  std::string list;        // that the argument is of, or the argument: slots are sorted by it, then by part
  std::uint64_t part = 0;  // of the list
};

// Returns nothing if the path is none of the dumper's.
std::optional<H5Place> place_of(std::string_view path) {
  const auto parsed = parse_h5_path(path);
  if (!parsed || (parsed->side != model::kSideNames[0] && parsed->side != model::kSideNames[1]))
    return std::nullopt;
  const std::size_t slash = parsed->argument.find('/');
  const bool is_of_list = slash != std::string_view::npos;
  const std::string_view argument = parsed->argument.substr(is_of_list ? slash + 1 : 0);
  H5Place place{parsed->call,
                std::string(parsed->op),
                parsed->side == model::kSideNames[0] ? model::Side::input : model::Side::output,
                std::string(argument),
                std::string(parsed->argument.substr(0, slash)),
                0};
  if (!is_of_list) return place;
  const std::string begin = place.list + "_";  // {list}/{list}_{part}
  const auto part = argument.starts_with(begin) ? parse_uint64(argument.substr(begin.size())) : std::nullopt;
  if (!part) return std::nullopt;
  place.part = *part;
  return place;
}

// What our dumper says of elements that nobody reads, in the words of other recordings; empty of all others.
std::string_view why_unread(const format::H5Dataset& dataset) {
  switch (dataset.find_number("opdump_unread").value_or(0)) {
    case 1:
      return "out= argument";
    case 2:
      return "only written to";
    case 3:
      return "uninitialised";
    default:
      return {};
  }
}

void set_elements(Slot& slot, const format::H5Dataset& dataset, const fs::path& path, Problems& problems) {
  const DType stated = dumper_dtype(dataset);
  const DType original = dataset.find_number("Type") == kBooleanType ? DType::boolean : stated;
  const bool is_complex = holds_complex(original, dataset);
  const bool is_known = original != DType::undefined &&
                        (is_complex || model::dtype_info(original).kind != model::DTypeKind::complex);
  slot.dtype = is_known ? original : dataset.dtype;
  slot.shape = dataset.shape;
  if (is_complex) slot.shape = model::Shape(dataset.shape.dims().first(dataset.shape.rank() - 1));
  // Booleans and uint8 are stored as int8 of the same bits; half and bfloat16 are widened.
  else if (model::dtype_info(slot.dtype).bits != model::dtype_info(dataset.dtype).bits)
    slot.stored_dtype = dataset.dtype;
  const auto count = model::element_count(dataset.shape);
  if (!dataset.fault.empty()) return refuse(slot, path, dataset.path, dataset.fault, problems);
  if (dataset.stored_bytes == 0 && count != 0) {  // the dumper's way with dtypes it has no word for
    slot.undumped_reason = "a dataset without data";
    return;
  }
  if (const std::string_view unread = why_unread(dataset); !unread.empty()) {
    slot.undumped_reason = unread;
    return;
  }
  slot.file = path;
  slot.part = dataset.extent.value_or(format::Extent{0, dataset.stored_bytes});
  if (dataset.extent || count == 0) return;
  slot.packing = Packing::hdf5;
  slot.member = dataset.path;
}

// The datasets of a file, put together by call.
class H5Runs {
  // A dataset, and the number of its slot, which follows the order in which they were added.
  struct Found {
    H5Place place;
    std::uint32_t slot;

    auto call() const { return std::tie(place.call, place.op); }
    auto operand() const { return std::tie(place.call, place.op, place.side, place.list, place.part); }
  };

 public:
  void add(H5Place place, const Slot& slot) { found_.push_back({std::move(place), slots_.add(slot)}); }

  // Gives the calls in order, with their operands in the order of their names.
  void drain(const TakeRun& take) {
    std::ranges::sort(
        found_, {}, [](const Found& found) { return std::tuple_cat(found.operand(), std::tie(found.slot)); });
    OperatorRun run;
    const Found* last = nullptr;
    std::uint32_t next[] = {0, 0};  // index of each side
    for (const Found& found : found_) {
      if (last == nullptr || found.call() != last->call()) {
        give(std::exchange(run, {}), take);
        next[0] = next[1] = 0;
      } else if (found.operand() == last->operand()) {
        continue;  // another name of it
      }
      last = &found;
      run.task = found.place.call;
      if (run.task != 0) run.type = found.place.op;
      run.name = found.place.op;
      Slot& slot = run.slots.emplace_back(slots_[found.slot]);
      slot.index = next[static_cast<std::size_t>(slot.side)]++;
    }
    give(std::move(run), take);
  }

 private:
  static void give(OperatorRun run, const TakeRun& take) {
    if (!run.slots.empty()) take(std::move(run));
  }

  std::vector<Found> found_;
  SlotStore slots_;
};

// ---- .npz

Slot read_npz_member(std::span<const std::byte> file, const format::NpzMember& member, const fs::path& path,
                     const TensorName& name, Problems& problems) {
  Slot slot = make_slot(name);
  auto header = format::read_npz_header(file, member);
  if (!header) {
    refuse(slot, path, member.name, header.error().message(), problems);
    return slot;
  }
  slot.file = path;
  slot.dtype = header->dtype;
  slot.shape = std::move(header->shape);
  slot.part = member.stored;
  slot.packing = member.is_deflated ? Packing::deflated : Packing::npy;
  slot.unpacked_bytes = member.bytes;
  return slot;
}

}  // namespace

Slot make_slot(const TensorName& name) {
  Slot slot;
  slot.side = name.side;
  slot.index = name.index;
  slot.timestamp_us = name.timestamp_us;
  slot.format = name.format.empty() ? "DefaultFormat" : name.format;
  if (name.part) {
    constexpr std::uint32_t kParts =
        1 << 16;  // tensors of a list come one after the other, and before the next operand
    slot.argument = std::to_string(name.index) + "." + std::to_string(*name.part);
    slot.index = (name.index + 1) * kParts + std::min(*name.part, kParts - 1);
  }
  return slot;
}

TensorName name_tensor(std::string_view stem, std::string_view prefix) {
  if (auto name = parse_tensor_name(stem)) return std::move(*name);
  if (auto file = parse_file_name(std::string(stem) + std::string(kNpyExtension)))
    return {std::move(file->type),
            std::move(file->name),
            file->task,
            file->stream,
            file->timestamp_us,
            file->side,
            file->index,
            {},
            std::move(file->format)};
  TensorName name;
  name.name = std::string(prefix) + std::string(stem);
  return name;
}

namespace {

// What is wrong, and what the file is if it does not begin as those of its kind.
std::string explain(const Error& error, const Result<MappedFile>& file,
                    bool (*is_kind)(std::span<const std::byte>)) {
  if (!file || is_kind(file->bytes())) return error.message();
  return with_content(error.message(), file->bytes());
}

}  // namespace

void read_npz_file(const fs::path& path, std::string_view prefix, Problems& problems,
                   const TakeNamedSlot& take) {
  const auto file = MappedFile::open(path);
  const auto add = [&](const format::NpzMember& member) {
    TensorName name = name_tensor(
        std::string_view(member.name).substr(0, member.name.size() - kNpyExtension.size()), prefix);
    Slot slot = read_npz_member(file->bytes(), member, path, name, problems);
    take({std::move(name), std::move(slot)});
  };
  const auto listed = file ? format::list_npz(file->bytes(), add) : Result<>(file.error());
  if (!listed) problems.push_back({path, explain(listed.error(), file, format::is_npz)});
}

void read_safetensors_file(const fs::path& path, std::string_view prefix, Problems& problems,
                           const TakeNamedSlot& take) {
  const auto file = MappedFile::open(path);
  const auto add = [&](format::StoredSafetensors tensor) {
    TensorName name = name_tensor(tensor.entry.name, prefix);
    Slot slot = make_slot(name);
    slot.dtype = tensor.entry.dtype;
    slot.shape = std::move(tensor.entry.shape);
    if (tensor.fault.empty()) {
      slot.file = path;
      slot.part = tensor.data;
    } else {
      refuse(slot, path, tensor.entry.name, std::move(tensor.fault), problems);
    }
    take({std::move(name), std::move(slot)});
  };
  const auto decoded = file ? format::decode_safetensors(file->bytes(), add) : Result<>(file.error());
  if (!decoded) problems.push_back({path, explain(decoded.error(), file, format::is_safetensors)});
}

void read_h5_file(const fs::path& path, Problems& problems, const TakeRun& take,
                  const TakeStatus& take_status) {
  H5Runs runs;
  RecordingStatus status;
  status.state.clear();
  const auto keep = [&](format::H5State state) {
    status.state = std::move(state.state);
    status.opdump_version = std::move(state.version);
    if (!state.loss.empty()) status.losses.push_back({"dataset not written", std::move(state.loss), 1, path});
  };
  bool is_begun = false;
  const auto add = [&](const format::H5Dataset& dataset) {
    is_begun = true;
    if (dataset.find_number("Type") == kOptionsType) return;
    auto place = place_of(dataset.path);
    if (!place) place = H5Place{0, dataset.path.substr(1), model::Side::output, {}, {}, 0};
    Slot slot;
    slot.side = place->side;
    slot.format = "DefaultFormat";
    slot.argument = place->argument;
    set_elements(slot, dataset, path, problems);
    runs.add(std::move(*place), slot);
  };
  const auto listed = format::list_h5(path, add, keep);
  runs.drain(take);
  if (!listed) {
    problems.push_back({path, listed.error().message()});
    if (is_begun && status.state != "recording")
      status.state = "incomplete";  // what is absent may have been there
  }
  if (!status.state.empty()) take_status(std::move(status));
}

namespace {

void place_elements(const format::StoredTorchTensor& tensor, const fs::path& path, Slot& slot) {
  slot.file = path;
  slot.part = tensor.data;
  if (tensor.strides.rank() == 0) return;
  slot.packing = Packing::strided;
  slot.strides = tensor.strides;
}

}  // namespace

void read_torch_file(const fs::path& path, Problems& problems, const TakeTorchSlot& take) {
  const auto file = MappedFile::open(path);
  const auto add = [&](format::StoredTorchTensor tensor) {
    Slot slot;
    slot.side = model::Side::output;
    slot.format = "DefaultFormat";
    slot.dtype = tensor.dtype;
    slot.shape = std::move(tensor.shape);
    if (tensor.fault.empty()) {
      place_elements(tensor, path, slot);
    } else {
      refuse(slot, path, tensor.name.empty() ? "tensor" : tensor.name, std::move(tensor.fault), problems);
    }
    take(tensor.name, std::move(slot));
  };
  const auto listed = file ? format::list_torch_tensors(file->bytes(), add) : Result<>(file.error());
  if (!listed) problems.push_back({path, explain(listed.error(), file, format::is_torch_file)});
}

std::string place_torch_tensor(const fs::path& path, Slot& slot) {
  const auto file = MappedFile::open(path);
  std::vector<format::StoredTorchTensor> tensors;
  const auto add = [&](format::StoredTorchTensor tensor) {
    if (tensors.size() < 2) tensors.push_back(std::move(tensor));
  };
  const auto listed = file ? format::list_torch_tensors(file->bytes(), add) : Result<>(file.error());
  if (!listed) return "torn or no file of torch.save: " + listed.error().message();
  if (tensors.size() != 1) return tensors.empty() ? "no tensor in it" : "several tensors in it; expected one";
  format::StoredTorchTensor& tensor = tensors.front();
  if (!tensor.fault.empty()) return std::move(tensor.fault);
  place_elements(tensor, path, slot);
  slot.dtype = tensor.dtype;
  slot.shape = std::move(tensor.shape);
  return {};
}

void read_polygraphy_file(const fs::path& path, Problems& problems, const TakeIterationSlot& take) {
  constexpr std::string_view kOutput = "_output_";
  const auto file = MappedFile::open(path);
  if (!file) return problems.push_back({path, file.error().message()});
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  std::vector<format::PolygraphyArray> arrays;  // without their elements: names and places
  const auto listed = format::list_polygraphy(
      text, [&](format::PolygraphyArray array) { arrays.push_back(std::move(array)); });
  if (!listed) problems.push_back({path, listed.error().message()});
  if (listed && arrays.empty()) problems.push_back({path, "no results of Polygraphy in it"});
  const bool has_several = std::ranges::any_of(
      arrays, [](const format::PolygraphyArray& array) { return array.runner_index > 0; });
  for (format::PolygraphyArray& array : arrays) {
    Slot slot;
    slot.side = model::Side::output;
    slot.format = "DefaultFormat";
    if (array.fault.empty()) {
      slot.file = path;
      slot.part = array.text;
      slot.packing = Packing::base64;
      slot.unpacked_bytes = array.npy_bytes;
      slot.dtype = array.header.dtype;
      slot.shape = std::move(array.header.shape);
    } else {
      refuse(slot, path, array.name, std::move(array.fault), problems);
    }
    // "onnxrt-runner-N0-11/24/26-03:00:00"
    const std::string runner = array.runner.substr(0, array.runner.rfind('-', array.runner.rfind('-') - 1));
    const std::size_t end = array.name.rfind(kOutput);
    if (end != std::string::npos && end > 0) {
      const auto index = parse_uint64(std::string_view(array.name).substr(end + kOutput.size()));
      if (index && *index <= UINT32_MAX) {
        slot.index = static_cast<std::uint32_t>(*index);
        array.name.resize(end);
      }
    }
    take(array.iteration, has_several ? runner + "/" + array.name : array.name, std::move(slot));
  }
}

Slot read_onnx_file(const fs::path& path, const TestDataName& name, Problems& problems) {
  Slot slot;
  slot.side = name.side;
  slot.index = name.index;
  slot.format = "DefaultFormat";
  const auto file = MappedFile::open(path);
  auto tensor = file ? format::decode_onnx_tensor(file->bytes()) : Result<format::OnnxTensor>(file.error());
  if (!tensor) {
    slot.undumped_reason = explain(tensor.error(), file, [](auto) { return false; });
    problems.push_back({path, slot.undumped_reason});
    return slot;
  }
  slot.file = path;
  slot.dtype = tensor->dtype;
  slot.shape = std::move(tensor->shape);
  slot.part = tensor->raw.value_or(format::Extent{0, file->bytes().size()});
  if (!tensor->raw) slot.packing = Packing::onnx;
  return slot;
}

}  // namespace opdump::dump
