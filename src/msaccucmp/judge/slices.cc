#include "msaccucmp/judge/slices.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json.h"
#include "base/text/text.h"
#include "msaccucmp/judge/fusion_rules.h"
#include "msaccucmp/log.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

using model::Shape;
using nlohmann::json;

constexpr std::size_t kUncut = SIZE_MAX;

// What the first attribute of a slice says about the cutting.
struct Cut {
  std::size_t slices = 0;
  bool by_threads = false;        // the hardware's threads; else the compiler's slices
  std::vector<std::size_t> axes;  // of each output; kUncut: it was not cut
  json thread_ranges;             // [thread][output][axis]{lower, higher}
};

std::size_t axis_of(const json& cuts) {
  for (std::size_t axis = 0; cuts.is_array() && axis < cuts.size(); ++axis)
    if (cuts[axis] != 1) return axis;
  return kUncut;
}

std::optional<Cut> read_cut(const std::string& attributes) {
  const json root = parse_json(attributes);
  if (!root.is_object()) return std::nullopt;
  Cut cut;
  if (const auto count = root.find("slice_instance_num"); count != root.end() && count->is_number_unsigned())
    cut.slices = count->get<std::size_t>();
  if (const auto mode = root.find("threadMode"); mode != root.end())
    cut.by_threads = mode->is_boolean() ? mode->get<bool>() : mode->is_number() && *mode != 0;
  if (const auto list = root.find("outputCutList"); list != root.end() && list->is_array())
    for (const json& output : *list) cut.axes.push_back(axis_of(output));
  if (const auto ranges = root.find("output_tensor_slice"); ranges != root.end()) cut.thread_ranges = *ranges;
  return cut;
}

// The shape of `output` in a thread, which its message does not have.
std::optional<Shape> thread_shape(const json& ranges, std::size_t thread, std::size_t output) {
  if (!ranges.is_array() || thread >= ranges.size() || !ranges[thread].is_array() ||
      output >= ranges[thread].size() || !ranges[thread][output].is_array())
    return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const json& range : ranges[thread][output]) {
    if (!range.is_object() || !range.contains("lower") || !range.contains("higher") ||
        !range["lower"].is_number_integer() || !range["higher"].is_number_integer())
      return std::nullopt;
    dims.push_back(range["higher"].get<std::int64_t>() - range["lower"].get<std::int64_t>());
  }
  return Shape(std::span<const std::int64_t>(dims));
}

std::uint64_t product(std::span<const std::int64_t> dims) {
  return model::element_count(Shape(dims)).value_or(0);
}

class Joiner {
 public:
  Joiner(const OperatorFiles& files, std::vector<DumpedOperator> slices, Cut cut, Log& log)
      : files_(files), slices_(std::move(slices)), cut_(std::move(cut)), log_(log) {}

  Outcome<DumpedOperator> join() {
    DumpedOperator whole;
    DumpedOperator& first = slices_.front();
    whole.is_whole = first.is_whole;
    whole.is_slice = true;
    whole.name = first.name;
    whole.path = joined_path();
    OPDUMP_TRY([[maybe_unused]] const std::monostate fit, check_shapes());
    OPDUMP_TRY([[maybe_unused]] const std::monostate even, check_counts());
    // Outputs without a shape are lost, as in the original.
    for (std::size_t i = 0; i < std::min(first.outputs.size(), cut_.axes.size()); ++i) {
      OPDUMP_TRY(DumpedTensor output, join_output(i));
      whole.outputs.push_back(std::move(output));
    }
    whole.inputs = std::move(first.inputs);
    log_.info("This is a FFTS+ mode dump data " + whole.name +
              ", output data has been merged, new file path is " + whole.path);
    return whole;
  }

 private:
  std::string joined_path() const {
    const auto fields = split(files_.paths.front(), '.');
    std::string path;
    for (std::size_t i = 0; i < std::min<std::size_t>(fields.size(), 4); ++i)
      path.append(i > 0 ? "." : "").append(fields[i]);
    return path + ".*";
  }

  Outcome<std::monostate> check_counts() {
    const std::size_t expected = slices_.front().outputs.size();
    for (const DumpedOperator& slice : slices_)
      if (slice.outputs.size() != expected) {
        log_.error("Inconsistent output length detected: expected " + std::to_string(expected) +
                   ", but got " + std::to_string(slice.outputs.size()));
        return Failure{Status::invalid_dump, ""};
      }
    return std::monostate{};
  }

  // "[2, 3]", as Python shows a list.
  static std::string list_text(const Shape& shape) {
    std::string text = shape_text(shape);
    text.front() = '[';
    text.back() = ']';
    return text;
  }

  // Gives what threads have written its shapes.
  Outcome<std::monostate> check_shapes() {
    for (std::size_t slice = 0; slice < slices_.size(); ++slice)
      for (std::size_t i = 0; i < slices_[slice].outputs.size(); ++i) {
        DumpedTensor& tensor = slices_[slice].outputs[i];
        if (cut_.by_threads)
          if (const auto found = thread_shape(cut_.thread_ranges, slice, i)) tensor.shape = *found;
        if (model::element_count(tensor.shape) == tensor.data.count()) {
          tensor.data.shape = tensor.shape;
          continue;
        }
        log_.error("The output_data shape " + std::to_string(tensor.data.count()) +
                   " doesn't match the shape in dump file " + list_text(tensor.shape));
        return Failure{Status::data_shape, ""};
      }
    return std::monostate{};
  }

  Outcome<DumpedTensor> join_output(std::size_t index) {
    DumpedTensor whole = slices_.front().outputs[index];
    whole.groups = 0;
    TensorData joined = whole.data;
    if (cut_.axes[index] != kUncut) {
      std::vector<TensorData> parts;
      for (const DumpedOperator& slice : slices_) parts.push_back(slice.outputs[index].data);
      OPDUMP_TRY(joined, concatenated(parts, cut_.axes[index]));
    }
    whole.shape = joined.shape;
    whole.data = joined.flat();
    return whole;
  }

  Outcome<TensorData> concatenated(const std::vector<TensorData>& parts, std::size_t axis) {
    Shape shape = parts.front().shape;
    std::int64_t length = 0;
    for (const TensorData& part : parts) {
      Shape other = part.shape;
      if (axis >= shape.rank() || other.rank() != shape.rank() || part.dtype != parts.front().dtype)
        return log_.fail(Status::data_shape, "The slices in " + files_.paths.front() + " do not fit.");
      length += other[axis];
      other.dims()[axis] = shape[axis];
      if (!(other == shape))
        return log_.fail(Status::data_shape, "The slices in " + files_.paths.front() + " do not fit.");
    }
    const std::uint64_t rows = product(std::as_const(shape).dims().first(axis));
    const std::uint64_t inner = product(std::as_const(shape).dims().subspan(axis + 1)) *
                                (model::dtype_info(parts.front().dtype).bits / 8);
    shape.dims()[axis] = length;
    const std::uint64_t row_bytes = static_cast<std::uint64_t>(length) * inner;
    OPDUMP_TRY(const auto memory, make_memory(rows * row_bytes, log_));
    std::uint64_t offset = 0;
    for (const TensorData& part : parts) {
      const std::uint64_t bytes = static_cast<std::uint64_t>(part.shape[axis]) * inner;
      for (std::uint64_t row = 0; row < rows; ++row)
        std::memcpy(memory.get() + row * row_bytes + offset, part.bytes + row * bytes, bytes);
      offset += bytes;
    }
    return TensorData{parts.front().dtype, shape, memory.get(), memory};
  }

  const OperatorFiles& files_;
  std::vector<DumpedOperator> slices_;
  Cut cut_;
  Log& log_;
};

std::string_view time_field(std::string_view path) {
  const auto fields = split(path.substr(path.rfind('/') + 1), '.');
  return fields.size() > 4 ? fields[4] : std::string_view();
}

}  // namespace

Outcome<DumpedOperator> read_slices(const OperatorFiles& files, Log& log) {
  if (files.mode == TaskMode::normal || files.paths.size() == 1) {
    OPDUMP_TRY(DumpedOperator op, read_dumped_operator(files.paths.back(), log));
    op.is_slice = files.mode != TaskMode::normal;
    return op;
  }
  std::vector<DumpedOperator> slices;
  for (const std::string& path : files.paths) {
    OPDUMP_TRY(DumpedOperator slice, read_dumped_operator(path, log));
    slices.push_back(std::move(slice));
  }
  const Cut cut = read_cut(slices.front().attributes).value_or(Cut{});
  if (cut.slices != slices.size()) {
    slices.front().is_whole = false;
    log.warn("This is a FFTS+ mode dump data " + slices.front().name +
             ", The number of files does not match the number of thread (instance slice num).");
  }
  if (std::ranges::any_of(cut.axes, [](std::size_t axis) { return axis != kUncut; }))
    return Joiner(files, std::move(slices), cut, log).join();
  // The last one wins among equal times.
  const auto newest = std::max_element(slices.rbegin(), slices.rend(), [](const auto& a, const auto& b) {
    return time_field(a.path) < time_field(b.path);
  });
  log.warn("The cut axis of Dump data is invalid. The current compare dump file is " + newest->path +
           ". All dump files are " + join(files.paths, ","));
  newest->is_slice = true;
  return std::move(*newest);
}

}  // namespace opdump::msaccucmp
